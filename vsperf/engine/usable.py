"""What of cases can be carried out here, known before anything is tried: for plans and doctor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vsperf.config.case import Case, CaseSpec
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.engine.run import Planned
from vsperf.errors import NotReadyError, Problem, VsperfError
from vsperf.host.binding import pci_addresses, require_bindable
from vsperf.host.cpus import CpuTopology
from vsperf.host.doctor.examine import examine_parts
from vsperf.host.doctor.finding import Host
from vsperf.host.doctor.usable import lacking
from vsperf.plugins import Plugins

SPOILS = "functional only"
"""In a note of a plan: the result says nothing of how fast the switch is."""


def missing_here(item: Planned, plugins: Plugins) -> tuple[Problem, ...]:
    """Return what a case needs and this machine has not: by the checks that doctor makes.

    Nothing is started and nothing is tried, so a run may still find more: memory that others have,
    or a guest that does not boot.
    """
    spec = item.case.spec
    if spec.testbed.simulated:
        return ()
    switches = (spec.vswitch, *(one.spec.vswitch for one in spec.sides))
    parts = (*switches, spec.generator, spec.vnf, spec.program, spec.probe, spec.noise)
    here = Host(plugins=plugins, chosen=tuple(part for part in parts if part is not None))
    drivers = tuple(dict.fromkeys(parts_of(spec, item.drivers, plugins)))
    findings = examine_parts(drivers, here)
    found = [
        Problem(f"{one.name}: {one.evidence}", fix=one.fix)
        for driver in drivers
        for one in lacking(driver, findings)
    ]
    try:
        require_bindable(pci_addresses(spec.testbed.devices))
    except NotReadyError as error:
        found += error.problems
    return tuple(dict.fromkeys(found))


def parts_of(spec: CaseSpec, drivers: Drivers, plugins: Plugins) -> Iterator[object]:
    """Yield whoever takes part in a case, and whose guests its programs run in."""
    yield from taking_part(drivers)
    if spec.guests and spec.vnf is not None:
        yield plugins.driver("vnf", spec.vnf.kind)


def taking_part(drivers: Drivers) -> Iterator[object]:
    """Yield whoever takes part in a case, and may have something to look for."""
    programs = drivers.programs.all if drivers.programs is not None else ()
    yield from (*drivers.all, *drivers.sides, *drivers.collectors.values(), *programs)


@dataclass(frozen=True, slots=True)
class Plannable:
    """Whether a plan can be made of a case here."""

    mend: tuple[str, ...] = ()
    """What makes one possible, such as more CPUs; none where there is one."""
    spoilt: bool = False
    """Whether its result says nothing of how fast the switch is."""


def plannable(case: Case, drivers: Drivers, topology: CpuTopology) -> Plannable:
    """Make a plan of a case, and say what became of that."""
    try:
        made = make_plan(case.spec, drivers, topology)
    except VsperfError as error:
        return Plannable(mends(error))
    return Plannable(spoilt=any(SPOILS in note for note in made.plan.notes))


def mends(error: VsperfError) -> tuple[str, ...]:
    """Return how to mend what is wrong, each way once; where nobody says how, what it is."""
    return tuple(dict.fromkeys(one.fix or one.what for one in error.problems))
