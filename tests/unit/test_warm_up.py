"""A warm-up that is still warming when it ends was too short."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from slot_samples import LOAD_FPS, RATE, WIDTH_NS, trial_of

from vsperf.engine.conditions import warming
from vsperf.records.slots import Slot, Slots
from vsperf.records.trial import Trial

COUNT = 100


def warm_up(carried: Callable[[int], float], *, stalled: bool = False, cut: bool = False) -> Trial:
    """Return a warm-up at twice what can be carried, as a share of the due frames by slot."""
    noted = tuple(
        Slot(
            index=index,
            sent_frames=(RATE, RATE),
            received_frames=(round(RATE * carried(index)),) * 2,
            refused_frames=(0, 0),
            away_ns=200_000 if stalled else 0,
            silent_ns=0,
        )
        for index in range(COUNT)
        if carried(index) < 1
    )
    slots = Slots.of(
        width_ns=WIDTH_NS,
        count=COUNT,
        sent_frames=(RATE * COUNT,) * 2,
        received_frames=(RATE * COUNT,) * 2,
        refused_frames=(0, 0),
        noted=noted,
        cut=cut,
    )
    return trial_of(slots).model_copy(update={"load_fps": LOAD_FPS})


def growing(index: int) -> float:
    return 0.3 + 0.004 * index


def test_a_switch_that_gets_faster_to_the_end_is_still_warming() -> None:
    assert warming(warm_up(growing))


@pytest.mark.parametrize(
    ("carried", "what"),
    [
        (lambda index: 0.5, "all the same"),
        (lambda index: min(0.5, 0.3 + 0.004 * index), "at rest from the middle on"),
        (lambda index: 0.5 + 0.02 * (index % 2), "now this, now that"),
        (lambda index: 0.8 - 0.004 * index, "slower and slower"),
        (lambda index: 0.5 + 0.0004 * index, "faster by less than a twentieth"),
        (lambda index: 1.0, "no load of its own"),
    ],
)
def test_a_switch_at_rest_is_not(carried: Callable[[int], float], what: str) -> None:
    assert not warming(warm_up(carried)), what


def test_of_slots_that_nobody_knows_or_in_which_tgen_was_away_nothing_follows() -> None:
    assert not warming(warm_up(growing, stalled=True))
    assert not warming(warm_up(growing, cut=True))
    assert not warming(warm_up(growing).model_copy(update={"slots": None}))
