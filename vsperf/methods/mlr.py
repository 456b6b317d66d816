"""Throughput by a multiple loss ratio search (RFC 9971)."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.case import CaseSpec
from vsperf.config.method import Goal, GoalName
from vsperf.methods.compliance import FULL_NS, NOT_ITS_OWN, Findings, too_short
from vsperf.methods.range import SHORTEST_NS
from vsperf.methods.throughput import Throughput
from vsperf.quantities.units import Duration, Ratio
from vsperf.records.flags import Flag
from vsperf.records.result import Limit, SearchResult
from vsperf.search import mlr
from vsperf.search.base import Loads
from vsperf.search.classify import DurationRule

NARROWEST = Fraction(1, 10**6)
"""Narrower intervals than this are below what a clock can pace."""
WIDEST_EXCEED = 0.999


class MlrGoal(Goal):
    """A goal of an MLRsearch (RFC 9971); what is not given here is taken from the search."""

    exceed_ratio: Ratio | None = None
    """As `search.exceed_ratio`, for this goal alone."""
    initial_duration: Duration | None = None
    """As `search.initial_duration`, for this goal alone."""
    final_duration: Duration | None = None
    """As `search.final_duration`, for this goal alone."""
    duration_sum: Duration | None = None
    """As `search.duration_sum`, for this goal alone."""
    width: Ratio | None = None
    """As `search.width`, for this goal alone."""


class MlrSearch(Throughput):
    """Multiple loss ratio search: several goals at once, short trials first (RFC 9971)."""

    summary: ClassVar[str] = "throughput for several loss ratios at once (MLRsearch, RFC 9971)"

    kind: Literal["mlr"]
    goals: dict[GoalName, MlrGoal] = Field(min_length=1)
    exceed_ratio: Ratio
    """Share of the trial time at a load that may lose more than the goal allows."""
    initial_duration: Duration
    """Length of the first trials, which show where the answer lies."""
    final_duration: Duration
    """Length of the trials that decide."""
    duration_sum: Duration
    """Trial time at a load after which its classification is final."""
    width: Ratio
    """Relative width of the interval at which the search ends."""
    verify_upper: int = Field(default=2, ge=0, le=10)
    """Repeats at an upper bound that rests on a single trial, to tell overload from accident."""

    @model_validator(mode="after")
    def _shares_make_sense(self) -> Self:
        for name, goal in self.asked().items():
            if goal.exceed_ratio is not None and float(goal.exceed_ratio) > WIDEST_EXCEED:
                raise ValueError(f"goal {name}: exceed_ratio must not be above 99.9%")
            if goal.width is not None and not NARROWEST <= goal.width.value < 1:
                raise ValueError(f"goal {name}: width must lie between 0.0001% and 100%")
            if float(goal.loss_ratio) >= 1:
                raise ValueError(f"goal {name}: loss_ratio must be below 100%")
            durations = (goal.initial_duration, goal.final_duration, goal.duration_sum)
            if any(duration is None or duration.ns < SHORTEST_NS for duration in durations):
                raise ValueError(f"goal {name}: durations must be at least 1ms")
            if goal.initial_duration > goal.final_duration:  # type: ignore[operator]
                raise ValueError(f"goal {name}: initial_duration exceeds final_duration")
            if goal.final_duration > goal.duration_sum:  # type: ignore[operator]
                raise ValueError(f"goal {name}: final_duration exceeds duration_sum")
        return self

    def asked(self) -> dict[str, MlrGoal]:
        """Return the goals with every value filled in."""
        shared = {
            field: getattr(self, field) for field in MlrGoal.model_fields if field != "loss_ratio"
        }
        return {
            name: goal.model_copy(
                update={key: value for key, value in shared.items() if getattr(goal, key) is None}
            )
            for name, goal in self.goals.items()
        }

    def search(self, loads: Loads) -> mlr.MultipleLossRatio:
        return mlr.MultipleLossRatio(self._resolved(), loads, self.verify_upper)

    def _resolved(self) -> dict[str, mlr.MlrGoal]:
        goals = {}
        for name, goal in self.asked().items():
            final = _given(goal.final_duration).ns
            rule = DurationRule(
                goal.loss_ratio.value,
                _share(goal.exceed_ratio),
                final,
                _given(goal.duration_sum).ns,
            )
            goals[name] = mlr.MlrGoal(rule, _given(goal.initial_duration).ns, _share(goal.width))
        return goals

    def _strictest(self) -> tuple[str, mlr.MlrGoal]:
        return min(self._resolved().items(), key=lambda goal: goal[1].rule.loss_ratio)

    def rfc2544(self) -> Findings:
        """One goal can be what the standard asks for: full-length trials, none of them lossy."""
        found, (name, goal) = Findings(), self._strictest()
        too_short(found, goal.rule.final_ns)
        if goal.rule.exceed_ratio:
            share = self.asked()[name].exceed_ratio
            found.breaking.append(f"up to {share} of the time at a load may be lossy")
        return found

    def rfc9971(self, case: CaseSpec, result: SearchResult) -> Findings:
        """The method is the standard's own."""
        found = Findings()
        if not result.complete:
            found.breaking.append("the time ended before every goal was reached")
        for name, goal in self._resolved().items():
            if goal.width < goal.rule.loss_ratio:
                found.weakening.append(f"goal {name}: the width is smaller than the loss ratio")
        found.weakening += [
            f"goal {goal.goal}: irregular result, {goal.irregular}"
            for goal in result.goals
            if goal.irregular is not None
        ]
        for one in result.goals:
            if Flag.LEFT_TO_REGIMES in one.flags:
                found.breaking.append(f"goal {one.goal} was left to regimes, and is not reached")
            elif one.limit is Limit.UNKNOWN:
                found.breaking.append(f"goal {one.goal}: {NOT_ITS_OWN[one.limit]}")
            elif one.limit in (Limit.HOST, Limit.UNCOUNTED):
                found.weakening.append(f"goal {one.goal}: {NOT_ITS_OWN[one.limit]}")
        if not case.trial.warm_up.ns:
            found.weakening.append("no warm-up trial before the search")
        return found

    def tst009(self) -> Findings:
        """One goal can be equivalent to a binary search with loss verification."""
        found, (name, goal) = Findings(), self._strictest()
        asked = (goal.rule.final_ns, goal.rule.sum_ns, goal.rule.exceed_ratio)
        if asked != (FULL_NS, 2 * FULL_NS, Fraction(1, 2)):
            found.breaking.append(
                "only 60 s trials, a duration sum of 120 s and an exceed ratio of 50% make a goal "
                f"equivalent, not {Duration(goal.rule.final_ns)}, {Duration(goal.rule.sum_ns)} "
                f"and {self.asked()[name].exceed_ratio}"
            )
        return found


def _given(duration: Duration | None) -> Duration:
    assert duration is not None  # of goals that are resolved
    return duration


def _share(ratio: Ratio | None) -> Fraction:
    assert ratio is not None
    return ratio.value
