"""How far repeats lie apart, as a share of what they find, and how many show a change."""

from __future__ import annotations

import itertools
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
ENOUGH = 9
"""With so many repeats, less one for each group, it is they that say what others will do."""
MOST_REPEATS = 9_999
"""More nobody makes."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """The standard deviation of repeats, as a share of their mean."""

    share: float
    freedom: int
    """How many repeats it rests on, less one for each group."""
    groups: tuple[tuple[float, ...], ...] = ()
    """Their logarithms."""

    def margin(self, first: int, second: int) -> float:
        """Return how far the means of so many repeats lie apart by chance, at 95 %, as a share."""
        return student_95(self.freedom) * self.share * math.sqrt(1 / first + 1 / second)

    @property
    def presumes_normal(self) -> bool:
        """Whether there are too few repeats to go by anything but the normal distribution."""
        return self.freedom < ENOUGH or not self.groups

    def repeats_to_see(self, change: float = SEEN) -> int:
        """Return how many repeats on each side show a change of that share, 4 times out of 5.

        What counts for ranks is how often one with the change lies above one without it (Noether).
        That is counted over all pairs of repeats: where they lie in two states, it is far more
        often than their standard deviation lets expect. No shape needs many more than the normal.
        """
        needed = 2 * ((NORMAL_95 + POWER) * self.share / change) ** 2 / EFFICIENCY
        if not self.presumes_normal:
            beyond = self._above(math.log1p(change)) - 0.5
            by_pairs = ((NORMAL_95 + POWER) / beyond) ** 2 / 6 if beyond > 0 else math.inf
            needed = min(needed, by_pairs)
        return min(MOST_REPEATS, max(least_repeats(), math.ceil(min(needed, MOST_REPEATS))))

    def _above(self, shift: float) -> float:
        """Return how often one repeat lies above another of its group once it is shifted."""
        above = pairs = 0.0
        for group in self.groups:
            for one, other in itertools.permutations(group, 2):
                above += 1.0 if one + shift > other else 0.5 if one + shift == other else 0.0
                pairs += 1
        return above / pairs


def scatter_of(groups: Iterable[Sequence[float]]) -> Scatter | None:
    """Return the scatter of several groups of repeats together; None where nothing is repeated."""
    repeated = [group for group in groups if len(group) > 1 and min(group) > 0]
    logs = tuple(tuple(math.log(value) for value in group) for group in repeated)
    freedom = sum(len(group) - 1 for group in logs)
    if not freedom:
        return None
    squares = sum(statistics.variance(group) * (len(group) - 1) for group in logs)
    return Scatter(math.sqrt(squares / freedom), freedom, logs)
