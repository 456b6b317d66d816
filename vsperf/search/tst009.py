"""Binary search with loss verification over an array of loads (ETSI GS NFV-TST 009, 12.3.3).

A lossy trial is repeated before its loss is believed: in a virtualised host a short loss has
other causes than a lack of resources. The text of the standard was not at hand; what follows is
from what others have written about it and built after it. Choices made where that is silent:

- The array S[1..n] descends from the highest load allowed, so that the line rate is among its
  loads and "no limit found" can be told. S[1] is the last step that is not below the lowest load.
- L = 1, R = n; m is the middle, rounded up. Passed: L = m + 1. Failed: R = m - 1. End when L > R.
- The threshold z is compared with the frames lost in both directions together, unsent ones
  included; strictly more than z are overload at once, also when it happens in a repeat.
- max(r) counts repeats, so a load is tried at most 1 + max(r) times.
- With a goal above zero, a trial is lossy when it lost more than the goal allows.
- With several goals, each runs its own search and uses the trials that are there already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vsperf.records.clean import counted_ns
from vsperf.records.result import SearchResult
from vsperf.records.trial import Trial
from vsperf.search.base import BudgetExhausted, Loads, Probe
from vsperf.search.classify import Bound, Failed, failed, failed_in_switch
from vsperf.search.verdict import Question, answer


@dataclass(frozen=True, slots=True)
class VerificationRule:
    """How the trials at a load are judged; their order plays no part."""

    loss_ratio: Fraction
    max_repeats: int
    """max(r)."""
    loss_threshold: int
    """z [frames]."""

    def bound(self, trials: Sequence[Trial], fails: Failed = failed) -> Bound:
        """Believe great loss at once, small loss only if every repeat has it too.

        Of a trial whose time does not even half count nothing is believed.
        """
        trials = [trial for trial in trials if 2 * counted_ns(trial) >= trial.duration_ns]
        lossy = [trial for trial in trials if fails(trial, self.loss_ratio)]
        if any(_lost(trial, fails) > self.loss_threshold for trial in lossy):
            return Bound.UPPER
        if len(lossy) < len(trials):
            return Bound.LOWER
        return Bound.UPPER if len(trials) > self.max_repeats else Bound.UNDECIDED

    def outweigh(self, some: Sequence[Trial], trials: Sequence[Trial]) -> bool:
        """Whether there are any: it takes one trial of great loss to fail a load."""
        return bool(some)

    def throughput_fps(self, trials: Sequence[Trial]) -> int:
        """Return the least that came through in a trial that passed."""
        return int(min(t.forwarding_fps for t in trials if not failed(t, self.loss_ratio)))


def _lost(trial: Trial, fails: Failed) -> int:
    """Return the lost frames that a way of failing counts."""
    if fails is failed_in_switch:
        return sum(way.offered_frames - way.good_frames for way in trial.directions)
    return trial.lost_frames


@dataclass(frozen=True, slots=True)
class VerifiedBinarySearch:
    """The search, ready to run."""

    rules: Mapping[str, VerificationRule]
    loads: Loads
    array: range
    """S: the loads that may be tried, lowest first."""
    duration_ns: int

    @property
    def questions(self) -> dict[str, Question]:
        loads = replace(self.loads, minimum=self.array[0])
        return {
            name: Question(name, rule, loads, self._adjacent) for name, rule in self.rules.items()
        }

    def run(self, probe: Probe) -> SearchResult:
        """Search the array for each goal in turn, strictest first."""
        complete = True
        try:
            for rule in sorted(self.rules.values(), key=lambda rule: rule.loss_ratio):
                self._search(rule, probe)
        except BudgetExhausted:
            complete = False
        goals = tuple(
            answer(question.ended(complete=complete), probe.trials)
            for question in self.questions.values()
        )
        return SearchResult(goals=goals, complete=complete)

    def _search(self, rule: VerificationRule, probe: Probe) -> None:
        left, right = 0, len(self.array) - 1
        while left <= right:
            middle = (left + right + 1) // 2
            if self._passes(rule, self.array[middle], probe):
                left = middle + 1
            else:
                right = middle - 1

    def _passes(self, rule: VerificationRule, load: int, probe: Probe) -> bool:
        while True:
            trials = [trial for trial in probe.trials if trial.load_fps == load]
            match rule.bound(trials) if trials else Bound.UNDECIDED:
                case Bound.UNDECIDED:
                    probe(load, self.duration_ns)
                case decided:
                    return decided is Bound.LOWER

    def _adjacent(self, lower: int, upper: int) -> bool:
        return upper - lower <= self.array.step
