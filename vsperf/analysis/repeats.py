"""Repeats of a case: how far their answers lie apart, and what lies within that by chance."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vsperf.analysis.answers import findings_of, may_be_negative, parted
from vsperf.quantities.unit import Unit
from vsperf.records.result import SearchResult

# Whether numbers that were found one after the other depend on each other.
#
# What is said of repeats by their count alone presumes that each could have come at any place. A
# machine that stays in a state for longer than a repeat makes neighbours alike, and then twenty of
# them say no more than a few would. The order tells, and nothing else is presumed of the numbers.

FEWEST = 6
"""Fewer have too few orders for one of them to be a surprise."""
SURE = 0.01
"""An order that chance makes more seldom than this is no chance. It is lower than the level of
changes, as every wrong alarm costs a judgement."""
REST = 0.2
"""Where numbers were found to depend, what is put together is to show no hint of it any more."""
MOST_ORDERS = 720
"""So many orders are gone through one by one; of more, some are drawn."""
DRAWN = 2_000
ROUNDING = 1e-12
"""Sums of the same numbers in another order differ by less."""


def order_p(values: Sequence[float]) -> float:
    """Return how often chance alone puts the numbers so that neighbours lie as near as here.

    Every order of these numbers is as likely where they do not depend on each other, whatever the
    shape of their scatter. Of few, or of such as are all equal, no order is a surprise.
    """
    if len(values) < FEWEST or min(values) == max(values):
        return 1.0
    import numpy

    scaled = (numpy.array(values, dtype=float) - min(values)) / (max(values) - min(values))
    if math.factorial(len(values)) <= MOST_ORDERS:
        orders = numpy.array(list(itertools.permutations(scaled)))
        return float((_apart(orders) <= _apart(scaled) + ROUNDING).mean())
    drawn = numpy.random.default_rng(0).permuted(numpy.tile(scaled, (DRAWN, 1)), axis=1)
    as_near = int((_apart(drawn) <= _apart(scaled) + ROUNDING).sum())
    return (as_near + 1) / (DRAWN + 1)


def _apart(orders: Any) -> Any:
    """Return how far neighbours lie apart in each order, as a sum of squares."""
    import numpy

    return (numpy.diff(orders, axis=-1) ** 2).sum(axis=-1)


def taken_together(values: Sequence[float]) -> int | None:
    """Return how many neighbours count as one number, so that the rest do not depend on each other.

    One where nothing shows that they do. None where they do, and too few are left to see whether
    it helped.
    """
    if order_p(values) >= SURE:
        return 1
    size = 2
    while len(values) // size >= FEWEST:
        if order_p(batches(values, size)) >= REST:
            return size
        size *= 2
    return None


def batches(values: Sequence[float], size: int) -> tuple[float, ...]:
    """Return the middle of each so many neighbours; the first ones that fill no batch are left out.

    What has no end stays so.
    """
    return tuple(statistics.median(batch) for batch in _cut(values, size))


def averages(values: Sequence[float], size: int) -> tuple[float, ...]:
    """Return the average of each so many neighbours, likewise."""
    return tuple(statistics.fmean(batch) for batch in _cut(values, size))


def _cut(values: Sequence[float], size: int) -> list[Sequence[float]]:
    first = len(values) % size
    return [values[begin : begin + size] for begin in range(first, len(values), size)]


def student_95(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's distribution."""
    from scipy.special import stdtrit  # large, and few results are repeated

    return float(stdtrit(freedom, 0.975))


@dataclass(frozen=True, slots=True)
class Series:
    """One number of a case, as its repeats found it."""

    name: str
    unit: Unit
    values: tuple[float, ...]
    bounds: tuple[float, ...] = ()
    """Those of them that are only known to be as high or higher."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def mean(self) -> float | None:
        """The average; None where some are only bounds."""
        return None if self.bounds else statistics.mean(self.values)

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation; None of a single one, and where some are only bounds."""
        few = len(self.values) < 2
        return None if few or self.bounds else statistics.stdev(self.values)

    @property
    def confidence(self) -> tuple[float, float] | None:
        """Interval that holds the mean of all repeats there could be, at 95 %.

        It is Student's: it presumes numbers that scatter as the normal distribution does, and do
        not depend on each other. Where their order shows that they do, neighbours count as one, and
        there is none where too few are left. Of few that lie far apart it may begin below 0, where
        no time lies; it is cut there. What holds the mean in 95 of 100 cases still does: nothing
        is taken out but where the mean cannot be.
        """
        together = self.together
        if self.deviation is None or self.mean is None or together is None:
            return None
        means = averages(self.values, together)
        half = student_95(len(means) - 1) * statistics.stdev(means) / len(means) ** 0.5
        low, high = self.mean - half, self.mean + half
        if may_be_negative(self.name) or min(self.values) < 0:
            return low, high
        return max(0.0, low), high

    @property
    def together(self) -> int | None:
        """How many neighbours count as one, since they depend on each other; None: all of them."""
        return taken_together(self.values)

    @property
    def median_is_bound(self) -> bool:
        """Whether the one in the middle may be higher."""
        return self.is_bound(statistics.median_high(self.values))

    def is_bound(self, value: float) -> bool:
        """Whether the value at its place may be higher: one up to there is only a bound."""
        return any(bound <= value for bound in self.bounds)


def series_of(results: Sequence[SearchResult]) -> tuple[Series, ...]:
    """Return the numbers that repeats of one case have in common, in the order of its answers.

    A repeat without a number, or with one that is not to be believed, is left out. One whose curve
    ended sooner has no number at the loads that it did not offer. One that met a single regime has
    its answer in that, where others tell which it was.
    """
    boundary = parted(results)
    found: dict[tuple[str, Unit], list[tuple[float, bool]]] = {}
    for result in results:
        for one in findings_of(result, curve=True, boundary=boundary):
            found.setdefault((one.name, one.unit), []).append((one.value, one.open_ended))
    return tuple(
        Series(
            name,
            unit,
            tuple(value for value, _ in pairs),
            tuple(value for value, is_bound in pairs if is_bound),
        )
        for (name, unit), pairs in found.items()
    )
