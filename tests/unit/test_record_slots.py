"""Clean time: slots are left out by who stood still in them, and never by what they lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsperf.record.slots import STILL_NS, Slot, Slots, clean

WIDTH_NS = 10_000_000
RATE = 100
"""Frames that leave in a slot in which nothing happens, in each of two directions."""

Story = list[tuple[int, int, int]]
"""Of each slot: time away, time silent, frames lost."""


def told(story: Story, count: int | None = None, cut: bool = False) -> Slots:
    """Return the slots of a trial as a generator tells them: only those in which is something."""
    every = [
        Slot(
            index=index,
            sent_frames=(RATE, RATE),
            received_frames=(RATE - lost, RATE),
            refused_frames=(0, lost),
            away_ns=away,
            silent_ns=silent,
        )
        for index, (away, silent, lost) in enumerate(story)
    ]
    happened = [any(one) for one in story]
    noted = [slot for n, slot in enumerate(every) if any(happened[max(0, n - 1) : n + 2])]
    lost = sum(slot.lost_frames[0] for slot in every)
    return Slots(
        width_ns=WIDTH_NS,
        count=len(story) if count is None else count,
        sent_frames=(RATE * len(story),) * 2,
        received_frames=(RATE * len(story) - lost, RATE * len(story)),
        refused_frames=(0, lost),
        noted=tuple(noted),
        cut=cut,
    )


CALM = (0, 0, 0)
AWAY = (STILL_NS + 1, 0, 0)
SILENT = (0, STILL_NS + 1, 0)
SHORT = (STILL_NS, STILL_NS, 0)
LOSSY = (0, 0, 7)


@pytest.mark.parametrize(
    ("story", "guard", "left_out"),
    [
        ([CALM] * 5, 1, ()),
        ([CALM, CALM, AWAY, CALM, CALM], 1, (1, 2, 3)),
        ([CALM, CALM, SILENT, CALM, CALM], 1, (1, 2, 3)),
        ([CALM, CALM, AWAY, CALM, CALM], 0, (2,)),
        ([AWAY, CALM, CALM, CALM, SILENT], 1, (0, 1, 3, 4)),
        ([SHORT] * 5, 1, ()),
        ([LOSSY] * 5, 1, ()),
        ([AWAY] * 5, 1, (0, 1, 2, 3, 4)),
    ],
)
def test_slots_are_left_out_in_which_somebody_stood_still_and_those_beside_them(
    story: Story, guard: int, left_out: tuple[int, ...]
) -> None:
    found = clean(told(story), guard)
    assert found is not None
    assert found.left_out == left_out
    assert found.count == len(story) - len(left_out)
    assert found.sent_frames == (RATE * found.count,) * 2


def test_a_loss_counts_where_nobody_stood_still() -> None:
    found = clean(told([LOSSY, CALM, (STILL_NS + 1, 0, 50), LOSSY, LOSSY]))
    assert found is not None
    assert found.left_out == (1, 2, 3)
    assert found.lost_frames == (14, 0)
    assert found.refused_frames == (0, 14)


def test_who_stands_still_right_behind_the_end_touches_the_last_slot() -> None:
    slots = told([LOSSY, CALM, LOSSY, AWAY], count=3)
    found = clean(slots)
    assert found is not None
    assert (found.left_out, found.count) == ((2,), 2)
    assert found.lost_frames == (7, 0)


def test_where_slots_are_not_known_nobody_can_tell() -> None:
    assert clean(told([AWAY], cut=True)) is None


def test_neighbours_that_are_not_stored_cannot_be_left_out() -> None:
    for guard in (-1, 2):
        with pytest.raises(ValueError, match=f"not {guard}"):
            clean(told([CALM]), guard)


TIMES = st.sampled_from((0, 1, STILL_NS, STILL_NS + 1, WIDTH_NS))
STORIES = st.lists(st.tuples(TIMES, TIMES, st.integers(0, RATE)), max_size=40)


@given(STORIES, st.sampled_from((0, 1)))
def test_what_is_left_adds_up(story: Story, guard: int) -> None:
    found = clean(told(story), guard)
    assert found is not None
    kept = [one for index, one in enumerate(story) if index not in found.left_out]
    assert found.count == len(kept)
    assert found.sent_frames == (RATE * len(kept),) * 2
    assert found.lost_frames == (sum(lost for _, _, lost in kept), 0)
    assert found.refused_frames == (0, sum(lost for _, _, lost in kept))
    assert not any(max(away, silent) > STILL_NS for away, silent, _ in kept)


@given(STORIES)
def test_what_is_left_out_does_not_depend_on_what_was_lost(story: Story) -> None:
    lossless = [(away, silent, 0) for away, silent, _ in story]
    lossy = [(away, silent, RATE - lost) for away, silent, lost in story]
    everywhere = {one.left_out for one in map(clean, map(told, (story, lossless, lossy))) if one}
    assert len(everywhere) == 1


@given(STORIES)
def test_a_guard_leaves_out_more_and_only_neighbours(story: Story) -> None:
    narrow, wide = clean(told(story), 0), clean(told(story), 1)
    assert narrow is not None
    assert wide is not None
    assert set(narrow.left_out) <= set(wide.left_out)
    near = {index + by for index in narrow.left_out for by in (-1, 0, 1)}
    assert set(wide.left_out) == near & set(range(len(story)))
