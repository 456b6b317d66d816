"""The highest value of an array that passes: binary search, with loss verification if asked.

As TST 009 searches loads, but for whatever is counted: frames in a burst, new flows in a second,
addresses. The values are multiples of a step. How much was lost is all that is asked of a trial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Lost = Callable[[int], int]
"""(value) → frames that were lost with it."""


@dataclass(frozen=True, slots=True)
class HighestPassing:
    """The search, ready to run."""

    step: int
    """Distance of two values."""
    top: int
    """No value is higher."""
    max_repeats: int = 0
    """How often a value that lost frames is tried again: no loss in a repeat means none."""
    loss_threshold: int = 0
    """Loss above which nothing is tried again: that is no accident."""

    def run(self, lost: Lost) -> tuple[int, int | None]:
        """Return the highest value that passed, 0 if none did, and the lowest that failed."""
        low, high = 0, self.top // self.step + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._passes(middle * self.step, lost):
                low = middle
            else:
                high = middle
        failed = high * self.step
        return low * self.step, failed if failed <= self.top else None

    def _passes(self, value: int, lost: Lost) -> bool:
        for _ in range(self.max_repeats + 1):
            missing = lost(value)
            if missing <= 0:
                return True
            if missing > self.loss_threshold:
                return False
        return False
