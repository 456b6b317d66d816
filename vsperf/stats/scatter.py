"""How far repeats lie apart, as a share of what they find, and how many show a change."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vsperf.stats.ranks import least_repeats
from vsperf.stats.repeats import student_95

SEEN = 0.03
"""The change that people ask to see."""
NORMAL_95 = 1.96
POWER = 0.8416
"""Quantile of the normal distribution at 80 %: so often is a change of that size to be seen."""
EFFICIENCY = 3 / math.pi
"""Ranks need so many times fewer samples than averages would, of what scatters normally."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """The standard deviation of repeats, as a share of their mean."""

    share: float
    freedom: int
    """How many repeats it rests on, less one for each group."""

    def margin(self, first: int, second: int) -> float:
        """Return how far the means of so many repeats lie apart by chance, at 95 %, as a share."""
        return student_95(self.freedom) * self.share * math.sqrt(1 / first + 1 / second)

    def repeats_to_see(self, change: float = SEEN) -> int:
        """Return how many repeats on each side show a change of that share, 4 times out of 5."""
        needed = 2 * ((NORMAL_95 + POWER) * self.share / change) ** 2 / EFFICIENCY
        return max(least_repeats(), math.ceil(needed))


def scatter_of(groups: Iterable[Sequence[float]]) -> Scatter | None:
    """Return the scatter of several groups of repeats together; None where nothing is repeated."""
    squares, freedom = 0.0, 0
    for group in groups:
        if len(group) > 1 and min(group) > 0:
            logs = [math.log(value) for value in group]
            squares += statistics.variance(logs) * (len(group) - 1)
            freedom += len(group) - 1
    return Scatter(math.sqrt(squares / freedom), freedom) if freedom else None
