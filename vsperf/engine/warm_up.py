"""The trial before the others, which brings caches and clocks to where they stay."""

from __future__ import annotations

from vsperf.drivers.generators.base import TrialRequest
from vsperf.engine.assignment import CaseRun
from vsperf.engine.measurer import Measurer
from vsperf.methods.base import TrialOptions
from vsperf.records.trial import Purpose
from vsperf.search.base import Budget, Loads


def warm_up(run: CaseRun, measurer: Measurer, loads: Loads) -> tuple[str, ...]:
    """Make it, if it was asked for and there is time; whatever its flags, it concludes nothing."""
    length_ns = run.case.seeded_spec.trial.warm_up.ns
    if not fits(length_ns, run.budget):
        return ("no warm-up trial: the time would not suffice for it",)
    if length_ns:
        run.enter("warm up")
        measurer.attempt(TrialRequest(loads.maximum, length_ns), TrialOptions(Purpose.WARM_UP))
    return ()


def fits(duration_ns: int, budget: Budget) -> bool:
    """Whether something that is not the search may take so long: up to a quarter of the time."""
    return budget.left_ns is None or duration_ns <= budget.left_ns // 4
