"""What every search owes on every simulated switch: a right interval, or the reason for none."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import coverage
import pytest
from all_wrong import none_wrong
from coverage import SEARCHES, Answer, Held, hold, measure
from coverage_models import MODELS, Model
from hypothesis import given, settings
from hypothesis import strategies as st
from places import PLACEMENT, started_generator, started_switch
from search_models import LINE_RATE, LOADS, METHODS, POLICY, case_of, goal_of, spec_of

import vsperf
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.sim import SimulatedGenerator, SimulatedGeneratorSpec
from vsperf.drivers.vswitches.sim import SimulatedSwitch, SimulatedSwitchSpec
from vsperf.engine.measurer import Measurer
from vsperf.engine.watch import Watch
from vsperf.errors import ComponentError, InvalidTrialError
from vsperf.methods.base import TrialOptions
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.result import GoalResult, Limit, SearchResult
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import Budget, Probe
from vsperf.simulation.base import Truth
from vsperf.simulation.generator import Fault
from vsperf.simulation.switch import Offer, SwitchModel

EXAMPLES = settings(max_examples=8)
CAPACITIES = st.integers(20_000, LINE_RATE - 1)
SEEDS = st.integers(1, 10_000)
WAYS = (("phy0", "phy1"), ("phy1", "phy0"))

SANE = ("ideal", "noisy", "soft-knee", "asymmetric", "inversion", "duplicating", "random-loss")


class Bench:
    """A simulated testbed on which one search runs."""

    def __init__(
        self,
        behaviour: str,
        capacity_fps: int,
        budget_s: float | None = None,
        warm_up_s: int = 0,
        **generator: Any,
    ) -> None:
        self.case = case_of(
            "mlr",
            vswitch=SimulatedSwitchSpec.model_validate(
                {"kind": "sim", "capacity": f"{capacity_fps}fps", "behaviour": {"kind": behaviour}}
            ),
            generator=SimulatedGeneratorSpec(kind="sim", **generator),
        )
        self.warm_up_ns = warm_up_s * NANOSECONDS
        self.seed: int = generator.get("seed", 1)
        self.budget = Budget(None if budget_s is None else round(budget_s * NANOSECONDS))
        self.given: list[Trial] = []
        self.made: list[Trial] = []

    def search(self, method: str, **changes: Any) -> SearchResult:
        """Run a search with the two usual goals."""
        switch, generator = SimulatedSwitch(), SimulatedGenerator()
        plan = switch.plan(self.case, PLACEMENT)
        self.model = SwitchModel.at(plan.endpoints[0].address)
        with (
            started_switch(switch, self.case, plan) as running,
            started_generator(generator, self.case, plan.endpoints, WAYS) as session,
        ):
            measurer = Measurer(
                session, Watch(running, session), POLICY, self.budget, len(WAYS), trials=self.made
            )
            if self.warm_up_ns:
                request = TrialRequest(LOADS.maximum, self.warm_up_ns)
                measurer.attempt(request, TrialOptions(Purpose.WARM_UP))
            probe = Probe(measurer.measure, self.budget, POLICY.overhead_ns, self.given)
            return spec_of(method, **changes).confirmed(LOADS).run(probe)

    def truths(self, goal: GoalResult) -> tuple[Truth, ...]:
        """Return the truth of both directions for a goal."""
        offer = Offer(self.case.traffic.frame_size)
        return self.model.true_capacity_fps(offer, Fraction(goal.loss_ratio), self.seed)

    def brackets(self, goal: GoalResult, upper_fps: int | None) -> bool:
        """Whether no direction fails below the interval, and one does at its upper end."""
        fails = any(truth.brackets(goal.lower_fps, upper_fps) for truth in self.truths(goal))
        return fails and self.never_fails_below(goal)

    def never_fails_below(self, goal: GoalResult) -> bool:
        """Whether both directions can carry the lower bound."""
        return all(truth.brackets(goal.lower_fps, None) for truth in self.truths(goal))


def is_right(bench: Bench, goal: GoalResult) -> bool:
    """Whether an answer brackets the truth, or says why it does not.

    Where accidents happen a switch may lose frames in all repeats, so its upper end may be too low.
    """
    if any(truth.accidents for truth in bench.truths(goal)):
        return bench.never_fails_below(goal)
    if goal.limit is Limit.DUT:
        return bench.brackets(goal, goal.upper_fps) or Flag.LOSS_INVERSION in goal.flags
    if goal.limit is Limit.LINK:
        return goal.lower_fps == LINE_RATE and bench.never_fails_below(goal)
    if goal.limit is Limit.UNKNOWN:
        return bool(goal.flags) and bench.never_fails_below(goal)
    return False


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("behaviour", SANE)
@EXAMPLES
@given(capacity=CAPACITIES, seed=SEEDS)
def test_the_interval_brackets_the_capacity_or_the_verdict_says_why_not(
    behaviour: str, method: str, capacity: int, seed: int
) -> None:
    bench = Bench(behaviour, capacity, seed=seed)
    for goal in bench.search(method).goals:
        assert is_right(bench, goal), (goal, bench.truths(goal))


def test_rare_accidents_do_not_disturb_a_search_that_lets_half_of_the_time_exceed() -> None:
    for seed in range(1, 31):
        bench = Bench("random-loss", 10**6, seed=seed)
        for goal in bench.search("mlr").goals:
            assert goal.limit is Limit.DUT
            assert bench.brackets(goal, goal.upper_fps)


@pytest.mark.parametrize(("method", "unnoticed"), [("rfc2544", 2), ("tst009", 1)])
def test_rare_accidents_pass_for_overload_hardly_ever(method: str, unnoticed: int) -> None:
    """Each trial has an accident with a chance of nearly 10 %; every repeat must have one too."""
    wrong = flagged = 0
    for seed in range(1, 31):
        bench = Bench("random-loss", 10**6, seed=seed)
        ndr = goal_of(bench.search(method), "ndr")
        if Flag.UPPER_NOT_REPRODUCED in ndr.flags:
            flagged += 1
        else:
            wrong += not bench.brackets(ndr, ndr.upper_fps)
    assert wrong <= unnoticed
    assert bool(flagged) == (method == "rfc2544")


@pytest.mark.parametrize("method", METHODS)
def test_a_switch_that_never_loses_is_limited_by_the_link(method: str) -> None:
    for goal in Bench("never-lossy", 10**6).search(method).goals:
        assert (goal.limit, goal.lower_fps, goal.upper_fps) == (Limit.LINK, LINE_RATE, None)


@pytest.mark.parametrize("method", METHODS)
def test_a_switch_that_always_loses_has_no_result(method: str) -> None:
    for goal in Bench("always-lossy", 10**6).search(method).goals:
        assert (goal.limit, goal.lower_fps, goal.throughput_fps) == (Limit.DUT, None, None)
        assert Flag.AT_MINIMUM in goal.flags
        assert "even at the lowest load" in goal.reason


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(capacity=st.integers(200_000, LINE_RATE - 1))
def test_one_frame_lost_in_each_trial_is_told_from_overload(method: str, capacity: int) -> None:
    result = Bench("one-frame-loss", capacity).search(method)
    ndr, pdr = goal_of(result, "ndr"), goal_of(result, "pdr")
    assert ndr.lower_fps is None
    assert {Flag.AT_MINIMUM, Flag.CONSTANT_LOSS} <= set(ndr.flags)
    assert pdr.lower_fps is not None
    assert Flag.CONSTANT_LOSS not in pdr.flags


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(share=st.integers(20, 99), seed=SEEDS)
def test_a_short_generator_is_never_reported_as_the_switch(
    method: str, share: int, seed: int
) -> None:
    rate = LINE_RATE * share // 100
    for goal in Bench("never-lossy", 1, max_rate=f"{rate}fps", seed=seed).search(method).goals:
        assert (goal.limit, goal.upper_fps) == (Limit.GENERATOR, None)
        assert goal.lower_fps is not None
        assert goal.throughput_fps is not None
        assert goal.throughput_fps <= rate * (1 + POLICY.offered_tolerance.value)
        assert "generator" in goal.reason


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(capacity=CAPACITIES, share=st.sampled_from((30, 83)))
def test_a_short_generator_does_not_hide_a_switch_that_is_slower_still(
    method: str, capacity: int, share: int
) -> None:
    rate = LINE_RATE * share // 100
    bench = Bench("ideal", capacity, max_rate=f"{rate}fps")
    for goal in bench.search(method).goals:
        if capacity < rate * Fraction(98, 100):
            assert goal.limit is Limit.DUT
            assert bench.brackets(goal, goal.upper_fps)
        elif goal.limit is Limit.DUT:
            assert bench.brackets(goal, goal.upper_fps)
        else:
            assert goal.limit is Limit.GENERATOR
            assert goal.upper_fps is None


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(
    behaviour=st.sampled_from((*SANE, "never-lossy", "always-lossy", "one-frame-loss")),
    capacity=CAPACITIES,
    budget_s=st.integers(0, 900),
)
def test_no_search_exceeds_its_budget(
    method: str, behaviour: str, capacity: int, budget_s: int
) -> None:
    bench = Bench(behaviour, capacity, budget_s=budget_s)
    result = bench.search(method)
    spent = sum(trial.elapsed_ns for trial in bench.made)
    assert spent == bench.budget.spent_ns <= budget_s * NANOSECONDS
    for goal in result.goals:
        assert goal.limit is not Limit.BUDGET or Flag.OUT_OF_BUDGET in goal.flags
        assert result.complete or Flag.OUT_OF_BUDGET in goal.flags or is_right(bench, goal)
        if goal.limit is Limit.BUDGET and behaviour == "ideal":
            assert bench.brackets(goal, goal.upper_fps)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fault", [Fault.DEAD, Fault.OVERSENDS, Fault.STRETCHES, Fault.RAISES])
def test_a_broken_generator_never_yields_a_result(method: str, fault: Fault) -> None:
    with pytest.raises((InvalidTrialError, ComponentError)):
        Bench("ideal", 10**6, fault=fault).search(method)


@pytest.mark.parametrize("method", METHODS)
def test_counters_read_early_never_yield_a_result(method: str) -> None:
    with pytest.raises(InvalidTrialError):
        Bench("ideal", 10**6, fault=Fault.EARLY_COUNTERS).search(method)


@pytest.mark.parametrize("method", METHODS)
def test_duplicates_that_cannot_be_told_never_yield_a_result(method: str) -> None:
    with pytest.raises(InvalidTrialError):
        Bench("duplicating", LINE_RATE, sees_duplicates=False).search(method)


@pytest.mark.parametrize("method", METHODS)
def test_a_switch_that_dies_is_no_overloaded_switch(method: str) -> None:
    with pytest.raises(InvalidTrialError):
        Bench("dies", 10**6).search(method)


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(capacity=CAPACITIES)
def test_a_cold_switch_is_measured_rightly_after_a_warm_up_trial(
    method: str, capacity: int
) -> None:
    bench = Bench("warm-up", capacity, warm_up_s=6)
    for goal in bench.search(method).goals:
        assert is_right(bench, goal), goal


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(capacity=CAPACITIES)
def test_a_cold_switch_is_never_overrated(method: str, capacity: int) -> None:
    bench = Bench("warm-up", capacity)
    for goal in bench.search(method).goals:
        assert bench.never_fails_below(goal)


@pytest.mark.parametrize("method", METHODS)
def test_a_generator_that_fails_once_is_repeated_and_does_not_change_the_answer(
    method: str,
) -> None:
    disturbed = Bench("ideal", 10**6, fault=Fault.RAISES, raises_in_trial=3)
    assert disturbed.search(method) == Bench("ideal", 10**6).search(method)


@pytest.mark.parametrize("method", METHODS)
@EXAMPLES
@given(capacity=CAPACITIES)
def test_the_worse_direction_decides(method: str, capacity: int) -> None:
    bench = Bench("asymmetric", capacity)
    slow = int(capacity * Fraction(7, 10))
    for goal in bench.search(method).goals:
        if goal.lower_fps is not None:
            assert goal.lower_fps * (1 - Fraction(goal.loss_ratio)) <= slow + 1


@pytest.mark.parametrize("method", METHODS)
def test_a_search_is_given_valid_trials_only(method: str) -> None:
    bench = Bench("ideal", 10**6, fault=Fault.RAISES, raises_in_trial=3)
    bench.search(method)
    assert all(trial.valid for trial in bench.given)
    assert len(bench.given) == len(bench.made) - 1


# No search is wrong in silence of a switch that changes, tires or hides what it lost.
#
# The truth is known of each model; over more seeds `tools/bench/coverage.py` asks the same.

MANY_SEEDS = range(2)
MORE_SEEDS = range(2, 20)
QUICKLY = ("quick", "rfc2544", "tst009")
CHANGING = [model for model in MODELS if model.course is not None]
HIDING = [model for model in MODELS if not (model.timed and model.numbered)]
TIRING = [model for model in MODELS if model.name == "tired until it rests"]


SELDOM = {"quick": 1 / 30}
"""Of which share of answers a search may be wrong in silence: of a switch that changes in seconds,
it may have seen one of its states in each of the few trials that both bounds rest on."""


def silent(model_name: str, search: str, seeds: range, seldom: float = 0.0) -> str | None:
    (model,) = (one for one in MODELS if one.name == model_name)
    held = hold(model, SEARCHES[search], seeds)
    told = held.raw + held.by_regime
    number = told[Answer.SILENT]
    too_often = number > seldom * told.total()
    return f"{model_name}, {search}: {number} of {told.total()}" if too_often else None


@pytest.mark.parametrize("search", QUICKLY)
@pytest.mark.parametrize("models", [CHANGING, HIDING, TIRING], ids=["changing", "hiding", "tiring"])
def test_what_can_be_seen_is_said(models: list[Model], search: str) -> None:
    none_wrong(said for one in models if (said := silent(one.name, search, MANY_SEEDS)))


@pytest.mark.thorough
@pytest.mark.parametrize("search", SEARCHES)
def test_so_it_is_over_many_seeds(search: str) -> None:
    models, seldom = [*CHANGING, *HIDING, *TIRING], SELDOM.get(search, 0.0)
    none_wrong(said for one in models if (said := silent(one.name, search, MORE_SEEDS, seldom)))


def test_what_was_found_is_kept_world_by_world_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hundred seeds take hours: a kill loses one world, and its torn line no other."""
    asked = {"model": ["ideal"], "search": ["quick"], "seeds": 2, "kept": False}
    tried: list[int] = []

    def counting(model: Model, search: dict[str, Any], seeds: Sequence[int]) -> Held:
        tried.extend(seeds)
        return hold(model, search, seeds)

    monkeypatch.setattr(coverage, "hold", counting)
    measure(argparse.Namespace(**asked, first=1, folder=tmp_path))
    (file,) = tmp_path.iterdir()
    with file.open("a") as torn:
        torn.write('\n{"model": "ideal", "sea')
    whole = measure(argparse.Namespace(**asked, first=0, folder=tmp_path))
    assert tried == [1, 0]
    capsys.readouterr()
    shown = measure(argparse.Namespace(**{**asked, "kept": True}, first=0, folder=tmp_path))
    assert (shown, tried) == (whole, [1, 0])
    assert "\n2 searches: 4 holds, 0 said, 0 assumed, 0 silent; 0 of " in capsys.readouterr().out


def test_other_code_that_decides_is_another_state_and_another_command_line_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vsperf, "__file__", str(tmp_path / "__init__.py"))
    before = coverage.state()
    for folder, same in (("cli", True), ("search", False)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "new.py").write_text("")
        assert (coverage.state() == before) is same
