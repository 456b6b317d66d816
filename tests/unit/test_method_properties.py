"""Methods find what a switch was made with, whatever that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import pytest
from bench_models import LOADS, FluidBench, figures, method
from hypothesis import given
from hypothesis import strategies as st
from test_method_control_plane import ChurningBench, UpcallBench
from test_method_soak import added_up

from vsperf.methods.seconds import Hours
from vsperf.units import NANOSECONDS

BRIEF = {"throughput_duration": "1s", "throughput_sum": "1s"}
STEP = 0.01
"""Of a search for the throughput: bounds that are so near each other are the answer."""


@given(losses=st.lists(st.sampled_from([0, 0, 0, 1, 7, 5000]), min_size=2, max_size=300))
def test_every_frame_that_a_soak_misses_is_in_one_event(losses: list[int]) -> None:
    hours = Hours(len(losses) * NANOSECONDS, most_events=len(losses))
    for one in added_up(losses):
        hours.add(one)

    rows = [list(row) for missed, row in groupby(losses, key=bool) if missed]
    assert hours.events_seen == len(rows)
    found = sorted(hours.events, key=lambda event: event.begin_ns)
    assert [event.lost for event in found] == [sum(row) for row in rows]
    assert [event.end_ns - event.begin_ns for event in found] == [
        len(row) * NANOSECONDS for row in rows
    ]
    assert sum(part.lost for part in hours.parts) == sum(losses)


def at_share(values: Sequence[int], per_mille: int) -> int:
    """Return the value that so many of a thousand do not exceed."""
    return sorted(values)[max(0, -(-len(values) * per_mille // 1000) - 1)]


@given(
    latencies=st.lists(st.integers(1_000, 100_000_000), min_size=500, max_size=900),
    throughput=st.integers(10_000, LOADS.maximum),
)
def test_latency_is_that_of_the_frames(latencies: list[int], throughput: int) -> None:
    loads = replace(LOADS, reference=throughput)
    bench = FluidBench(throughput, loads=loads, latencies_ns=latencies)

    found = figures(method("latency", throughput=f"{throughput}fps", repeats=2).run(bench))

    assert found["tagged_latency"] == latencies[0]
    assert found["mean_latency"] == pytest.approx(sum(latencies) / len(latencies), rel=0.01)
    assert found["typical_latency"] == pytest.approx(at_share(latencies, 500), rel=0.01)
    assert found["worst_case_latency"] == pytest.approx(at_share(latencies, 999), rel=0.01)
    assert {trial.load_fps for trial in bench.made} == {throughput}


@given(capacity=st.integers(1_000_000, 9_000_000), changes=st.integers(1, 900))
def test_what_changes_of_rules_cost_is_found(capacity: int, changes: int) -> None:
    result = method("churn", rules_per_second=[changes], **BRIEF).run(ChurningBench(capacity))

    left = 1 - 1000 * changes / capacity
    assert figures(result)["kept"] == pytest.approx(left, abs=2 * STEP)


@given(rate=st.integers(LOADS.minimum, 500_000))
def test_the_rate_at_which_flows_are_set_up_is_found(rate: int) -> None:
    bench = UpcallBench(rate, loads=replace(LOADS, flows=16_384))

    found = figures(method("flow_setup", width="2%").run(bench))["flow_setup_rate"]

    assert found is not None
    assert 0.975 * rate <= found <= rate
