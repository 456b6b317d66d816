"""The OpenFlow rules that a topology asks for. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.errors import UsageError
from vsperf.spec.case import CaseSpec
from vsperf.vswitches.ovs_dpdk.layout import SwitchPort
from vsperf.vswitches.ovs_dpdk.spec import OvsDpdkSpec

PRIORITY = 10
SHOWN = 8
"""Rules that a plan lists one by one."""


def rules(case: CaseSpec, spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> Iterator[str]:
    """Yield every rule, in the words of ovs-ofctl."""
    if spec.flows != "port":
        raise UsageError(
            f"rules of the kind {spec.flows} are not there yet", fix="--set vswitch.flows=port"
        )
    for enters, leaves in passes(case, ports):
        yield f"priority={PRIORITY},in_port={enters},actions=output:{leaves}"


def shown_rules(case: CaseSpec, spec: OvsDpdkSpec, ports: tuple[SwitchPort, ...]) -> list[str]:
    """Return the first rules and the last one, with how many are between them."""
    first: list[str] = []
    last, count = "", 0
    for count, last in enumerate(rules(case, spec, ports), start=1):
        if count < SHOWN:
            first.append(last)
    if count < SHOWN:
        return first
    between = [f"… {count - SHOWN} more"] if count > SHOWN else []
    return [*first, *between, last]


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
