"""Latency in trials of its own, at shares of what the search found."""

from __future__ import annotations

from vsperf.engine.measurer import Measurer
from vsperf.errors import InvalidTrialError
from vsperf.record.flags import Severity, worst
from vsperf.record.result import SearchResult
from vsperf.record.trial import Purpose
from vsperf.search.base import BudgetExhausted
from vsperf.spec.case import CaseSpec


def latency_ns(spec: CaseSpec) -> int:
    """Return the time that the latency trials of a case will take."""
    if spec.latency is None:
        return 0
    return len(spec.latency.loads) * (spec.latency.duration.ns + spec.trial.overhead_ns)


def measure_latency(spec: CaseSpec, result: SearchResult, measurer: Measurer) -> tuple[str, ...]:
    """Make the latency trials; return a warning for whatever could not be measured."""
    wanted = spec.latency
    if wanted is None or not wanted.loads:
        return ()
    bound = next(
        (
            goal.lower_fps
            for goal in result.goals
            if goal.goal == wanted.goal and worst(goal.flags) is not Severity.INVALID
        ),
        None,
    )
    if bound is None:
        return (f"latency not measured: there is no lower bound of {wanted.goal} to refer to",)
    warnings: list[str] = []
    for share in wanted.loads:
        load_fps = max(1, round(bound * share.value))
        reference = f"{share} of {wanted.goal}"
        try:
            measurer.budget.require(wanted.duration.ns + spec.trial.overhead_ns)
            measurer.measure(load_fps, wanted.duration.ns, Purpose.LATENCY, reference)
        except BudgetExhausted:
            return (*warnings, f"latency at {reference} not measured: the time was over")
        except InvalidTrialError as error:
            warnings.append(f"latency at {reference} not measured: {error}")
    return tuple(warnings)
