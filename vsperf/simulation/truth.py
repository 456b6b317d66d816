"""The true answer of a simulated switch, for tests that check what a search reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Crossing:
    """A place on the scale of loads where passing turns into failing [fps per direction].

    It holds for trials of one second or longer; a shorter one cannot resolve single frames. Where
    chance plays a part, the two ends lie as far apart as chance can move the place.
    """

    lower_fps: int | None
    """Up to here each trial passes; 0 where none does, None where every load passes."""
    upper_fps: int | None
    """From here on each trial fails, up to the next crossing's region; None where none does."""


@dataclass(frozen=True, slots=True)
class Truth:
    """All crossings of one direction, from the lowest load upwards; a sane switch has one."""

    crossings: tuple[Crossing, ...]
    accidents: bool = False
    """Whether a trial below the crossing may fail all the same, by accident."""

    def brackets(self, lower_fps: int | None, upper_fps: int | None) -> bool:
        """Return whether a reported interval is right: some crossing can lie within it.

        `lower_fps` None says that no load passed, `upper_fps` None that no load failed.
        """
        return any(_holds(crossing, lower_fps or 0, upper_fps) for crossing in self.crossings)


def _holds(crossing: Crossing, lower_fps: int, upper_fps: int | None) -> bool:
    passed_too_high = crossing.upper_fps is not None and lower_fps >= crossing.upper_fps
    failed_too_low = upper_fps is not None and (
        crossing.lower_fps is None or upper_fps <= crossing.lower_fps
    )
    return not passed_too_high and not failed_too_low


NO_LIMIT = Truth((Crossing(None, None),))
"""Every load passes."""
NOTHING_PASSES = Truth((Crossing(0, 1),))
"""Every load fails."""


def overload(low_fps: int, high_fps: int, loss_ratio: Fraction) -> Truth:
    """Return the truth of a switch that forwards what it can and drops the rest.

    Its capacity lies between `low_fps` and `high_fps`. A load L loses L − capacity, so an allowed
    ratio moves the crossing up to capacity / (1 − ratio); the slack is for counting whole frames.
    """
    if loss_ratio >= 1:
        return NO_LIMIT
    slack = math.ceil(1 / (1 - loss_ratio)) if loss_ratio else 0
    lower = math.floor(low_fps / (1 - loss_ratio))
    upper = math.floor(high_fps / (1 - loss_ratio)) + 1
    return Truth((Crossing(max(0, lower - slack), upper + slack),))
