"""VPP as a router: addresses, neighbours and routes, from the topology. Pure.

Each port has a table of its own, in which stands where frames go that enter there. So a frame that
comes back from a VNF takes another way than it took before. Neighbours are told, and nobody is
asked by ARP.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.config.flows import BENCHMARKS, host_ip
from vsperf.config.traffic import Layer3
from vsperf.config.wiring import Pass, forks, passes
from vsperf.drivers.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.drivers.vswitches.vpp.layout import SwitchPort, end_number, sent_on_to
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
