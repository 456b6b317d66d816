"""Everything that making the router does, as steps. Pure."""

from __future__ import annotations

from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.nftables.layout import (
    MTU,
    NETWORK,
    Design,
    RouterPort,
    check,
    sysctls,
)
from vsperf.drivers.vswitches.nftables.program import READING, entering
from vsperf.drivers.vswitches.ports import link_endpoint
from vsperf.records.run import Step


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    check(design)
    cpus = ", ".join(str(cpu) for cpu in design.cpus)
    steps = (
        _step("make a network namespace of its own", f"namespace {NETWORK}"),
        _step(
            "make a tap for each link",
            *(f"tap {port.device} up, mtu {MTU}, without IPv6 and ARP" for port in design.ports),
        ),
        _step(
            f"move all of them there, and have CPU {cpus} forward what comes in by them",
            *(port.device for port in design.ports),
        ),
        _step(
            "give them addresses, and tell who is behind them, for good",
            *(line for port in design.ports for line in _addresses(port)),
        ),
        Step(
            component="vswitch",
            action="tell the kernel which connections pass, and what becomes of their addresses",
            argv=(*entering(NETWORK), *READING),
            lines=tuple(design.ruleset().splitlines()),
        ),
        _step(
            "have it forward between them",
            *(
                f"{name.replace('/', '.')} = {value}"
                for name, value in sysctls(design.spec).items()
            ),
        ),
    )
    ends = tuple(
        link_endpoint(design.case, port.place, port.device, NETWORK) for port in design.ports
    )
    return SwitchPlan(steps, ends)


def _addresses(port: RouterPort) -> tuple[str, ...]:
    first, last = port.end.ips[0], port.end.ips[-1]
    hosts = first if first == last else f"{first} to {last}"
    return (f"{port.device} is {port.address}", f"{hosts} are {port.end.mac} behind {port.device}")


def _step(action: str, *lines: str) -> Step:
    return Step(component="vswitch", action=action, lines=lines)
