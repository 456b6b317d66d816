"""The OpenFlow rules that a topology and its traffic ask for. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.errors import UsageError
from vsperf.spec.case import CaseSpec
from vsperf.spec.flows import (
    BENCHMARK,
    DESTINATION_PORT,
    SOURCE_PORT,
    flows_between,
    hosts,
    link_mac,
)
from vsperf.vswitches.ovs_dpdk.layout import SwitchPort
from vsperf.vswitches.ovs_dpdk.spec import OvsDpdkSpec

PRIORITY = 10
SHOWN = 8
"""Rules that a plan lists one by one."""
MOST_RULES = 2_097_152
"""A million flows each way, with some to spare; the daemon needs about a kilobyte for each."""


def rules(case: CaseSpec, spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> Iterator[str]:
    """Yield every rule, in the words of ovs-ofctl."""
    _check_count(case, spec, ports)
    ways = ends(case)
    for enters, leaves in passes(case, ports):
        head = f"priority={PRIORITY},in_port={enters}"
        tail = f"actions=output:{leaves}"
        if spec.flows == "port":
            yield f"{head},{tail}"
            continue
        for match in _matches(case, spec, ways[_link(ports, enters)]):
            yield f"{head},{match},{tail}"


def rule_count(case: CaseSpec, spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> int:
    """Return how many rules there are, without making them."""
    each = int(case.traffic.flows) if spec.flows in ("l3", "l4") else 1
    return each * len(passes(case, ports))


def shown_rules(case: CaseSpec, spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> list[str]:
    """Return the first rules, and how many more there are."""
    count = rule_count(case, spec, ports)
    first = [rule for rule, _ in zip(rules(case, spec, ports), range(SHOWN), strict=False)]
    return first if count <= SHOWN else [*first, f"… and {count - SHOWN} more"]


def passes(case: CaseSpec, ports: tuple[SwitchPort, ...]) -> tuple[tuple[int, int], ...]:
    """Return the ways through the switch: (port a frame enters by, port it leaves by).

    Both directions of every path, whatever the traffic: what is not used costs nothing.
    """
    numbers = {port.link: port.number for port in ports if port.link is not None}
    found: dict[int, int] = {}
    for first, second in case.topology.segments:
        for enters, leaves in ((first, second), (second, first)):
            if enters not in numbers or leaves not in numbers:
                raise UsageError(
                    f"the switch has no port for {leaves if enters in numbers else enters}",
                    fix="choose a topology of links only, such as p2p",
                )
            here, there = numbers[enters], numbers[leaves]
            if found.setdefault(here, there) != there:
                raise UsageError(
                    f"topology {case.topology.name} sends frames from {enters} two ways",
                    why="a rule per port cannot tell which of its paths a frame is on",
                    fix="let each link be on one path only",
                )
    return tuple(found.items())


def ends(case: CaseSpec) -> dict[str, tuple[str, str]]:
    """Return for the first hop of each way where its frames come from and where they go."""
    found = {}
    for path in case.topology.paths:
        found[path[0]] = (path[0], path[-1])
        found[path[-1]] = (path[-1], path[0])
    return found


def _matches(case: CaseSpec, spec: OvsDpdkSpec, way: tuple[str, str]) -> Iterator[str]:
    numbers = {link: number for number, link in enumerate(case.topology.links)}
    source, destination = numbers[way[0]], numbers[way[1]]
    if spec.flows == "l2":
        yield f"dl_src={link_mac(source)},dl_dst={link_mac(destination)}"
        return
    if spec.flows == "network":
        yield f"ip,nw_src={BENCHMARK},nw_dst={BENCHMARK}"
        return
    udp = f",tp_src={SOURCE_PORT},tp_dst={DESTINATION_PORT}" if spec.flows == "l4" else ""
    kind = "udp" if udp else "ip"
    for flow in flows_between(case.traffic, source, destination):
        yield f"{kind},nw_src={flow.source_ip},nw_dst={flow.destination_ip}{udp}"


def _link(ports: tuple[SwitchPort, ...], number: int) -> str:
    return next(str(port.link) for port in ports if port.number == number)


def _check_count(case: CaseSpec, spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> None:
    flows = int(case.traffic.flows)
    if spec.flows in ("l3", "l4") and hosts(flows) is None:
        raise UsageError(
            f"there are no rules for exactly {flows} flows",
            why="flows are hosts times hosts of 198.18.0.0/15, and this number is no such product",
            fix="--set traffic.flows=1048576, or vswitch.flows=port",
        )
    count = rule_count(case, spec, ports)
    if count > MOST_RULES:
        raise UsageError(
            f"{count} rules are too many",
            why=f"a rule per flow is meant for at most {MOST_RULES} of them",
            fix="--set vswitch.flows=port, or fewer flows",
        )
