"""One case from its plan to its record: the whole of vsperf on one screen.

The measurer judges each trial (`judge.py`) before the search sees it; the search looks for the
bounds; closing draws the conclusions (`criteria.py`: criteria and outcome; `search/compliance.py`:
standards). The seed of a repetition and the budget of a case are settled before.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field

from vsperf.deploy.deployment import deploy, prepare
from vsperf.deploy.planner import OWN_ROLE, CasePlan, Drivers
from vsperf.engine.bench import MeasuredBench
from vsperf.engine.checks import check_path
from vsperf.engine.closing import close_case, close_failed, close_interrupted
from vsperf.engine.groundwork import Groundwork
from vsperf.engine.measurer import Measurer
from vsperf.engine.surroundings import clipped, outdated, uneven
from vsperf.engine.watch import Watch
from vsperf.errors import ComponentError, DiedError, RecordingError, VsperfError
from vsperf.events import DeploymentKept, Emit, PhaseEntered, TrialFinished, TrialStarted
from vsperf.host.affinity import running_on
from vsperf.host.workspace import Nowhere, Workspace, workspace
from vsperf.methods.base import Manner, loads_of, method_of
from vsperf.methods.follow import followers
from vsperf.record.host import Surroundings
from vsperf.record.run import CaseRecord, SecondLine, TrialLine
from vsperf.record.trial import Purpose, Trial
from vsperf.search.base import Budget
from vsperf.spec.case import Case
from vsperf.spec.wiring import load_shares
from vsperf.store.writer import RunWriter
from vsperf.trafficgens.base import TrialRequest


@dataclass(frozen=True, slots=True)
class CaseRun:
    """What running one case needs."""

    case: Case
    plan: CasePlan
    drivers: Drivers
    writer: RunWriter
    emit: Emit
    budget: Budget
    groundwork: Groundwork
    keep: bool = False
    """Whether the deployment stays up afterwards."""
    trials: list[Trial] = field(default_factory=list)
    """Every trial that was made, those of an attempt that failed included."""


def run_case(run: CaseRun) -> tuple[CaseRecord, VsperfError | None]:
    """Measure a case, once more when a part of it died; what happens becomes a record.

    Only that nothing can be recorded is raised.
    """
    try:
        try:
            return _measure(run), None
        except DiedError as error:
            again = f"measured anew on a fresh deployment: {error.with_why}"
            return _measure(run, (again,)), None
    except RecordingError:
        raise  # what cannot be written down does not end the case: a resumed run measures it
    except VsperfError as error:
        return close_failed(run.case, error, run.trials), error
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        refused = ComponentError(f"the system refused{name}: {error.strerror or error}")
        return close_failed(run.case, refused, run.trials), refused
    except KeyboardInterrupt:
        with suppress(RecordingError):  # without this line, too, a resumed run begins it anew
            run.writer.append(close_interrupted(run.case, run.trials))
        raise


def _measure(run: CaseRun, warnings: tuple[str, ...] = ()) -> CaseRecord:
    """Calibrate, deploy, check the path, measure by the method and by what follows it."""
    case, spec, plan, first = run.case, run.case.seeded_spec, run.plan, len(run.trials)
    with ExitStack() as stack:
        stack.enter_context(running_on(plan.plan.placement.of(OWN_ROLE)))
        place = stack.enter_context(_workspace(run))
        prepare(spec, plan, place, stack)
        run.emit(PhaseEntered(case, "calibrate"))
        noise = run.groundwork.noise(spec, plan, run.drivers, place)
        calibration = run.groundwork.calibration(spec, plan, run.drivers, place)
        loads = loads_of(spec, calibration.cap_fps if calibration else None)
        warnings += clipped(spec, loads) + uneven(spec)
        run.emit(PhaseEntered(case, "deploy"))
        deployment = deploy(spec, plan, run.drivers, place, stack)
        watch = Watch(
            deployment.switch,
            deployment.generator,
            deployment.machines,
            plan.busy_cpus,
            place.polling_threads,
        )
        found = Surroundings(
            calibration=calibration,
            stalls=noise.stalls,
            round_trip_ns=watch.round_trip_ns(),
            switch=deployment.switch.facts(),
            generator=deployment.generator.facts(),
            machines=deployment.machines.facts() if deployment.machines else {},
        )
        measurer = Measurer(
            generator=deployment.generator,
            watch=watch,
            policy=spec.trial,
            budget=run.budget,
            directions=len(plan.plan.directions),
            even=spec.traffic.evenly,
            begin=lambda *trial: run.emit(TrialStarted(case, *trial)),
            record=lambda trial: _record(run, trial),
            record_second=lambda second: run.writer.append(
                SecondLine(case=case.key, second=second)
            ),
            trials=run.trials,
            shares=load_shares(spec.topology, spec.traffic),
        )
        run.emit(PhaseEntered(case, "check the path"))
        warnings += check_path(measurer, spec)
        if not fits(spec.trial.warm_up.ns, run.budget):
            warnings += ("no warm-up trial: the time would not suffice for it",)
        elif spec.trial.warm_up.ns:
            run.emit(PhaseEntered(case, "warm up"))
            measurer.attempt(  # whatever its flags: nothing is concluded from it
                TrialRequest(loads.maximum, spec.trial.warm_up.ns), Manner(Purpose.WARM_UP)
            )
        run.emit(PhaseEntered(case, "search"))
        bench, after = MeasuredBench(measurer, loads), followers(spec)
        lengths_ns = [ns for follower in after for ns in follower.durations_ns]
        with run.budget.holding_back(sum(lengths_ns) + len(lengths_ns) * bench.overhead_ns):
            result = method_of(spec).run(bench)
        for follower in after:
            run.emit(PhaseEntered(case, follower.phase))
            warnings += follower.follow(result, bench)
        if calibration is not None and outdated(calibration, result):
            run.groundwork.forget(spec, plan)
            warnings += (
                f"the generator was calibrated at {calibration.measured_at} and may do more by "
                "now: the next run measures it anew",
            )
        if run.keep:
            place.keep()
            run.emit(DeploymentKept(case, str(place.folder), deployment.access))
        run.emit(PhaseEntered(case, "tear down"))
    place.require_nothing_left()
    return close_case(case, plan, result, run.trials[first:], found, warnings)


def _workspace(run: CaseRun) -> AbstractContextManager[Workspace]:
    """Give the parts a place on this machine, if any of them needs one."""
    needed = bool(run.plan.plan.placement.cpus)
    return workspace(run.writer.run) if needed else nullcontext(Nowhere())


def fits(duration_ns: int, budget: Budget) -> bool:
    """Whether something that is not the search may take so long: up to a quarter of the time."""
    return budget.left_ns is None or duration_ns <= budget.left_ns // 4


def _record(run: CaseRun, trial: Trial) -> None:
    run.writer.append(TrialLine(case=run.case.key, trial=trial))
    run.emit(TrialFinished(run.case, trial))
