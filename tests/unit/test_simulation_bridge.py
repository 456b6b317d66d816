"""A simulated bridge: what it knows after a trial follows from its table and rate."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from simulated_cases import (
    SECOND,
    session,
    simulated_case,
)

from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.vswitches.sim import RunningModel, SimulatedSwitchSpec
from vsperf.engine.disturb import prepare, run_trial
from vsperf.engine.events import Parts
from vsperf.methods.base import TrialOptions, burst_ns
from vsperf.records.switch import AddressCounts, SwitchCounters

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
