"""One number over the repeats of a case on one side of a comparison."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace

from vsperf.stats.dependence import batches
from vsperf.stats.findings import Basis, Finding
from vsperf.unit import Unit


@dataclass(frozen=True, slots=True)
class Sample:
    """The answers of all repeats, in the order in which they were made; at least one."""

    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """What they answer."""
        return self.findings[0].name

    @property
    def unit(self) -> Unit:
        """What they count."""
        return self.findings[0].unit

    @property
    def count(self) -> int:
        """How many repeats there are."""
        return len(self.findings)

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers themselves."""
        return tuple(one.value for one in self.findings)

    @property
    def lows(self) -> tuple[float, ...]:
        """What each cannot be below."""
        return tuple(one.low for one in self.findings)

    @property
    def highs(self) -> tuple[float, ...]:
        """What each cannot be above."""
        return tuple(one.high for one in self.findings)

    @property
    def median(self) -> float:
        """The one in the middle."""
        return statistics.median(self.values)

    @property
    def middle(self) -> tuple[float, float]:
        """The interval of the one in the middle."""
        return statistics.median(self.lows), statistics.median(self.highs)

    @property
    def resolved(self) -> tuple[float, float]:
        """The same, as far as a search could tell loads apart; what was measured, as it is."""
        return self.middle if self.searched else (self.median, self.median)

    @property
    def searched(self) -> bool:
        """Whether all of them are bounds that a search found."""
        return all(one.basis is Basis.SEARCH for one in self.findings)

    @property
    def median_is_open(self) -> bool:
        """Whether the one in the middle is only known to be as high or higher."""
        return math.isinf(self.middle[1])

    @property
    def bounded(self) -> bool:
        """Whether every one of them came with its bounds."""
        return all(one.basis is not Basis.NOTHING for one in self.findings)

    @property
    def open_ended(self) -> bool:
        """Whether one of them is only known to be as high or higher."""
        return any(one.open_ended for one in self.findings)

    def batched(self, size: int) -> Sample:
        """Return a sample in which each so many neighbours are one answer, that in their middle."""
        if size == 1:
            return self
        told = zip(
            *(batches(ends, size) for ends in (self.values, self.lows, self.highs)), strict=True
        )
        bases = {one.basis for one in self.findings}
        basis = bases.pop() if len(bases) == 1 else Basis.NOTHING
        return Sample(
            tuple(
                replace(self.findings[0], value=value, low=low, high=high, basis=basis)
                for value, low, high in told
            )
        )


def samples_of(findings: Iterable[Finding]) -> dict[tuple[str, Unit], Sample]:
    """Return the answers of several repeats, put together by what they answer."""
    found: dict[tuple[str, Unit], list[Finding]] = {}
    for one in findings:
        found.setdefault((one.name, one.unit), []).append(one)
    return {key: Sample(tuple(group)) for key, group in found.items()}
