"""From numbers in base units to places on an axis, and what is written at which of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vsperf.output.figures.drawing import Axis, Scale

PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
WORDS = {"k": "thousand", "M": "million", "G": "billion"}
COUNTED = ("cycles", "frames", "flows", "rules", "addresses")
"""What has no prefix: nobody says kframes."""
TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
MOST_NINES = 9.0
ZERO_BELOW = 0.6
"""How far below the least decade the place for 0 is, in decades."""
NO_SMALLER = -1.0
"""Decades: below a tenth of its unit nobody says a number in it."""
MARGIN = 0.04
HEADROOM = 0.06
FEW_DECADES = 3
MOST_DRAWN, LEAST_DRAWN = 1e30, 1e-30
"""No number that was measured is larger, or nearer to 0; those of others can be anything."""
NARROW = 0.6
"""Decades of a logarithmic axis below which 1, 2 and 5 are too far apart for its ticks."""


@dataclass(frozen=True, slots=True)
class Placing:
    """How an axis places its numbers: all places are on a plain linear scale."""

    axis: Axis
    factor: float
    """Numbers are divided by it."""
    unit: str
    """What they are then counted in."""
    low: float
    """Ends of the axis, as places."""
    high: float
    zero: float = 0.0
    """Place of 0, of a logarithmic axis that has one."""

    @property
    def label(self) -> str:
        """What stands at the axis, with its unit, unless each number has its own.

        Equal distances on a logarithmic one are equal factors, which it has to say.
        """
        unit = self.unit
        if self.own_units:
            unit = self.axis.unit if self.axis.unit in COUNTED else ""
        label = f"{self.axis.label} [{unit}]" if unit else self.axis.label
        return f"{label}, log scale" if self.axis.scale in (Scale.LOG, Scale.LOG_ZERO) else label

    @property
    def own_units(self) -> bool:
        """Whether numbers lie so far apart that each is written in a unit of its own: 1 µs, 2 s."""
        far = self.axis.scale is Scale.LOG and self.low < NO_SMALLER
        return far and self.axis.unit not in ("", "%")

    def place(self, value: float) -> float:
        """Return where a number stands."""
        match self.axis.scale:
            case Scale.NAMES:
                return float([tick.at for tick in self.axis.ticks].index(value))
            case Scale.NINES:
                return min(MOST_NINES, -math.log10(max(10**-MOST_NINES, 1 - _drawable(value))))
            case Scale.LOG | Scale.LOG_ZERO:
                shown = _drawable(value)
                return math.log10(shown / self.factor) if shown > 0 else self.zero
            case _:
                return _drawable(value) / self.factor

    def share(self, place: float) -> float:
        """Return how far along the axis a place is, from 0 to 1."""
        return (place - self.low) / (self.high - self.low)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yield the places where something is written, and what."""
        if self.axis.ticks:
            yield from ((self.place(tick.at), tick.name) for tick in self.axis.ticks)
        elif self.axis.scale in (Scale.LOG, Scale.LOG_ZERO):
            yield from self._decades()
        else:
            for place in _round_numbers(self.low, self.high):
                yield place, f"{place:g}"

    def _decades(self) -> Iterator[tuple[float, str]]:
        if self.axis.scale is Scale.LOG_ZERO:
            yield self.zero, "0"
        if self.axis.scale is Scale.LOG and self.high - self.low < NARROW:
            for number in _round_numbers(10**self.low, 10**self.high):
                yield math.log10(number), f"{number:g}"
            return
        first = math.ceil(self.low + (ZERO_BELOW if self.axis.scale is Scale.LOG_ZERO else 0))
        decades = range(first - 1, math.floor(self.high) + 1)
        step = max(1, len(decades) // 8)
        between = (1, 2, 5) if self.high - self.low < FEW_DECADES else (1,)
        for decade in decades[::step]:
            for digit in between:
                place = decade + math.log10(digit)
                above_zero = self.axis.scale is Scale.LOG or place > self.zero + 0.3
                if self.low - 1e-9 <= place <= self.high + 1e-9 and above_zero:
                    yield place, self._written(digit * 10.0**decade)

    def _written(self, number: float) -> str:
        if not self.own_units:
            return f"{number:g}"
        value = number * self.factor
        if self.axis.unit in COUNTED:
            return f"{value / 1e6:g} million" if value >= 1e6 else f"{value:,.6g}"
        factor, unit = _unit(self.axis, value * (1 + 1e-9))
        return f"{value / factor:.6g} {unit}"


def placing(axis: Axis, values: Iterable[float]) -> Placing:
    """Return how an axis places its numbers, in a unit that suits the greatest of them."""
    every = list(values if axis.scale is Scale.NAMES else map(_drawable, values))
    factor, unit = _unit(axis, max((abs(value) for value in every), default=0.0))
    above = [value for value in every if value > 0]
    zero = math.floor(math.log10(min(above) / factor) + 1e-9) - ZERO_BELOW if above else -1.0
    rough = Placing(axis, factor, unit, 0.0, 1.0, zero)
    low, high = _ends(axis, [rough.place(value) for value in every], rough)
    return Placing(axis, factor, unit, low, high, zero)


def _drawable(value: float) -> float:
    """Return a number that can be placed: the nearest one to what is too large, or too small."""
    if not abs(value) >= LEAST_DRAWN:  # neither is what is no number
        return 0.0
    return max(-MOST_DRAWN, min(MOST_DRAWN, value))


def _ends(axis: Axis, places: Sequence[float], rough: Placing) -> tuple[float, float]:
    if axis.scale is Scale.NAMES:
        return -0.5, max(1, len(axis.ticks)) - 0.5
    if not places:
        return 0.0, 1.0
    low, high = min(places), max(places)
    if axis.from_zero:
        return 0.0, high * (1 + HEADROOM) if high > 0 else 1.0
    if axis.scale is Scale.LOG_ZERO:
        low = min(low, rough.zero)
    room = (high - low) * MARGIN or abs(high) * MARGIN or 1.0
    return low - room, high + room


def _unit(axis: Axis, greatest: float) -> tuple[float, str]:
    """Return what numbers are divided by, and what they are counted in then."""
    if axis.scale in (Scale.NAMES, Scale.NINES) or not axis.unit:
        return 1.0, axis.unit
    if axis.unit == "%":
        return 0.01, "%"
    if axis.unit == "ns":
        return next(((f, unit) for f, unit in TIMES if greatest >= f), TIMES[-1])
    factor, prefix = next(((f, p) for f, p in PREFIXES if greatest >= f), (1.0, ""))
    if prefix and axis.unit in COUNTED:
        return factor, f"{WORDS[prefix]} {axis.unit}"
    return factor, f"{prefix}{axis.unit}"


def _round_numbers(low: float, high: float) -> list[float]:
    """Return some round numbers from one end to the other."""
    rough = (high - low) / 8
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * digit for digit in (1, 2, 2.5, 5, 10) if size * digit >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]
