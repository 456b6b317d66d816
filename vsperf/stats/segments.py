"""A series of numbers cut into stretches of one level, by the least bits that describe it.

Where the numbers before and after have nothing to do with each other, such as on another machine, a
series is cut before it is looked at, and a cut is no change.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from vsperf.stats.dependence import SURE, order_p

FINEST = 2**13 - 1
"""The greatest number has so many steps, as the library takes them by itself."""
COARSEST = 12
"""It has at least so many, or the library would tell no numbers apart."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Numbers that lie next to each other on one level."""

    begin: int
    end: int
    """One behind its last number."""
    mean: float
    cut: bool
    """Whether it begins where the series is cut; the first one does not."""


def segments_of(values: Sequence[float], ground: Sequence[Hashable]) -> tuple[Segment, ...]:
    """Return the stretches of a series; it is cut wherever what stands in `ground` changes."""
    found: list[Segment] = []
    begin = 0
    for _, places in groupby(range(len(values)), key=lambda place: ground[place]):
        stretch = [values[place] for place in places]
        cut = bool(found)
        for size in _sizes(stretch):
            mean = sum(values[begin : begin + size]) / size
            found.append(Segment(begin, begin + size, mean, cut))
            begin, cut = begin + size, False
    return tuple(found)


def _sizes(values: Sequence[float]) -> list[int]:
    """Return how long the stretches of one level are; numbers that are not positive make one."""
    if len(values) < 2 or min(values) <= 0 or min(values) == max(values):
        return [len(values)]
    from jumpavg import classify

    finest = max(values) / FINEST
    ordered = order_p(values) < SURE
    unit = finest if ordered else max(finest, min(_grid(values), max(values) / COARSEST))
    found = classify([float(value) for value in values], unit=unit)
    # Levels that come and go in an order that could be any are states, and no changes.
    return [len(one.run_list) for one in found] if ordered or len(found) <= 2 else [len(values)]


def _grid(values: Sequence[float]) -> float:
    """Return how near two numbers lie that are not the same.

    Searches find loads of a grid, so their numbers repeat exactly, and to the library a few equal
    ones are a level that was met to all its digits. Neighbours on the grid are as good as the same.
    """
    return min(high - low for low, high in pairwise(sorted({*values})))
