"""A trial is judged by its counters alone, and every doubt has its own flag."""

from __future__ import annotations

from typing import Any

import pytest
from search_models import trial
from search_models import way as lane

from vsperf.engine.judge import judge, judge_with_context
from vsperf.record.flags import Flag, Severity
from vsperf.record.trial import Direction, GeneratorActivity, TrialCounts
from vsperf.spec.traffic import TrialPolicy

SECOND = 1_000_000_000

POLICY = TrialPolicy.model_validate(
    {
        "warm_up": "0s",
        "learning": False,
        "settle": "0s",
        "drain": "0s",
        "pause": "0s",
        "retries": 2,
        "offered_tolerance": "0.1%",
        "stretch_tolerance": "1%",
    }
)


def way(name: str = "phy0>phy1", **counters: Any) -> Direction:
    fine = {"intended_frames": 10_000, "sent_frames": 10_000, "received_frames": 10_000}
    return Direction(name=name, **{**fine, **counters})


def flags(*ways: Direction, sending_ns: int | None = SECOND, settled: bool = True) -> set[Flag]:
    counts = TrialCounts(directions=ways, sending_ns=sending_ns, elapsed_ns=SECOND, settled=settled)
    return set(judge(counts, SECOND, POLICY))


def test_a_lossless_trial_earns_no_flag() -> None:
    assert flags(way(), way("phy1>phy0")) == set()


def test_loss_alone_is_no_reason_for_doubt() -> None:
    assert flags(way(received_frames=4_000), way("phy1>phy0", received_frames=4_000)) == set()


@pytest.mark.parametrize(
    ("counters", "flag"),
    [
        ({"sent_frames": 0, "received_frames": 0}, Flag.NOTHING_SENT),
        ({"received_frames": 0}, Flag.NOTHING_RECEIVED),
        ({"sent_frames": 10_001}, Flag.OVERSENT),
        ({"received_frames": 10_001}, Flag.RX_EXCEEDS_TX),
        ({"sent_frames": 9_000, "received_frames": 9_001}, Flag.RX_EXCEEDS_TX),
        ({"received_frames": -1}, Flag.COUNTERS_IMPOSSIBLE),
        ({"received_frames": 5, "duplicate_frames": 6}, Flag.COUNTERS_IMPOSSIBLE),
        ({"sent_frames": 9_989, "received_frames": 9_989}, Flag.SHORT_OFFER),
        ({"received_frames": 10_003, "duplicate_frames": 3}, Flag.DUPLICATES),
        ({"corrupted_frames": 1}, Flag.CORRUPTED),
        ({"reordered_frames": 1}, Flag.REORDERED),
        ({"foreign_frames": 1}, Flag.FOREIGN),
        ({"unmarked_frames": 1}, Flag.UNCHECKED),
    ],
)
def test_each_doubt_has_its_flag_in_either_direction(counters: dict[str, Any], flag: Flag) -> None:
    assert flag in flags(way(**counters), way("phy1>phy0"))
    assert flag in flags(way(), way("phy1>phy0", **counters))


def test_counters_that_still_move_are_no_result() -> None:
    assert flags(way(), settled=False) == {Flag.COUNTERS_MOVING}


def test_sending_that_took_longer_than_tolerated_is_not_the_load_asked_for() -> None:
    assert flags(way(), sending_ns=SECOND * 101 // 100) == set()
    assert flags(way(), sending_ns=SECOND * 102 // 100) == {Flag.STRETCHED}


def test_a_generator_that_cannot_time_its_sending_is_not_blamed_for_it() -> None:
    assert flags(way(), sending_ns=None) == set()


def test_a_shortfall_within_the_tolerance_is_no_flag_but_still_loss() -> None:
    short = way(sent_frames=9_990, received_frames=9_990)
    assert flags(short) == set()
    assert short.lost_frames == 10


def test_duplicates_that_the_generator_sees_do_not_hide_loss() -> None:
    masked = way(received_frames=10_000, duplicate_frames=40)
    assert flags(masked) == {Flag.DUPLICATES}
    assert masked.lost_frames == 40


def test_loss_in_one_direction_only_is_pointed_out() -> None:
    assert flags(way(received_frames=9_900), way("phy1>phy0")) == {Flag.ONE_SIDED}


def test_a_report_without_directions_is_impossible() -> None:
    assert flags() == {Flag.COUNTERS_IMPOSSIBLE}


def test_a_loss_while_the_generator_was_behind_is_said_to_be_doubtful() -> None:
    behind = GeneratorActivity(busy_ppm=1, longest_gap_ns=0, gaps_over_10us=0, behind_ns=1_000)
    calm = behind.model_copy(update={"behind_ns": 0})
    missed = calm.model_copy(update={"missed_frames": 1})
    lost, whole = (trial(10**6, SECOND, [lane(10**6, lost=lost)]) for lost in (1, 0))
    for counts, activity, doubted in (
        (lost, behind, True),
        (lost, missed, True),
        (lost, calm, False),
        (whole, behind, False),
    ):
        seen = counts.model_copy(update={"generator": activity})
        assert (Flag.GENERATOR_BEHIND in judge_with_context(seen, POLICY)) is doubted


def test_every_flag_says_what_it_means_and_what_it_weighs() -> None:
    for flag in Flag:
        assert flag.meaning.endswith(".")
        assert flag.severity in Severity
