"""Searches to the letter of their standards."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_models import (
    LINE_RATE,
    LOADS,
    Measure,
    goal_of,
    lossy,
    probe_of,
    search,
    spec_of,
    switch,
    trial,
    way,
)

from vsperf.methods.tst009 import array_of
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.result import Limit
from vsperf.records.trial import Trial, intended_frames
from vsperf.search.base import Loads, Probe
from vsperf.search.classify import DurationRule
from vsperf.search.verify import verify_upper

# Plain bisection: to the letter of RFC 2544, and honest about what a single trial can mean.

NDR = {"ndr": {"loss_ratio": "0"}}


def _accident_in(number: int) -> Measure:
    """Return a switch that forwards everything, but for one frame of one trial."""
    made: list[int] = []

    def measure(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        intended = intended_frames(load_fps, duration_ns)
        return trial(load_fps, duration_ns, [way(intended, lost=int(len(made) == number))])

    return measure


def test_the_first_trial_is_made_at_the_highest_load_and_all_have_the_full_length() -> None:
    probe = probe_of(switch(10**6))
    spec_of("rfc2544").search(LOADS).run(probe)
    assert probe.trials[0].load_fps == LINE_RATE
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


@pytest.mark.parametrize("method", ["rfc2544", "tst009"])
@pytest.mark.parametrize("budget_s", [0, 60, 70, 200, 400])
def test_when_the_budget_ends_the_bounds_found_so_far_are_the_answer(
    budget_s: int, method: str
) -> None:
    probe = probe_of(switch(10**6), budget_s)
    result = spec_of(method).search(LOADS).run(probe)
    assert not result.complete
    assert probe.budget.spent_ns <= budget_s * NANOSECONDS
    for goal in result.goals:
        assert goal.limit is Limit.BUDGET
        assert Flag.OUT_OF_BUDGET in goal.flags or method == "tst009"
        assert goal.lower_fps is None or goal.lower_fps <= 10**6
        assert goal.upper_fps is None or goal.upper_fps > 10**6


# Binary search with loss verification: repeats, the threshold, and the array of loads.


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


@pytest.mark.parametrize(
    ("changes", "measure"),
    [
        ({"goals": NDR}, switch(10**6)),
        ({"goals": NDR, "max_repeats": 0}, _accidents(every=2, frames=5)),
        ({}, switch(10**6)),
    ],
    ids=["loss above the threshold", "without repeats", "goals use each other's trials"],
)
def test_no_load_is_tried_twice(changes: dict[str, Any], measure: Measure) -> None:
    probe = probe_of(measure)
    spec_of("tst009", **changes).search(LOADS).run(probe)
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


def test_a_repeat_that_passed_is_shown_as_instability_at_the_bound() -> None:
    ndr = goal_of(search(spec_of("tst009"), _accidents(every=2, frames=5, capacity=10**6)), "ndr")
    assert ndr.limit is Limit.DUT
    assert ndr.lower_fps is not None
    assert ndr.lower_fps <= 10**6 < (ndr.upper_fps or 0)


def test_the_lowest_load_of_the_array_counts_as_the_minimum() -> None:
    ndr = goal_of(search(spec_of("tst009"), switch(5000)), "ndr")
    assert ndr.upper_fps == array_of(LOADS)[0] >= LOADS.minimum
    assert ndr.flags == (Flag.AT_MINIMUM,)


# Trying an upper bound again: when it is worth a trial, and what a repeat may show.

ONE, MINUTE = NANOSECONDS, 60 * NANOSECONDS
STRICT = DurationRule(Fraction(0), Fraction(0), MINUTE, MINUTE)
LOSSY = lossy(10**6, 60, Fraction(1, 100))


def _probe(capacity: int, *made: Trial, budget_s: float | None = None) -> Probe:
    """Return a probe on an ideal switch, with trials that were made before."""
    probe = probe_of(switch(capacity), budget_s)
    probe.trials.extend(made)
    return probe


def test_loss_that_comes_again_confirms_the_bound() -> None:
    probe = _probe(500_000, LOSSY)
    assert verify_upper(STRICT, probe, MINUTE, 2) == (True, False)
    assert [(each.load_fps, each.duration_ns) for each in probe.trials[1:]] == [(10**6, MINUTE)] * 2


HALF = DurationRule(Fraction(0), Fraction(1, 2), MINUTE, MINUTE)


@pytest.mark.parametrize(
    ("capacity", "made", "repeats", "verdict", "trials"),
    [
        (2 * 10**6, [LOSSY], 5, (False, False), 2),
        (500_000, [LOSSY, LOSSY], 2, (True, False), 3),
        (2 * 10**6, [lossy(1000, 60), LOSSY, LOSSY, LOSSY], 2, (True, False), 4),
        (500_000, [lossy(10**6, 1, Fraction(1, 100)), lossy(10**6, 60)], 2, (False, False), 2),
        (500_000, [LOSSY, lossy(10**6, 1)], 2, (True, False), 4),
        (500_000, [lossy(10**6, 60)], 2, (None, False), 1),
    ],
    ids=[
        "the first repeat that passes ends it",
        "lossy trials that are there already count as repeats",
        "and settle it where they are enough",
        "a full trial that passed already needs no repeat",
        "a short trial that passed says nothing on a full one",
        "without an upper bound there is nothing to try",
    ],
)
def test_an_upper_bound_is_tried_as_often_as_it_is_worth_it(
    capacity: int, made: list[Trial], repeats: int, verdict: tuple[bool | None, bool], trials: int
) -> None:
    probe = _probe(capacity, *made)
    assert verify_upper(STRICT, probe, MINUTE, repeats) == verdict
    assert len(probe.trials) == trials


def test_a_load_that_the_generator_could_not_send_is_not_tried_again() -> None:
    short = trial(10**6, MINUTE, [way(60 * 10**6, unsent=10**6)], Flag.SHORT_OFFER)
    probe = _probe(500_000, short)
    assert verify_upper(STRICT, probe, MINUTE, 2) == (None, False)
    assert probe.trials == [short]


def test_a_goal_with_an_exceed_ratio_has_its_own_repeats() -> None:
    made = [lossy(1000, 60), LOSSY, LOSSY]
    probe = _probe(500_000, *made)
    assert verify_upper(HALF, probe, MINUTE, 2) == (None, False)
    assert probe.trials == made


def test_a_single_lossy_trial_is_tried_again_whatever_the_exceed_ratio() -> None:
    assert verify_upper(HALF, _probe(500_000, lossy(1000, 60), LOSSY), MINUTE, 2) == (True, False)
    assert verify_upper(HALF, _probe(2 * 10**6, lossy(1000, 60), LOSSY), MINUTE, 2)[0] is False


def test_where_nothing_passed_the_lowest_load_is_tried_once_more() -> None:
    assert verify_upper(HALF, _probe(2 * 10**6, LOSSY, LOSSY), MINUTE, 2) == (False, False)
    assert verify_upper(HALF, _probe(500_000, LOSSY, LOSSY), MINUTE, 2) == (True, False)


def test_when_the_time_ends_the_bound_is_unverified_and_not_wrong() -> None:
    probe = _probe(500_000, LOSSY, budget_s=70)
    assert verify_upper(STRICT, probe, MINUTE, 2) == (None, True)
    assert len(probe.trials) == 2
