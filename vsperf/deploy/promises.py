"""What a switch's driver answers is held against its protocol, so that a slip of it has its name.

Else it came out where its answer is used, as a bug of vsperf.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.deploy.cpu_looks import FORWARDS
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.plugins import DriverError
from vsperf.records.run import Endpoint, Placement, Step, Wire
from vsperf.records.threads import SWITCH


def needs_of(driver: Any, spec: CaseSpec) -> Needs:
    """Return what a part asks of the machine."""
    found = driver.needs(spec)
    if not isinstance(found, Needs):
        raise DriverError(driver, f"`needs` returned {_told(found)}, and not `Needs`")
    _hold_items(driver, "Needs.cpus", found.cpus, CpuNeed)
    return found


def switch_needs(driver: VSwitch, spec: CaseSpec) -> Needs:
    """Return what a switch asks of the machine, by roles that others know."""
    found = needs_of(driver, spec)
    for need in found.cpus:
        if need.role != FORWARDS and not need.role.startswith(SWITCH):
            why = f"`needs` asks for CPUs by the role {need.role!r}; a switch has {FORWARDS!r}, for"
            raise DriverError(driver, f"{why} threads that never sleep, and '{SWITCH} …'")
    return found


def switch_plan(driver: VSwitch, spec: CaseSpec, placement: Placement) -> SwitchPlan:
    """Return what a switch will do; each link has one endpoint."""
    found = driver.plan(spec, placement)
    if not isinstance(found, SwitchPlan):
        raise DriverError(driver, f"`plan` returned {_told(found)}, and not a `SwitchPlan`")
    _hold_items(driver, "SwitchPlan.steps", found.steps, Step)
    _hold_items(driver, "SwitchPlan.endpoints", found.endpoints, Endpoint)
    _hold_items(driver, "SwitchPlan.wires", found.wires, Wire)
    ends = Counter(one.link for one in found.endpoints)
    if ends != Counter(spec.topology.links):
        told = ", ".join(ends.elements()) or "none"
        wanted = ", ".join(spec.topology.links)
        what = f"`plan` has endpoints for {told}; the topology {spec.topology.name} has the links"
        raise DriverError(driver, f"{what} {wanted}, and each has one")
    return found


def _hold_items(driver: object, name: str, found: object, kind: type) -> None:
    if not isinstance(found, tuple):
        raise DriverError(driver, f"{name} is {_told(found)}, and not a tuple of `{kind.__name__}`")
    for one in found:
        if not isinstance(one, kind):
            raise DriverError(driver, f"{name} holds {_told(one)}, and not only `{kind.__name__}`")


def _told(found: object) -> str:
    return "None" if found is None else f"a `{type(found).__name__}`"
