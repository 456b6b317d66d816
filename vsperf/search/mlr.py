"""Multiple loss ratio search (RFC 9971): the MLRsearch library, wrapped.

The library decides which load to try for how long; everything else is settled here. It is given
whole nanoseconds for seconds, since its own sums of fractions of a second would round. It is told
what was intended, so that unsent frames count as lost. It sees the worse direction alone, as it
knows no directions. Its warm-up is off (the engine has one), and so is its limit on wall time (the
budget of the probe is the limit). Bounds are computed anew from the trials, by `classify`; that is
how a search that was cut short still has an answer, and how the library is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from vsperf.records.result import SearchResult
from vsperf.records.trial import Trial
from vsperf.search.base import BudgetExhausted, Loads, Probe
from vsperf.search.classify import Bound, DurationRule
from vsperf.search.verdict import Question, answer
from vsperf.search.verify import verify_upper

if TYPE_CHECKING:
    from vsperf.search.mlr_library import Measurer, SearchGoal

WIDEST_OF_RANGE = Fraction(7, 10)
"""The library is given no width beyond this share of the range of loads,"""
WIDEST_OF_FINEST = 1000
"""and none beyond so many times the finest one."""


@dataclass(frozen=True, slots=True)
class MlrGoal:
    """A goal as the search needs it."""

    rule: DurationRule
    initial_ns: int
    """Duration of the shortest trials."""
    width: Fraction
    """Relative width of the final interval."""

    def narrow(self, lower: int, upper: int) -> bool:
        """Whether an interval is narrow enough; rounding to whole frames may widen it by one."""
        return upper - lower <= self.width * upper + 1


@dataclass(frozen=True, slots=True)
class MultipleLossRatio:
    """The search, ready to run."""

    goals: Mapping[str, MlrGoal]
    loads: Loads
    verify_upper: int

    @property
    def duration_ns(self) -> int:
        """Of a full-length trial, of whichever goal has the longest."""
        return max(goal.rule.final_ns for goal in self.goals.values())

    @property
    def questions(self) -> dict[str, Question]:
        return {
            name: Question(name, goal.rule, self.loads, goal.narrow, self.verify_upper)
            for name, goal in self.goals.items()
        }

    def run(self, probe: Probe) -> SearchResult:
        """Let the library search, check its bounds, then try single-trial upper bounds again."""
        from vsperf.search.mlr_library import Measurer

        loosest = max(goal.rule.loss_ratio for goal in self.goals.values())
        measurer = Measurer(probe, self.loads, loosest)
        try:
            self._check(self._search(measurer), measurer)
            complete = True
        except BudgetExhausted:
            complete = False
        verified = {
            name: verify_upper(goal.rule, probe, goal.rule.final_ns, self.verify_upper)
            for name, goal in self.goals.items()
        }
        goals = tuple(
            answer(question.ended(*verified[name], complete=complete), probe.trials)
            for name, question in self.questions.items()
        )
        cut_short = any(unverified for _, unverified in verified.values())
        return SearchResult(goals=goals, complete=complete and not cut_short)

    def _search(self, measurer: Measurer) -> Mapping[SearchGoal, Any]:
        from vsperf.search.mlr_library import search

        return search(measurer, [self._for_library(goal) for goal in self.goals.values()])

    def _for_library(self, goal: MlrGoal) -> SearchGoal:
        """Return a goal that the library can put on a grid with all the others.

        It looks for a grid on which each width is nearly, but not quite, a whole number of cells.
        There is none when a width is the whole range of loads or far beyond it, or when widths
        differ by orders of magnitude; it would then look for ever. A narrower width is always
        permitted, and costs a trial or two.
        """
        from vsperf.search.mlr_library import goal_of

        span = Fraction(self.loads.maximum - self.loads.minimum, self.loads.maximum)
        finest = min(goal.width for goal in self.goals.values())
        return goal_of(goal, min(span * WIDEST_OF_RANGE, finest * WIDEST_OF_FINEST))

    def _check(self, found: Mapping[SearchGoal, Any], measurer: Measurer) -> None:
        """Hold the library's bounds against our own classification of the same trials."""
        groups: dict[float, list[Trial]] = {}
        for load, trial in measurer.asked:
            groups.setdefault(load, []).append(trial)
        for name, goal in self.goals.items():
            result = found[self._for_library(goal)]
            theirs = tuple(
                None if bound is None else float(bound)
                for bound in (result.relevant_lower_bound, result.relevant_upper_bound)
            )
            ours, on_edge = _bounds(goal.rule, groups)
            if ours != theirs and not on_edge:
                raise AssertionError(f"MLRsearch bounds {name} by {theirs}, its trials by {ours}")


def _bounds(
    rule: DurationRule, groups: Mapping[float, list[Trial]]
) -> tuple[tuple[float | None, float | None], bool]:
    """Return the relevant bounds, and whether a load lies exactly on the edge of a decision.

    There the library's floating-point sums may fall to the other side, and ours stand.
    """
    lower = upper = None
    on_edge = False
    for load in sorted(groups):
        verdict = rule.classify(groups[load])
        on_edge = on_edge or verdict.on_edge
        if verdict.bound is Bound.UPPER:
            upper = load
            break
        lower = load if verdict.bound is Bound.LOWER else lower
    return (lower, upper), on_edge
