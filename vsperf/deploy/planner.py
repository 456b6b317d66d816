"""From a case to its plan: a pure value that says all that will be done. Touches no host."""

from __future__ import annotations

from dataclasses import dataclass

from vsperf.errors import Problem, SpecError
from vsperf.plugins import Plugins
from vsperf.record.plan import Plan
from vsperf.spec.case import CaseSpec
from vsperf.trafficgens.base import TrafficGenerator
from vsperf.vswitches.base import SwitchPlan, VSwitch


@dataclass(frozen=True, slots=True)
class Drivers:
    """The drivers that a case names."""

    vswitch: VSwitch
    generator: TrafficGenerator

    @classmethod
    def of(cls, spec: CaseSpec, plugins: Plugins) -> Drivers:
        """Return the drivers for the kinds that `spec` names."""
        return cls(
            plugins.driver("vswitch", spec.vswitch.kind),
            plugins.driver("generator", spec.generator.kind),
        )


@dataclass(frozen=True, slots=True)
class CasePlan:
    """What is recorded of a plan, and what the switch driver needs to carry it out."""

    plan: Plan
    switch: SwitchPlan


def make_plan(spec: CaseSpec, drivers: Drivers) -> CasePlan:
    """Return everything that deploying `spec` will do, in order."""
    if spec.topology.machines and spec.vnf is None:
        machines = ", ".join(spec.topology.machines)
        raise SpecError(
            [
                Problem(
                    f"topology {spec.topology.name} has {machines}, but no `vnf` is given",
                    why="the frames have to pass through virtual machines that nobody starts",
                    fix="choose a topology without machines, such as p2p",
                )
            ]
        )
    switch = drivers.vswitch.plan(spec)
    steps = (*switch.steps, *drivers.generator.plan(spec, switch.endpoints))
    notes = ("SIMULATED: every number comes from a model",) if spec.testbed.simulated else ()
    plan = Plan(
        steps=steps, endpoints=switch.endpoints, directions=directions_of(spec), notes=notes
    )
    return CasePlan(plan, switch)


def directions_of(spec: CaseSpec) -> tuple[tuple[str, str], ...]:
    """Return the ways of the test traffic, each as (link it enters by, link it leaves by)."""
    forward = [(path[0], path[-1]) for path in spec.topology.paths]
    reverse = [(last, first) for first, last in forward]
    ways = {
        "both": [way for pair in zip(forward, reverse, strict=True) for way in pair],
        "forward": forward,
        "reverse": reverse,
    }
    return tuple(dict.fromkeys(ways[spec.traffic.direction]))
