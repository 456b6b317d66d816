"""How far deployments of a switch lie apart, by all cases that were asked on several.

A case tells little of that: two or three draws. Several tell more, as a draw is one of memory, and
its share of a rate much the same for all sizes of frames.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.records.result import GoalResult, Limit

LEVEL = 0.95
FEW = 4
"""Degrees of freedom: of fewer nobody can say where one more would lie."""

Ends = tuple[tuple[int, int], ...]
"""The lower and the upper bound on each deployment."""


@dataclass(frozen=True, slots=True)
class Apart:
    """What deployments of some cases tell of any other one."""

    cases: int
    least: Fraction
    """So far some lie apart at least, where their intervals do not meet,"""
    most: Fraction
    """and none farther than this."""
    within: float | None
    """Of the middle of those of a case one more lies no farther, in so many cases as LEVEL says;
    None of too few."""

    @classmethod
    def of(cls, cases: Iterable[Sequence[GoalResult]]) -> Apart | None:
        """Return what cases tell by their goals; None where none does."""
        found = [ends for goals in cases if (ends := _own_ends(goals))]
        if not found:
            return None
        return cls(
            len(found),
            max(max(Fraction(0), _ratio(_lowers(one), _uppers(one)) - 1) for one in found),
            max(_ratio(_uppers(one), _lowers(one)) - 1 for one in found),
            _within(found),
        )


def _own_ends(goals: Sequence[GoalResult]) -> Ends:
    """Return the bounds on deployments of the first goal, if each of them is the switch's own."""
    draws = next((one.believed_draws for one in goals if one.draws is not None), None)
    ends = []
    for one in () if draws is None else draws.told:
        if one.limit not in (Limit.DUT, Limit.VNF) or not one.lower_fps or not one.upper_fps:
            return ()
        ends.append((one.lower_fps, one.upper_fps))
    return tuple(ends) if len(ends) > 1 else ()


def _lowers(ends: Ends) -> list[int]:
    return [lower for lower, _ in ends]


def _uppers(ends: Ends) -> list[int]:
    return [upper for _, upper in ends]


def _ratio(highest: Sequence[int], lowest: Sequence[int]) -> Fraction:
    return Fraction(max(highest), min(lowest))


def _within(cases: Sequence[Ends]) -> float | None:
    """Return how far one more lies from the middle of the fewest: Student, by shares of a rate.

    What intervals leave open is in the scatter of their middles, and in that of one more.
    """
    logs = [[math.log((lower + upper) / 2) for lower, upper in ends] for ends in cases]
    free = sum(len(one) - 1 for one in logs)
    if free < FEW:
        return None
    squares = sum(statistics.variance(one) * (len(one) - 1) for one in logs)
    fewest = min(len(one) for one in logs)
    return math.expm1(_student(free) * math.sqrt(squares / free * (1 + 1 / fewest)))


def _student(free: int) -> float:
    """Return the quantile of Student's distribution on both sides (Cornish and Fisher)."""
    z = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / free + second / free**2 + third / free**3
