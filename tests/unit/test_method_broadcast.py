"""Frames that are for everybody: how many come through without loss, and after how long."""

from __future__ import annotations

import random
from typing import Any

import pytest
from bench_models import LOADS, FluidBench, figures, method
from hypothesis import given, settings
from hypothesis import strategies as st
from search_models import case_of

from vsperf.errors import SpecError
from vsperf.methods.base import loads_of
from vsperf.record.result import Level
from vsperf.record.trial import Purpose
from vsperf.search.base import Budget
from vsperf.units import NANOSECONDS

BROADCAST = {"frame_size": "64B", "destination": "broadcast", "direction": "forward"}
SHORT = {"throughput_duration": "1s", "throughput_sum": "1s"}


def latencies(seed: int = 1) -> list[int]:
    luck = random.Random(seed)
    return [luck.randint(5_000, 15_000) for _ in range(1000)]


@settings(max_examples=20, deadline=None)
@given(capacity=st.integers(50_000, LOADS.maximum - 1), seed=st.integers(0, 1000))
def test_throughput_and_latency_are_those_of_the_switch(capacity: int, seed: int) -> None:
    times = sorted(latencies(seed))

    result = method("broadcast", **SHORT).run(FluidBench(capacity, latencies_ns=times))

    (goal,) = result.goals
    assert goal.lower_fps is not None and 0.98 * capacity <= goal.lower_fps <= capacity + 1
    found = figures(result)
    assert found["typical_latency"] == pytest.approx(times[499], rel=0.01)
    assert found["worst_case_latency"] == pytest.approx(times[998], rel=0.01)


def test_latency_is_measured_at_the_throughput_and_repeated() -> None:
    bench = FluidBench(1_000_000, latencies_ns=latencies())

    result = method("broadcast", **SHORT, repeats=4, duration="7s").run(bench)

    made = [trial for trial in bench.made if trial.purpose is Purpose.LATENCY]
    assert {trial.load_fps for trial in made} == {result.goals[0].lower_fps}
    assert {trial.duration_ns for trial in made} == {7 * NANOSECONDS}
    assert {trial.reference for trial in made} == {"the throughput"}
    (typical, _) = result.figures
    assert typical.spread is not None and typical.spread.runs == len(made) == 4
    assert typical.at.endswith(", the throughput of broadcast frames")


def test_a_switch_that_drops_broadcast_has_no_latency() -> None:
    result = method("broadcast", **SHORT).run(FluidBench(1))

    assert figures(result) == {"typical_latency": None, "worst_case_latency": None}
    assert "no load passed without loss" in result.figures[0].reason


def test_a_generator_that_measures_no_latency_leaves_none() -> None:
    result = method("broadcast", **SHORT).run(FluidBench(1_000_000))

    assert result.goals[0].lower_fps
    assert result.figures[0].reason == "no trial has a latency"


def test_the_time_may_end_before_latency_is_measured() -> None:
    asked = method("broadcast", **SHORT, duration="5s", repeats=3)
    bench = FluidBench(1_000_000, latencies_ns=latencies())
    asked.run(bench)
    needed = sum(trial.elapsed_ns for trial in bench.made)

    result = asked.run(
        FluidBench(1_000_000, latencies_ns=latencies(), budget=Budget(needed - NANOSECONDS))
    )

    assert not result.complete
    spread = result.figures[0].spread
    assert spread is not None and spread.runs == 2


@pytest.mark.parametrize("destination", ["unicast", "multicast"])
def test_frames_for_somebody_are_refused(destination: str) -> None:
    asked = method("broadcast")
    loads_of(case_of("mlr", traffic=BROADCAST, search=asked))
    case = case_of("mlr", traffic={**BROADCAST, "destination": destination}, search=asked)

    with pytest.raises(SpecError, match=f"the frames are {destination}, not broadcast"):
        loads_of(case)


@pytest.mark.parametrize(
    ("traffic", "asked", "level"),
    [
        ({}, {}, Level.CONDITIONAL),
        ({"direction": "both"}, {}, Level.NOT),
        ({}, {"throughput_duration": "500ms"}, Level.NOT),
    ],
)
def test_the_standard_has_one_port_send_for_a_second_or_more(
    traffic: dict[str, Any], asked: dict[str, Any], level: Level
) -> None:
    broadcast = method("broadcast", **{**SHORT, **asked})
    result = broadcast.run(FluidBench(1_000_000, latencies_ns=latencies()))
    case = case_of("mlr", traffic={**BROADCAST, **traffic}, search=broadcast)

    (found,) = broadcast.compliance(case, (64,), result)

    assert found.level is level
    assert "frames for all ports have one port to leave by" in found.deviations


def test_latencies_without_a_number_comply_with_nothing() -> None:
    broadcast = method("broadcast", **SHORT)
    result = broadcast.run(FluidBench(1_000_000, latencies_ns=[]))

    (found,) = broadcast.compliance(
        case_of("mlr", traffic=BROADCAST, search=broadcast), (64,), result
    )

    assert found.level is Level.NOT
    assert any(one.startswith("there is no ") for one in found.deviations)
