"""The realistic switch: it begins to lose frames gently before it is full, and no start is equal.

Batches, interrupts and cache misses make a real switch drop single frames shortly below its
capacity. So its loss-free rate lies some percent below the rate with half a percent of loss, and
longer trials find a lower one. And each start differs a little from the last one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from vsperf.quantities.units import Ratio
from vsperf.simulation.base import Behaviour, Conditions, Forwarded, PositiveShare, Spread
from vsperf.simulation.chance import WOBBLE_LIMIT, Chance
from vsperf.simulation.truth import NO_LIMIT, Crossing, Truth


class SoftKnee(Behaviour):
    """Realistic: loss begins gently some percent below the capacity, and starts differ a little."""

    kind: Literal["soft-knee"]
    knee: PositiveShare = Ratio.parse("94%")
    """Share of the capacity up to which nothing is lost."""
    lost_at_capacity: Ratio = Ratio.parse("1%")
    """Share of the frames that is lost at the capacity; it grows with the square up to there."""
    spread_of_starts: Spread = Ratio.parse("0.4%")
    """Standard deviation of the capacity between starts, which the seed decides."""
    spread_of_trials: Spread = Ratio.parse("0.02%")
    """Standard deviation of the capacity between trials of one start."""

    def forward(self, conditions: Conditions) -> Forwarded:
        wobble = float(self.spread_of_trials) * conditions.of_direction.wobble()
        capacity = conditions.capacity_fps * (1 + wobble) * self._of_start(conditions.of_start)
        fps = max(1, int(capacity))
        sent = conditions.sent_frames
        lost = math.floor(sent * self.loss_ratio(conditions.offered_fps / fps))
        return Forwarded(sent - lost, fps)

    def loss_ratio(self, used: Fraction) -> Fraction:
        """Return the lost share at a load of `used` times the capacity."""
        knee, at_capacity = self.knee.value, self.lost_at_capacity.value
        if used <= knee:
            return Fraction(0) if used <= 1 else 1 - 1 / used
        if used <= 1:
            return at_capacity * ((used - knee) / (1 - knee)) ** 2
        return 1 - (1 - at_capacity) / used

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        if loss_ratio >= 1:
            return NO_LIMIT
        middle = capacity_fps * self._of_start(Chance.of(seed, "start"))
        reach = WOBBLE_LIMIT * float(self.spread_of_trials)
        low, high = max(1, int(middle * (1 - reach)) - 1), int(middle * (1 + reach)) + 1

        def may_fail(load: int) -> bool:
            return self.loss_ratio(Fraction(load, low)) > loss_ratio

        def must_fail(load: int) -> bool:
            lost = math.floor(load * self.loss_ratio(Fraction(load, high)))
            return lost > loss_ratio * load

        return Truth((Crossing(_first(may_fail) - 1, _first(must_fail)),))

    def _of_start(self, chance: Chance) -> float:
        return 1 + float(self.spread_of_starts) * chance.wobble()


def _first(holds: Callable[[int], bool]) -> int:
    """Return the least load from which on `holds` is true; it must become so."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
