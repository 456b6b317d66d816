"""Simulated switches: each does what its description says, and tells its truth."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from simulated_cases import (
    CAPACITY_FPS,
    KINDS,
    SECOND,
    behaving,
    session,
    simulated_case,
    switch_of,
    trials,
)

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.vnfs.sim import SimulatedVnfs, SimulatedVnfSpec
from vsperf.drivers.vswitches.sim import RunningModel, SimulatedSwitchSpec
from vsperf.engine.disturb import prepare, run_trial
from vsperf.engine.events import Parts
from vsperf.engine.judge import Asked, judge
from vsperf.methods.base import TrialOptions, burst_ns
from vsperf.quantities.units import Duration, FrameSize
from vsperf.records.histogram import summary
from vsperf.records.switch import AddressCounts, SwitchCounters
from vsperf.records.trial import Direction, Event, RateStep, Sample, TrialCounts
from vsperf.simulation.buffer import Buffered
from vsperf.simulation.chance import Chance
from vsperf.simulation.switch import Offer
from vsperf.simulation.truth import Crossing, Truth

# Each simulated switch does what its description says, frame by frame.


def lost(trial: TrialCounts) -> list[int]:
    return [way.lost_frames for way in trial.directions]


def test_an_ideal_switch_loses_exactly_what_is_beyond_its_capacity() -> None:
    case = simulated_case(behaving("ideal"))
    below, at, above = trials(case, CAPACITY_FPS - 1, CAPACITY_FPS, CAPACITY_FPS + 7)
    assert [lost(below), lost(at), lost(above)] == [[0, 0], [0, 0], [7, 7]]


def test_a_noisy_switch_has_another_capacity_in_each_trial_but_the_same_both_ways() -> None:
    results = trials(simulated_case(behaving("noisy")), *[2 * CAPACITY_FPS] * 20)
    received = [[way.received_frames for way in trial.directions] for trial in results]
    assert all(one == other for one, other in received)
    assert len({one for one, _ in received}) > 15
    assert all(0.96 <= one / CAPACITY_FPS <= 1.04 for one, _ in received)


def test_random_loss_takes_a_few_frames_now_and_then_at_a_light_load() -> None:
    case = simulated_case(behaving("random-loss", probability="30%", frames=2))
    losses = [way for trial in trials(case, *[CAPACITY_FPS // 2] * 100) for way in lost(trial)]
    assert set(losses) == {0, 2}
    assert 30 <= losses.count(2) <= 90


def test_random_loss_strikes_the_directions_independently() -> None:
    case = simulated_case(behaving("random-loss", probability="50%"))
    pairs = {tuple(lost(trial)) for trial in trials(case, *[CAPACITY_FPS // 2] * 50)}
    assert pairs == {(0, 0), (0, 3), (3, 0), (3, 3)}


def test_loss_inversion_fails_in_its_band_and_passes_above_it() -> None:
    case = simulated_case(behaving("inversion"))
    loads = [share * CAPACITY_FPS // 100 for share in (50, 60, 70, 100, 101)]
    assert [bool(sum(lost(trial))) for trial in trials(case, *loads)] == [
        False,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("slow", ["forward", "reverse"])
def test_an_asymmetric_switch_is_slow_in_the_direction_that_was_chosen(slow: str) -> None:
    case = simulated_case(behaving("asymmetric", slow_direction=slow))
    (trial,) = trials(case, 800_000)
    assert lost(trial) == ([100_000, 0] if slow == "forward" else [0, 100_000])


def test_the_slow_direction_is_slow_when_it_is_the_only_one() -> None:
    case = simulated_case(behaving("asymmetric"), traffic={"direction": "reverse"})
    (trial,) = trials(case, 800_000)
    assert lost(trial) == [100_000]


def test_a_never_lossy_switch_forwards_the_line_rate() -> None:
    (trial,) = trials(simulated_case(behaving("never-lossy")), 14_880_952)
    assert lost(trial) == [0, 0]


def test_an_always_lossy_switch_loses_its_share_at_any_load_and_at_least_one_frame() -> None:
    case = simulated_case(behaving("always-lossy"))
    assert [lost(trial)[0] for trial in trials(case, 1, 10_000, 500_000)] == [1, 100, 5_000]


def test_one_frame_is_lost_per_trial_and_direction_at_any_load() -> None:
    case = simulated_case(behaving("one-frame-loss"))
    assert [lost(trial) for trial in trials(case, 2, 500_000)] == [[1, 1], [1, 1]]


def test_duplicates_are_told_apart_by_a_generator_that_can() -> None:
    (trial,) = trials(simulated_case(behaving("duplicating")), 500_000)
    way = trial.directions[0]
    assert (way.received_frames, way.duplicate_frames, way.lost_frames) == (505_000, 5_000, 0)


def test_duplicates_look_like_more_frames_than_were_sent_to_a_generator_that_cannot() -> None:
    case = simulated_case(behaving("duplicating"), {"sees_duplicates": False})
    (trial,) = trials(case, 500_000)
    way = trial.directions[0]
    assert way.duplicate_frames is None
    assert way.good_frames > way.sent_frames


def test_a_cold_switch_loses_frames_until_enough_traffic_has_passed() -> None:
    case = simulated_case(behaving("warm-up", lasts="2500ms"))
    results = trials(case, *[500_000] * 4)
    assert [lost(trial)[0] for trial in results] == [50_000, 50_000, 25_000, 0]


def test_a_switch_that_dies_forwards_nothing_from_that_trial_on() -> None:
    results = trials(simulated_case(behaving("dies", in_trial=3)), *[1_000] * 4)
    assert [trial.directions[0].received_frames for trial in results] == [1_000, 1_000, 0, 0]


def test_the_realistic_switch_begins_to_lose_gently_before_it_is_full() -> None:
    still = {"spread_of_starts": 0, "spread_of_trials": 0}
    case = simulated_case(behaving("soft-knee", **still))
    results = trials(case, 940_000, 960_000, 1_000_000, 1_250_000)
    shares = [float(trial.directions[0].loss_ratio) for trial in results]
    assert shares[0] == 0
    assert 0 < shares[1] < 0.005
    assert shares[2] == pytest.approx(0.01, rel=0.001)
    assert shares[3] == pytest.approx(1 - 0.99 / 1.25, rel=0.001)


def test_each_start_of_the_realistic_switch_differs_a_little() -> None:
    received = set()
    for seed in range(1, 9):
        (trial,) = trials(simulated_case(behaving("soft-knee"), {"seed": seed}), 2_000_000)
        received.add(trial.directions[0].received_frames)
    assert len(received) == 8
    assert max(received) / min(received) < 1.04


def test_capacity_falls_with_frame_size_flows_directions_and_passes() -> None:
    switch = switch_of(simulated_case())
    base = switch.capacity_fps(FrameSize(64), 1, 1)
    assert switch.capacity_fps(FrameSize(1518), 1, 1) < base
    assert switch.capacity_fps(FrameSize(64), 100_000, 1) < base
    assert switch.capacity_fps(FrameSize(64), 1, 2) == pytest.approx(base / 2, rel=0.001)
    twice = switch.model_copy(update={"passes": 2})
    assert twice.capacity_fps(FrameSize(64), 1, 1) == base // 2


def test_the_flow_cache_misses_nothing_with_one_flow_and_nearly_all_with_a_million() -> None:
    cost = switch_of(simulated_case()).cost
    ratios = [cost.miss_ratio(flows) for flows in (1, 64, 4096, 65_536, 1_000_000)]
    assert ratios[0] == pytest.approx(0, abs=1e-9)
    assert ratios == sorted(ratios)
    assert ratios[-1] > 0.99


def test_a_slower_link_at_the_exit_limits_what_arrives() -> None:
    links = {"phy0": {"speed": "10G"}, "phy1": {"speed": "1G"}}
    case = simulated_case(
        {"behaviour": {"kind": "ideal"}},
        traffic={"direction": "forward"},
        testbed={"name": "sim", "links": links},
    )
    (trial,) = trials(case, 2_000_000)
    assert trial.directions[0].received_frames == 1_488_095


@pytest.mark.parametrize("kind", KINDS)
@given(
    load_fps=st.integers(1, 14_880_952),
    duration_ns=st.integers(1_000_000, 60 * SECOND),
    seed=st.integers(0, 2**32),
)
def test_sent_frames_are_received_or_lost_in_every_model(
    kind: str, load_fps: int, duration_ns: int, seed: int
) -> None:
    case = simulated_case(behaving(kind), {"seed": seed})
    for trial in trials(case, *[load_fps] * 5, duration_ns=duration_ns):
        for way in trial.directions:
            assert 0 <= way.good_frames <= way.sent_frames <= way.intended_frames
            assert way.lost_frames == way.intended_frames - way.good_frames
            assert all(isinstance(count, int) for count in counters(way))


def counters(way: Direction) -> list[int]:
    return [way.intended_frames, way.sent_frames, way.received_frames, way.duplicate_frames or 0]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_run(kind: str) -> None:
    case = simulated_case(behaving(kind), {"seed": 7})
    loads = (400_000, 950_000, 990_000, 1_000_000, 1_100_000)
    assert trials(case, *loads) == trials(case, *loads)


def test_another_session_starts_from_the_first_trial_again() -> None:
    case = simulated_case(behaving("dies", in_trial=2))
    assert trials(case, 1_000)[0] == trials(case, 1_000)[0]


def test_a_retried_trial_is_a_new_throw_of_the_dice() -> None:
    case = simulated_case(behaving("noisy"))
    with session(case) as running:
        first = running.run(TrialRequest(2_000_000, SECOND))
        second = running.run(TrialRequest(2_000_000, SECOND))
    assert first != second


def test_chance_is_the_same_in_every_process_and_python() -> None:
    program = (
        "from vsperf.simulation.chance import Chance;"
        "print(Chance.of(1, 'trial', 2).share(), Chance.of(1, 'start').wobble())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == ["0.8271009009151837", "-0.45647088924482215"]


@given(seed=st.integers())
def test_a_wobble_never_goes_beyond_four(seed: int) -> None:
    assert -4 <= Chance.of(seed, "x").wobble() <= 4


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
@given(
    frames=st.integers(1, 100_000),
    rate=st.integers(CAPACITY_FPS + 1, LINE_FPS),
)
def test_the_longest_burst_gives_the_buffer_back(frames: int, rate: int) -> None:
    case = buffered(frames)
    model = switch_of(case).model
    assert isinstance(model, Buffered)
    longest = model.longest_burst(rate, CAPACITY_FPS)
    assert longest is not None
    for length, passes in ((longest, True), (longest + 1, False)):
        trial = way(case, TrialRequest(rate, burst_ns(length, rate)))
        assert trial.intended_frames == length
        assert (trial.lost_frames == 0) == passes
    # RFC 9004: the corrected buffer time, at the rate of the burst.
    assert math.ceil(longest * (1 - Fraction(CAPACITY_FPS, rate))) == frames


def test_no_burst_is_too_long_at_the_capacity() -> None:
    model = switch_of(buffered()).model
    assert isinstance(model, Buffered)
    assert model.longest_burst(CAPACITY_FPS, CAPACITY_FPS) is None
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
    [
        ("restart-switch", 250_000_000),
        ("kill-switch", 1_500_000_000),
        ("reboot-vnfs", 3 * SECOND),
    ],
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


# A simulated bridge: what it knows after a trial follows from its table and its rate.

COLD, WARM = TrialOptions(cold=True), TrialOptions()
STATIONS = {"frame_size": "64B", "vary": "mac", "flows": 5000, "direction": "forward"}


def spec(**settings_: Any) -> SimulatedSwitchSpec:
    return SimulatedSwitchSpec.model_validate({"kind": "sim", "flows": "learn", **settings_})


def after(switch: RunningModel, *trials: tuple[int, int, TrialOptions]) -> AddressCounts:
    """Return what a bridge says after trials of so many frames each, at a rate."""
    with session(simulated_case(traffic=STATIONS)) as running:
        for frames, rate, options in trials:
            request = TrialRequest(rate, burst_ns(frames, rate))
            prepare(switch, options)
            run_trial(running.run, request, options, Parts(switch), 0)
    counters = switch.counters()
    assert counters is not None and counters.addresses is not None
    return counters.addresses


@settings(max_examples=30, deadline=None)
@given(frames=st.integers(1, 5000), table=st.integers(1, 6000))
def test_a_bridge_knows_what_came_and_has_room(frames: int, table: int) -> None:
    found = after(RunningModel(spec(address_table=table), 5000), (frames, 10_000, COLD))
    assert found.known == min(frames, table)
    assert (found.learned, found.evicted) == (frames, max(0, frames - table))
    assert found.most == table


@settings(max_examples=30, deadline=None)
@given(rate=st.integers(100, 100_000), learns=st.integers(100, 100_000))
def test_a_bridge_learns_all_at_its_rate_and_not_above(rate: int, learns: int) -> None:
    bridge = RunningModel(spec(learns=f"{learns}fps"), 5000)
    found = after(bridge, (1000, rate, COLD))
    assert (found.known == 1000) == (rate <= learns)
    assert found.known == min(1000, learns * burst_ns(1000, rate) // SECOND)


def test_addresses_that_come_again_are_not_new() -> None:
    found = after(RunningModel(spec(), 100), (5000, 10_000, COLD), (250, 10_000, WARM))
    assert (found.known, found.learned) == (100, 100)


def test_a_cold_bridge_knows_nobody() -> None:
    found = after(RunningModel(spec(), 5000), (3000, 10_000, WARM), (20, 10_000, COLD))
    assert found.known == 20


def test_what_a_bridge_lost_is_counted() -> None:
    switch = RunningModel(spec(), 5000)
    case = simulated_case({"capacity": "1Mpps", "behaviour": {"kind": "ideal"}}, traffic=STATIONS)
    with session(case) as running:
        run_trial(running.run, TrialRequest(3_000_000, SECOND), WARM, Parts(switch), 0)
    assert switch.counters() == SwitchCounters(
        drops={"model": 2_000_000},
        addresses=AddressCounts(known=5000, most=8192, learned=5000, evicted=0, expired=0),
    )


def test_a_switch_that_is_told_where_to_forward_has_no_table() -> None:
    assert RunningModel(spec(flows="port"), 5000).counters() is None


def test_counters_grow_and_what_is_known_does_not() -> None:
    before = AddressCounts(known=7, most=10, learned=20, evicted=3, expired=2)
    now = AddressCounts(known=9, most=10, learned=25, evicted=4, expired=2)
    growth = SwitchCounters(addresses=now).since(SwitchCounters(addresses=before))
    assert growth.addresses == AddressCounts(known=9, most=10, learned=5, evicted=1, expired=0)
    back = SwitchCounters(addresses=before).since(SwitchCounters(addresses=now))
    assert back.least_growth == -5, "it was restarted"


def test_a_rate_of_learning_is_no_share_of_a_line() -> None:
    with pytest.raises(ValidationError, match="learns belongs to the switch"):
        spec(learns="10%")


# The truth that a model tells of itself is what its trials show.

ACCIDENTAL: dict[str, dict[str, object]] = {
    "random-loss": {"probability": 0},
    "warm-up": {"lasts": "0s"},
    "dies": {},
}
PDR = Fraction(1, 200)
BOTH = Offer(FrameSize(64))


def truths(kind: str, loss_ratio: Fraction, seed: int = 1) -> tuple[Truth, ...]:
    case = simulated_case(behaving(kind, **ACCIDENTAL.get(kind, {})))
    return switch_of(case).true_capacity_fps(BOTH, loss_ratio, seed)


@functools.cache
def passes(kind: str, load_fps: int, loss_ratio: Fraction, seed: int, seconds: int) -> list[bool]:
    """Return per direction whether each of three trials at a load passes."""
    case = simulated_case(behaving(kind, **ACCIDENTAL.get(kind, {})), {"seed": seed})
    found = trials(case, *[load_fps] * 3, duration_ns=seconds * SECOND)
    judged = [[way.loss_ratio <= loss_ratio for way in trial.directions] for trial in found]
    assert judged[0] == judged[1] == judged[2]
    return judged[0]


@pytest.mark.parametrize("loss_ratio", [Fraction(0), PDR], ids=["ndr", "pdr"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(seed=st.integers(1, 1000), seconds=st.sampled_from([1, 10]))
def test_trials_pass_below_each_crossing_and_fail_from_it_on(
    kind: str, loss_ratio: Fraction, seed: int, seconds: int
) -> None:
    for way, truth in enumerate(truths(kind, loss_ratio, seed)):
        for crossing in truth.crossings:
            if crossing.lower_fps:
                assert passes(kind, crossing.lower_fps, loss_ratio, seed, seconds)[way]
            if crossing.upper_fps is not None:
                assert not passes(kind, crossing.upper_fps, loss_ratio, seed, seconds)[way]


@pytest.mark.parametrize("kind", ["ideal", "one-frame-loss", "duplicating", "warm-up", "dies"])
def test_a_sharp_capacity_is_known_to_the_frame(kind: str) -> None:
    expected = Crossing(CAPACITY_FPS, CAPACITY_FPS + 1)
    if kind == "one-frame-loss":
        expected = Crossing(0, 1)
    assert truths(kind, Fraction(0))[0].crossings == (expected,)


def test_an_allowed_loss_moves_the_crossing_above_the_capacity() -> None:
    (crossing,) = truths("ideal", PDR)[0].crossings
    assert crossing.lower_fps is not None and crossing.upper_fps is not None
    assert crossing.lower_fps <= CAPACITY_FPS / (1 - PDR) <= crossing.upper_fps
    assert crossing.upper_fps - crossing.lower_fps < 10


def test_loss_inversion_has_two_crossings_and_each_of_them_is_an_answer() -> None:
    truth = truths("inversion", Fraction(0))[0]
    assert len(truth.crossings) == 2
    assert truth.brackets(575_000, 585_000)
    assert truth.brackets(995_000, 1_005_000)
    assert not truth.brackets(700_000, 900_000)


def test_without_a_capacity_only_the_open_interval_is_right() -> None:
    never, always = truths("never-lossy", Fraction(0))[0], truths("always-lossy", Fraction(0))[0]
    assert never.brackets(14_000_000, None)
    assert not never.brackets(9_000, 14_000_000)
    assert always.brackets(None, 9_001)
    assert not always.brackets(9_001, 14_000_000)


def test_an_interval_beside_the_capacity_is_wrong() -> None:
    truth = truths("ideal", Fraction(0))[0]
    assert truth.brackets(CAPACITY_FPS, CAPACITY_FPS + 1)
    assert not truth.brackets(CAPACITY_FPS + 1, CAPACITY_FPS + 2)
    assert not truth.brackets(CAPACITY_FPS - 1, CAPACITY_FPS)
    assert not truth.brackets(CAPACITY_FPS + 1, None)


def test_accidents_are_announced() -> None:
    case = simulated_case(behaving("random-loss"))
    assert all(truth.accidents for truth in switch_of(case).true_capacity_fps(BOTH))
    assert not truths("ideal", Fraction(0))[0].accidents


def test_the_truth_is_told_for_the_directions_that_are_used() -> None:
    case = simulated_case(behaving("asymmetric", slow_direction="reverse"))
    switch, size = switch_of(case), FrameSize(64)
    fast = Truth((Crossing(CAPACITY_FPS, CAPACITY_FPS + 1),))
    slow = Truth((Crossing(700_000, 700_001),))
    assert switch.true_capacity_fps(Offer(size)) == (fast, slow)
    assert switch.true_capacity_fps(Offer(size, direction="forward")) == (fast,)
    assert switch.true_capacity_fps(Offer(size, direction="reverse")) == (slow,)
