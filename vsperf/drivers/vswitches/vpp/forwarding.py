"""The calls by which VPP is told where frames go: cross-connects, bridges, routes. Pure.

A router's ports have a table each, in which stands where frames go that enter there. So a frame
that comes back from a VNF takes another way than it took before. Neighbours are told, and nobody is
asked by ARP.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.config.flows import BENCHMARKS, host_ip, lane_mac
from vsperf.config.topology import Topology
from vsperf.config.traffic import Layer3
from vsperf.config.wiring import Pass, forks, passes
from vsperf.drivers.vswitches.forwarding import groups, partners
from vsperf.drivers.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.drivers.vswitches.vpp.layout import SwitchPort, addressed_to, end_number, sent_on_to
from vsperf.drivers.vswitches.vpp.nat import translating
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import UsageError

STATIC = 1
"""A neighbour that does not go away, as the API has it."""
WEIGHT = 1
NO_LABELS: tuple[dict[str, int], ...] = ({},) * 16
"""A path in the API has room for so many, used or not."""
IDLE = {"ip4": int(ipaddress.ip_address("10.128.0.0")), "ip6": int(ipaddress.ip_address("fd01::"))}
"""Routes that no test frame is for begin here."""
BITS = {"ip4": 32, "ip6": 128}
LAYER3: dict[str, Layer3] = {"ip4": "ipv4", "ip6": "ipv6"}


def routing(case: CaseSpec, spec: VppSpec, ports: tuple[SwitchPort, ...]) -> Iterator[Call]:
    """Yield the calls that make a router of VPP."""
    six = spec.forwarding == "ip6"
    numbers = {port.name: port.number for port in ports}
    for port in ports:
        here = InterfaceOf(port.name)
        table = {"table_id": port.number, "is_ip6": six, "name": port.name}
        yield Call("ip_table_add_del", {"is_add": True, "table": table})
        yield Call(
            "sw_interface_set_table", {"sw_if_index": here, "is_ipv6": six, "vrf_id": port.number}
        )
        address = _interface(spec, port.number)
        yield Call(
            "sw_interface_add_del_address", {"sw_if_index": here, "is_add": True, "prefix": address}
        )
        if six:  # else it tells everybody that it is a router
            yield Call("sw_interface_ip6nd_ra_config", {"sw_if_index": here, "suppress": 1})
    for way in passes(case.topology):
        if not _is_first(case, way):
            continue
        mac = sent_on_to(case.topology, way)
        neighbour = {
            "sw_if_index": InterfaceOf(way.leaves),
            "flags": STATIC,
            "mac_address": mac,
            "ip_address": _neighbour(spec, numbers[way.leaves]),
        }
        yield Call("ip_neighbor_add_del", {"is_add": True, "neighbor": neighbour})
    for way in passes(case.topology):
        yield _route(
            numbers[way.enters],
            _prefix(case, spec, way),
            _path(spec, way.leaves, _neighbour(spec, numbers[way.leaves])),
        )


def idle_routes(
    spec: VppSpec, ports: tuple[SwitchPort, ...], numbers: range, *, add: bool
) -> Iterator[Call]:
    """Yield the calls that add routes to the table of each port, or take them out."""
    bits = BITS[spec.forwarding]
    for port in ports:
        path = _path(spec, port.name, _neighbour(spec, port.number))
        for number in numbers:
            prefix = f"{ipaddress.ip_address(IDLE[spec.forwarding] + number)}/{bits}"
            yield _route(port.number, prefix, path, add=add)


def check_routes(case: CaseSpec, spec: VppSpec) -> None:
    """Refuse frames that a router would not route."""
    traffic, wanted = case.traffic, LAYER3[spec.forwarding]
    mend = "--set vswitch.forwarding=xconnect"
    if traffic.replay is not None:
        raise UsageError("a router has to know where frames of a file go", fix=mend)
    if traffic.outer_layer3 != wanted:
        raise UsageError(
            f"vswitch.forwarding={spec.forwarding} routes no {traffic.outer_layer3} frames",
            why="its tables hold addresses of the other kind",
            fix="--set vswitch.forwarding=" + ("ip6" if wanted == "ipv4" else "ip4"),
        )
    if traffic.outer_vlans or traffic.mpls:
        raise UsageError(
            "vswitch.forwarding routes plain frames only",
            why="what stands behind VLAN tags or MPLS labels belongs to other interfaces",
            fix=f"{mend}, or no traffic.vlans and no traffic.mpls",
        )
    if traffic.destination != "unicast" or traffic.broadcasts.value:
        raise UsageError(
            "a router takes frames for its own MAC address only", why="it is no bridge", fix=mend
        )
    if case.topology.dispatch == "udp" and forks(case.topology):
        raise UsageError(
            "a router does not see UDP ports, by which parallel paths are told apart",
            why="it looks at IP addresses",
            fix="--set topology.dispatch=ip",
        )


def _is_first(case: CaseSpec, way: Pass) -> bool:
    """Whether it is the first of the ways that leave by its port: they share a neighbour."""
    return next(one for one in passes(case.topology) if one.leaves == way.leaves) == way


def _prefix(case: CaseSpec, spec: VppSpec, way: Pass) -> str:
    """Return the destinations of a way: a share of the network, or one host of parallel paths."""
    layer3, number = LAYER3[spec.forwarding], end_number(case.topology, way)
    if way in forks(case.topology) and case.topology.lanes(way.path[0], way.path[-1]) > 1:
        return f"{host_ip(number, way.lane, layer3)}/{BITS[spec.forwarding]}"
    if layer3 == "ipv6":
        return _network(host_ip(number, 0, layer3), 64)
    ends = max(2, len(case.topology.links))
    length = ipaddress.ip_network(BENCHMARKS[layer3]).prefixlen + (ends - 1).bit_length()
    return _network(host_ip(number, 0, layer3), length)


def _network(host: str, length: int) -> str:
    return str(ipaddress.ip_network(f"{host}/{length}", strict=False))


def _route(table: int, prefix: str, path: Any, *, add: bool = True) -> Call:
    route = {"table_id": table, "prefix": prefix, "n_paths": 1, "paths": [path]}
    return Call("ip_route_add_del", {"is_add": add, "route": route})


def _path(spec: VppSpec, leaves: str, neighbour: str) -> dict[str, Any]:
    six = spec.forwarding == "ip6"
    return {
        "sw_if_index": InterfaceOf(leaves),
        "weight": WEIGHT,
        "proto": int(six),
        "nh": {"address": {"ip6" if six else "ip4": neighbour}},
        "label_stack": NO_LABELS,
    }


def _interface(spec: VppSpec, number: int) -> str:
    return f"fd00:{number:x}::1/64" if spec.forwarding == "ip6" else f"10.0.{number}.1/24"


def _neighbour(spec: VppSpec, number: int) -> str:
    return f"fd00:{number:x}::2" if spec.forwarding == "ip6" else f"10.0.{number}.2"


MANY = 10_000
"""Addresses that are sooner flushed than taken out one by one."""
LEARN_LIMIT = 4_194_304
"""Addresses that a bridge may learn."""
IDLE_MAC = 0x02_F0_00_00_00_00
"""Addresses from here on are no test frame's."""
NEVER = 0
"""Minutes after which a bridge forgets an address: a trial must not depend on it."""


def forwarding(case: CaseSpec, spec: VppSpec, ports: tuple[SwitchPort, ...]) -> Iterator[Call]:
    """Yield the calls after which frames find their way; ports are there by then."""
    if spec.nat is not None:
        yield from translating(case, spec)
        return
    match spec.forwarding:
        case "xconnect":
            yield from _cross_connects(case.topology)
        case "bridge":
            yield from _bridges(case, spec)
        case "ip4" | "ip6":
            check_routes(case, spec)
            yield from routing(case, spec, ports)


def idle(
    case: CaseSpec, spec: VppSpec, ports: tuple[SwitchPort, ...], numbers: range, *, add: bool
) -> Iterator[Call]:
    """Yield the calls that add routes or addresses that no test frame is for, or take them out."""
    if not numbers:
        return
    if spec.nat is not None:
        raise UsageError(
            "the table of connections of VPP has no rules that could be changed",
            why="what becomes of a connection is said once, for all of them",
            fix="choose a switch with rules: --vswitch nftables",
        )
    if spec.forwarding == "xconnect":
        raise UsageError(
            "a cross-connect has no rules that could be changed",
            why="VPP looks at no frame then",
            fix="--set vswitch.forwarding=ip4, or bridge",
        )
    if spec.forwarding == "bridge":
        for bridge, members in enumerate(groups(case.topology), start=1):
            for number in numbers:
                yield _address(bridge, _mac(IDLE_MAC + number), members[0], add=add)
    else:
        yield from idle_routes(spec, ports, numbers, add=add)


def learning(case: CaseSpec, spec: VppSpec) -> tuple[int, ...]:
    """Return the numbers of the bridges that learn addresses."""
    return tuple(range(1, len(groups(case.topology)) + 1)) if spec.learns else ()


def forgetting(bridges: Iterable[int], learned: Collection[Any]) -> Iterator[Call]:
    """Yield the calls after which bridges know none of the addresses that VPP has listed.

    To flush them all VPP goes through its whole table, 20 us at a time, and its main thread sleeps
    between two pieces: 3 to 6 s, also for two addresses. So they are taken out one by one, unless
    there are so many that this takes longer.
    """
    if len(learned) > MANY:
        yield from (Call("l2fib_flush_bd", {"bd_id": bridge}) for bridge in bridges)
        return
    for entry in learned:
        fields = {"mac": entry.mac, "bd_id": entry.bd_id, "sw_if_index": entry.sw_if_index}
        yield Call("l2fib_add_del", {**fields, "is_add": False})


def _cross_connects(topology: Topology) -> Iterator[Call]:
    joined = partners(
        topology,
        "a cross-connect of VPP",
        "--set vswitch.forwarding=bridge and vswitch.learn=false, or another topology",
    )
    for enters, leaves in joined.items():
        fields = {"rx_sw_if_index": InterfaceOf(enters), "tx_sw_if_index": InterfaceOf(leaves)}
        yield Call("sw_interface_set_l2_xconnect", {**fields, "enable": True})


def _bridges(case: CaseSpec, spec: VppSpec) -> Iterator[Call]:
    """Yield a bridge for each group of ports that frames pass between, so none goes round."""
    for number, members in enumerate(groups(case.topology), start=1):
        if spec.learn:
            _check_learning(case.topology, members)
        yield Call(
            "bridge_domain_add_del_v2",
            {
                "bd_id": number,
                "flood": True,
                "uu_flood": spec.learn,
                "forward": True,
                "learn": spec.learn,
                "mac_age": NEVER,
                "is_add": True,
            },
        )
        if spec.learn:
            yield Call(
                "bridge_domain_set_learn_limit", {"bd_id": number, "learn_limit": LEARN_LIMIT}
            )
        for name in members:
            fields = {"rx_sw_if_index": InterfaceOf(name), "bd_id": number, "enable": True}
            yield Call("sw_interface_set_l2_bridge", fields)
        if not spec.learn:
            yield from _told(case, number, members)


def _told(case: CaseSpec, bridge: int, members: tuple[str, ...]) -> Iterator[Call]:
    """Yield the addresses of a bridge that does not learn."""
    _check_addresses(case)
    known: dict[str, str] = {}
    for way in passes(case.topology):
        if way.enters not in members:
            continue
        for mac in _addresses(case.topology, way):
            if known.setdefault(mac, way.leaves) != way.leaves:
                raise UsageError(
                    f"a bridge would have to send frames for {mac} to {known[mac]} and to "
                    f"{way.leaves}",
                    why=f"in topology {case.topology.name} it depends on where they came in",
                    fix="--set vswitch.forwarding=ip4, or --set topology.nics=2",
                )
    for mac, leaves in known.items():
        yield _address(bridge, mac, leaves, add=True)


def _addresses(topology: Topology, way: Pass) -> tuple[str, ...]:
    """Return the addresses of frames of a way: a VNF rewrites them, or leaves its lane's."""
    lane = lane_mac(end_number(topology, way), way.lane)
    apart = (lane,) if topology.dispatch == "mac" else ()
    return tuple(dict.fromkeys((addressed_to(topology, way), *apart)))


def _address(bridge: int, mac: str, leaves: str, *, add: bool) -> Call:
    return Call(
        "l2fib_add_del",
        {
            "mac": mac,
            "bd_id": bridge,
            "sw_if_index": InterfaceOf(leaves),
            "is_add": add,
            "static_mac": True,
        },
    )


def _check_learning(topology: Topology, members: tuple[str, ...]) -> None:
    if len(members) > 2:
        raise UsageError(
            f"a bridge that learns would join {', '.join(members)} in topology {topology.name}",
            why="a frame for an address that it does not know leaves by all of them, and the "
            "same addresses come from several VNFs",
            fix="--set vswitch.learn=false, or --set topology=p2p",
        )


def _check_addresses(case: CaseSpec) -> None:
    if case.traffic.replay is not None:
        raise UsageError(
            "a bridge that does not learn has to know for whom frames are",
            why="whom those of a file are for nobody knows",
            fix="--set vswitch.learn=true, or --set vswitch.forwarding=xconnect",
        )
    if case.topology.dispatch == "udp" and len(case.topology.paths) > 1:
        raise UsageError(
            "a bridge does not see UDP ports, by which parallel paths are told apart",
            why="it looks at MAC addresses only",
            fix="--set topology.dispatch=mac",
        )


def _mac(number: int) -> str:
    return number.to_bytes(6).hex(":")
