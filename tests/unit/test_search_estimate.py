"""What a case is expected to need, where trials agree and where they do not."""

from __future__ import annotations

import statistics
from dataclasses import replace
from fractions import Fraction

import pytest
from search_models import LINE_RATE, LOADS, POLICY, spec_of

from vsperf.methods.estimate import (
    RESTLESS,
    STEADY,
    Estimate,
    Overheads,
    Rehearsals,
    estimate,
    together,
)
from vsperf.methods.fixed import FixedLoad
from vsperf.search.base import Loads
from vsperf.units import NANOSECONDS

CAP = 7_862_305
QUICK = {
    "initial_duration": "500ms",
    "final_duration": "1s",
    "duration_sum": "5s",
    "width": "1%",
}
NEEDED_TRIALS = (22, 34, 26, 42, 52, 44, 43, 41, 21, 45, 17, 40)
"""Of twelve recorded searches of OVS-DPDK with preset quick, on two CPUs of a shared machine."""
CLOSING_TRIALS = 12
"""What the bounds cost that are tried again at the end: a rehearsal with them less one without."""
CLEAN_TRIALS = 29
"""What the answer from clean time costs where a third of the time is not: likewise."""


def up_to(cap: int) -> Loads:
    return Loads(9001, cap, LINE_RATE, generator_cap=cap)


def test_a_restless_machine_is_expected_to_need_what_the_recorded_searches_needed() -> None:
    played = Rehearsals().of(spec_of("mlr", **QUICK), up_to(CAP), RESTLESS)
    expected = statistics.mean(one.trials for one in played)
    needed = statistics.mean(NEEDED_TRIALS) + CLOSING_TRIALS + CLEAN_TRIALS
    assert expected == pytest.approx(needed, rel=0.1)


@pytest.mark.parametrize("method", ["mlr", "mlr as tst009", "tst009"])
def test_searches_that_repeat_what_disagrees_need_longer_for_it(method: str) -> None:
    spec, restless = spec_of(method), replace(RESTLESS, disturbed=0.0)
    steady = replace(restless, unrest_of_knee=0.0, unrest_of_capacity=0.0)
    calm = estimate(spec, POLICY, LOADS, (), steady)
    found = estimate(spec, POLICY, LOADS, (), restless)
    assert found.seconds > calm.seconds
    assert calm.spread_s == 0


def test_an_estimate_is_the_same_each_time() -> None:
    first, second = (estimate(spec_of("mlr"), POLICY, LOADS, (), RESTLESS) for _ in range(2))
    assert first == second
    assert first.spread_s > 0


def test_cases_that_are_alike_share_their_rehearsals_and_others_do_not() -> None:
    rehearsals = Rehearsals()
    for cap in (CAP, CAP // 2, CAP // 3):
        rehearsals.of(spec_of("mlr"), up_to(cap), RESTLESS)
    assert len(rehearsals.known) == 1
    rehearsals.of(spec_of("mlr", width="2%"), up_to(CAP), RESTLESS)
    rehearsals.of(spec_of("mlr"), up_to(CAP), replace(RESTLESS, disturbed=0.2))
    rehearsals.of(spec_of("mlr"), Loads(1, CAP, LINE_RATE), RESTLESS)
    assert len(rehearsals.known) == 4


def test_fixed_loads_are_offered_as_often_however_restless_the_machine_is() -> None:
    fixed = FixedLoad.model_validate({"kind": "fixed", "loads": ["1kfps"], "duration": "1s"})
    loads = Loads(1000, 2000, LINE_RATE, fixed=(1000, 2000))
    assert estimate(fixed, POLICY, loads, (), RESTLESS) == estimate(
        fixed, POLICY, loads, (), STEADY
    )


def test_what_a_case_and_each_trial_cost_beside_traffic_is_added() -> None:
    bare = estimate(spec_of("mlr"), POLICY, LOADS)
    costs = Overheads(case_ns=3 * NANOSECONDS, trial_ns=NANOSECONDS // 2)
    found = estimate(spec_of("mlr"), POLICY, LOADS, (), overheads=costs)
    assert found.trials == bare.trials
    assert found.seconds == pytest.approx(bare.seconds + 3 + bare.trials / 2)


def test_the_luck_of_several_cases_evens_out() -> None:
    both = together([Estimate(10, 30.0, 3.0), Estimate(20, 50.0, 4.0)])
    assert both == Estimate(30, 80.0, 5.0)


def test_what_models_take_here_adds_up() -> None:
    assert together([Estimate(1, 60.0, here_s=0.5), Estimate(2, 60.0, here_s=1.0)]).here_s == 1.5


@pytest.mark.parametrize("capacity", [Fraction(1, 500), Fraction(1, 5), Fraction(1)])
def test_where_the_capacity_lies_matters_little(capacity: Fraction) -> None:
    near = estimate(spec_of("mlr"), POLICY, LOADS)
    found = estimate(spec_of("mlr"), POLICY, LOADS, (), replace(STEADY, capacity=capacity))
    assert found.seconds == pytest.approx(near.seconds, rel=0.5)
