"""Upwards until something fails, then bisection: for devices that remember an overload.

What keeps tables is slow for minutes once they were full, so nothing is offered far above what was
seen to hold: from the lowest load on each one is twice the one before, until a load fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vsperf.search.classify import Bounds
from vsperf.search.rfc2544 import Bisection


@dataclass(frozen=True, slots=True)
class Ascending(Bisection):
    """The search, ready to run."""

    width: Fraction
    """Of the final interval, as a share of its upper bound; not narrower than the step."""

    def _next(self, bounds: Bounds) -> int | None:
        if bounds.upper is not None:
            return self._between(bounds)
        return None if bounds.lower == self.loads.maximum else self.loads.above(bounds.lower)

    def _between(self, bounds: Bounds) -> int | None:
        assert bounds.upper is not None
        if bounds.lower is None:
            return None if bounds.upper == self.loads.minimum else self.loads.minimum
        if self._narrow(bounds.lower, bounds.upper):
            return None
        return (bounds.lower + bounds.upper) // 2

    def _narrow(self, lower: int, upper: int) -> bool:
        return upper - lower <= max(self.step, int(self.width * upper))
