"""From a specification to loads in whole frames, to a search, and to an estimate of its time."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from search_models import (
    LINE_RATE,
    LOADS,
    METHODS,
    POLICY,
    RANGE,
    case_of,
    spec_of,
)
from simulated_cases import session, simulated_case

from vsperf.engine.measurer import Measurer
from vsperf.engine.watch import Watch
from vsperf.errors import ExitCode, SpecError
from vsperf.methods.base import loads_of, method_of
from vsperf.methods.estimate import estimate
from vsperf.methods.fixed import FixedLoad
from vsperf.methods.follow import LatencyAtShares
from vsperf.search.base import Budget, Probe
from vsperf.spec.case import CaseSpec
from vsperf.spec.traffic import LatencyTrials
from vsperf.units import NANOSECONDS
from vsperf.vswitches.sim import RunningModel


def _case(method: str = "mlr", **search: Any) -> CaseSpec:
    return case_of(method, search=spec_of(method, **search))


def _fixed(*loads: str) -> CaseSpec:
    search = FixedLoad.model_validate({"kind": "fixed", "loads": loads, "duration": "10s"})
    return case_of("mlr", search=search)


def test_loads_are_whole_frames_within_the_range_that_was_asked_for() -> None:
    loads = loads_of(_case(min_load="9000.1fps", max_load="50%"))
    assert (loads.minimum, loads.maximum, loads.line_rate) == (9001, 7_440_476, 14_880_952)


def test_the_slowest_link_that_the_topology_uses_decides() -> None:
    links = {"phy0": {"speed": "25G"}, "phy1": {"speed": "10G"}, "spare": {"speed": "1G"}}
    case = case_of("mlr", testbed={"name": "sim", "links": links})
    assert loads_of(case).line_rate == LINE_RATE


def test_the_frame_size_decides_the_line_rate() -> None:
    case = case_of("mlr", traffic={"frame_size": "1518B"})
    assert loads_of(case).line_rate == 812_743


def test_a_maximum_above_the_line_rate_means_the_line_rate() -> None:
    loads = loads_of(_case(max_load="20Mpps"))
    assert loads.maximum == loads.line_rate == LINE_RATE


def test_a_minimum_below_one_frame_per_second_means_one() -> None:
    assert loads_of(_case(min_load="0%")).minimum == 1


@pytest.mark.parametrize(
    ("low", "high"), [("2Mfps", "1Mfps"), ("1Mfps", "1Mfps"), ("20Mfps", "30Mfps")]
)
def test_an_empty_range_of_loads_is_refused_with_both_ends(low: str, high: str) -> None:
    with pytest.raises(SpecError) as caught:
        loads_of(_case(min_load=low, max_load=high))
    (problem,) = caught.value.problems
    assert low in problem.what
    assert problem.why is not None
    assert "64B" in problem.why
    assert problem.fix is not None
    assert caught.value.exit_code is ExitCode.BAD_INPUT


def test_the_step_of_an_array_is_whole_frames() -> None:
    assert loads_of(_case("tst009", step="0.1%")).step == 14_880
    with pytest.raises(SpecError, match="less than one frame per second"):
        loads_of(_case("tst009", step="0%"))


def test_the_step_of_an_array_is_a_share_of_what_can_be_offered() -> None:
    """Virtual links have a speed in name only: a share of it could be more than all that passes."""
    case = _case("tst009", step="0.5%")
    assert loads_of(case, generator_cap=2_000_000).step == 10_000
    assert loads_of(_case("tst009", step="0.5%", max_load="50%")).step == 37_202
    assert loads_of(_case("tst009", step="10kfps"), generator_cap=2_000_000).step == 10_000


def test_fixed_loads_keep_their_order_and_their_units() -> None:
    loads = loads_of(_fixed("50%", "1Mpps", "100%"))
    assert loads.fixed == (7_440_476, 10**6, LINE_RATE)
    assert (loads.minimum, loads.maximum) == (10**6, LINE_RATE)


@pytest.mark.parametrize("load", ["0%", "15Mpps", "0.5fps"])
def test_a_fixed_load_that_cannot_be_offered_is_refused(load: str) -> None:
    with pytest.raises(SpecError, match="cannot be offered"):
        loads_of(_fixed("1Mpps", load))


def test_goals_are_given_by_name_and_a_fixed_load_has_none() -> None:
    for method in METHODS:
        assert set(spec_of(method).asked()) == {"ndr", "pdr"}
    assert _fixed("1%").search.asked() == {}


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("rfc2544", {"duration": "0s"}),
        ("tst009", {"duration": "0s"}),
        ("mlr", {"final_duration": "30s"}),
    ],
)
def test_durations_that_no_search_could_use_are_refused_where_they_are_written(
    method: str, change: dict[str, str]
) -> None:
    with pytest.raises(ValidationError):
        spec_of(method, **change)


@pytest.mark.parametrize("capacity", ["2Mpps", "7Mpps", "12Mpps"])
@pytest.mark.parametrize("method", METHODS)
def test_the_estimate_is_close_to_what_a_steady_switch_needs(method: str, capacity: str) -> None:
    spec = spec_of(method)
    found = estimate(spec, POLICY, LOADS)
    case = simulated_case(switch={"capacity": capacity})
    budget = Budget()
    with session(case) as generator:
        measurer = Measurer(generator, Watch(RunningModel(), generator), POLICY, budget, 2)
        probe = Probe(measurer.measure, budget, POLICY.overhead_ns)
        spec.confirmed(LOADS).run(probe)
    needed = POLICY.warm_up.ns + POLICY.overhead_ns
    needed += sum(trial.duration_ns + POLICY.overhead_ns for trial in probe.trials)
    assert found.seconds == pytest.approx(needed / NANOSECONDS, rel=0.3)


def test_the_estimate_includes_latency_trials_with_their_overhead() -> None:
    latency = LatencyTrials.model_validate(
        {"goal": "ndr", "loads": ["10%", "50%", "90%"], "duration": "30s"}
    )
    lengths_ns = LatencyAtShares(latency).durations_ns
    without = estimate(spec_of("mlr"), POLICY, LOADS)
    found = estimate(spec_of("mlr"), POLICY, LOADS, lengths_ns)
    assert found.trials == without.trials + 3
    assert found.seconds == pytest.approx(without.seconds + 3 * (30 + 9))


def test_the_estimate_leaves_out_a_warm_up_that_is_not_made() -> None:
    cold = POLICY.model_copy(update={"warm_up": POLICY.drain.parse("0s")})
    warm, less = (estimate(spec_of("mlr"), p, LOADS) for p in (POLICY, cold))
    assert warm.trials == less.trials + 1


def test_the_estimate_of_fixed_loads_is_their_sum() -> None:
    case = _fixed("10%", "20%")
    found = estimate(method_of(case), POLICY, loads_of(case))
    assert (found.trials, found.seconds) == (3, 1 + 9 + 2 * (10 + 9))


def test_the_ranges_of_the_samples_are_those_of_a_ten_gigabit_link() -> None:
    found = loads_of(_case("tst009", **RANGE))
    assert found == LOADS
