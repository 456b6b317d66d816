"""Rules of a switch that tracks connections and rewrites their addresses. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.config.case import CaseSpec
from vsperf.config.connections import SERVICE_PORT, clients_of, servers_of
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.spec import OvsSettings
from vsperf.errors import UsageError

PRIORITY = 10
ZONE = 1
TRACKED = 1
"""Table of rules for what has been looked up among known connections."""
COUNT = 5


def tracking_rules(
    case: CaseSpec, spec: OvsSettings, ports: tuple[SwitchPort, ...]
) -> Iterator[str]:
    """Yield rules that let pass what a client began, and what belongs to it."""
    check_tracking(case, spec)
    numbers = {port.place: port.number for port in ports}
    clients, servers = clients_of(case), servers_of(case)
    inner, outer = numbers[clients.link], numbers[servers.link]
    looked_up = f"ct(table={TRACKED},zone={ZONE},nat)"
    for port in (inner, outer):
        yield f"priority={PRIORITY},in_port={port},ct_state=-trk,tcp,actions={looked_up}"
    known = f"table={TRACKED},priority={PRIORITY},ct_state=+trk+est,tcp"
    yield f"{known},in_port={inner},actions=output:{outer}"
    yield f"{known},in_port={outer},actions=output:{inner}"
    called, rewritten = "", ""
    if spec.nat == "source":
        rewritten = f",nat(src={servers.device_ip})"
    elif spec.nat == "destination":
        called = f",nw_dst={clients.service_ip},tp_dst={SERVICE_PORT}"
        first, last = servers.ips[0], servers.ips[-1]
        rewritten = f",nat(dst={first}{'' if first == last else f'-{last}'})"
    new = f"table={TRACKED},priority={PRIORITY},ct_state=+trk+new,tcp{called},in_port={inner}"
    yield f"{new},actions=ct(commit,zone={ZONE}{rewritten}),output:{outer}"


def check_tracking(case: CaseSpec, spec: OvsSettings) -> None:
    """Refuse what does not go with rules for connections."""
    if not case.has_connections:
        raise UsageError(
            f"vswitch.nat is {spec.nat}, and the method {case.search.kind} opens no connections",
            why="rules that track connections let nothing else pass",
            fix="--set search.kind=cps, or leave vswitch.nat out",
        )
    others = {
        "vswitch.flows": spec.flows != "port",
        "vswitch.modify": spec.modify is not None,
        "vswitch.filters": bool(spec.filters),
        f"topology {case.topology.name}": bool(case.topology.vnfs),
    }
    for name, there in others.items():
        if there:
            raise UsageError(
                f"vswitch.nat is {spec.nat}, which does not go with {name}",
                why="it has rules of its own, between the two ends of connections",
                fix=f"leave {name} out, or vswitch.nat",
            )
