"""One case from its plan to its record: the whole of vsperf on one screen.

The measurer judges each trial (`judge.py`) before the search sees it; the search looks for the
bounds; closing draws the conclusions (`criteria.py`: criteria and outcome; `search/compliance.py`:
standards). The seed of a repetition and the budget of a case are settled before.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from vsperf.deploy.deployment import deploy
from vsperf.deploy.planner import CasePlan, Drivers
from vsperf.engine.checks import check_path
from vsperf.engine.closing import close_case, close_failed, close_interrupted
from vsperf.engine.latency import latency_ns, measure_latency
from vsperf.engine.measurer import Measurer
from vsperf.errors import VsperfError
from vsperf.events import Emit, PhaseEntered, TrialFinished, TrialStarted
from vsperf.record.run import CaseRecord, TrialLine
from vsperf.record.trial import Purpose, Trial
from vsperf.search.base import Budget, Probe
from vsperf.search.build import build, loads_of
from vsperf.spec.case import Case
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


def run_case(run: CaseRun) -> tuple[CaseRecord, VsperfError | None]:
    """Deploy, check the path, search, measure latency; whatever happens becomes a record."""
    case, spec, trials = run.case, run.case.seeded_spec, list[Trial]()
    try:
        with ExitStack() as stack:
            loads = loads_of(spec)
            run.emit(PhaseEntered(case, "deploy"))
            deployment = deploy(spec, run.plan, run.drivers, stack)
            measurer = Measurer(
                generator=deployment.generator,
                switch=deployment.switch,
                policy=spec.trial,
                budget=run.budget,
                begin=lambda *trial: run.emit(TrialStarted(case, *trial)),
                record=lambda trial: _record(run, trial),
                trials=trials,
            )
            run.emit(PhaseEntered(case, "check the path"))
            warnings = check_path(measurer)
            if not fits(spec.trial.warm_up.ns, run.budget):
                warnings += ("no warm-up trial: the time would not suffice for it",)
            elif spec.trial.warm_up.ns:
                run.emit(PhaseEntered(case, "warm up"))
                measurer.attempt(  # whatever its flags: nothing is concluded from it
                    TrialRequest(loads.maximum, spec.trial.warm_up.ns), Purpose.WARM_UP
                )
            run.emit(PhaseEntered(case, "search"))
            probe = Probe(measurer.measure, run.budget, spec.trial.overhead_ns)
            with run.budget.holding_back(latency_ns(spec)):
                result = build(spec.search, loads).run(probe)
            run.emit(PhaseEntered(case, "latency"))
            warnings += measure_latency(spec, result, measurer)
            run.emit(PhaseEntered(case, "tear down"))
        return close_case(case, result, trials, warnings), None
    except VsperfError as error:
        return close_failed(case, error, trials), error
    except KeyboardInterrupt:
        run.writer.append(close_interrupted(case, trials))
        raise


def fits(duration_ns: int, budget: Budget) -> bool:
    """Whether something that is not the search may take so long: up to a quarter of the time."""
    return budget.left_ns is None or duration_ns <= budget.left_ns // 4


def _record(run: CaseRun, trial: Trial) -> None:
    run.writer.append(TrialLine(case=run.case.key, trial=trial))
    run.emit(TrialFinished(run.case, trial))
