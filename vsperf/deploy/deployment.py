"""Carrying out a plan: each part registers its undo with the stack before it acts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from vsperf.deploy.planner import CasePlan, Drivers
from vsperf.spec.case import CaseSpec
from vsperf.trafficgens.base import GeneratorSession
from vsperf.vswitches.base import RunningSwitch


@dataclass(frozen=True, slots=True)
class Deployment:
    """The running parts; they end with the stack that they were deployed on."""

    switch: RunningSwitch
    generator: GeneratorSession


def deploy(spec: CaseSpec, plan: CasePlan, drivers: Drivers, stack: ExitStack) -> Deployment:
    """Start everything that the plan names, the switch first."""
    switch = stack.enter_context(drivers.vswitch.start(spec, plan.switch))
    generator = stack.enter_context(
        drivers.generator.start(spec, plan.plan.endpoints, plan.plan.directions)
    )
    return Deployment(switch, generator)
