"""The middle of differences, and where it lies: Hodges and Lehmann by Wilcoxon's signed ranks.

No shape of their scatter is presumed, only that it lies as much on one side as on the other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

LEVEL = 0.05
"""Intervals leave out what is true in so many cases, and not in more."""
LEAST = 6
"""With fewer differences no interval of that level is bounded."""
MOST_COUNTED = 60
"""Of more differences, the ranks are as good as normal."""


@dataclass(frozen=True, slots=True)
class Middle:
    """Where differences lie."""

    value: float
    lower: float | None
    """None on both sides where there are too few of them to bound it."""
    upper: float | None


def middle_of(differences: Sequence[float], level: float = LEVEL) -> Middle:
    """Return the median of all means of two differences, and its interval, at 95 % unless told."""
    means = _walsh(differences)
    value, outer = statistics.median(means), outermost(len(differences), level)
    if outer is None:
        return Middle(value, None, None)
    return Middle(value, means[outer], means[-1 - outer])


def _walsh(differences: Sequence[float]) -> list[float]:
    return sorted(
        (one + other) / 2 for place, one in enumerate(differences) for other in differences[place:]
    )


@cache
def outermost(count: int, level: float = LEVEL) -> int | None:
    """Return how many means at either end lie outside of the interval; None where all do."""
    if count > MOST_COUNTED:
        deviation = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        deviations = statistics.NormalDist().inv_cdf(1 - level / 2)
        return max(0, math.floor(count * (count + 1) / 4 - deviations * deviation - 0.5))
    total, seen = 2**count, 0
    for place, found in enumerate(_ways(count)):
        seen += found
        if 2 * seen > level * total:
            return place - 1 if place else None
    raise AssertionError("half of all ways is always reached")


def least_of(level: float) -> int:
    """Return of how many differences an interval is bounded that is wrong in so many cases."""
    return next(count for count in range(1, MOST_COUNTED) if 2 ** (1 - count) <= level)


def _ways(count: int) -> list[int]:
    """Return in how many ways signs make each sum of the ranks from 1 on that are positive."""
    most = count * (count + 1) // 2
    ways = [1] + [0] * most
    for rank in range(1, count + 1):
        for place in range(most, rank - 1, -1):
            ways[place] += ways[place - rank]
    return ways
