"""Repeats of a case: how far their answers lie apart, and what lies within that by chance."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.record.result import SearchResult
from vsperf.stats.dependence import averages, taken_together
from vsperf.stats.findings import findings_of, may_be_negative
from vsperf.unit import Unit

STUDENT_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
"""Two-sided 95 % quantiles of Student's distribution with 1 to 30 degrees of freedom."""
NORMAL_95 = 1.959964


def student_95(freedom: int) -> float:
    """Return the quantile; beyond the table by its expansion around the normal one, to 0.001."""
    if freedom <= len(STUDENT_95):
        return STUDENT_95[freedom - 1]
    z = NORMAL_95
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


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
        """The one in the middle."""
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
    ended sooner has no number at the loads that it did not offer.
    """
    found: dict[tuple[str, Unit], list[tuple[float, bool]]] = {}
    for result in results:
        for one in findings_of(result, curve=True):
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
