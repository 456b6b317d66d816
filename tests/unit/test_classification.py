"""The classification of a load, against the worked example of its standard and as a law."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from all_wrong import hold_each
from hypothesis import given
from hypothesis import strategies as st
from MLRsearch.target_spec import TargetSpec
from MLRsearch.target_stat import TargetStat
from MLRsearch.trial_measurement import MeasurementResult
from search_models import lossy, trial, way

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.trial import Trial
from vsperf.search.classify import Bound, DurationRule, bounds_of, failed, failed_in_switch
from vsperf.search.tst009 import VerificationRule

GOLDEN = json.loads(
    (Path(__file__).parent.parent / "golden" / "load_classification.json").read_text()
)


def _percent(text: str) -> Fraction:
    return Fraction(text) / 100


def _rule(goal: dict[str, Any]) -> DurationRule:
    return DurationRule(
        _percent(goal["loss"]),
        _percent(goal["exceed"]),
        goal["final_s"] * NANOSECONDS,
        goal["sum_s"] * NANOSECONDS,
    )


def _phases() -> list[list[Trial]]:
    batches = [
        [lossy(GOLDEN["load_fps"], seconds, _percent(loss))] * count
        for count, seconds, loss in GOLDEN["phases"]
    ]
    return list(itertools.accumulate(batches))


def test_the_worked_example_is_met_in_each_cell() -> None:
    def check(row: tuple[dict[str, Any], int]) -> None:
        goal, phase = row
        bound, optimistic, pessimistic = goal["cells"][phase]
        found = _rule(goal).classify(_phases()[phase])
        assert found.bound.value == bound
        assert round(float(found.optimistic) * 100, 3) == optimistic
        if pessimistic is not None:
            assert round(float(found.pessimistic) * 100, 3) == pessimistic

    hold_each(
        itertools.product(GOLDEN["goals"], range(6)),
        check,
        lambda cell: f"{cell[0]['name']} in phase {cell[1]}",
    )


@pytest.mark.parametrize("goal", GOLDEN["goals"], ids=lambda goal: goal["name"])
def test_the_worked_example_yields_its_conditional_throughput(goal: dict[str, Any]) -> None:
    rule, trials = _rule(goal), _phases()[-1]
    found = rule.throughput_fps(trials) if rule.bound(trials) is Bound.LOWER else None
    assert found == goal["throughput_fps"]


def test_the_throughput_at_a_lower_bound_never_exceeds_what_came_through() -> None:
    """A hard limit of 100 Mfps with 0.5 % allowed: the bound lies above it, the rate does not."""
    rule = DurationRule(Fraction(1, 200), Fraction(0), NANOSECONDS, NANOSECONDS)
    load = 100_502_500
    trials = [trial(load, NANOSECONDS, [way(load, lost=load - 100_000_000)])]
    assert rule.bound(trials) is Bound.LOWER
    assert rule.throughput_fps(trials) == 100_000_000


TRIALS = st.lists(
    st.builds(
        lossy,
        st.sampled_from((1000, 2000, 3000)),
        st.sampled_from((1, 2, 7, 30, 60)),
        st.sampled_from((Fraction(0), Fraction(1, 1000), Fraction(1, 200), Fraction(1, 50))),
    ),
    max_size=25,
)
RULES = st.builds(
    DurationRule,
    st.sampled_from((Fraction(0), Fraction(1, 200))),
    st.sampled_from((Fraction(0), Fraction(1, 5), Fraction(1, 2))),
    st.sampled_from((1, 30, 60)).map(NANOSECONDS.__mul__),
    st.sampled_from((60, 61, 120)).map(NANOSECONDS.__mul__),
)
VERIFICATIONS = st.builds(
    VerificationRule,
    st.sampled_from((Fraction(0), Fraction(1, 200))),
    st.integers(0, 4),
    st.sampled_from((0, 5, 1000)),
)


@given(TRIALS, st.one_of(RULES, VERIFICATIONS), st.randoms(use_true_random=False))
def test_the_order_of_trials_never_changes_a_bound(
    trials: list[Trial], rule: DurationRule | VerificationRule, chance: Any
) -> None:
    shuffled = list(trials)
    chance.shuffle(shuffled)
    assert bounds_of(rule, shuffled) == bounds_of(rule, trials)


@given(TRIALS, RULES, st.randoms(use_true_random=False))
def test_the_order_of_trials_never_changes_a_classification_or_a_throughput(
    trials: list[Trial], rule: DurationRule, chance: Any
) -> None:
    shuffled = list(trials)
    chance.shuffle(shuffled)
    assert rule.classify(shuffled) == rule.classify(trials)
    one_load = [t for t in trials if t.load_fps == 1000]
    shuffled = [t for t in shuffled if t.load_fps == 1000]
    assert rule.throughput_fps(shuffled) == rule.throughput_fps(one_load)


@given(TRIALS, RULES)
def test_the_library_classifies_alike_unless_a_share_lies_on_the_edge(
    trials: list[Trial], rule: DurationRule
) -> None:
    target = TargetSpec(
        loss_ratio=float(rule.loss_ratio),
        exceed_ratio=float(rule.exceed_ratio),
        discrete_width=None,
        trial_duration=float(rule.final_ns),
        duration_sum=float(rule.sum_ns),
        expansion_coefficient=2,
        fail_fast=False,
        preceding=None,
    )
    library = TargetStat(target)
    for each in trials:
        library.add(
            MeasurementResult(
                intended_duration=each.duration_ns,
                intended_load=each.load_fps,
                offered_count=each.intended_frames,
                loss_count=each.lost_frames,
            )
        )
    ours = rule.classify(trials)
    theirs = {(True, True): Bound.LOWER, (False, False): Bound.UPPER}.get(
        library.estimates(), Bound.UNDECIDED
    )
    assert ours.bound is theirs or ours.on_edge


def test_a_load_without_trials_is_undecided() -> None:
    rule = DurationRule(Fraction(0), Fraction(0), NANOSECONDS, NANOSECONDS)
    assert rule.bound([]) is Bound.UNDECIDED


def test_the_lower_bound_lies_below_the_upper_one_even_if_a_higher_load_passes() -> None:
    rule = DurationRule(Fraction(0), Fraction(0), NANOSECONDS, NANOSECONDS)
    trials = [lossy(100, 1), lossy(200, 1, Fraction(1, 2)), lossy(300, 1)]
    found = bounds_of(rule, trials)
    assert (found.lower, found.upper, found.inverted) == (100, 200, True)


def test_one_frame_above_the_goal_fails_and_the_goal_itself_passes() -> None:
    allowed = Fraction(1, 200)
    at_goal = trial(1000, NANOSECONDS, [way(1000, lost=5)])
    above = trial(1000, NANOSECONDS, [way(1000, lost=6)])
    assert not failed(at_goal, allowed)
    assert failed(above, allowed)


def test_loss_in_one_direction_is_not_averaged_away() -> None:
    both = trial(1000, NANOSECONDS, [way(1000, lost=8), way(1000)])
    assert failed(both, Fraction(1, 200))  # 0.8 % one way, 0.4 % of the sum
    assert failed_in_switch(both, Fraction(1, 200))


def test_unsent_frames_fail_a_trial_but_not_the_switch() -> None:
    short = trial(1000, NANOSECONDS, [way(1000, unsent=170)])
    assert failed(short, Fraction(1, 200))
    assert not failed_in_switch(short, Fraction(1, 200))


def test_a_load_that_was_not_really_offered_does_not_pass_within_a_generous_goal() -> None:
    short = trial(1000, NANOSECONDS, [way(1000, unsent=3)], Flag.SHORT_OFFER)
    assert failed(short, Fraction(1, 2))


def test_loss_up_to_the_threshold_is_believed_only_after_all_repeats() -> None:
    rule = VerificationRule(Fraction(0), max_repeats=2, loss_threshold=10)
    small, clean = trial(10**6, NANOSECONDS, [way(10**6, lost=10)]), lossy(10**6, 1)
    assert rule.bound([small]) is Bound.UNDECIDED
    assert rule.bound([small, small]) is Bound.UNDECIDED
    assert rule.bound([small, small, small]) is Bound.UPPER
    assert rule.bound([small, small, clean]) is Bound.LOWER


def test_loss_above_the_threshold_is_believed_at_once() -> None:
    rule = VerificationRule(Fraction(0), max_repeats=2, loss_threshold=10)
    assert rule.bound([trial(10**6, NANOSECONDS, [way(10**6, lost=11)])]) is Bound.UPPER


def test_frames_that_were_not_sent_do_not_take_the_switch_over_the_threshold() -> None:
    rule = VerificationRule(Fraction(0), max_repeats=2, loss_threshold=10)
    short = trial(10**6, NANOSECONDS, [way(10**6, lost=5, unsent=500)])
    assert rule.bound([short]) is Bound.UPPER
    assert rule.bound([short], failed_in_switch) is Bound.UNDECIDED
