"""Addresses that a bridge learns, and frames that are for everybody."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import pytest
from bench_models import LOADS, FluidBench, figures, method
from hypothesis import given, settings
from hypothesis import strategies as st
from search_models import POLICY, case_of
from simulated_cases import simulated_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.sim import SimulatedSwitchSpec
from vsperf.errors import SpecError
from vsperf.methods.base import PLAIN, TrialOptions, loads_of
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.result import Level, Limit
from vsperf.records.switch import AddressCounts, SwitchCounters
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import Budget

# Addresses that a bridge learns: how many it can know, and how fast they may come.

MANY = 8000
BRIDGE = SimulatedSwitchSpec(kind="sim", flows="learn")
QUIET = POLICY.model_copy(update={"learning": False})
STATIONS = {"frame_size": "64B", "vary": "mac", "flows": MANY, "direction": "forward"}


@dataclass
class BridgeBench(FluidBench):
    """A bridge with a table of a known size, that learns so many addresses in a second."""

    table: int = 8192
    learns: int = 10**9
    careless: float = 0.0
    """Share of trials in which a single address is not learned, by accident."""
    silent: bool = False
    """Whether it does not say what it knows."""
    luck: random.Random = random.Random(1)  # noqa: RUF009 - the same each time

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        assert options.cold, "a bridge that still knows addresses learns none"
        trial = super().trial(load_fps, duration_ns, options)
        if self.silent:
            return trial
        arrived = trial.directions[0].good_frames
        learned = min(arrived, self.learns * duration_ns // NANOSECONDS)
        learned -= self.luck.random() < self.careless
        known = min(learned, self.table)
        counts = AddressCounts(
            known=known, most=self.table, learned=learned, evicted=learned - known, expired=0
        )
        return trial.model_copy(update={"switch": SwitchCounters(addresses=counts)})


def bridged(kind: str, **changes: Any) -> CaseSpec:
    """Return a case with a simulated bridge."""
    good = {"vswitch": BRIDGE, "traffic": STATIONS, "trial": QUIET, "search": method(kind)}
    return case_of("mlr", **{**good, **changes})


def capacity_bench(table: int, **changes: Any) -> BridgeBench:
    loads = replace(LOADS, reference=10_000, flows=16_384)
    return BridgeBench(8_000_000, table=table, loads=loads, **changes)


def learning_bench(learns: int, **changes: Any) -> BridgeBench:
    loads = replace(LOADS, minimum=50, flows=MANY)
    return BridgeBench(**{"capacity_fps": 8_000_000, "learns": learns, "loads": loads, **changes})


@settings(max_examples=30, deadline=None)
@given(table=st.integers(2, 16_383), seed=st.integers(0, 1000), careless=st.sampled_from([0, 0.02]))
def test_the_capacity_is_that_of_the_table_to_the_address(
    table: int, seed: int, careless: float
) -> None:
    bench = capacity_bench(table, careless=careless, luck=random.Random(seed))

    result = method("caching", repeats=1, max_repeats=8).run(bench)

    assert figures(result) == {"addresses": table}
    assert result.figures[0].limit is Limit.DUT
    assert f"evicted from a table of {table:,}" in result.figures[0].reason


@settings(max_examples=30, deadline=None)
@given(learns=st.integers(60, 1_000_000), seed=st.integers(0, 1000))
def test_the_rate_of_learning_is_found_within_the_width(learns: int, seed: int) -> None:
    bench = learning_bench(learns, careless=0.02, luck=random.Random(seed))

    result = method("learning", repeats=1, max_repeats=8, width="2%").run(bench)

    rate = figures(result)["learning_rate"]
    assert rate is not None and 0.97 * learns <= rate <= 1.001 * learns
    assert "none of them left the table again" in result.figures[0].reason


def test_each_trial_brings_one_frame_from_each_address() -> None:
    learning, caching = learning_bench(20_000), capacity_bench(100)

    method("learning").run(learning)
    method("caching", repeats=1).run(caching)

    assert {trial.intended_frames for trial in learning.made} == {MANY}
    assert {trial.load_fps for trial in caching.made} == {10_000}
    assert {trial.intended_frames for trial in caching.made} >= {100, 101}


def test_repeats_tell_how_far_they_lie_apart() -> None:
    (figure,) = method("caching", repeats=3).run(capacity_bench(5000)).figures

    assert figure.spread is not None and figure.spread.runs == 3
    assert figure.spread.minimum == figure.spread.maximum == 5000
    assert figure.at == "one frame from each, 10.00 kfps"


def test_a_table_that_held_all_is_no_bound() -> None:
    (figure,) = method("caching").run(capacity_bench(1 << 20)).figures

    assert figure.text == "≥ 16,384"
    assert figure.limit is Limit.SETTING
    assert figure.reason == "all 16,384 addresses that traffic.flows allows passed"


def test_where_one_search_of_several_found_no_end_the_mean_has_none() -> None:
    class Grown(BridgeBench):
        def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
            self.table = 100 if len(self.made) < 10 else 1 << 20
            return super().trial(load_fps, duration_ns, options)

    bench = Grown(8_000_000, loads=replace(LOADS, reference=10_000, flows=16_384))
    (figure,) = method("caching", repeats=2).run(bench).figures

    assert figure.spread is not None and figure.spread.maximum == 16_384 > figure.spread.minimum
    assert figure.lower == figure.value
    assert figure.text.startswith("≥ ")


def test_addresses_that_were_lost_on_the_way_are_said_to_be_lost() -> None:
    (figure,) = method("learning").run(learning_bench(10**9, capacity_fps=30_000)).figures

    assert figure.value == pytest.approx(30_000, rel=0.02)
    assert figure.limit is Limit.UNCOUNTED, "nobody counted them"
    assert "frames lost" in figure.reason


@dataclass
class RefusingBench(BridgeBench):
    """A bridge whose port takes a tenth less; in every third trial the generator is short, too."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        trial = super().trial(load_fps, duration_ns, options)
        (way,) = trial.directions
        refused = way.intended_frames // 10
        unsent = refused if len(self.made) % 3 else 2 * refused
        sent = way.intended_frames - unsent
        counts = {"sent_frames": sent, "received_frames": sent, "refused_frames": refused}
        known = AddressCounts(known=sent, most=self.table, learned=sent, evicted=0, expired=0)
        return trial.model_copy(
            update={
                "directions": (way.model_copy(update=counts),),
                "switch": SwitchCounters(addresses=known),
            }
        )


def test_refused_frames_are_named_and_told_by_a_trial_that_the_generator_was_not_short_in() -> None:
    loads = replace(LOADS, minimum=50, flows=MANY)

    (figure,) = method("learning").run(RefusingBench(8_000_000, loads=loads)).figures

    assert figure.value is None
    assert figure.limit is Limit.DUT
    assert figure.reason == (
        "even at 50.00 fps, the lowest rate allowed, "
        "7,200 of 8,000 addresses were known in the end, 800 frames refused by a full port"
    )


def test_what_the_generator_can_do_is_no_bound_of_the_switch() -> None:
    loads = replace(LOADS, minimum=50, maximum=40_000, generator_cap=40_000, flows=MANY)

    (figure,) = method("learning").run(learning_bench(10**9, loads=loads)).figures

    assert figure.lower == figure.value
    assert (figure.limit, figure.reason) == (Limit.GENERATOR, "the cap of the generator passed")


@pytest.mark.parametrize("kind", ["learning", "caching"])
def test_a_switch_that_says_nothing_has_no_number(kind: str) -> None:
    bench = capacity_bench(100, silent=True)

    (figure,) = method(kind).run(bench).figures

    assert figure.value is None
    assert figure.limit is Limit.UNKNOWN
    assert figure.reason == "the switch does not say which addresses it knows"


def test_a_table_that_addresses_do_not_fit_says_nothing_on_how_fast_they_are_learned() -> None:
    (figure,) = method("learning").run(learning_bench(20_000, table=4096)).figures

    assert figure.value is None and figure.spread is None
    assert figure.limit is Limit.UNKNOWN
    assert figure.reason == (
        "a table of 4,096 does not hold the 8,000 addresses of a trial; lower traffic.flows"
    )


@pytest.mark.parametrize("kind", ["learning", "caching"])
def test_without_time_for_a_search_there_is_no_number(kind: str) -> None:
    bench = capacity_bench(100, budget=Budget(1))

    result = method(kind).run(bench)

    assert not result.complete
    assert not result.figures


@pytest.mark.parametrize("kind", ["learning", "caching"])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vswitch": SimulatedSwitchSpec(kind="sim")}, "learns no address"),
        ({"traffic": {**STATIONS, "vary": "ip"}}, "come from one address"),
        ({"traffic": {**STATIONS, "flows": 1}}, "come from one address"),
        ({"traffic": {**STATIONS, "direction": "both"}}, "twice as many addresses"),
        ({"trial": POLICY}, "addresses of their own"),
    ],
)
def test_what_would_say_nothing_on_addresses_is_refused(
    kind: str, changes: dict[str, Any], said: str
) -> None:
    good = bridged(kind)
    loads_of(good)

    with pytest.raises(SpecError, match=said):
        loads_of(bridged(kind, **changes))


@pytest.mark.parametrize(
    ("setting", "said"),
    [({"rate": "20Gfps"}, "cannot come at"), ({"step": 10_000}, "leave nothing to search")],
)
def test_settings_that_leave_nothing_to_search_are_refused(
    setting: dict[str, Any], said: str
) -> None:
    case = bridged("caching", search=method("caching", **setting))

    with pytest.raises(SpecError, match=said):
        loads_of(case)


def test_an_answer_of_the_switch_itself_is_not_what_the_standard_has() -> None:
    caching = method("caching")
    result = caching.run(capacity_bench(100))

    (found,) = caching.compliance(simulated_case(), (64,), result)

    assert found.level is Level.NOT
    assert "no test frames were looked for at other ports" in found.deviations[0]


def test_where_even_the_lowest_rate_brings_too_many_there_is_no_rate() -> None:
    bench = learning_bench(40)

    (figure,) = method("learning", max_repeats=0).run(bench).figures

    assert {trial.load_fps for trial in bench.made} >= {50}
    assert figure.value is None
    assert figure.reason.startswith("even at 50.00 fps, the lowest rate allowed, ")


# Frames that are for everybody: how many come through without loss, and after how long.

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
    assert "no lower bound" in result.figures[0].reason


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
