"""Each simulated switch does what its description says, frame by frame."""

from __future__ import annotations

import subprocess
import sys
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

from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.vswitches.sim import RunningModel, SimulatedSwitchSpec
from vsperf.engine.disturb import prepare, run_trial
from vsperf.engine.events import Parts
from vsperf.methods.base import TrialOptions, burst_ns
from vsperf.quantities.units import FrameSize
from vsperf.records.switch import AddressCounts, SwitchCounters
from vsperf.records.trial import Direction, TrialCounts
from vsperf.simulation.base import Chance


def lost(trial: TrialCounts) -> list[int]:
    return [way.lost_frames for way in trial.directions]


FULL = CAPACITY_FPS


@pytest.mark.parametrize(
    ("behaviour", "loads", "losses"),
    [
        ({"kind": "ideal"}, (FULL - 1, FULL, FULL + 7), [0, 0, 7]),
        ({"kind": "never-lossy"}, (14_880_952,), [0]),
        ({"kind": "always-lossy"}, (1, 10_000, 500_000), [1, 100, 5_000]),
        ({"kind": "one-frame-loss"}, (2, 500_000), [1, 1]),
        ({"kind": "warm-up", "lasts": "2500ms"}, (500_000,) * 4, [50_000, 50_000, 25_000, 0]),
    ],
    ids=lambda value: str(value.get("kind")) if isinstance(value, dict) else "",
)
def test_a_switch_loses_the_same_both_ways_by_its_behaviour(
    behaviour: dict[str, Any], loads: tuple[int, ...], losses: list[int]
) -> None:
    case = simulated_case(behaving(**behaviour))
    assert [lost(trial) for trial in trials(case, *loads)] == [[count] * 2 for count in losses]


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
        "from vsperf.simulation.base import Chance;"
        "print(Chance.of(1, 'trial', 2).share(), Chance.of(1, 'start').wobble())"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == ["0.8271009009151837", "-0.45647088924482215"]


@given(seed=st.integers())
def test_a_wobble_never_goes_beyond_four(seed: int) -> None:
    assert -4 <= Chance.of(seed, "x").wobble() <= 4


# A simulated bridge: what it knows after a trial follows from its table and rate.

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
