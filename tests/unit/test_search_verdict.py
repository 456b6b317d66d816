"""What limits a result, in one word and one sentence, and what is to be said against it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
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
from search_models import LINE_RATE, LOADS, lossy, trial, way
from slot_samples import in_slots

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.result import GoalResult, Limit
from vsperf.records.switch import NicCounters, PortCounters, SwitchCounters, VnfCounters
from vsperf.records.trial import Direction, GeneratorActivity, Trial
from vsperf.search.classify import Bound, Bounds, DurationRule, bounds_of, failed, failed_in_switch
from vsperf.search.tst009 import VerificationRule
from vsperf.search.verdict import Question, answer, constant_loss, known_of

ONE = NANOSECONDS
NDR = DurationRule(Fraction(0), Fraction(0), ONE, ONE)
PDR = DurationRule(Fraction(1, 200), Fraction(0), ONE, ONE)


def _question(rule: DurationRule = NDR) -> Question:
    return Question("ndr", rule, LOADS, lambda lower, upper: upper - lower <= 1000)


def _answer(trials: Sequence[Trial], question: Question | None = None) -> GoalResult:
    return answer(question or _question(), trials)


def _short(load: int, unsent: int, lost: int = 0) -> Trial:
    return trial(load, ONE, [way(load, lost, unsent)], Flag.SHORT_OFFER)


def test_a_ratio_below_one_frame_of_a_trial_was_asked_as_no_loss() -> None:
    """Of a million frames none may be lost, whether 1e-7 are allowed or nothing is."""

    def found(ratio: Fraction, seconds: int = 1) -> GoalResult:
        rule = DurationRule(ratio, Fraction(0), seconds * ONE, seconds * ONE)
        made = [trial(10**6, seconds * ONE, [way(seconds * 10**6)]), lossy(1_001_000, 9)]
        return _answer(made, _question(rule))

    assert Flag.AS_NO_LOSS in found(Fraction(1, 10**7)).flags
    assert Flag.AS_NO_LOSS not in found(Fraction(1, 10**7), seconds=10).flags, "one may be lost"
    assert Flag.AS_NO_LOSS not in found(Fraction(1, 10**6)).flags, "one may be lost"
    assert Flag.AS_NO_LOSS not in found(Fraction(0)).flags, "it is a goal without loss"


def test_the_switch_is_the_limit_where_it_lost_what_was_really_sent() -> None:
    found = _answer([lossy(999_000, 1), trial(10**6, ONE, [way(10**6, lost=7)])])
    assert (found.limit, found.lower_fps, found.upper_fps) == (Limit.DUT, 999_000, 10**6)
    assert found.reason == (
        "at 1.000 Mfps the switch lost 7 of 1,000,000 frames from phy0 to phy1 "
        "(0.0007%; allowed: none)"
    )


def _while_behind(load: int, lost: int, behind_ns: int) -> Trial:
    """Lose frames while the generator found so long nothing but full bursts."""
    found = trial(load, ONE, [way(load, lost)])
    activity = GeneratorActivity(
        busy_ppm=10**6, longest_gap_ns=0, gaps_over_10us=0, ring_frames=1024, behind_ns=behind_ns
    )
    return found.model_copy(update={"generator": activity})


def test_the_generator_is_the_limit_where_its_own_full_rings_explain_every_loss() -> None:
    found = _answer([lossy(999_000, 1), _while_behind(10**6, lost=7, behind_ns=10_000)])
    assert found.limit is Limit.GENERATOR
    assert found.reason == (
        "at 1.000 Mfps every loss is one that the generator's own rings explain "
        "(it was behind with receiving for up to 10.00 µs)"
    )


def test_a_loss_beyond_what_full_rings_of_the_generator_explain_is_the_switchs() -> None:
    found = _answer([lossy(999_000, 1), _while_behind(10**6, lost=11, behind_ns=10_000)])
    assert found.limit is Limit.DUT


def _through_a_vnf(lost: int, ring: int, inside: int) -> Trial:
    """Lose frames of a million, so many before the full ring of a VNF, so many inside it."""
    port = PortCounters(
        name="vm1_0",
        vnf="vm1",
        received_frames=0,
        sent_frames=10**6 - ring,
        drops={"tx dropped": ring, "rx dropped": 0},
    )
    nics = (
        NicCounters(received_frames=10**6 - ring, sent_frames=0),
        NicCounters(received_frames=0, sent_frames=10**6 - ring - inside),
    )
    found = trial(10**6, ONE, [way(10**6, lost)])
    vnf = VnfCounters(name="vm1", nics=nics)
    switch = SwitchCounters(ports=(port,))
    return found.model_copy(update={"switch": switch, "vnfs": (vnf,)})


def test_vnfs_are_the_limit_where_most_frames_ended_in_them() -> None:
    found = _answer([lossy(999_000, 1), _through_a_vnf(1000, ring=600, inside=300)])
    assert found.limit is Limit.VNF
    assert found.reason == (
        "at 1.000 Mfps the VNFs lost 1,000 of 1,000,000 frames from phy0 to phy1 "
        "(0.1%; allowed: none); in all, 600 frames found the ring of a VNF full, and 300 were "
        "lost inside"
    )


def test_vnfs_are_the_limit_where_they_refuse_the_generator_plugged_into_them() -> None:
    refused = Direction(
        name="vm1 to vm2",
        intended_frames=1000,
        sent_frames=200,
        received_frames=200,
        refused_frames=800,
    )
    nics = (NicCounters(received_frames=200, sent_frames=200),) * 2
    vnfs = tuple(VnfCounters(name=name, nics=nics) for name in ("vm1", "vm2"))
    found = trial(1000, ONE, [refused]).model_copy(
        update={"switch": SwitchCounters(), "vnfs": vnfs}
    )
    assert found.refused_by_vnfs == 800
    assert _answer([lossy(999, 1), found]).limit is Limit.VNF


def test_what_a_vnf_does_not_count_explains_nothing() -> None:
    silent = _through_a_vnf(1000, ring=600, inside=300).model_copy(
        update={"vnfs": (VnfCounters(name="vm1"),)}
    )
    assert silent.explained_frames is None
    assert silent.unexplained_frames is None


def test_the_switch_is_the_limit_where_half_of_the_frames_ended_elsewhere() -> None:
    found = _answer([lossy(999_000, 1), _through_a_vnf(1000, ring=300, inside=200)])
    assert found.limit is Limit.DUT


def test_one_failed_trial_in_which_the_switch_lost_most_is_enough_to_blame_it() -> None:
    trials = [_through_a_vnf(1000, 900, 100), trial(10**6, ONE, [way(10**6, lost=900)])]
    assert _answer([lossy(999_000, 1), *trials]).limit is Limit.DUT


def _dropped(lost: int, counted: int) -> Trial:
    port = PortCounters(
        name="phy1", link="phy1", received_frames=0, sent_frames=0, drops={"tx dropped": counted}
    )
    found = trial(10**6, ONE, [way(10**6, lost)])
    return found.model_copy(update={"switch": SwitchCounters(ports=(port,))})


def test_nobody_is_blamed_for_frames_that_nobody_counted() -> None:
    found = _answer([lossy(999_000, 1), _dropped(50, counted=20)])
    assert (found.limit, found.upper_fps) == (Limit.UNCOUNTED, 10**6)
    assert found.reason == (
        "at 1.000 Mfps 30 of 50 missing frames were counted as lost by nobody; who lost them "
        "cannot be told"
    )
    assert _answer([lossy(999_000, 1), _dropped(50, counted=25)]).limit is Limit.DUT


def test_the_generator_is_the_limit_where_frames_were_not_sent() -> None:
    found = _answer([lossy(829_500, 1), _short(830_000, unsent=1000)])
    assert (found.limit, found.lower_fps, found.upper_fps) == (Limit.GENERATOR, 829_500, None)
    assert found.reason == "at 830.0 kfps the generator sent only 99.88% of the frames"


def test_a_switch_that_would_have_met_the_goal_alone_is_not_blamed() -> None:
    both = trial(10**6, ONE, [way(10**6, lost=4000, unsent=4000)])
    found = _answer([lossy(999_500, 1), both], _question(PDR))
    assert found.limit is Limit.GENERATOR


def test_the_mildest_failure_of_the_switch_is_quoted() -> None:
    trials = [trial(10**6, ONE, [way(10**6, lost=lost)]) for lost in (900, 20, 5000)]
    assert "lost 20 of 1,000,000" in _answer([lossy(999_500, 1), *trials]).reason


def test_the_line_rate_without_loss_is_the_limit_of_the_link() -> None:
    found = _answer([lossy(LINE_RATE, 1)])
    assert (found.limit, found.lower_fps, found.upper_fps) == (Limit.LINK, LINE_RATE, None)
    assert found.reason == "the line rate, 14.88 Mfps, passed"


def test_a_lower_maximum_without_loss_is_the_limit_of_the_settings() -> None:
    loads = replace(LOADS, maximum=10**6)
    found = _answer([lossy(10**6, 1)], replace(_question(), loads=loads))
    assert (found.limit, found.upper_fps) == (Limit.SETTING, None)
    assert found.reason == "the highest load allowed, 1.000 Mfps, passed"


def test_a_top_that_mostly_passed_says_in_how_many_trials() -> None:
    """Of the time at a load less than half may be lossy, and then it passed; not each trial did."""
    half = DurationRule(Fraction(0), Fraction(1, 2), ONE, 3 * ONE)
    made = [lossy(LINE_RATE, 1), lossy(LINE_RATE, 1), lossy(LINE_RATE, 1, Fraction(1, 10))]
    found = _answer(made, _question(half))
    assert (found.limit, found.lower_fps) == (Limit.LINK, LINE_RATE)
    assert found.reason == "the line rate, 14.88 Mfps, passed in 2 of 3 trials"


def test_the_lowest_load_that_fails_leaves_no_result() -> None:
    found = _answer([trial(9001, ONE, [way(9001, lost=90)])])
    assert (found.lower_fps, found.upper_fps, found.throughput_fps) == (None, 9001, None)
    assert found.flags == (Flag.AT_MINIMUM,)
    assert found.reason == (
        "even at the lowest load, 9.001 kfps, the switch lost 90 of 9,001 frames from phy0 to phy1 "
        "(0.9999%; allowed: none)"
    )


def test_the_lowest_load_that_cannot_be_sent_is_no_fault_of_the_switch() -> None:
    found = _answer([_short(9001, unsent=9001)])
    assert (found.limit, found.lower_fps, found.upper_fps) == (Limit.GENERATOR, None, None)
    assert found.reason == "even at the lowest load, 9.001 kfps, the generator sent only 0% of " + (
        "the frames"
    )


def test_what_passed_above_a_load_that_failed_is_said_where_there_is_no_lower_bound() -> None:
    failing = [trial(load, ONE, [way(load, lost=7)]) for load in (10**6, 4 * 10**6)]
    passing = [trial(load, ONE, [way(load)]) for load in (2 * 10**6, 3 * 10**6)]
    found = _answer([*failing, *passing], replace(_question(), complete=False))
    assert (found.lower_fps, found.upper_fps, found.limit) == (None, 10**6, Limit.BUDGET)
    assert found.reason == (
        "the time ended before there was a lower bound; below 1.000 Mfps: 0 of 1 passed; "
        "above it 3.000 Mfps passed (1 of 1); bounds rest on less time than asked"
    )


def test_an_interval_that_the_time_did_not_suffice_for_says_so() -> None:
    cut_short = replace(_question(), complete=False)
    failing = trial(10**6, ONE, [way(10**6, lost=7)])
    less = "; bounds rest on less time than asked"
    below, most = "below 1.000 Mfps: 0 of 1 passed", "most passed at 1.000 kfps (1 of 1)"
    for trials, reason in (
        ([], "the time ended before any load was decided"),
        ([lossy(1000, 1)], f"the time ended before any load had failed; {most}{less}"),
        ([failing], f"the time ended before there was a lower bound; {below}{less}"),
        (
            [failing, lossy(1000, 1)],
            f"the time ended before the interval was narrow enough; {below}; {most}",
        ),
    ):
        found = _answer(trials, cut_short)
        assert (found.limit, found.reason) == (Limit.BUDGET, reason)
        assert found.flags == (Flag.OUT_OF_BUDGET,)


def test_what_was_decided_stands_when_the_time_ends() -> None:
    """A single loss below what passed for long enough ends no search, so it is no bound either."""
    rule = DurationRule(Fraction(0), Fraction(1, 2), ONE, 5 * ONE)
    once, twice = (trial(load, ONE, [way(load, lost=7)]) for load in (900_000, 990_000))
    trials = [once, *[lossy(950_000, 1)] * 3, *[twice] * 2]
    found = _answer(trials, replace(_question(rule), complete=False))
    assert (found.limit, found.lower_fps, found.upper_fps) == (Limit.BUDGET, 950_000, 990_000)
    assert Flag.OUT_OF_BUDGET in found.flags


@pytest.mark.parametrize(
    ("passed", "made", "said"),
    [
        (12, 22, "most passed at"),
        (11, 22, "lower bound by time at"),
        (11, 23, "lower bound by time at"),
    ],
)
def test_a_load_at_which_most_trials_failed_is_not_called_undisputed(
    passed: int, made: int, said: str
) -> None:
    """Most of its time may have passed, where trials differ in length."""
    failing = trial(10**6, ONE, [way(10**6, lost=7)])
    groups = {10**6: [lossy(10**6, 1)] * passed + [failing] * (made - passed)}
    found = known_of(_question(), groups, Bounds(10**6, None, inverted=False))
    assert found == f"{said} 1.000 Mfps ({passed} of {made})"


def test_a_load_that_is_called_a_bound_reads_like_the_interval_beside_it() -> None:
    failing = trial(4_528_985, ONE, [way(4_528_985, lost=7)])
    bounds = Bounds(4_528_985, None, inverted=False)
    for trials, said in (
        ([failing, lossy(4_528_985, 1)], "lower bound by time at 4.528 Mfps (1 of 2)"),
        ([lossy(4_528_985, 1)], "most passed at 4.529 Mfps (1 of 1)"),
    ):
        assert known_of(_question(), {4_528_985: trials}, bounds) == said


def test_a_goal_that_was_reached_in_time_is_not_blamed_on_the_budget() -> None:
    trials = [lossy(999_500, 1), trial(10**6, ONE, [way(10**6, lost=7)])]
    found = _answer(trials, replace(_question(), complete=False))
    assert (found.limit, found.flags) == (Limit.DUT, ())


def test_the_budget_does_not_make_an_upper_bound_of_what_was_not_sent() -> None:
    trials = [lossy(1000, 1), _short(10**6, unsent=1000)]
    found = _answer(trials, replace(_question(), complete=False))
    assert (found.limit, found.upper_fps) == (Limit.BUDGET, None)


@pytest.mark.parametrize("late", [True, False])
def test_short_time_that_was_not_clean_either_bounds_nothing(late: bool) -> None:
    """Whether the generator was late at the load that failed, or the switch lost at it."""
    failing = in_slots(990_000, ONE, LINE_RATE, gaps=90, lost_in_gaps=7, own_loss=0)
    if late:
        (one,) = failing.directions
        less = {"sent_frames": one.sent_frames - 7, "received_frames": one.sent_frames - 7}
        failing = failing.model_copy(
            update={"directions": (one.model_copy(update=less),), "flags": (Flag.SHORT_OFFER,)}
        )
        assert failing.slots is not None
        sent = {"sent_frames": (one.sent_frames - 7,), "received_frames": (one.sent_frames - 7,)}
        failing = failing.model_copy(update={"slots": failing.slots.model_copy(update=sent)})
    found = _answer([lossy(1000, 1), failing], replace(_question(), complete=False))
    assert found.limit is Limit.UNKNOWN
    assert found.reason.startswith(
        "at 990.0 kfps only 0% of the time was clean: whose loss it was nobody can tell; "
        "the time ended before the interval was narrow enough; below 990.0 kfps: 0 of 1 passed"
    )
    assert found.flags == (Flag.OUT_OF_BUDGET,)
    assert found.cut_short


def test_a_load_that_failed_in_time_that_was_not_clean_is_rounded_as_any_load_of_a_trial() -> None:
    failing = in_slots(4_528_285, ONE, LINE_RATE, gaps=90, lost_in_gaps=7, own_loss=0)
    found = _answer([lossy(1000, 1), failing], replace(_question(), complete=False))
    assert found.reason.startswith("at 4.528 Mfps only 0% of the time was clean: ")


def test_short_time_that_was_clean_is_cut_short_and_nothing_else() -> None:
    failing = in_slots(990_000, ONE, LINE_RATE, gaps=10, lost_in_gaps=7, own_loss=9)
    found = _answer([lossy(1000, 1), failing], replace(_question(), complete=False))
    assert (found.limit, found.cut_short) == (Limit.BUDGET, True)


def test_an_upper_bound_that_passed_in_a_repeat_is_no_limit() -> None:
    trials = [lossy(999_500, 1), trial(10**6, ONE, [way(10**6, lost=7)]), lossy(10**6, 1)]
    found = _answer(trials, replace(_question(), verified=False))
    assert found.limit is Limit.UNKNOWN
    assert found.flags == (Flag.UPPER_NOT_REPRODUCED, Flag.UNSTABLE)
    assert found.reason == "the loss at 1.000 Mfps was not seen again in a repeat"


def test_a_load_that_passed_above_one_that_failed_is_flagged() -> None:
    failing = trial(10**6, ONE, [way(10**6, lost=7)])
    found = _answer([lossy(999_500, 1), failing, lossy(2 * 10**6, 1)])
    assert (found.lower_fps, found.upper_fps) == (999_500, 10**6)
    assert found.flags == (Flag.LOSS_INVERSION,)


def test_equal_trials_that_disagree_are_flagged_only_at_the_bounds() -> None:
    elsewhere = [lossy(2 * 10**6, 1, Fraction(1, 2)), lossy(2 * 10**6, 1)]
    at_upper = [trial(10**6, ONE, [way(10**6, lost=7)]), lossy(10**6, 1)]
    calm = [lossy(999_500, 1), at_upper[0]]
    assert Flag.UNSTABLE not in _answer([*calm, *elsewhere]).flags
    assert Flag.UNSTABLE in _answer([calm[0], *at_upper]).flags


def test_trials_of_different_length_may_differ_without_being_unstable() -> None:
    short = trial(10**6, ONE // 2, [way(500_000)])
    found = _answer([lossy(999_500, 1), short, trial(10**6, ONE, [way(10**6, lost=7)])])
    assert found.flags == ()


def _each_loses(lost: int, *loads: int) -> list[Trial]:
    return [trial(load, ONE, [way(load, lost=lost)]) for load in loads]


def test_a_loss_that_is_no_overload_is_flagged() -> None:
    """Overload is about as great as the step from a load that passed; single frames are not."""

    def found(lost: int, rule: DurationRule = NDR) -> GoalResult:
        few = trial(10**6, ONE, [way(10**6, lost)])
        return _answer([lossy(999_000, 1), few], _question(rule))

    assert Flag.SPORADIC_LOSS in found(9).flags
    assert Flag.SPORADIC_LOSS not in found(10).flags
    assert Flag.SPORADIC_LOSS not in found(5009, PDR).flags, "the goal allows such a loss"


def test_a_load_that_only_short_trials_carry_is_flagged() -> None:
    short = [lossy(10**6, 0.5)] * 2
    full = [lossy(10**6, 1, Fraction(1, 100))] * 2
    assert Flag.LENGTH_MATTERS in _answer([lossy(999_000, 1), *short, *full]).flags
    for trials in ((*short[1:], *full), (*short, *full[1:]), (*short, *full, lossy(10**6, 1))):
        assert Flag.LENGTH_MATTERS not in _answer([lossy(999_000, 1), *trials]).flags


def test_a_load_that_passed_since_frames_waited_somewhere_is_flagged() -> None:
    waited = lossy(999_000, 1).model_copy(update={"flags": (Flag.BUFFERED,)})
    failed = [lossy(10**6, 1, Fraction(1, 100))]
    assert Flag.BUFFERED in _answer([waited, *failed]).flags
    assert Flag.BUFFERED not in _answer([waited, lossy(999_000, 1), *failed]).flags
    overload = [lossy(999_000, 1), failed[0].model_copy(update={"flags": (Flag.BUFFERED,)})]
    assert Flag.BUFFERED not in _answer(overload).flags, "overload fills any buffer"


def test_the_same_frame_lost_at_low_and_high_load_is_constant_loss() -> None:
    assert constant_loss(_each_loses(1, 9001, 20_000, 10**6))
    found = _answer(_each_loses(1, 9001, 20_000, 10**6))
    assert found.flags == (Flag.CONSTANT_LOSS, Flag.AT_MINIMUM)


def test_overload_at_the_top_does_not_hide_constant_loss() -> None:
    assert constant_loss([*_each_loses(1, 9001, 20_000, 10**6), *_each_loses(500_000, 10**7)])


def test_other_loss_is_not_constant() -> None:
    assert not constant_loss([])
    assert not constant_loss(_each_loses(0, 9001, 20_000, 10**6))  # none at all
    assert not constant_loss(_each_loses(1, 9001, 10**6))  # on two loads only
    assert not constant_loss(_each_loses(1, 9001, 9002, 9003))  # on loads too close together
    assert not constant_loss(_each_loses(500, 9001, 20_000, 10**6))  # more than a few frames
    growing = [*_each_loses(1, 9001), *_each_loses(2, 20_000), *_each_loses(9, 10**6)]
    assert not constant_loss(growing)


def test_the_throughput_is_what_came_through_and_not_the_load() -> None:
    trials = [
        trial(10**6, ONE, [way(10**6, lost=4000)]),
        trial(1_000_900, ONE, [way(1_000_900, lost=9000)]),
    ]
    found = _answer(trials, _question(PDR))
    assert (found.lower_fps, found.throughput_fps) == (10**6, 996_000)
    assert found.loss_ratio == "1/200"


HALF = DurationRule(Fraction(0), Fraction(1, 2), ONE, 5 * ONE)


@pytest.mark.parametrize(
    ("rule", "losses", "said"),
    [
        (NDR, (Fraction(1, 1000),), False),
        (NDR, (Fraction(1, 1000), Fraction(1, 10)), True),
        (HALF, (Fraction(1, 1000),) * 3 + (Fraction(1, 10),) * 2, False),
        (HALF, (Fraction(1, 1000),) * 2 + (Fraction(1, 10),) * 3, True),
        (PDR, (Fraction(6, 1000),), False),
    ],
)
def test_trials_above_that_would_have_failed_below_too_are_told_where_more_do_than_may(
    rule: DurationRule, losses: Sequence[Fraction], said: bool
) -> None:
    """At 1.001 of what passed, overload alone costs a thousandth, and not a tenth."""
    passed = [lossy(1_000_000, 1)] * 5
    found = _answer([*passed, *(lossy(1_001_000, 1, loss) for loss in losses)], _question(rule))
    assert (found.lower_fps, found.limit) == (1_000_000, Limit.DUT)
    assert (Flag.FORWARDS_LESS in found.flags) is said


# The classification of a load, against the worked example of its standard and as a law.

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
