"""A range of loads, as most methods have one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

from vsperf.config.case import CaseSpec
from vsperf.config.method import Contradiction
from vsperf.methods.base import Method, refused
from vsperf.quantities.human import human_fps
from vsperf.quantities.units import Duration, FrameSize, LinkSpeed, Rate, Ratio
from vsperf.search.base import Loads

SHORTEST_NS = 1_000_000
"""Of shorter trials too few frames are left to tell one load from another."""


def _above_zero(duration: Duration) -> Duration:
    if duration.ns < SHORTEST_NS:
        raise ValueError("a trial must last longer than nothing")
    return duration


TrialDuration = Annotated[Duration, AfterValidator(_above_zero)]


class WithinRange(Method):
    """Offers loads between two."""

    min_load: Rate
    """Lowest load that is tried."""
    max_load: Rate
    """Highest load that is tried."""

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield that the range of loads is empty, if it is."""
        low, high = (load.frames_per_second(size, link) for load in (self.min_load, self.max_load))
        if low < high:
            return
        yield Contradiction(
            "min_load",
            f"{self.min_load} is not below max_load {self.max_load}",
            f"with frames of {size} on {link}: {float(low):.0f} and {float(high):.0f} fps",
        )

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the range of loads, in whole frames per second and direction.

        All links carry the same load, so the slowest one decides. A highest load above the line
        rate means the line rate: the same limit then serves a list of frame sizes.
        """
        link, size = case.slowest_link, case.traffic.frame_size
        line_rate = math.floor(link.frames_per_second(size))
        lowest = max(1, math.ceil(self.min_load.frames_per_second(size, link)))
        highest = min(line_rate, math.floor(self.max_load.frames_per_second(size, link)))
        if generator_cap is not None:
            highest = max(lowest + 1, min(highest, generator_cap))
        if lowest >= highest:
            raise refused(
                f"min_load {self.min_load} leaves no range below max_load {self.max_load}",
                f"at {size} on {link} they are {lowest} and {highest} frames per second",
                "lower search.min_load or raise search.max_load",
            )
        return Loads(
            lowest, highest, line_rate, generator_cap=generator_cap, virtual=case.virtual_links
        )


NARROWEST = Fraction(1, 1000)


def _wide_enough(width: Ratio) -> Ratio:
    if not NARROWEST <= width.value < 1:
        raise ValueError("width must lie between 0.1% and 100%")
    return width


Width = Annotated[Ratio, AfterValidator(_wide_enough)]
"""By how much two rates differ, as a share of the lower one."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Each rate is the one before and a share of it more.

    They are numbered from 1, which is the lowest that may be offered, to the highest.
    """

    loads: Loads
    width: Ratio

    @property
    def top(self) -> int:
        """The number of the highest rate."""
        span = math.log(self.loads.maximum / self.loads.minimum)
        return max(2, 1 + int(span / math.log1p(float(self.width))))

    def of(self, number: int) -> int:
        """Return a rate [fps per direction]."""
        if number >= self.top:
            return self.loads.maximum
        rate = round(self.loads.minimum * (1 + float(self.width)) ** (number - 1))
        return min(self.loads.maximum, rate)

    @property
    def even_lowest(self) -> str:
        """Words for the reason why there is no rate."""
        return f"even at {human_fps(self.loads.minimum)}, the lowest rate allowed,"
