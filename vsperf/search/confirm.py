"""The closing pair: after a search, one more trial at each bound, to see whether they still stand.

A switch may change while it is measured: it tires, warms up, throttles, or its machine moves. Each
bound was true when it was found; the pair tells whether both are true at the same time. Where a
bound no longer stands, the search is made once more from nothing; what is contradicted even then is
said to have changed.

One trial that goes the other way is an accident more often than a change, so it is repeated, and
only if all of them agree the bound is contradicted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vsperf.record.flags import Flag
from vsperf.record.result import GoalResult, Limit, SearchResult
from vsperf.search.base import Budget, BudgetExhausted, Probe, Search
from vsperf.search.classify import DurationRule, Rule, failed

TRIALS = 3
"""That must all speak against a bound,"""
TRIALS_AGAINST_A_SHARE = 5
"""and where the goal lets up to half of the time be lossy: there every second trial may."""
SEARCHES = 2
"""That are made at most."""
NOT_TRIED = (Limit.BUDGET, Limit.GENERATOR, Limit.UNKNOWN)
"""Limits of which a bound is not the switch's, or in doubt already."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A search whose bounds are tried again at its end."""

    search: Search
    rules: Mapping[str, Rule]
    duration_ns: int
    """Of a full-length trial."""

    def run(self, probe: Probe) -> SearchResult:
        """Search, try the bounds again, and search once more if they no longer stand."""
        result, changed = self._once(probe)
        for _ in range(1, SEARCHES):
            if not changed:
                return result
            again, still = self._once(probe)
            if not again.complete:
                break
            result, changed = again, still
        return result.model_copy(
            update={"goals": tuple(_flagged(goal, changed) for goal in result.goals)}
        )

    def _once(self, probe: Probe) -> tuple[SearchResult, set[str]]:
        """Return what a search finds that knows of no earlier trial, and what changed since."""
        result = self.search.run(Probe(probe, Budget()))
        try:
            return result, self._changed(result, Probe(probe, Budget()))
        except BudgetExhausted:
            return result, set()

    def _changed(self, result: SearchResult, closing: Probe) -> set[str]:
        """Return the goals of which a bound no longer stands.

        The lower bounds are tried last: they are the result, so it is for them that nothing later
        should be unknown.
        """
        tried = [goal for goal in result.goals if goal.limit not in NOT_TRIED]
        upper = [(goal, goal.upper_fps, False) for goal in tried]
        lower = [(goal, goal.lower_fps, True) for goal in tried]
        return {
            goal.goal
            for goal, load_fps, fails in (*upper, *lower)
            if load_fps is not None and self._all(goal, load_fps, closing, fails=fails)
        }

    def _all(self, goal: GoalResult, load_fps: int, closing: Probe, *, fails: bool) -> bool:
        """Whether all closing trials at a load fail, or all pass; goals share them."""
        allowed = self.rules[goal.goal].loss_ratio
        made = [trial for trial in closing.trials if trial.load_fps == load_fps]
        for number in range(self._trials(goal)):
            trial = made[number] if number < len(made) else closing(load_fps, self.duration_ns)
            if failed(trial, allowed) is not fails:
                return False
        return True

    def _trials(self, goal: GoalResult) -> int:
        rule = self.rules[goal.goal]
        tolerant = isinstance(rule, DurationRule) and rule.exceed_ratio > 0
        return TRIALS_AGAINST_A_SHARE if tolerant else TRIALS


def _flagged(goal: GoalResult, changed: set[str]) -> GoalResult:
    if goal.goal not in changed:
        return goal
    return goal.model_copy(update={"flags": (*goal.flags, Flag.CHANGED_SINCE)})
