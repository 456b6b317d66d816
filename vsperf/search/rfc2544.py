"""Plain bisection on full-length trials, as RFC 2544 section 26.1 describes it.

Every trial has the full length, so the final determination has it too. The first trial is made
at the highest load; the interval is halved until it is as narrow as asked. One lossy trial makes
an upper bound, as the standard has it; since a single accident would then decide the result, the
upper bound is tried again at the end. Several goals are searched one after the other and use each
other's trials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from vsperf.records.result import SearchResult
from vsperf.search.base import BudgetExhausted, Loads, Probe
from vsperf.search.classify import Bounds, DurationRule, bounds_of
from vsperf.search.verdict import Question, answer
from vsperf.search.verify import verify_upper


@dataclass(frozen=True, slots=True)
class Bisection:
    """The search, ready to run."""

    rules: Mapping[str, DurationRule]
    loads: Loads
    duration_ns: int
    step: int
    """Width at which an interval is narrow enough [fps]."""
    verify_upper: int

    @property
    def questions(self) -> dict[str, Question]:
        return {
            name: Question(name, rule, self.loads, self._narrow, self.verify_upper)
            for name, rule in self.rules.items()
        }

    def run(self, probe: Probe) -> SearchResult:
        """Bisect for each goal in turn, strictest first, then try the upper bounds again."""
        verified: dict[str, tuple[bool | None, bool]] = {}
        try:
            for rule in sorted(self.rules.values(), key=lambda rule: rule.loss_ratio):
                self._bisect(rule, probe)
            complete = True
        except BudgetExhausted:
            complete = False
        for name, rule in self.rules.items():
            verified[name] = verify_upper(rule, probe, self.duration_ns, self.verify_upper)
        goals = tuple(
            answer(question.ended(*verified[name], complete=complete), probe.trials)
            for name, question in self.questions.items()
        )
        cut_short = any(unverified for _, unverified in verified.values())
        return SearchResult(goals=goals, complete=complete and not cut_short)

    def _bisect(self, rule: DurationRule, probe: Probe) -> None:
        while (load := self._next(bounds_of(rule, probe.trials))) is not None:
            probe(load, self.duration_ns)

    def _next(self, bounds: Bounds) -> int | None:
        """Return the load to try next: the highest first, then the middle, the lowest last."""
        if bounds.upper is None:
            return None if bounds.lower == self.loads.maximum else self.loads.maximum
        if bounds.lower is not None:
            if self._narrow(bounds.lower, bounds.upper):
                return None
            return (bounds.lower + bounds.upper) // 2
        if bounds.upper == self.loads.minimum:
            return None
        if self._narrow(self.loads.minimum, bounds.upper):
            return self.loads.minimum
        return (self.loads.minimum + bounds.upper) // 2

    def _narrow(self, lower: int, upper: int) -> bool:
        return upper - lower <= self.step


@dataclass(frozen=True, slots=True)
class Ascending(Bisection):
    """Upwards until something fails, then bisection: for devices that remember an overload.

    What keeps tables is slow for minutes once they were full, so nothing is offered far above what
    was seen to hold: from the lowest load on each one is twice the one before, until a load fails.
    """

    width: Fraction
    """Of the final interval, as a share of its upper bound; not narrower than the step."""

    def _next(self, bounds: Bounds) -> int | None:
        if bounds.upper is not None:
            return self._between(bounds)
        return None if bounds.lower == self.loads.maximum else self.loads.above(bounds.lower)

    def _between(self, bounds: Bounds) -> int | None:
        assert bounds.upper is not None
        if bounds.lower is None:
            return None if bounds.upper == self.loads.minimum else self.loads.minimum
        if self._narrow(bounds.lower, bounds.upper):
            return None
        return (bounds.lower + bounds.upper) // 2

    def _narrow(self, lower: int, upper: int) -> bool:
        return upper - lower <= max(self.step, int(self.width * upper))
