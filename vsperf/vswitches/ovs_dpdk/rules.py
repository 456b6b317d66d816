"""The OpenFlow rules that a topology and its traffic ask for. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsperf.errors import UsageError
from vsperf.spec.case import CaseSpec
from vsperf.spec.flows import (
    BENCHMARK,
    DESTINATION_PORT,
    SOURCE_PORT,
    flows_between,
    hosts,
    lane_ip,
    lane_mac,
    link_mac,
)
from vsperf.spec.traffic import Encapsulation
from vsperf.spec.wiring import Pass, passes
from vsperf.vswitches.ovs_dpdk.layout import SwitchPort
from vsperf.vswitches.ovs_dpdk.spec import OvsDpdkSpec

PRIORITY = 10
SHOWN = 8
"""Rules that a plan lists one by one."""
MOST_RULES = 2_097_152
"""A million flows each way, with some to spare; the daemon needs about a kilobyte for each."""


def rules(case: CaseSpec, spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> Iterator[str]:
    """Yield every rule, in the words of ovs-ofctl."""
    _check(case, spec)
    numbers = {port.place: port.number for port in ports}
    ways = passes(case.topology)
    for way in ways:
        head = f"priority={PRIORITY},in_port={numbers[way.enters]}"
        tail = f"actions=output:{numbers[way.leaves]}"
        for match in _matches(case, spec, way, forks=_forks(way, ways)):
            yield ",".join((head, *((match,) if match else ()), tail))


def rule_count(case: CaseSpec, spec: OvsDpdkSpec) -> int:
    """Return how many rules there are, without making them."""
    flows = int(case.traffic.flows) if spec.flows in ("l3", "l4") else 1
    return sum(flows if _from_link(case, way) else 1 for way in passes(case.topology))


def shown_rules(case: CaseSpec, spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> list[str]:
    """Return the first rules, and how many more there are."""
    count = rule_count(case, spec)
    first = [rule for rule, _ in zip(rules(case, spec, ports), range(SHOWN), strict=False)]
    return first if count <= SHOWN else [*first, f"… and {count - SHOWN} more"]


def _forks(way: Pass, ways: Sequence[Pass]) -> bool:
    """Whether frames that enter where `way` does leave by more than one port."""
    return any(other.enters == way.enters and other.leaves != way.leaves for other in ways)


def _from_link(case: CaseSpec, way: Pass) -> bool:
    """Whether frames come from outside, where they are as the generator made them."""
    return way.enters in case.topology.links


def _matches(case: CaseSpec, spec: OvsDpdkSpec, way: Pass, *, forks: bool) -> Iterator[str]:
    """Yield what tells the frames of one way from others that enter by the same port.

    Only rules at links look for single streams: a machine may have rewritten their addresses.
    """
    if forks:
        yield _lane(case, spec, way)
    elif spec.flows == "network":
        yield f"ip,nw_src={BENCHMARK},nw_dst={BENCHMARK}"
    elif spec.flows == "port" or not _from_link(case, way):
        yield ""
    else:
        yield from _streams(case, spec, way)


def _lane(case: CaseSpec, spec: OvsDpdkSpec, way: Pass) -> str:
    """Return what tells one of several parallel paths, or one of two directions, from the other."""
    number = case.topology.links.index(way.path[-1])
    match case.topology.dispatch:
        case "mac":
            found = f"dl_dst={lane_mac(number, way.lane)}"
            network = f",ip,nw_src={BENCHMARK},nw_dst={BENCHMARK}"
            return found + (network if spec.flows == "network" else "")
        case "ip":
            return f"ip,nw_dst={lane_ip(number, way.lane)}"
        case "udp":
            return f"udp,dl_dst={link_mac(number)},tp_dst={DESTINATION_PORT + way.lane}"


def _streams(case: CaseSpec, spec: OvsDpdkSpec, way: Pass) -> Iterator[str]:
    """Yield a match for each stream of the traffic from one link to another."""
    source, destination = (case.topology.links.index(end) for end in (way.path[0], way.path[-1]))
    if spec.flows == "l2":
        yield f"dl_src={link_mac(source)},dl_dst={link_mac(destination)}"
        return
    udp = f",tp_src={SOURCE_PORT},tp_dst={DESTINATION_PORT}" if spec.flows == "l4" else ""
    kind = "udp" if udp else "ip"
    for flow in flows_between(case.traffic, source, destination):
        yield f"{kind},nw_src={flow.source_ip},nw_dst={flow.destination_ip}{udp}"


def _check_tunnel(tunnel: Encapsulation, spec: OvsDpdkSpec, *, forked: bool) -> None:
    """Refuse rules by what the switch would only find inside of a tunnel."""
    if forked:
        raise UsageError(
            f"frames in {tunnel.kind} cannot be sent several ways from one port",
            why="what tells their paths apart lies inside of the tunnel",
            fix="choose another topology, or no traffic.encapsulation",
        )
    if spec.flows in ("l2", "l3", "l4"):
        raise UsageError(
            f"vswitch.flows={spec.flows} asks for rules by what is inside of {tunnel.kind}",
            why="a switch that forwards sees the outer headers only",
            fix="--set vswitch.flows=port",
        )
    if spec.flows == "network" and tunnel.underlay == "ipv6":
        raise UsageError(
            f"vswitch.flows=network matches IPv4, and {tunnel.kind} is on IPv6 here",
            fix="--set vswitch.flows=port",
        )


def _check_replay(spec: OvsDpdkSpec, *, forked: bool) -> None:
    """Refuse rules by addresses, which in a file are whatever they are."""
    if forked:
        raise UsageError(
            "the frames of a file cannot be sent several ways from one port",
            why="nothing in them tells their paths apart",
            fix="choose another topology, or no traffic.replay",
        )
    if spec.flows != "port":
        raise UsageError(
            f"vswitch.flows={spec.flows} asks for rules by the generator's own addresses",
            why="those of a file that is replayed are others",
            fix="--set vswitch.flows=port",
        )


def _check(case: CaseSpec, spec: OvsDpdkSpec) -> None:
    ways, flows = passes(case.topology), int(case.traffic.flows)
    forked = [way for way in ways if _forks(way, ways)]
    if case.traffic.encapsulation is not None:
        _check_tunnel(case.traffic.encapsulation, spec, forked=bool(forked))
    if case.traffic.replay is not None:
        _check_replay(spec, forked=bool(forked))
    if forked and spec.flows in ("l2", "l3", "l4"):
        raise UsageError(
            f"topology {case.topology.name} sends frames from {forked[0].enters} several ways, "
            f"and vswitch.flows={spec.flows} asks for rules by stream",
            why=f"they are told apart by topology.dispatch={case.topology.dispatch} already",
            fix="--set vswitch.flows=port, or network",
        )
    if spec.flows in ("l3", "l4") and hosts(flows) is None:
        raise UsageError(
            f"there are no rules for exactly {flows} flows",
            why="flows are hosts times hosts of 198.18.0.0/15, and this number is no such product",
            fix="--set traffic.flows=1048576, or vswitch.flows=port",
        )
    count = rule_count(case, spec)
    if count > MOST_RULES:
        raise UsageError(
            f"{count} rules are too many",
            why=f"a rule per flow is meant for at most {MOST_RULES} of them",
            fix="--set vswitch.flows=port, or fewer flows",
        )
