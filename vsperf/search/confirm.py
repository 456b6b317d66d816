"""The closing pair: after a search, one more trial at each bound, to see whether they still stand.

A switch may change while it is measured: it tires, warms up, throttles, or its machine moves. Each
bound was true when it was found; the pair tells whether both are true at the same time. Where a
bound no longer stands, the search is made once more from nothing; what is contradicted even then is
said to have changed.

One trial that goes the other way is an accident more often than a change, so it is repeated until
one stands by the bound. If none does the bound is contradicted; if several did not, the load is no
promise for the next trial, which the result says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from vsperf.record.clean import in_clean_time, kept_silent
from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.record.result import CleanResult, GoalResult, SearchResult
from vsperf.record.trial import Trial
from vsperf.search.base import Budget, BudgetExhausted, Probe, Search
from vsperf.search.classify import DurationRule, Rule, failed
from vsperf.search.clean import CleanTime

TRIALS = 3
"""That must all speak against a bound,"""
TRIALS_AGAINST_A_SHARE = 5
"""and where the goal lets up to half of the time be lossy: there every second trial may."""
ACCIDENTS = 1
"""Trials against a bound that nothing is said of, where the next one stands by it."""
SEARCHES = 2
"""That are made at most."""
NOT_TRIED = (Limit.BUDGET, Limit.GENERATOR, Limit.UNKNOWN)
"""Limits of which a bound is not the switch's, or in doubt already."""


Doubts = dict[str, Flag]
"""What the closing trials say against the answers of a search, by goal."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A search whose bounds are tried again at its end."""

    search: Search
    clean: CleanTime

    def run(self, probe: Probe) -> SearchResult:
        """Search, try the bounds again, and search once more if they no longer stand."""
        result, doubts = self._once(probe)
        for _ in range(1, SEARCHES):
            if Flag.CHANGED_SINCE not in doubts.values():
                break
            again, still = self._once(probe)
            if not again.complete:
                break
            result, doubts = again, still
        return result.model_copy(
            update={"goals": tuple(_flagged(goal, doubts.get(goal.goal)) for goal in result.goals)}
        )

    def _once(self, probe: Probe) -> tuple[SearchResult, Doubts]:
        """Return what a search finds that knows of no earlier trial, and what is to be said now."""
        inner = Probe(probe, Budget())
        result = self.search.run(inner)
        with probe.budget.holding_back(2 * (self.clean.duration_ns + probe.overhead_ns)):
            result = self.clean.add(result, inner)
        try:
            silent = kept_silent(inner.trials)
            return result, self._doubts(result, Probe(probe, Budget()), silent)
        except BudgetExhausted:
            return result, {}

    def _doubts(self, result: SearchResult, closing: Probe, silent: bool) -> Doubts:
        """Return the goals of which a bound no longer stands, or only now and then.

        The lower bounds are tried last: they are the result, so it is for them that nothing later
        should be unknown.
        """
        answers = [(goal.goal, *one) for goal in result.goals for one in _views(goal, silent)]
        upper = [(goal, view, found.upper_fps, False) for goal, view, found in answers]
        lower = [(goal, view, found.lower_fps, True) for goal, view, found in answers]
        found: Doubts = {}
        for goal, view, load_fps, fails in (*upper, *lower):
            if load_fps is None:
                continue
            most = _trials(self.clean.questions[goal].rule)
            against = self._against(goal, view, load_fps, closing, most, fails=fails)
            if against == most:
                found[goal] = Flag.CHANGED_SINCE
            elif against > ACCIDENTS:
                found.setdefault(goal, Flag.UNSTABLE)
        return found

    def _against(
        self, goal: str, view: View, load_fps: int, closing: Probe, most: int, *, fails: bool
    ) -> int:
        """Return how many closing trials fail, or pass, until one does not; goals share them."""
        loss_ratio, duration_ns = self.clean.questions[goal].rule.loss_ratio, self.clean.duration_ns
        made = [trial for trial in closing.trials if trial.load_fps == load_fps]
        for number in range(most):
            trial = made[number] if number < len(made) else closing(load_fps, duration_ns)
            if failed(view(trial), loss_ratio) is not fails:
                return number
        return most


View = Callable[[Trial], Trial]
"""How a trial is looked at: as it is, or without the time that is not clean."""


def _views(goal: GoalResult, silent: bool) -> list[tuple[View, GoalResult | CleanResult]]:
    """Return the answers to a goal whose bounds are the switch's, and how to look at trials there.

    Where both have the same bounds, those of clean time are tried with the others.
    """
    found: list[tuple[View, GoalResult | CleanResult]] = []
    if goal.limit not in NOT_TRIED:
        found.append((lambda trial: trial, goal))
    clean = goal.clean
    if clean is None or clean.limit is None or clean.limit in NOT_TRIED:
        return found
    if not found or (clean.lower_fps, clean.upper_fps) != (goal.lower_fps, goal.upper_fps):
        found.append((partial(in_clean_time, silent=silent), clean))
    return found


def _trials(rule: Rule) -> int:
    tolerant = isinstance(rule, DurationRule) and rule.exceed_ratio > 0
    return TRIALS_AGAINST_A_SHARE if tolerant else TRIALS


def _flagged(goal: GoalResult, doubt: Flag | None) -> GoalResult:
    if doubt is None or doubt in goal.flags:
        return goal
    return goal.model_copy(update={"flags": (*goal.flags, doubt)})
