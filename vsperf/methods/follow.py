"""What follows a method on the same deployment, at shares of what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import LatencyTrials
from vsperf.errors import InvalidTrialError
from vsperf.methods.base import Bench, TrialOptions, probe_on
from vsperf.records.flags import Severity, worst
from vsperf.records.result import SearchResult, load_at
from vsperf.records.trial import Purpose
from vsperf.search.base import BudgetExhausted


class Follower(Protocol):
    """What can follow a method. What it finds lies in its trials."""

    phase: ClassVar[str]
    """Its name for people who wait."""

    @property
    def durations_ns(self) -> tuple[int, ...]:
        """The lengths of its trials."""

    def follow(self, result: SearchResult, bench: Bench) -> tuple[str, ...]:
        """Make its trials; return a warning for whatever could not be measured."""


def followers(case: CaseSpec) -> tuple[Follower, ...]:
    """Return what a case asks for after its method."""
    if case.latency is None or not case.latency.loads:
        return ()
    return (LatencyAtShares(case.latency),)


def time_ns(after: Sequence[Follower], bench: Bench) -> int:
    """Return what the trials of followers take: the method is to leave them so much."""
    lengths = [length_ns for follower in after for length_ns in follower.durations_ns]
    return sum(lengths) + len(lengths) * bench.overhead_ns


@dataclass(frozen=True, slots=True)
class LatencyAtShares:
    """Latency in trials of its own, at shares of what a goal was answered with."""

    wanted: LatencyTrials
    phase: ClassVar[str] = "latency"

    @property
    def durations_ns(self) -> tuple[int, ...]:
        """One trial at each load."""
        return (self.wanted.duration.ns,) * len(self.wanted.loads)

    def follow(self, result: SearchResult, bench: Bench) -> tuple[str, ...]:
        """Measure at each share of the lower bound."""
        wanted, bound = self.wanted, self._bound(result)
        if bound is None:
            return (f"latency not measured: {self._none(result)}",)
        warnings: list[str] = []
        for share in wanted.loads:
            reference = f"{share} of {wanted.goal}"
            try:
                probe = probe_on(bench, TrialOptions(Purpose.LATENCY, reference))
                probe(load_at(bound, share.value), wanted.duration.ns)
            except BudgetExhausted:
                return (*warnings, f"latency at {reference} not measured: the time was over")
            except InvalidTrialError as error:
                warnings.append(f"latency at {reference} not measured: {error}")
        return tuple(warnings)

    def _none(self, result: SearchResult) -> str:
        """Say what is known in place of a lower bound: trials may have passed all the same."""
        none = f"there is no lower bound of {self.wanted.goal} to refer to"
        goal = next((goal for goal in result.goals if goal.goal == self.wanted.goal), None)
        return none if goal is None else f"{none}: {goal.reason}"

    def _bound(self, result: SearchResult) -> int | None:
        goals = (goal for goal in result.goals if goal.goal == self.wanted.goal)
        believed = (goal for goal in goals if worst(goal.flags) is not Severity.INVALID)
        return next((goal.lower_fps for goal in believed), None)
