"""Bursts at a stated gap on a simulated switch: what its buffer keeps, and what drains."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_cases import CAPACITY_FPS, KINDS, SECOND, behaving, session, simulated_case

from vsperf.engine.judge import Asked, judge
from vsperf.record.sample import Sample
from vsperf.record.trial import Event, TrialCounts
from vsperf.spec.case import CaseSpec
from vsperf.trafficgens.base import TrialRequest

RATE_FPS = 10 * CAPACITY_FPS


def bursty(length: int, gap: str, model: str = "ideal", **behaviour: Any) -> CaseSpec:
    traffic = {"bursts": {"frames": length, "gap": gap}, "direction": "forward"}
    return simulated_case(behaving(model, **behaviour), traffic=traffic)


def run(case: CaseSpec, request: TrialRequest) -> TrialCounts:
    with session(case) as running:
        return running.run(request)


def lost(case: CaseSpec, load_fps: int = RATE_FPS, duration_ns: int = SECOND) -> int:
    (way,) = run(case, TrialRequest(load_fps, duration_ns)).directions
    return way.lost_frames


def test_as_many_whole_bursts_are_sent_as_there_is_time_for() -> None:
    counts = run(bursty(100, "990us"), TrialRequest(RATE_FPS, SECOND))

    (way,) = counts.directions
    assert (way.intended_frames, way.sent_frames) == (100 * 1000, 100 * 1000)
    assert counts.sending_ns == SECOND - 990_000  # behind the last one is no gap


@pytest.mark.parametrize("model", KINDS)
def test_a_trial_of_bursts_is_judged_like_any_other(model: str) -> None:
    case = bursty(100, "990us", model)
    counts = run(case, TrialRequest(CAPACITY_FPS // 2, SECOND))
    asked = Asked(CAPACITY_FPS // 2, SECOND, 1, even=False)

    flags = judge(counts, asked, case.trial)

    assert not {flag.value for flag in flags} - {"one-sided", "duplicates"}


def test_a_switch_without_a_buffer_gains_nothing_by_a_gap() -> None:
    """Of each burst it forwards its share while it comes, and nothing is left for later."""
    (way,) = run(bursty(100, "990us"), TrialRequest(RATE_FPS, SECOND)).directions
    assert way.loss_ratio == Fraction(9, 10)


def expected_loss(frames: int, gap_ns: int, room: int, count: int, load_fps: int) -> int:
    """Play a fluid, burst by burst."""
    waiting, missing = Fraction(0), Fraction(0)
    kept = frames * (1 - Fraction(CAPACITY_FPS, load_fps))
    for _ in range(count):
        waiting += kept
        missing += max(Fraction(0), waiting - room)
        waiting = min(waiting, Fraction(room))
        waiting = max(Fraction(0), waiting - Fraction(CAPACITY_FPS * gap_ns, SECOND))
    return math.ceil(missing)


@given(
    frames=st.integers(1, 3000),
    gap_us=st.integers(1, 3000),
    room=st.integers(1, 3000),
    load=st.integers(CAPACITY_FPS + 1, RATE_FPS),
)
def test_a_buffer_keeps_what_it_has_room_for_and_drains_in_the_gaps(
    frames: int, gap_us: int, room: int, load: int
) -> None:
    case = bursty(frames, f"{gap_us}us", "buffered", frames=room)
    (way,) = run(case, TrialRequest(load, SECOND // 10)).directions
    count = way.sent_frames // frames

    assert way.lost_frames == expected_loss(frames, gap_us * 1000, room, count, load)


def test_the_smallest_gap_without_loss_is_that_in_which_a_full_buffer_drains() -> None:
    """RFC 2544, section 21: the gap is shortened until frames are lost."""
    assert lost(bursty(1000, "900us", "buffered", frames=900)) == 0
    assert lost(bursty(1000, "899us", "buffered", frames=900)) > 0


def test_an_hour_of_bursts_takes_no_longer_than_one() -> None:
    case = bursty(64, "1us", "buffered", frames=10**6)
    (way,) = run(case, TrialRequest(RATE_FPS, 3600 * SECOND)).directions
    assert way.sent_frames > 10**10
    assert way.loss_ratio == pytest.approx(1 - 7.4 / 64, rel=1e-3)


def test_what_happens_in_the_middle_happens_at_its_time() -> None:
    away = Event(name="kill-switch", began_ns=SECOND // 4, ended_ns=SECOND // 2)
    counts = run(bursty(100, "990us"), TrialRequest(CAPACITY_FPS, SECOND, event=away))

    (way,) = counts.directions
    bursts_gone = SECOND // 4 / (1_090_000)
    assert way.lost_frames == pytest.approx(100 * bursts_gone, abs=100)
    assert way.longest_silence_ns == pytest.approx(SECOND // 4, rel=0.01)


def test_seconds_count_up_to_all_that_was_sent() -> None:
    samples: list[Sample] = []
    case = bursty(100, "990us")
    with session(case) as running:
        counts = running.run(TrialRequest(RATE_FPS, 3 * SECOND), samples.append)

    # The last gap is not waited for, so the third second is not whole.
    assert [round(one.directions[0].sent_frames, -3) for one in samples] == [100_000, 200_000]
    assert counts.directions[0].sent_frames == 300_000
