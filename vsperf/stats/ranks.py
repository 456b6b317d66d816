"""Two sets of repeats, compared by their ranks: no shape of their scatter is presumed.

Some numbers are only known to be as high or higher. Each claim is therefore tested in the case
that speaks most against it: that one is lower, with what is open on its side as high as can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal

LEVEL = 0.05
"""Differences that chance makes in fewer cases than this are believed."""
MOST_ARRANGEMENTS = 1_000
"""So many ways to share equal numbers out are gone through one by one; beyond, the ranks are as
good as normal."""


def can_tell(first: int, second: int) -> bool:
    """Return whether so many repeats can show a difference at all, however large it is."""
    return first > 0 and second > 0 and 2 / math.comb(first + second, first) < LEVEL


def least_repeats() -> int:
    """Return how many repeats on each side can show a difference at all."""
    return next(count for count in range(2, 100) if can_tell(count, count))


def one_sided(
    base: Sequence[float], other: Sequence[float], way: Literal["less", "greater"]
) -> float:
    """Return how often chance alone puts the other set at least as far to one side."""
    from scipy.stats import PermutationMethod, mannwhitneyu

    # As ranks, so that equal ones stay equal and what has no end has one.
    places = {value: place for place, value in enumerate(sorted({*base, *other}))}
    first, second = ([float(places[value]) for value in side] for side in (other, base))
    if not is_exact(base, other):
        found = mannwhitneyu(first, second, alternative=way, method="asymptotic")
    elif _has_ties(base, other):
        every = PermutationMethod(n_resamples=MOST_ARRANGEMENTS)
        found = mannwhitneyu(first, second, alternative=way, method=every)
    else:
        found = mannwhitneyu(first, second, alternative=way, method="exact")
    return float(found.pvalue)


def is_exact(base: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether all arrangements are counted, rather than approached by the normal one."""
    arrangements = math.comb(len(base) + len(other), len(base))
    return arrangements <= MOST_ARRANGEMENTS or not _has_ties(base, other)


def _has_ties(base: Sequence[float], other: Sequence[float]) -> bool:
    return len({*base, *other}) < len(base) + len(other)


def ratio_interval(base: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the interval that holds the ratio of the second to the first, at 95 %.

    Multiply the first by a ratio outside of it, and the test sees that they are not the same
    (Hodges and Lehmann). No number is below zero, and there are enough that the test can tell.
    """
    return _ends(_ratios(base, other), outermost(len(base), len(other)))


def middle_ratio(base: Sequence[float], other: Sequence[float]) -> float:
    """Return the ratio in the middle of those of all pairs, which belongs to that interval."""
    found = _ratios(base, other)
    half = len(found) // 2
    low, high = found[half - (len(found) % 2 == 0)], found[half]
    return high if low == high else math.sqrt(low) * math.sqrt(high)


def distance_interval(base: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the interval that holds what is added to the first, where ratios say nothing."""
    found = sorted(after - before for before in base for after in other)
    return _ends(found, outermost(len(base), len(other)))


def _ends(ordered: Sequence[float], outer: int) -> tuple[float, float]:
    return ordered[outer], ordered[-1 - outer]


def _ratios(base: Sequence[float], other: Sequence[float]) -> list[float]:
    return sorted(_ratio(before, after) for before in base for after in other)


def _ratio(before: float, after: float) -> float:
    """Return by what the first is multiplied to be the second: nothing stays what it is."""
    if after == before:
        return 1.0
    return after / before if before else math.inf


@cache
def outermost(first: int, second: int) -> int:
    """Return how many pairs at either end lie outside of the interval at 95 %.

    As many as the rank sum of Mann and Whitney can be for a difference that is just believed.
    """
    ways = _ways(first, second)
    total, seen = sum(ways), 0
    for place, count in enumerate(ways):
        seen += count
        if 2 * seen >= LEVEL * total:
            return max(0, place - 1)
    return 0  # pragma: no cover - half of all ways is always reached


def _ways(first: int, second: int) -> list[int]:
    """Return in how many arrangements each count of pairs stands the wrong way round.

    The coefficients of the Gaussian binomial, by its product: exact, as integers.
    """
    most = first * second
    ways = [1] + [0] * most
    for step in range(1, first + 1):
        for place in range(most, second + step - 1, -1):
            ways[place] -= ways[place - second - step]
        for place in range(step, most + 1):
            ways[place] += ways[place - step]
    return ways
