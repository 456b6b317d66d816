"""Binary search with loss verification: repeats, the threshold, and the array of loads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_models import (
    LINE_RATE,
    LOADS,
    Measure,
    goal_of,
    probe_of,
    search,
    spec_of,
    switch,
    trial,
    way,
)

from vsperf.methods.tst009 import array_of
from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.record.load import intended_frames
from vsperf.record.trial import Trial
from vsperf.search.base import Loads
from vsperf.units import NANOSECONDS

NDR = {"ndr": {"loss_ratio": "0"}}


def _accidents(every: int, frames: int, capacity: int = LINE_RATE) -> Measure:
    """Return a switch that loses some frames in one trial of `every`, whatever the load."""
    made: list[int] = []

    def measure(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        intended = intended_frames(load_fps, duration_ns)
        over = max(0, intended - intended_frames(capacity, duration_ns))
        accident = 0 if len(made) % every else frames
        return trial(load_fps, duration_ns, [way(intended, lost=max(over, accident))])

    return measure


def test_the_array_descends_from_the_highest_load_in_equal_steps() -> None:
    assert list(array_of(Loads(100, 1000, 1000, step=300))) == [100, 400, 700, 1000]
    assert list(array_of(Loads(101, 1000, 1000, step=300))) == [400, 700, 1000]
    assert list(array_of(Loads(100, 1000, 1000, step=5000))) == [1000]


@given(capacity=st.integers(20_000, LINE_RATE - 1))
def test_the_result_is_a_load_of_the_array_and_the_next_one_up(capacity: int) -> None:
    ndr = goal_of(search(spec_of("tst009"), switch(capacity)), "ndr")
    assert ndr.lower_fps in array_of(LOADS)
    assert ndr.lower_fps is not None
    assert ndr.upper_fps == ndr.lower_fps + 10_000
    assert ndr.lower_fps <= capacity < ndr.upper_fps


def test_the_number_of_trials_is_logarithmic_in_the_array() -> None:
    probe = probe_of(switch(10**6))
    spec_of("tst009", goals=NDR).search(LOADS).run(probe)
    assert len(probe.trials) <= len(array_of(LOADS)).bit_length()


def test_small_loss_is_repeated_until_a_trial_passes() -> None:
    probe = probe_of(_accidents(every=2, frames=5))
    (ndr,) = spec_of("tst009", goals=NDR).search(LOADS).run(probe).goals
    assert (ndr.limit, ndr.lower_fps) == (Limit.LINK, LINE_RATE)
    loads = [each.load_fps for each in probe.trials]
    assert any(loads.count(load) == 2 for load in loads)


def test_loss_above_the_threshold_is_not_repeated() -> None:
    probe = probe_of(switch(10**6))
    spec_of("tst009", goals=NDR).search(LOADS).run(probe)
    loads = [each.load_fps for each in probe.trials]
    assert len(loads) == len(set(loads))


def test_frames_that_the_switch_refused_are_its_loss() -> None:
    """On a virtual port that is how overload shows: the ring stays full."""

    def measure(load_fps: int, duration_ns: int) -> Trial:
        intended = intended_frames(load_fps, duration_ns)
        taken = min(intended, intended_frames(5 * 10**6, duration_ns))
        refused = {
            "sent_frames": taken,
            "received_frames": taken,
            "refused_frames": intended - taken,
        }
        return trial(load_fps, duration_ns, [way(intended).model_copy(update=refused)])

    ndr = goal_of(search(spec_of("tst009"), measure), "ndr")
    assert ndr.limit is Limit.DUT
    assert ndr.lower_fps is not None
    assert ndr.lower_fps <= 5 * 10**6 < (ndr.upper_fps or 0)


def test_loss_in_every_repeat_is_believed() -> None:
    probe = probe_of(_accidents(every=1, frames=5))
    (ndr,) = spec_of("tst009", goals=NDR, max_repeats=3).search(LOADS).run(probe).goals
    assert ndr.lower_fps is None
    assert Flag.AT_MINIMUM in ndr.flags
    loads = [each.load_fps for each in probe.trials]
    assert {loads.count(load) for load in loads} == {4}


def test_without_repeats_it_is_a_plain_binary_search() -> None:
    probe = probe_of(_accidents(every=2, frames=5))
    spec_of("tst009", goals=NDR, max_repeats=0).search(LOADS).run(probe)
    loads = [each.load_fps for each in probe.trials]
    assert len(loads) == len(set(loads))


def test_a_repeat_that_passed_is_shown_as_instability_at_the_bound() -> None:
    ndr = goal_of(search(spec_of("tst009"), _accidents(every=2, frames=5, capacity=10**6)), "ndr")
    assert ndr.limit is Limit.DUT
    assert ndr.lower_fps is not None
    assert ndr.lower_fps <= 10**6 < (ndr.upper_fps or 0)


def test_the_lowest_load_of_the_array_counts_as_the_minimum() -> None:
    ndr = goal_of(search(spec_of("tst009"), switch(5000)), "ndr")
    assert ndr.upper_fps == array_of(LOADS)[0] >= LOADS.minimum
    assert ndr.flags == (Flag.AT_MINIMUM,)


def test_goals_use_each_others_trials() -> None:
    probe = probe_of(switch(10**6))
    spec_of("tst009").search(LOADS).run(probe)
    loads = [each.load_fps for each in probe.trials]
    assert len(loads) == len(set(loads))


@pytest.mark.parametrize("budget_s", [0, 60, 70, 200, 400])
def test_when_the_budget_ends_the_bounds_found_so_far_are_the_answer(budget_s: int) -> None:
    probe = probe_of(switch(10**6), budget_s)
    result = spec_of("tst009").search(LOADS).run(probe)
    assert not result.complete
    assert probe.budget.spent_ns <= budget_s * NANOSECONDS
    for goal in result.goals:
        assert goal.limit is Limit.BUDGET
        assert goal.lower_fps is None or goal.lower_fps <= 10**6
        assert goal.upper_fps is None or goal.upper_fps > 10**6
