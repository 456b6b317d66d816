"""The calls by which VPP is told where frames go: cross-connects, bridges, routes. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.config.flows import lane_mac
from vsperf.config.topology import Topology
from vsperf.config.wiring import Pass, passes
from vsperf.drivers.vswitches.forwarding import groups, partners
from vsperf.drivers.vswitches.vpp.calls import Call, InterfaceOf
from vsperf.drivers.vswitches.vpp.layout import SwitchPort, addressed_to, end_number
from vsperf.drivers.vswitches.vpp.nat import translating
from vsperf.drivers.vswitches.vpp.routes import check_routes, idle_routes, routing
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import UsageError

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
