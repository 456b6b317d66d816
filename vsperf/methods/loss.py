"""Frame loss rate, RFC 2544 section 26.3: how much is lost at which load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Literal

from vsperf.config.case import CaseSpec
from vsperf.methods.compliance import Findings, evidence, too_short
from vsperf.methods.sweep import LoadSweep
from vsperf.quantities.unit import Unit
from vsperf.records.result import (
    Compliance,
    Figure,
    Limit,
    LoadResult,
    SearchResult,
    Standard,
    none_lost,
)
from vsperf.search.base import Loads

COARSEST = Fraction(1, 10)


class FrameLossRate(LoadSweep):
    """Loss at each load, from the highest down to two in a row that lose nothing."""

    summary: ClassVar[str] = "loss at falling loads, down to two without any (RFC 2544, 26.3)"
    trusts_single_trials: ClassVar[bool] = True

    kind: Literal["loss"]

    def metrics(self) -> Mapping[str, Unit]:
        return {"lossless_load": Unit.FPS, "loss_at_top": Unit.RATIO}

    def enough(self, results: Sequence[LoadResult]) -> bool:
        """Whether two loads in a row lost nothing."""
        return len(results) > 1 and not any(_lost(one) for one in results[-2:])

    def figures(
        self, loads: Loads, results: Sequence[LoadResult], sent: Sequence[int]
    ) -> tuple[Figure, ...]:
        """Return the highest load of two that lose nothing, and the loss at the top."""
        top = results[0]
        pair = next((a for a, b in pairwise(results) if not _lost(a) and not _lost(b)), None)
        refused = next((one for one in reversed(results) if _lost(one)), None)
        return (
            Figure(
                name="lossless_load",
                unit=Unit.FPS,
                value=None if pair is None else pair.load_fps,
                lower=None if pair is None else pair.load_fps,
                upper=None if refused is None else refused.load_fps,
                limit=_limit(top, pair, refused),
                reason="no two loads in a row passed without loss"
                if pair is None
                else "it and the next lower load lost nothing; at it, "
                + none_lost(sent[results.index(pair)]),
            ),
            Figure(
                name="loss_at_top",
                unit=Unit.RATIO,
                value=float(_lost(top)),
                limit=top.limit,
                reason=top.reason,
                at=loads.top,
            ),
        )

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        found = Findings()
        too_short(found, self.duration.ns)
        if self.step.value > COARSEST:
            found.breaking.append(f"steps of {self.step} instead of at most 10% (section 26.3)")
        if not self.enough(result.loads):
            found.breaking.append("the curve does not end with two loads without loss")
        self.begins_below_the_top(found, case, result)
        self.lost_by_others(found, result)
        evidence(found, case, sister_sizes)
        return (found.verdict(Standard.RFC2544),)


def _lost(result: LoadResult) -> Fraction:
    return Fraction(result.worst_loss_ratio)


def _limit(top: LoadResult, pair: LoadResult | None, refused: LoadResult | None) -> Limit:
    if pair is None:
        return Limit.BUDGET if refused is None else refused.limit
    return top.limit if refused is None else refused.limit
