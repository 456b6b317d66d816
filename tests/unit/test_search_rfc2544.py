"""Plain bisection: to the letter of RFC 2544, and honest about what a single trial can mean."""

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

from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.record.load import intended_frames
from vsperf.record.trial import Trial
from vsperf.search.base import Loads
from vsperf.units import NANOSECONDS

NDR = {"ndr": {"loss_ratio": "0"}}


def _accident_in(number: int) -> Measure:
    """Return a switch that forwards everything, but for one frame of one trial."""
    made: list[int] = []

    def measure(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        intended = intended_frames(load_fps, duration_ns)
        return trial(load_fps, duration_ns, [way(intended, lost=int(len(made) == number))])

    return measure


def test_the_first_trial_is_made_at_the_highest_load() -> None:
    probe = probe_of(switch(10**6))
    spec_of("rfc2544").search(LOADS).run(probe)
    assert probe.trials[0].load_fps == LINE_RATE


def test_every_trial_has_the_full_length() -> None:
    probe = probe_of(switch(10**6))
    spec_of("rfc2544").search(LOADS).run(probe)
    assert {each.duration_ns for each in probe.trials} == {60 * NANOSECONDS}


def test_the_line_rate_needs_a_single_trial() -> None:
    probe = probe_of(switch(LINE_RATE))
    (ndr, pdr) = spec_of("rfc2544").search(LOADS).run(probe).goals
    assert (ndr.limit, pdr.limit) == (Limit.LINK, Limit.LINK)
    assert len(probe.trials) == 1


@given(capacity=st.integers(9001, LINE_RATE - 1))
def test_the_interval_brackets_the_capacity_and_is_as_narrow_as_asked(capacity: int) -> None:
    ndr = goal_of(search(spec_of("rfc2544"), switch(capacity)), "ndr")
    assert ndr.lower_fps is not None
    assert ndr.upper_fps is not None
    assert ndr.lower_fps <= capacity < ndr.upper_fps
    assert ndr.upper_fps - ndr.lower_fps <= LINE_RATE / 1000
    assert ndr.throughput_fps == ndr.lower_fps


def test_a_resolution_of_nothing_means_one_frame_per_second() -> None:
    spec = spec_of("rfc2544", goals=NDR, resolution="0")
    ndr = goal_of(search(spec, switch(1_234_567)), "ndr")
    assert (ndr.lower_fps, ndr.upper_fps) == (1_234_567, 1_234_568)


def test_goals_use_each_others_trials() -> None:
    together = probe_of(switch(10**6))
    spec_of("rfc2544").search(LOADS).run(together)
    alone = probe_of(switch(10**6))
    spec_of("rfc2544", goals=NDR).search(LOADS).run(alone)
    assert len(together.trials) < 2 * len(alone.trials)


def test_an_upper_bound_that_was_an_accident_is_not_reported_as_the_limit() -> None:
    ndr = goal_of(search(spec_of("rfc2544", goals=NDR), _accident_in(1)), "ndr")
    assert ndr.limit is Limit.UNKNOWN
    assert ndr.flags == (Flag.UPPER_NOT_REPRODUCED, Flag.UNSTABLE)


def test_without_repeats_an_accident_stays_unnoticed_as_the_standard_has_it() -> None:
    spec = spec_of("rfc2544", goals=NDR, verify_upper=0)
    assert goal_of(search(spec, _accident_in(1)), "ndr").limit is Limit.DUT


def test_a_true_upper_bound_is_tried_again_as_often_as_asked() -> None:
    for repeats in (0, 1, 3):
        probe = probe_of(switch(10**6))
        spec = spec_of("rfc2544", goals=NDR, verify_upper=repeats)
        (ndr,) = spec.search(LOADS).run(probe).goals
        at_upper = [each for each in probe.trials if each.load_fps == ndr.upper_fps]
        assert len(at_upper) == 1 + repeats
        assert ndr.flags == ()


def test_when_the_time_ends_before_the_upper_bound_was_tried_again_the_result_says_so() -> None:
    probe = probe_of(switch(10**6))
    spec = spec_of("rfc2544", goals=NDR)
    spec.search(LOADS).run(probe)
    enough = sum(each.elapsed_ns for each in probe.trials[:-2]) / NANOSECONDS
    result = spec.search(LOADS).run(probe_of(switch(10**6), enough))
    (ndr,) = result.goals
    assert not result.complete
    assert ndr.limit is Limit.DUT
    assert ndr.flags == (Flag.OUT_OF_BUDGET,)
    assert "before that load could be tried again" in ndr.reason


def test_a_load_that_no_frame_survives_has_no_lower_bound() -> None:
    result = search(spec_of("rfc2544"), switch(5000))
    for goal in result.goals:
        assert (goal.lower_fps, goal.upper_fps) == (None, 9001)
        assert goal.flags == (Flag.AT_MINIMUM,)


@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_the_smallest_range_of_loads_still_has_an_answer(capacity: int) -> None:
    spec = spec_of("rfc2544", goals=NDR)
    ndr = goal_of(search(spec, switch(capacity), Loads(1, 2, LINE_RATE)), "ndr")
    wanted = (1, 2, Limit.DUT) if capacity == 1 else (2, None, Limit.SETTING)
    assert (ndr.lower_fps, ndr.upper_fps, ndr.limit) == wanted


@pytest.mark.parametrize("budget_s", [0, 60, 70, 200, 400])
def test_when_the_budget_ends_the_bounds_found_so_far_are_the_answer(budget_s: int) -> None:
    probe = probe_of(switch(10**6), budget_s)
    result = spec_of("rfc2544").search(LOADS).run(probe)
    assert not result.complete
    assert probe.budget.spent_ns <= budget_s * NANOSECONDS
    for goal in result.goals:
        assert goal.limit is Limit.BUDGET
        assert Flag.OUT_OF_BUDGET in goal.flags
        assert goal.upper_fps is None or goal.upper_fps > 10**6
