"""The answer of a search once more, from clean time.

A search sees trials as they are. On a machine that others use too, some of them fail since a part
of the testbed was kept from running. So once a search is done, its trials are looked at without
that time. Where the bounds stay what they were, nothing is left to do; otherwise trials go on, at
loads in between, until clean time fills what the goal asks for on both sides of an interval that is
narrow enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from vsperf.errors import InvalidTrialError
from vsperf.human import human_ns
from vsperf.record.clean import LEAST, CleanTrial, clean_share, in_clean_time
from vsperf.record.result import CleanResult, GoalResult, SearchResult
from vsperf.record.trial import Trial
from vsperf.search.base import BudgetExhausted, Probe
from vsperf.search.classify import Bounds, DurationRule, Rule, bounds_of, by_load, failed
from vsperf.search.verdict import Question, answer, finished, percent

MOST_TRIALS = 1000
"""For a goal; whoever needs more finds clean time at other loads than those that matter."""


@dataclass
class Cleaned:
    """What is left of the trials of a probe, each cleaned once; of some nobody knows it."""

    probe: Probe
    looked_at: int = 0
    known: list[Trial] = field(default_factory=list)

    @property
    def trials(self) -> list[Trial]:
        """What is left of all trials so far."""
        new = self.probe.trials[self.looked_at :]
        self.looked_at += len(new)
        self.known += [one for one in map(in_clean_time, new) if isinstance(one, CleanTrial)]
        return self.known

    @property
    def share(self) -> Fraction:
        """Of their time that is clean."""
        return clean_share(self.trials) or Fraction(0)


@dataclass(frozen=True, slots=True)
class CleanTime:
    """Goes on where a search has ended."""

    questions: Mapping[str, Question]
    """What each goal asks."""
    duration_ns: int
    """Of a full-length trial."""

    def add(self, result: SearchResult, probe: Probe) -> SearchResult:
        """Return the result with the answers from clean time, strictest goal first."""
        if clean_share(probe.trials) is None:
            return result
        cleaned = Cleaned(probe)
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
        quick = replace(question, rule=_by_one_trial(question.rule))
        for _ in range(MOST_TRIALS):
            trials = cleaned.trials
            if cleaned.share < LEAST:
                return _not_clean(cleaned.share, trials)
            bounds = bounds_of(question.rule, trials)
            if finished(question, bounds):
                return None
            asked, known = question, bounds
            if not finished(quick, likely := bounds_of(quick.rule, trials)):
                asked, known = quick, likely
            try:
                cleaned.probe(next_load(asked, known, trials), self.duration_ns)
            except BudgetExhausted:
                return "the time ended before clean time sufficed"
            except InvalidTrialError as error:
                return f"a trial that it needs is not to be had: {error}"
        return f"{MOST_TRIALS} more trials did not suffice"


def _not_clean(share: Fraction, trials: Sequence[Trial]) -> str:
    widest_ns = max(trial.slots.width_ns for trial in trials if trial.slots is not None)
    return f"only {percent(share)} of the time was clean, by slots of {human_ns(widest_ns)}"


def _by_one_trial(rule: Rule) -> Rule:
    """Return the rule that decides by the first full-length trial at a load."""
    return replace(rule, sum_ns=1) if isinstance(rule, DurationRule) else rule


def next_load(question: Question, bounds: Bounds, trials: Sequence[Trial]) -> int:
    """Return the load to try next: one that is known already, if it divides the interval well.

    The highest of those below the first failure comes first, then that failure: they are where the
    answer is most likely, and what is known of them is not wasted.
    """
    loads, narrow = question.loads, question.narrow
    lower = bounds.lower if bounds.lower is not None else loads.minimum - 1
    upper = bounds.upper if bounds.upper is not None else loads.maximum + 1
    tried = {load: group for load, group in by_load(trials).items() if lower < load < upper}
    ratio = question.rule.loss_ratio
    lossy = [load for load, group in tried.items() if any(failed(one, ratio) for one in group)]
    first = min(lossy, default=upper)
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
