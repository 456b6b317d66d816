"""One case from its plan to its record: the whole of vsperf on one screen.

The measurer judges each trial (`judge.py`) before the search sees it; the search looks for the
bounds; closing draws the conclusions (`criteria.py`: criteria and outcome; the method's own word on
standards). What a case is run with is in `assignment.py`, what looks at it in `instruments.py`. The
seed of a repetition and the budget of a case are settled before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from vsperf.deploy.deployment import deploy, prepare
from vsperf.engine.assignment import CaseRun
from vsperf.engine.checks import check_path
from vsperf.engine.closing import as_failure, close_case, close_failed, close_interrupted, told_of
from vsperf.engine.conditions import clipped, outdated, uneven
from vsperf.engine.connections import measure_connections
from vsperf.engine.draws import ask_again, asked_again
from vsperf.engine.exchanges import measure_exchanges
from vsperf.engine.instruments import disturbed, instruments, looked_back
from vsperf.engine.measurer import MeasuredBench, warm_up
from vsperf.engine.paired import measure_together
from vsperf.errors import DiedError, RecordingError, VsperfError
from vsperf.host.workspace import LeftBehindError
from vsperf.methods.base import loads_of, method_of
from vsperf.methods.follow import Follower, followers, time_ns
from vsperf.progress import Calibrated, DeploymentKept
from vsperf.quantities.human import human_fps
from vsperf.records.host import Calibration
from vsperf.records.result import SearchResult
from vsperf.records.run import CaseRecord
from vsperf.search.verdict import NEAR

FOLLOWED = 2
"""Times that shares of an answer are measured at most: the first may move it."""


def run_case(run: CaseRun) -> tuple[CaseRecord, VsperfError | None]:
    """Measure a case, once more when a part of it died; what happens becomes a record.

    Only that nothing can be recorded is raised.
    """
    again: tuple[str, ...] = ()
    if run.why_again:
        again = (
            f"measured anew, with a cap of the generator that can be believed: {run.why_again}",
        )
    try:
        measure = _way_of(run)
        try:
            record = measure(run, again)
        except DiedError as error:
            again += (f"measured anew on a fresh deployment: {error.with_why}",)
            record = measure(run, again)
        return _taken_down(run, record)
    except RecordingError:
        raise  # what cannot be written down does not end the case: a resumed run measures it
    except (VsperfError, OSError) as error:
        failure = as_failure(error)
        return close_failed(run.case, failure, run.made, again), failure
    except KeyboardInterrupt:
        with suppress(RecordingError):  # without this line, too, a resumed run begins it anew
            run.writer.append(close_interrupted(run.case, run.made))
        raise


def _taken_down(run: CaseRun, record: CaseRecord) -> tuple[CaseRecord, VsperfError | None]:
    """Return a record with what went wrong when all had been measured, and that as the error."""
    if not run.undone:
        return record, None
    error = as_failure(run.undone[0])
    warned = (*record.warnings, f"after all was measured: {told_of(error)}")
    return record.model_copy(update={"warnings": warned}), error


def _way_of(run: CaseRun) -> Callable[[CaseRun, tuple[str, ...]], CaseRecord]:
    """Return how a case is measured: by frames, in turns, by programs, or by connections."""
    if run.case.spec.has_places:
        return measure_exchanges
    if run.case.spec.has_connections:
        return measure_connections
    return measure_together if run.plan.sides else _measure


def _measure(run: CaseRun, warnings: tuple[str, ...] = ()) -> CaseRecord:
    """Calibrate, deploy, check the path, measure by the method and by what follows it."""
    spec, plan, first = run.case.seeded_spec, run.plan, len(run.trials)
    with run.deploying() as (place, stack):
        groups = prepare(spec, plan, place, stack)
        run.enter("calibrate")
        jitter = run.calibrator.jitter(spec, plan, run.drivers, place)
        calibration = run.calibrator.calibration(spec, plan, run.drivers, place)
        cap_fps = calibration.cap_fps if calibration else None
        loads = loads_of(spec, cap_fps)
        run.emit(Calibrated(run.case, cap_fps))
        warnings += clipped(spec, loads) + uneven(spec)
        run.enter("deploy")
        deployment = deploy(spec, plan, run.drivers, place, stack)
        known = calibration, jitter
        looking = instruments(run, deployment, place, known, groups)
        around = stack.enter_context(looking)
        run.enter("check the path")
        warnings += check_path(around.measurer, spec)
        stack.enter_context(disturbed(run, around, place))
        warnings += warm_up(run, around.measurer, loads)
        run.enter("search")
        bench, after = MeasuredBench(around.measurer, loads), followers(spec)
        apart_ns = around.collecting.time_ns(bench.overhead_ns)
        apart_ns += method_of(spec).drawing_ns(bench)
        with run.budget.holding_back(time_ns(after, bench) + apart_ns):
            result = method_of(spec).run(bench)
        with run.budget.holding_back(apart_ns):
            result, said = followed(run, result, bench, after, first)
        warnings += said
        if around.collecting.apart:
            run.enter("collect")
        warnings += around.collecting.own_trials(around.measurer, result)
        around.found = looked_back(around.found, deployment.generator)
        if run.keep() and not asked_again(spec, result):
            place.keep()
            run.emit(DeploymentKept(run.case, str(place.folder), deployment.access))
    trials = tuple(run.trials[first:])
    if calibration is not None and not run.why_again and outdated(calibration, result, trials):
        warnings += _cap_again(run, calibration)
    if not run.outgrown:
        result, said = ask_again(run, result, trials, loads, known)
        warnings += said
    return close_case(run.case, plan, result, run.trials[first:], around.found, warnings)


def _cap_again(run: CaseRun, known: Calibration) -> tuple[str, ...]:
    """Measure a cap anew at once that may be too low, as an answer ended at it.

    Where it is higher by now the case is to be measured again. Where there is no time for that, or
    the deployment stays up, it is the next run's, which is said.
    """
    spec, plan, left_ns = run.case.seeded_spec, run.plan, run.budget.left_ns
    said = run.calibrator.forget(spec, plan, known)
    late = left_ns is not None and left_ns < run.budget.spent_ns
    if late or run.undone or run.keep():
        return said
    try:
        with run.deploying() as (place, stack):
            prepare(spec, plan, place, stack)
            run.enter("calibrate")
            now = run.calibrator.calibration(spec, plan, run.drivers, place)
    except RecordingError:
        raise
    except (VsperfError, OSError) as error:  # there is an answer, which this takes nothing of
        if isinstance(error, LeftBehindError):
            run.undone.append(error)
        return said
    if now is not None and known.cap_fps < now.cap_fps * NEAR:
        before, more = human_fps(known.cap_fps), human_fps(now.cap_fps)
        whose = "of an earlier run" if known.cached else "found with the CPUs farther apart"
        run.outgrown.append(f"the one {whose} was {before}, and now it is {more}")
    elif not known.cached:
        run.calibrator.stand_by(spec, plan, known)
    return said if run.undone else ()


def followed(
    run: CaseRun,
    result: SearchResult,
    bench: MeasuredBench,
    after: Sequence[Follower],
    first: int,
) -> tuple[SearchResult, tuple[str, ...]]:
    """Have followers measure at shares of what was found; return what that leaves of it.

    What they lose there may take a bound back. Then they measure once more, at shares of the new.
    The trials of this attempt are those from number `first` on.
    """
    warnings: tuple[str, ...] = ()
    for left in reversed(range(FOLLOWED)):
        warnings = ()
        for follower in after:
            run.enter(follower.phase)
            warnings += follower.follow(result, bench)
        if not after:
            break
        run.enter("search")
        made = bench.measurer.trials[first:]
        with run.budget.holding_back(time_ns(after, bench) if left else 0):
            again = method_of(run.case.seeded_spec).reconsidered(result, bench, made)
        if [one.lower_fps for one in again.goals] == [one.lower_fps for one in result.goals]:
            return again, warnings
        result = again
    else:
        warnings += ("what followed was measured at shares of a bound that its trials took back",)
    return result, warnings
