"""Everything that making the bridges does, as steps. Pure."""

from __future__ import annotations

from vsperf.drivers.vswitches.base import SwitchPlan, wire_of
from vsperf.drivers.vswitches.kernel_ports import NETWORK, step, steps_of
from vsperf.drivers.vswitches.linux_bridge.layout import Design, check
from vsperf.drivers.vswitches.ports import link_endpoint

SHOWN = 8
"""Addresses that a plan lists one by one."""


def switch_plan(design: Design) -> SwitchPlan:
    """Return all steps, and where the ports will be."""
    check(design)
    kind = "pair of devices" if design.case.has_places else "tap"
    made = [port.device for port in design.ports if port.place.link is not None]
    steps = [
        *steps_of(kind, made, (port.device for port in design.ports), design.cpus),
        step(
            "make the bridges and their ports at once",
            *(f"bridge {name}: {', '.join(ports)}" for name, ports in design.bridges.items()),
        ),
    ]
    if entries := design.entries:
        lines = [f"{entry.mac} behind {entry.port}" for entry in entries[:SHOWN]]
        if len(entries) > SHOWN:
            lines.append(f"… and {len(entries) - SHOWN} more")
        steps.append(step("tell them where addresses are, as they learn none", *lines))
    return SwitchPlan(
        tuple(steps),
        tuple(
            link_endpoint(design.case, port.place, port.device, NETWORK)
            for port in design.ports
            if port.place.link is not None
        ),
        tuple(
            wire_of(port.place.nic, "tap", port.device)
            for port in design.ports
            if port.place.nic is not None
        ),
    )
