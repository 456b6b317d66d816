"""Which trials an answer rests on, and which refer to it, such as latency at half of NDR."""

from __future__ import annotations

from collections.abc import Iterable

from vsperf.record.trial import Purpose, Trial

COUNTED = (Purpose.SEARCH, Purpose.LATENCY)
"""Trials that say what a load is, whoever asked for them."""


def latency_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return the valid latency trials that refer to the answer that there is in the end.

    What a share is of may have moved by what such a trial lost; it was made once more then.
    """
    valid = [one for one in trials if one.purpose is Purpose.LATENCY and one.valid]
    loads: dict[str | None, int] = {one.reference: one.load_fps for one in valid if one.reference}
    return tuple(one for one in valid if loads.get(one.reference, one.load_fps) == one.load_fps)
