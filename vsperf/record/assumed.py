"""What an answer assumes, since no trial at its bounds can tell."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from vsperf.record.referring import of_a_load
from vsperf.record.result import GoalResult
from vsperf.record.trial import Trial


class Assumption(enum.StrEnum):
    """One thing that is taken for granted, in words."""

    STEADY = "a capacity that is another one at other times is not seen"
    NO_BUFFER = (
        "the generator does not tell when frames arrived: what a buffer takes in a trial passes "
        "for forwarded"
    )
    NO_COPIES = "the generator cannot tell copies: one passes for the frame that is missing"


def at_bounds(goal: GoalResult, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that an answer rests on."""
    ends = (goal.lower_fps, goal.upper_fps)
    return [one for one in trials if one.valid and one.load_fps in ends and of_a_load(one)]


def assumed(trials: Sequence[Trial]) -> tuple[Assumption, ...]:
    """Return what is taken for granted by an answer that rests on these trials."""
    ways = [way for one in trials for way in one.directions]
    taken = {
        Assumption.STEADY: bool(ways),
        Assumption.NO_BUFFER: any(way.receiving_ns is None for way in ways),
        Assumption.NO_COPIES: any(way.duplicate_frames is None for way in ways),
    }
    return tuple(one for one, applies in taken.items() if applies)
