"""Which trials an answer rests on, and which refer to it, such as latency at half of NDR."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from vsperf.quantity import UnitError
from vsperf.record.result import SearchResult
from vsperf.record.trial import Purpose, Trial
from vsperf.units import Ratio

COUNTED = (Purpose.SEARCH, Purpose.LATENCY)
"""Trials that say what a load is, whoever asked for them."""


def of_a_load(trial: Trial) -> bool:
    """Whether a trial is one of those that say what its load is, if it is valid.

    Nothing was done meanwhile to switch or machines, such as a restart or changes of rules, and the
    load did not change. What such a trial lost says nothing of the load.
    """
    if trial.purpose not in COUNTED or trial.event is not None:
        return False
    beside = trial.purpose is Purpose.SEARCH and trial.reference is not None
    return not beside and not any(way.steps for way in trial.directions)


def load_at(bound_fps: int, share: Fraction) -> int:
    """Return the load that is a share of what was found."""
    return max(1, round(bound_fps * share))


def latency_trials(trials: Iterable[Trial], result: SearchResult | None) -> tuple[Trial, ...]:
    """Return the valid latency trials that refer to the answer that there is in the end.

    What a share is of may have moved by what such a trial lost. At a share of the new bound it is
    made once more, unless the time is over; the one before it refers to nothing any more.
    """
    bounds = {} if result is None else {one.goal: one.lower_fps for one in result.goals}
    valid = (one for one in trials if one.purpose is Purpose.LATENCY and one.valid)
    return tuple(one for one in valid if _refers(one, bounds))


def _refers(trial: Trial, bounds: dict[str, int | None]) -> bool:
    """Whether the load of a trial is the share of a goal that it was made for, if it was."""
    share, _, goal = (trial.reference or "").partition(" of ")
    if goal not in bounds:
        return True
    bound = bounds[goal]
    try:
        return bound is not None and load_at(bound, Ratio.parse(share).value) == trial.load_fps
    except UnitError:  # a stranger's record says anything
        return False
