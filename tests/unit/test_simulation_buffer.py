"""A simulated switch with a buffer: what burst, overload, restart and gap leave."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_cases import CAPACITY_FPS, KINDS, SECOND, behaving, session, simulated_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.vnfs.sim import SimulatedVnfs, SimulatedVnfSpec
from vsperf.drivers.vswitches.sim import RunningModel, SimulatedSwitchSpec
from vsperf.engine.disturb import run_trial
from vsperf.engine.events import Parts
from vsperf.engine.judge import Asked, judge
from vsperf.methods.base import TrialOptions, burst_ns
from vsperf.quantities.units import Duration
from vsperf.records.histogram import summary
from vsperf.records.trial import Direction, Event, RateStep, Sample, TrialCounts

# A simulated switch with a buffer: what burst, overload and restart leave is known exactly.

LINE_FPS = 14_880_952


def buffered(frames: int = 1000, **settings: Any) -> CaseSpec:
    return simulated_case(behaving("buffered", frames=frames, **settings))


def run(case: CaseSpec, request: TrialRequest) -> TrialCounts:
    with session(case) as running:
        return running.run(request)


def way(case: CaseSpec, request: TrialRequest) -> Direction:
    """Return the first direction; the other one has a buffer of its own, and is like it."""
    found = run(case, request).directions
    assert found[0].model_copy(update={"name": ""}) == found[1].model_copy(update={"name": ""})
    return found[0]


@settings(max_examples=60)
@given(frames=st.integers(1, 100_000), rate=st.integers(CAPACITY_FPS + 1, LINE_FPS))
def test_the_longest_burst_gives_the_buffer_back(frames: int, rate: int) -> None:
    case = buffered(frames)
    longest = math.floor(frames / (1 - Fraction(CAPACITY_FPS, rate)))
    for length, passes in ((longest, True), (longest + 1, False)):
        trial = way(case, TrialRequest(rate, burst_ns(length, rate)))
        assert trial.intended_frames == length
        assert (trial.lost_frames == 0) == passes
    # RFC 9004: the corrected buffer time, at the rate of the burst.
    assert math.ceil(longest * (1 - Fraction(CAPACITY_FPS, rate))) == frames


def test_no_burst_is_too_long_at_the_capacity() -> None:
    assert way(buffered(), TrialRequest(CAPACITY_FPS, 100 * SECOND)).lost_frames == 0


def test_what_is_too_much_is_lost_but_for_what_waits() -> None:
    found = way(buffered(700), TrialRequest(2 * CAPACITY_FPS, SECOND))
    assert found.lost_frames == CAPACITY_FPS - 700
    assert found.last_loss_ns == SECOND - 500


def overload(rate: int = 1_100_000, then: int = 500_000) -> TrialRequest:
    return TrialRequest.of_steps(RateStep(rate, 2 * SECOND), RateStep(then, SECOND))


def test_a_buffer_that_drains_loses_nothing_more() -> None:
    found = way(buffered(), overload())
    assert found.lost_frames == 200_000 - 1000
    first, second = found.steps
    assert (first.intended_frames, second.intended_frames) == (2_200_000, 500_000)
    assert (first.began_ns, second.began_ns) == (0, 2 * SECOND)
    assert found.recovery_ns() == 0


@settings(max_examples=40)
@given(recovery_ns=st.integers(1, SECOND), then=st.integers(1000, CAPACITY_FPS))
def test_a_switch_that_is_slow_to_recover_loses_all_until_then(recovery_ns: int, then: int) -> None:
    found = way(buffered(recovery=f"{recovery_ns}ns"), overload(then=then))
    measured = found.recovery_ns()
    assert measured is not None
    assert recovery_ns - SECOND / then - 1 <= measured <= recovery_ns
    assert found.lost_frames == 199_000 + math.ceil(Fraction(then * recovery_ns, SECOND))


def test_without_an_overload_there_is_nothing_to_recover_from() -> None:
    found = way(buffered(recovery="100ms"), overload(rate=CAPACITY_FPS))
    assert (found.lost_frames, found.last_loss_ns, found.recovery_ns()) == (0, None, 0)


def test_what_waits_from_one_step_takes_room_in_the_next() -> None:
    half_full = RateStep(1_500, SECOND // 1000), RateStep(CAPACITY_FPS, SECOND)
    request = TrialRequest.of_steps(
        RateStep(2 * CAPACITY_FPS, SECOND // 2000), *half_full[1:], RateStep(2_000_000, 10**6)
    )
    assert way(buffered(1000), request).lost_frames == 500
    drained = TrialRequest.of_steps(
        RateStep(2 * CAPACITY_FPS, SECOND // 2000), RateStep(1, SECOND), RateStep(2_000_000, 10**6)
    )
    assert way(buffered(1000), drained).lost_frames == 0


def test_other_models_take_each_step_for_itself() -> None:
    case = simulated_case(behaving("ideal"))
    found = way(case, overload())
    assert found.lost_frames == 200_000
    assert found.recovery_ns() == 0


def restarted(event: str, reboot_takes: str = "2s", **takes: str) -> tuple[TrialCounts, Event]:
    """Return a trial of eight seconds at 1000 fps in which something is restarted."""
    case = simulated_case({**behaving("ideal"), **takes})
    parts = Parts(
        RunningModel(SimulatedSwitchSpec.model_validate({"kind": "sim", **takes})),
        SimulatedVnfs(SimulatedVnfSpec(kind="sim", reboot_takes=Duration.parse(reboot_takes))),
    )
    request = TrialRequest(1000, 8 * SECOND)
    with session(case) as running:
        counts, happened = run_trial(running.run, request, TrialOptions(event=event), parts, SECOND)
    assert happened.event is not None
    return counts, happened.event


@pytest.mark.parametrize(
    ("event", "away_ns"),
    [("restart-switch", 250_000_000), ("kill-switch", 1_500_000_000), ("reboot-vnfs", 3 * SECOND)],
)
def test_a_restart_takes_as_long_as_the_model_says(event: str, away_ns: int) -> None:
    counts, happened = restarted(event, restart_takes="250ms", kill_takes="1.5s", reboot_takes="3s")
    assert (happened.name, happened.began_ns) == (event, 2 * SECOND)
    assert happened.ended_ns - happened.began_ns == away_ns
    for found in counts.directions:
        assert found.lost_frames * 10**6 == away_ns
        assert found.longest_silence_ns == away_ns + 10**6
        assert found.last_loss_ns == 2 * SECOND + away_ns - 10**6


def test_frames_do_not_come_back_from_a_restart_that_outlasts_the_trial() -> None:
    counts, _ = restarted("restart-switch", restart_takes="10s")
    for found in counts.directions:
        assert found.lost_frames == 6000
        assert found.longest_silence_ns == 10**6


def test_each_second_is_told_of() -> None:
    heard: list[Sample] = []
    with session(buffered(1000)) as running:
        counts = running.run(TrialRequest(2 * CAPACITY_FPS, 3 * SECOND), heard.append)
    assert [sample.elapsed_ns for sample in heard] == [SECOND, 2 * SECOND, 3 * SECOND]
    sent = [sample.directions[0].sent_frames for sample in heard]
    assert sent == [2_000_000, 4_000_000, 6_000_000]
    for last, direction in zip(heard[-1].directions, counts.directions, strict=True):
        assert last.received_frames == direction.received_frames
        assert last.lost_frames == direction.lost_frames


def test_the_first_frame_from_a_moment_on_is_told_by_itself() -> None:
    request = TrialRequest(1_000, 120 * SECOND, latency=True, latency_after_ns=60 * SECOND)
    for found in run(simulated_case(behaving("ideal")), request).directions:
        assert found.first_sent_ns == 60 * SECOND
        assert found.first_latency_ns is not None
        assert found.latency_histogram is not None


def test_ranges_of_frames_have_latencies_of_their_own() -> None:
    ranges = ((0, 99), (900, 999), (1000, 1099))
    request = TrialRequest(1_000, SECOND, latency=True, latency_ranges=ranges)
    for found in run(simulated_case(behaving("ideal")), request).directions:
        first, tenth, beyond = found.range_histograms
        assert first is not None and tenth is not None
        assert summary(first).count == summary(tenth).count == 100
        assert beyond is None


def test_the_first_frame_of_a_flow_takes_as_much_longer_as_the_model_says() -> None:
    case = simulated_case({**behaving("ideal"), "upcall_takes": "100us"}, traffic={"flows": "256"})
    ranges = ((0, 255), (2304, 2559), (128, 383))
    request = TrialRequest(10_000, SECOND, latency_ranges=ranges)
    for found in run(case, request).directions:
        assert found.latency_histogram is None
        first, tenth, mixed = (summary(one) for one in found.range_histograms)
        assert first is not None and tenth is not None and mixed is not None
        assert first.count == tenth.count == mixed.count == 256
        assert first.mean_ns - tenth.mean_ns == pytest.approx(100_000, rel=0.01)
        assert mixed.mean_ns - tenth.mean_ns == pytest.approx(50_000, rel=0.01)


# Bursts at a stated gap on a simulated switch: what its buffer keeps, and what drains.

RATE_FPS = 10 * CAPACITY_FPS


def bursty(length: int, gap: str, model: str = "ideal", **behaviour: Any) -> CaseSpec:
    traffic = {"bursts": {"frames": length, "gap": gap}, "direction": "forward"}
    return simulated_case(behaving(model, **behaviour), traffic=traffic)


def lost_of_bursts(case: CaseSpec, load_fps: int = RATE_FPS, duration_ns: int = SECOND) -> int:
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
    assert lost_of_bursts(bursty(1000, "900us", "buffered", frames=900)) == 0
    assert lost_of_bursts(bursty(1000, "899us", "buffered", frames=900)) > 0


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
