"""Forwarding rates of RFC 2889 sections 5.1 to 5.3: what comes through, whatever is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from vsperf.config.case import CaseSpec
from vsperf.methods.compliance import Findings, fewer_sizes
from vsperf.methods.sweep import LoadSweep
from vsperf.quantities.human import human_fps
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration
from vsperf.records.result import Compliance, Figure, LoadResult, SearchResult, Standard
from vsperf.search.base import Loads

SHORTEST_NS, LONGEST_NS = 1 * NANOSECONDS, 300 * NANOSECONDS
USUAL_NS = 30 * NANOSECONDS


class ForwardingRate(LoadSweep):
    """What comes through at the highest load, and the most that comes through at any."""

    summary: ClassVar[str] = "what comes through at falling loads, whatever is lost (RFC 2889)"
    trusts_single_trials: ClassVar[bool] = True

    kind: Literal["forwarding"]

    def metrics(self) -> Mapping[str, Unit]:
        return {"frmol": Unit.FPS, "mfr": Unit.FPS}

    def enough(self, results: Sequence[LoadResult]) -> bool:
        """Whether a lower load cannot let more pass than the most that did."""
        best = max(one.throughput_fps for one in results)
        return len(results) > 1 and results[-1].load_fps <= best

    def figures(
        self, loads: Loads, results: Sequence[LoadResult], sent: Sequence[int]
    ) -> tuple[Figure, ...]:
        """Return FRMOL and MFR, each with the load that was offered for it."""
        top = results[0]
        best = max(results, key=lambda one: one.throughput_fps)
        return (
            _rate("mfr", best, "no other load that was tried let more pass"),
            _rate("frmol", top, f"the load is {loads.top}"),
        )

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        found = Findings()
        if not SHORTEST_NS <= self.duration.ns <= LONGEST_NS:
            found.breaking.append(f"trials of {self.duration} instead of 1 s to 300 s")
        elif self.duration.ns != USUAL_NS:
            found.weakening.append(f"trials of {Duration(self.duration.ns)} instead of 30s")
        self.begins_below_the_top(found, case, result)
        self.lost_by_others(found, result)
        if not result.whole:
            found.breaking.append(f"{result.ended} before the sweep did")
        if case.traffic.direction != "both":
            found.weakening.append("traffic in one direction only")
        fewer_sizes(found, case, sister_sizes)
        return (found.verdict(Standard.RFC2889),)


def _rate(name: str, one: LoadResult, why: str) -> Figure:
    return Figure(
        name=name,
        unit=Unit.FPS,
        value=one.throughput_fps,
        at=f"offered {human_fps(one.load_fps)}",
        limit=one.limit,
        reason=why,
    )
