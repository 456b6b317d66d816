"""Loads gone through one by one, the highest first: what they lose, and what they let pass.

What became of each load is the curve; nothing else is recorded for it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Self

from pydantic import model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.methods.base import Bench, probe_on
from vsperf.methods.compliance import Findings
from vsperf.methods.range import TrialDuration, WithinRange
from vsperf.quantities.units import Rate, Ratio
from vsperf.records.result import Figure, Limit, LoadResult, SearchResult
from vsperf.search.base import BudgetExhausted, Loads
from vsperf.search.fixed import load_result

LEAST_STEP = Fraction(1, 1000)
NOT_THEIRS = {
    Limit.HOST: "the host lost frames, not the switch",
    Limit.UNCOUNTED: "nobody counted where missing frames were lost",
}
"""Of loads at which this ended the path, what became of them is not the switch's."""


class LoadSweep(WithinRange):
    """Offers the highest load first, and then less and less in equal steps."""

    min_load: Rate = Rate.parse("1fps")
    """Lowest load that is tried."""
    max_load: Rate = Rate.parse("100%")
    """Highest load that is tried."""
    duration: TrialDuration
    """Length of a trial."""
    step: Ratio = Ratio.parse("10%")
    """Distance of two loads, as a share of the highest one."""

    @model_validator(mode="after")
    def _steps_lead_down(self) -> Self:
        if not LEAST_STEP <= self.step.value < 1:
            raise ValueError("step must lie between 0.1% and 100%")
        return self

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return nothing: the highest load alone says something, and needs no pace."""
        return frozenset()

    @abstractmethod
    def enough(self, results: Sequence[LoadResult]) -> bool:
        """Whether the loads so far say all that is asked."""

    @abstractmethod
    def figures(
        self, loads: Loads, results: Sequence[LoadResult], sent: Sequence[int]
    ) -> tuple[Figure, ...]:
        """Return what follows from the loads that were offered, the highest first.

        `sent` is how many frames each was, in the direction that was sent fewest.
        """

    def offered(self, loads: Loads) -> Iterator[int]:
        share = Fraction(1)
        while share > 0 and (load := round(loads.maximum * share)) >= loads.minimum:
            yield load
            share -= self.step.value

    def begins_below_the_top(self, found: Findings, case: CaseSpec, result: SearchResult) -> None:
        """Add why the first load was not the highest that the line has, if it was not."""
        highest = self.max_load.unit == "%" and self.max_load.number >= 100
        if not highest:
            found.breaking.append(f"it begins at {self.max_load}, not at the line rate")
        if not result.loads:
            return
        top = result.loads[0]
        line = math.floor(case.slowest_link.frames_per_second(case.traffic.frame_size))
        capped = highest and top.load_fps < line
        if capped or top.limit is Limit.GENERATOR or Fraction(top.short_ratio):
            found.breaking.append("the generator could not offer the highest load")

    def lost_by_others(self, found: Findings, result: SearchResult) -> None:
        """Add whose the loss at a load was, where it was not the switch's, or nobody can tell."""
        limits = dict.fromkeys(one.limit for one in result.loads if Fraction(one.worst_loss_ratio))
        for limit, whose in NOT_THEIRS.items():
            if limit in limits:
                found.breaking.append(whose)

    def run(self, bench: Bench) -> SearchResult:
        """Offer one load after the other until they say all that is asked, or the time is over."""
        results: list[LoadResult] = []
        sent: list[int] = []
        probe, complete = probe_on(bench), True
        try:
            for load in self.offered(bench.loads):
                trial = probe(load, self.duration.ns)
                results.append(load_result(bench.loads, [trial]))
                sent.append(min(way.sent_frames for way in trial.directions))
                if self.enough(results):
                    break
        except BudgetExhausted:
            complete = False
        if not results:
            return SearchResult(complete=False)
        return SearchResult(
            loads=tuple(results),
            figures=self.figures(bench.loads, results, sent),
            complete=complete,
        )
