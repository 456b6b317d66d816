# vsperf-wires/vsperf_wires/method.py
"""A method: at which of falling loads a given share of the frames comes through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Literal

from vsperf.config.case import CaseSpec
from vsperf.methods.compliance import Findings
from vsperf.methods.sweep import LoadSweep
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Ratio
from vsperf.records.result import Compliance, Figure, Limit, LoadResult, SearchResult, Standard
from vsperf.search.base import Loads


class KeepsShare(LoadSweep):
    """The highest of falling loads at which enough frames come through."""

    summary: ClassVar[str] = "the highest of falling loads at which a share of frames comes through"
    trusts_single_trials: ClassVar[bool] = True

    kind: Literal["keeps"]
    share: Ratio = Ratio.parse("90%")
    """Part of the frames that has to come through."""

    def metrics(self) -> Mapping[str, Unit]:
        """Return what a criterion can be about."""
        return {"kept_load": Unit.FPS}

    def enough(self, results: Sequence[LoadResult]) -> bool:
        """Whether the last load let enough pass."""
        return kept(results[-1]) >= self.share.value

    def figures(
        self, loads: Loads, results: Sequence[LoadResult], sent: Sequence[int]
    ) -> tuple[Figure, ...]:
        """Return the load at which it ended, if enough came through there."""
        last = results[-1]
        found = last if self.enough(results) else None
        above = results[-2] if found is not None and len(results) > 1 else None
        return (
            Figure(
                name="kept_load",
                unit=Unit.FPS,
                value=None if found is None else found.load_fps,
                lower=None if found is None else found.load_fps,
                upper=None if above is None else above.load_fps,
                limit=Limit.BUDGET if found is None else (above or found).limit,
                reason=f"{float(kept(last)):.0%} came through at {last.load_fps} fps",
            ),
        )

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        """Say that no standard asks for this."""
        return (Findings(["no standard asks for a share of the frames"]).verdict(Standard.RFC2544),)


def kept(one: LoadResult) -> Fraction:
    return 1 - Fraction(one.worst_loss_ratio)
