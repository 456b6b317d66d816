"""What a case is measured with once its parts stand: the watch, the measurer, the collectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vsperf.config.wiring import load_shares
from vsperf.deploy.deployment import Deployment
from vsperf.drivers.collectors.base import Parts
from vsperf.drivers.generators.base import GeneratorSession, HostJitter, KnowsMoreLater
from vsperf.engine.assignment import CaseRun
from vsperf.engine.background_load import background_load, with_noise
from vsperf.engine.collecting import Collecting, collected
from vsperf.engine.measurer import Measurer
from vsperf.engine.watch import Watch
from vsperf.host.resctrl import Groups
from vsperf.host.workspace import Workspace
from vsperf.records.host import Calibration, Conditions

OF_A_MODEL = (0, 1)
"""CPUs of a model, which have no numbers; it says itself whether there is a way between them."""


@dataclass
class Instruments:
    """All that looks at a deployment, and what it found before the first trial."""

    measurer: Measurer
    collecting: Collecting
    found: Conditions


@contextmanager
def instruments(
    run: CaseRun,
    deployment: Deployment,
    place: Workspace,
    known: tuple[Calibration | None, HostJitter],
    groups: Groups | None = None,
    number: int = 1,
) -> Iterator[Instruments]:
    """Look at what was deployed; light collectors run until the context is left.

    They do so on the first deployment of a case, whose answer they are there to explain. What is
    `known` of generator and machine is from before there was a switch.
    """
    calibration, jitter = known
    spec, plan = run.case.seeded_spec, run.plan
    watch = Watch(
        deployment.switch,
        deployment.generator,
        deployment.vnfs,
        OF_A_MODEL if spec.testbed.simulated else plan.busy_cpus,
        place.polling_threads,
        cache=groups,
    )
    found = Conditions(
        calibration=calibration,
        stalls=jitter.stalls,
        round_trip_ns=watch.round_trip_ns(),
        switch=deployment.switch.facts(),
        generator=deployment.generator.facts(),
        vnfs=deployment.vnfs.facts() if deployment.vnfs else {},
    )
    placement = plan.plan.placement
    where = (run.writer, run.attempt)
    collectors = run.drivers.collectors if number == 1 else {}
    parts = Parts(deployment.switch, deployment.vnfs, deployment.generator, deployment.entries)
    with collected(run.case, collectors, parts, placement, place, where) as collecting:
        measurer = Measurer(
            generator=deployment.generator,
            watch=watch,
            policy=spec.trial,
            budget=run.budget,
            directions=len(plan.plan.directions),
            even=spec.traffic.evenly,
            begin=run.begin,
            record=run.record,
            record_second=run.record_second,
            holding=run.hold,
            trials=run.trials,
            shares=load_shares(spec.topology, spec.traffic),
            around=collecting,
            generator_can=plan.generator_can,
            deployment=number,
        )
        yield Instruments(measurer, collecting, found)


def looked_back(found: Conditions, generator: GeneratorSession) -> Conditions:
    """Add what the generator knows of itself only when all trials are over."""
    if not isinstance(generator, KnowsMoreLater):
        return found
    return found.model_copy(update={"generator": found.generator | generator.late_facts()})


@contextmanager
def disturbed(run: CaseRun, around: Instruments, place: Workspace) -> Iterator[None]:
    """Run what is to disturb the case, if anything is, and look at it in each trial."""
    with background_load(run, place) as beside:
        around.measurer.watch.background_load = beside
        around.found = with_noise(around.found, beside)
        yield
