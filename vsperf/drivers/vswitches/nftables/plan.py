"""Everything that making the router does, as steps. Pure."""

from __future__ import annotations

from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.kernel_ports import NETWORK, step, steps_of
from vsperf.drivers.vswitches.nftables.layout import Design, RouterPort, check, sysctls
from vsperf.drivers.vswitches.nftables.program import READING, entering
from vsperf.drivers.vswitches.ports import link_endpoint
from vsperf.records.run import Step


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    check(design)
    devices = [port.device for port in design.ports]
    steps = (
        *steps_of("tap", devices, devices, design.cpus),
        step(
            "give them addresses, and tell who is behind them, for good",
            *(line for port in design.ports for line in _addresses(port)),
        ),
        Step(
            component="vswitch",
            action="tell the kernel which connections pass, and what becomes of their addresses",
            argv=(*entering(NETWORK), *READING),
            lines=tuple(design.ruleset().splitlines()),
        ),
        step(
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
