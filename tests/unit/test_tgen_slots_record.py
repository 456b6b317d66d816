"""Slots of time as tgen answers them become those of the record."""

from __future__ import annotations

from typing import Any

from vsperf.trafficgens.tgen.slots import LONGEST_NS, MOST, WIDTH_NS, asked_ns, slots_of


def slot(index: int, **changes: Any) -> dict[str, Any]:
    calm = {"slot": index, "sent": [100, 90], "received": [100, 90], "refused": [0, 0]}
    return calm | {"held_ns": [0, 0], "away_ns": 0, "silent_ns": 0} | changes


def answered(**changes: Any) -> dict[str, Any]:
    """Return a trial of 300 slots; in one of them tgen was away, in another 32 frames were lost."""
    noted = [slot(index) for index in (40, 41, 42, 98, 99, 100)]
    noted[1] |= {"away_ns": 5_000_000}
    noted[4] |= {"received": [100, 58], "refused": [0, 4], "held_ns": [0, 5]}
    totals = {"sent": [30_000, 27_000], "received": [30_000, 26_968], "refused": [0, 4]}
    found = {"slot_cycles": 1 << 25, "slot_ns": 12_935_879, "count": 300}
    return {"slots": found | {"totals": totals, "noted": noted} | changes}


def test_each_direction_keeps_its_place() -> None:
    found = slots_of(answered())
    assert found is not None
    assert (found.width_ns, found.count, found.cut) == (12_935_879, 300, False)
    assert [slot.index for slot in found.noted] == [40, 41, 42, 98, 99, 100]
    assert found.noted[1].away
    assert found.noted[4].lost_frames == (0, 32)
    assert found.noted[4].refused_frames == found.refused_frames == (0, 4)
    assert [slot.index for slot in found.left_out(silent=False)] == [40, 41, 42]


def test_a_generator_that_counts_no_slots_has_none() -> None:
    assert slots_of({"streams": []}) is None


def test_slots_are_wider_in_longer_trials_and_none_in_the_longest() -> None:
    assert asked_ns(1_000_000_000) == WIDTH_NS
    assert asked_ns(60_000_000_000) == 60_000_000_000 // MOST > WIDTH_NS
    assert asked_ns(LONGEST_NS) == LONGEST_NS // MOST
    assert asked_ns(LONGEST_NS + 1) == 0
