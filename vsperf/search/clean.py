"""The answer of a search once more, from clean time.

A search sees trials as they are. On a machine that others use too, some of them fail since a part
of the testbed was kept from running. So once a search is done, its trials are looked at without
that time. Where the bounds stay what they were, nothing is left to do; otherwise trials go on, at
loads in between, until clean time fills what the goal asks for on both sides of an interval that is
narrow enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from vsperf.errors import InvalidTrialError
from vsperf.human import human_ns
from vsperf.record.clean import LEAST, CleanTrial, clean_share, in_clean_time, kept_silent
from vsperf.record.result import CleanResult, GoalResult, SearchResult
from vsperf.record.trial import Trial
from vsperf.search.base import BudgetExhausted, Probe
from vsperf.search.classify import Bound, Bounds, DurationRule, Rule, bounds_among, failed
from vsperf.search.verdict import Question, answer, finished, percent

STEPS = 20
"""Trials that lead to an interval anywhere in the range of loads, for a goal. As many as that and
as its bounds need may be added, or as many as the search itself took."""


@dataclass
class Cleaned:
    """What is left of the trials of a probe; of some nobody knows it."""

    probe: Probe
    most: int
    """Trials that the probe may have in the end."""
    silent: bool = False
    """Whether silent slots are left out, as the search's own trials have it."""
    looked_at: int = 0
    by_load: dict[int, list[Trial]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Clean what there is."""
        self.silent = kept_silent(self.probe.trials)
        self.look()

    def look(self) -> set[int]:
        """Clean the trials that are new, and return their loads."""
        new = self.probe.trials[self.looked_at :]
        self.looked_at += len(new)
        left = (in_clean_time(trial, self.silent) for trial in new)
        cleaned = [one for one in left if isinstance(one, CleanTrial)]
        for trial in cleaned:
            self.by_load.setdefault(trial.load_fps, []).append(trial)
        return {trial.load_fps for trial in cleaned}

    @property
    def trials(self) -> list[Trial]:
        """What is left of all of them."""
        return [trial for group in self.by_load.values() for trial in group]

    @property
    def share(self) -> Fraction:
        """Of their time that is clean."""
        return clean_share(self.trials) or Fraction(0)


@dataclass
class Judged:
    """What the loads are to a question, as far as trials go."""

    question: Question
    decided: dict[int, Bound] = field(default_factory=dict)
    lossy: set[int] = field(default_factory=set)
    """Loads at which a trial failed."""

    def look(self, cleaned: Cleaned, loads: Iterable[int]) -> None:
        """Judge these loads anew."""
        rule = self.question.rule
        for load in loads:
            group = cleaned.by_load[load]
            self.decided[load] = rule.bound(group)
            if load not in self.lossy and any(failed(one, rule.loss_ratio) for one in group):
                self.lossy.add(load)

    @property
    def bounds(self) -> Bounds:
        """Of the question, so far."""
        return bounds_among(self.decided)

    @property
    def finished(self) -> bool:
        """Whether they are final."""
        return finished(self.question, self.bounds)


@dataclass(frozen=True, slots=True)
class CleanTime:
    """Goes on where a search has ended."""

    questions: Mapping[str, Question]
    """What each goal asks."""
    duration_ns: int
    """Of a full-length trial."""

    def add(self, result: SearchResult, probe: Probe) -> SearchResult:
        """Return the result with the answers from clean time, strictest goal first."""
        least = sum(STEPS + 2 * _at_a_bound(one.rule) for one in self.questions.values())
        cleaned = Cleaned(probe, len(probe.trials) + max(least, len(probe.trials)))
        if clean_share(cleaned.trials) is None:
            return result
        wanted = sorted(result.goals, key=lambda goal: self.questions[goal.goal].rule.loss_ratio)
        found = {goal.goal: self._answer(goal, cleaned) for goal in wanted}
        goals = (goal.model_copy(update={"clean": found[goal.goal]}) for goal in result.goals)
        return result.model_copy(update={"goals": tuple(goals)})

    def _answer(self, goal: GoalResult, cleaned: Cleaned) -> CleanResult:
        question = self.questions[goal.goal]
        why = self._settle(question, cleaned)
        if why is not None:
            return CleanResult(share=str(cleaned.share), reason=why)
        found = answer(question, cleaned.trials)
        return CleanResult(
            share=str(cleaned.share),
            lower_fps=found.lower_fps,
            upper_fps=found.upper_fps,
            limit=found.limit,
            reason=found.reason,
            flags=found.flags,
        )

    def _settle(self, question: Question, cleaned: Cleaned) -> str | None:
        """Make trials until the bounds are final; return why that was not possible.

        Single trials lead to where the answer is, so that time is spent there alone.
        """
        asked = Judged(question)
        quick = Judged(replace(question, rule=_by_one_trial(question.rule)))
        new: Iterable[int] = cleaned.by_load
        while True:
            for one in (asked, quick):
                one.look(cleaned, new)
            if cleaned.share < LEAST:
                return _not_clean(cleaned.share, cleaned.trials)
            if asked.finished:
                return None
            if len(cleaned.probe.trials) >= cleaned.most:
                return f"{len(cleaned.probe.trials)} trials did not suffice"
            try:
                cleaned.probe(next_load(asked if quick.finished else quick), self.duration_ns)
            except BudgetExhausted:
                return "the time ended before clean time sufficed"
            except InvalidTrialError as error:
                return f"a trial that it needs is not to be had: {error}"
            new = cleaned.look()


def _not_clean(share: Fraction, trials: Sequence[Trial]) -> str:
    widest_ns = max(trial.slots.width_ns for trial in trials if trial.slots is not None)
    return f"only {percent(share)} of the time was clean, by slots of {human_ns(widest_ns)}"


def _at_a_bound(rule: Rule) -> int:
    """Return how many full-length trials decide a load at most, if all of their time counts."""
    return -(-rule.sum_ns // rule.final_ns) if isinstance(rule, DurationRule) else 1


def _by_one_trial(rule: Rule) -> Rule:
    """Return the rule that decides by the first full-length trial at a load."""
    return replace(rule, sum_ns=1) if isinstance(rule, DurationRule) else rule


def next_load(judged: Judged) -> int:
    """Return the load to try next: one that is known already, if it divides the interval well.

    The highest of those below the first failure comes first, then that failure: they are where the
    answer is most likely, and what is known of them is not wasted.
    """
    loads, narrow, bounds = judged.question.loads, judged.question.narrow, judged.bounds
    lower = bounds.lower if bounds.lower is not None else loads.minimum - 1
    upper = bounds.upper if bounds.upper is not None else loads.maximum + 1
    tried = [load for load in judged.decided if lower < load < upper]
    first = min((load for load in tried if load in judged.lossy), default=upper)
    likely = max((load for load in tried if load < first), default=first)
    if bounds.upper is None:
        return likely if likely in tried else loads.maximum
    if bounds.lower is None and narrow(loads.minimum, upper):
        return loads.minimum
    if likely in tried and (
        narrow(likely, upper) or (bounds.lower is not None and narrow(lower, likely))
    ):
        return likely
    margin = (upper - lower) // 10
    if likely in tried and lower + margin <= likely <= upper - margin:
        return likely
    return loads.between(max(lower, loads.minimum), upper)
