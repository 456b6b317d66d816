"""From numbers in base units to places and labels on an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from vsperf.figures.drawing import Axis, Scale

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
MOST_NINES = 9


@dataclass(frozen=True, slots=True)
class Placing:
    """How an axis places its numbers."""

    axis: Axis
    factor: float
    """Numbers are divided by it."""
    unit: str
    """What they are then counted in."""

    @property
    def label(self) -> str:
        """What stands at the axis, with its unit."""
        return f"{self.axis.label} [{self.unit}]" if self.unit else self.axis.label

    def place(self, value: float) -> float:
        """Return where a number stands."""
        match self.axis.scale:
            case Scale.NAMES:
                places = [tick.at for tick in self.axis.ticks]
                return float(places.index(value))
            case Scale.NINES:
                return min(float(MOST_NINES), -math.log10(max(1e-12, 1 - value)))
            case _:
                return value / self.factor


def placing(axis: Axis, values: Iterable[float]) -> Placing:
    """Return how an axis places its numbers, in a unit that suits the greatest of them."""
    greatest = max((abs(value) for value in values), default=0.0)
    if axis.scale in (Scale.NAMES, Scale.NINES) or not axis.unit:
        return Placing(axis, 1.0, axis.unit)
    if axis.unit == "%":
        return Placing(axis, 0.01, "%")
    if axis.unit == "ns":
        factor, unit = next(((f, u) for f, u in TIMES if greatest >= f), TIMES[-1])
        return Placing(axis, factor, unit)
    factor, prefix = next(((f, p) for f, p in PREFIXES if greatest >= f), (1.0, ""))
    if prefix and axis.unit in ("cycles", "frames", "flows", "rules", "addresses"):
        words = {"k": "thousand", "M": "million", "G": "billion"}
        return Placing(axis, factor, f"{words[prefix]} {axis.unit}")
    return Placing(axis, factor, f"{prefix}{axis.unit}")
