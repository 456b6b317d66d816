"""A series of numbers cut into stretches of one level, by the least bits that describe it.

Where the numbers before and after have nothing to do with each other, such as on another machine, a
series is cut before it is looked at, and a cut is no change.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import groupby


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

    return [len(group.run_list) for group in classify([float(value) for value in values])]
