"""A deployment that stands for people to use: brought up like a run's, and not measured.

The generator is left out unless it is asked for, so that somebody can plug in one of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from vsperf.config.abilities import EVERYTHING, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import Case, CaseSpec
from vsperf.config.wiring import outer_nics
from vsperf.deploy.deployment import Deployment, deploy, prepare
from vsperf.deploy.planner import OWN_ROLE, Drivers, make_plan
from vsperf.drivers.generators.base import OnSample, TrialRequest, Unmeasured
from vsperf.engine.readiness import require_ready
from vsperf.engine.run import Planned
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpus import CpuTopology, Needs, running_on
from vsperf.host.lock import testbed_lock
from vsperf.host.workspace import Workspace, workspace
from vsperf.methods.estimate import Estimate
from vsperf.plugins import Plugins
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.trial import TrialCounts
from vsperf.waits import sleep

LOOK_S = 1.0
"""Between two looks at whether every part still runs."""

NOTHING = Estimate(trials=0, seconds=0)
"""What is measured of a deployment that only stands."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A deployment that is up."""

    planned: Planned
    deployment: Deployment
    workspace: Workspace

    def failure(self) -> str | None:
        """Return why a part no longer works, or None while all of them do."""
        parts = (self.deployment.vnfs, self.deployment.switch, self.deployment.generator)
        found = (part.failure() for part in parts if part is not None)
        return next((why for why in found if why is not None), None)

    def watch(self) -> NoReturn:
        """Look at every part until one of them no longer works; then raise `ComponentError`."""
        while (why := self.failure()) is None:
            sleep(LOOK_S)
        raise ComponentError(
            "the deployment no longer works",
            why=why,
            fix="deploy it anew; `vsperf doctor` checks the machine",
        )


def plan_standing(
    case: Case, plugins: Plugins, topology: CpuTopology, *, with_generator: bool
) -> Planned:
    """Plan the deployment of one case; without the generator, its CPUs are left to the others."""
    drivers = Drivers.of(case.spec, plugins)
    if not with_generator:
        _refuse_outer_nics(case.spec)
        drivers = replace(drivers, generator=NoGenerator())
    plan = make_plan(case.spec, drivers, topology)
    if not plan.plan.placement.cpus:
        raise UsageError(
            f"there is nothing to deploy for {case.label}",
            why="no part of it runs on this machine"
            if not case.spec.testbed.simulated
            else "a model runs inside vsperf itself and ends with it",
            fix="choose a testbed with a real switch, such as --testbed local",
        )
    return Planned(case, plan, drivers, NOTHING)


@contextmanager
def standing(planned: Planned, plugins: Plugins, results: Path) -> Iterator[Standing]:
    """Bring a deployment up, under the rules of a run; leaving the context takes it down."""
    require_ready([planned], plugins, results)
    spec, plan = planned.case.spec, planned.plan
    purpose = f"vsperf deploy {spec.name}"
    place: Workspace | None = None
    try:
        with testbed_lock(spec.testbed.name, purpose), ExitStack() as stack:
            stack.enter_context(running_on(plan.plan.placement.of(OWN_ROLE)))
            place = stack.enter_context(workspace(purpose))
            prepare(spec, plan, place, stack)
            fed = not isinstance(planned.drivers.generator, NoGenerator)
            up = deploy(spec, plan, planned.drivers, place, stack, with_generator=fed)
            yield Standing(planned, up, place)
    finally:
        if place is not None:
            place.require_nothing_left()  # an interruption is how it usually ends


def _refuse_outer_nics(spec: CaseSpec) -> None:
    outer = outer_nics(spec.topology)
    if outer:
        nics = ", ".join(nic.port for nic in outer)
        raise UsageError(
            f"topology {spec.topology.name} cannot stand without a generator",
            why=f"the NICs {nics} are plugged into it, and a VNF does not begin to forward "
            "before each of its NICs is plugged in",
            fix="--with-generator, or a topology that begins and ends at links, such as pvvp",
        )


class NoGenerator(Unmeasured):
    """Takes the place of a generator that is not deployed."""

    kind = "none"
    summary = "no generator: one of the user's own is plugged in"
    Spec = DriverSpec

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return EVERYTHING  # whoever plugs one in knows what it can do

    def needs(self, case: CaseSpec) -> Needs:
        return Needs()

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        return ()

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[NoSession]:
        yield NoSession()


class NoSession:
    """A generator that is not there cannot fail, and cannot send."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        raise ComponentError("no generator was deployed", fix="deploy with --with-generator")

    def failure(self) -> str | None:
        return None

    def facts(self) -> dict[str, Any]:
        return {}
