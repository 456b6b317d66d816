"""Rates to choose from, for what is searched over orders of magnitude."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

from vsperf.quantities.human import human_fps
from vsperf.quantities.units import Ratio
from vsperf.search.base import Loads

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
