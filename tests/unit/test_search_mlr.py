"""The wrapped library: the pinned version does what is known of it, and its traps are closed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)
from search_models import (
    LINE_RATE,
    LOADS,
    goal_of,
    lossy,
    probe_of,
    search,
    spec_of,
    switch,
    trial,
    way,
)

from vsperf.errors import ComponentError, InvalidTrialError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.result import Limit
from vsperf.records.trial import Trial, intended_frames
from vsperf.search.base import Loads
from vsperf.search.classify import Bound
from vsperf.search.mlr import MultipleLossRatio
from vsperf.search.mlr_library import Measurer

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "mlrsearch_runs.json").read_text())


class IdealSwitch(AbstractMeasurer):  # type: ignore[misc]
    """Answers the library directly, without the wrapper."""

    def __init__(self, dead_generator: bool = False) -> None:
        self.durations: list[float] = []
        self.dead_generator = dead_generator

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        self.durations.append(intended_duration)
        offered = 0 if self.dead_generator else int(intended_load * intended_duration)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=offered,
            forwarding_count=min(offered, int(GOLDEN["capacity_fps"] * intended_duration)),
        )


def _config(minimum: float, maximum: float, goals: list[SearchGoal]) -> Config:
    config = Config()
    config.goals = goals
    config.max_load = maximum
    config.min_load = minimum
    config.warmup_duration = None
    return config


@pytest.mark.parametrize("run", GOLDEN["runs"], ids=lambda run: run["name"])
def test_the_library_itself_does_what_is_known_of_it(run: dict[str, Any]) -> None:
    goals = [
        SearchGoal(
            loss_ratio=loss, exceed_ratio=exceed, final_trial_duration=final, duration_sum=total
        )
        for loss, exceed, final, total in run["goals"]
    ]
    measurer = IdealSwitch()
    controller = MultipleLossRatioSearch(config=_config(run["min"], run["max"], goals))
    found = controller.search(measurer, debug=lambda text: None)
    results = [
        [float(result.relevant_lower_bound), float(result.conditional_throughput)]
        for result in found.values()
    ]
    assert results == [pytest.approx(wanted, rel=1e-12) for wanted in run["results"]]
    assert len(measurer.durations) == run["trials"]
    assert sum(measurer.durations) == pytest.approx(run["seconds"], rel=1e-12)


def test_the_library_itself_takes_a_dead_generator_for_a_perfect_switch() -> None:
    """The reason for the wrapper; should this fail after an update, the wrapper may get simpler."""
    controller = MultipleLossRatioSearch(config=_config(9001, LINE_RATE, [SearchGoal()]))
    found = controller.search(IdealSwitch(dead_generator=True), debug=lambda text: None)
    (result,) = found.values()
    assert float(result.relevant_lower_bound) == LINE_RATE
    assert result.relevant_upper_bound is None


def test_the_wrapper_finds_the_known_bounds_in_whole_frames() -> None:
    result = search(spec_of("mlr"), switch(10**6))
    ndr, pdr = goal_of(result, "ndr"), goal_of(result, "pdr")
    assert (ndr.lower_fps, ndr.upper_fps, ndr.throughput_fps) == (999_433, 1_004_453, 999_433)
    assert (pdr.lower_fps, pdr.upper_fps) == (1_004_453, 1_009_498)
    assert pdr.throughput_fps == 10**6
    assert {ndr.limit, pdr.limit} == {Limit.DUT}
    assert result.complete


def test_the_wrapper_needs_as_many_trials_as_the_library() -> None:
    probe = probe_of(switch(10**6))
    spec_of("mlr").search(LOADS).run(probe)
    assert len(probe.trials) == 35
    assert sum(each.duration_ns for each in probe.trials) == 35 * NANOSECONDS


def test_a_dead_generator_never_yields_a_result() -> None:
    """The wrapper's own guard, should an engine ever let such a trial through."""

    def nothing_sent(load_fps: int, duration_ns: int) -> Trial:
        intended = intended_frames(load_fps, duration_ns)
        return trial(load_fps, duration_ns, [way(intended, unsent=intended)], Flag.SHORT_OFFER)

    for goal in search(spec_of("mlr"), nothing_sent).goals:
        assert (goal.lower_fps, goal.upper_fps, goal.throughput_fps) == (None, None, None)
        assert goal.limit is Limit.GENERATOR


def test_an_invalid_trial_ends_the_search_as_it_is() -> None:
    def invalid(load_fps: int, duration_ns: int) -> Trial:
        raise InvalidTrialError("nothing was sent")

    with pytest.raises(InvalidTrialError, match="nothing was sent"):
        search(spec_of("mlr"), invalid)


def test_a_runtime_error_of_the_testbed_is_not_blamed_on_the_library() -> None:
    def broken(load_fps: int, duration_ns: int) -> Trial:
        raise RuntimeError("a bug in a driver")

    with pytest.raises(RuntimeError, match="a bug in a driver"):
        search(spec_of("mlr"), broken)


def test_a_runtime_error_of_the_library_is_an_error_with_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def give_up(self: object, measurer: object, debug: object) -> None:
        raise RuntimeError("corner case")

    monkeypatch.setattr(MultipleLossRatioSearch, "search", give_up)
    with pytest.raises(ComponentError) as caught:
        search(spec_of("mlr"), switch(10**6))
    assert caught.value.problems[0].why == "corner case"


def test_a_disagreement_on_bounds_is_never_settled_silently(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = MultipleLossRatioSearch.search

    def lies(self: MultipleLossRatioSearch, measurer: Any, debug: Any) -> Any:
        found = original(self, measurer, debug)
        for result in found.values():
            result.relevant_upper_bound = None
        return found

    monkeypatch.setattr(MultipleLossRatioSearch, "search", lies)
    with pytest.raises(AssertionError, match="bounds ndr by"):
        search(spec_of("mlr"), switch(10**6))


def test_on_the_edge_of_a_decision_the_exact_sums_stand_and_not_those_of_the_library() -> None:
    """The lossy share is 30 % to the nanosecond; in floating point it comes out beyond."""
    spec = spec_of(
        "mlr",
        goals={"ndr": {"loss_ratio": "0"}},
        exceed_ratio="30%",
        initial_duration="1s",
        final_duration="5s",
        duration_sum="20s",
    )
    trials = [
        lossy(10**6, seconds, loss)
        for seconds, loss in ((2, 1), (5, 0), (7, 0), (7, 1), (2, 0), (7, 0))
    ]
    wrapper = spec.search(LOADS)
    assert isinstance(wrapper, MultipleLossRatio)
    assert wrapper.goals["ndr"].rule.classify(trials).bound is Bound.LOWER
    measurer = Measurer(probe_of(switch(1)), LOADS, Fraction(0))
    measurer.asked.extend((1e6, each) for each in trials)
    goal = wrapper._for_library(wrapper.goals["ndr"])
    theirs = SimpleNamespace(relevant_lower_bound=None, relevant_upper_bound=1e6)
    wrapper._check({goal: theirs}, measurer)


def test_one_goal_that_fails_everywhere_does_not_lose_the_answer_of_the_other() -> None:
    def one_in_a_thousand(load_fps: int, duration_ns: int) -> Trial:
        intended = intended_frames(load_fps, duration_ns)
        over = max(0, intended - intended_frames(10**6, duration_ns))
        return trial(load_fps, duration_ns, [way(intended, lost=max(over, -(-intended // 1000)))])

    result = search(spec_of("mlr"), one_in_a_thousand)
    ndr, pdr = goal_of(result, "ndr"), goal_of(result, "pdr")
    assert (ndr.lower_fps, ndr.upper_fps) == (None, 9001)
    assert Flag.AT_MINIMUM in ndr.flags
    assert pdr.lower_fps is not None
    assert pdr.upper_fps is not None
    assert pdr.lower_fps <= 1_005_025 <= pdr.upper_fps


def test_equal_goals_of_different_names_get_equal_answers() -> None:
    twice = {"one": {"loss_ratio": "0"}, "other": {"loss_ratio": "0"}}
    one, other = search(spec_of("mlr", goals=twice), switch(10**6)).goals
    assert one.model_copy(update={"goal": "other"}) == other


def test_trial_durations_are_whole_nanoseconds_and_never_too_short() -> None:
    probe = probe_of(switch(10**6))
    spec = spec_of("mlr as rfc2544", initial_duration="1s")
    spec.search(LOADS).run(probe)
    durations = sorted({each.duration_ns for each in probe.trials})
    assert durations[0] == NANOSECONDS
    assert durations[-1] == 60 * NANOSECONDS
    middle = durations[1]
    assert middle**2 >= 60 * NANOSECONDS**2 > (middle - 1) ** 2  # the geometric mean, rounded up


@pytest.mark.parametrize("seconds", ["100ms", "300ms", "700ms", "1.1s"])
@pytest.mark.parametrize("exceed", ["0", "10%", "20%", "30%", "50%"])
def test_durations_that_floating_point_cannot_hold_cause_no_disagreement(
    seconds: str, exceed: str
) -> None:
    def every_third_is_lossy(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        intended = intended_frames(load_fps, duration_ns)
        over = max(0, intended - intended_frames(10**6, duration_ns))
        accident = 1 if len(made) % 3 == 0 else 0
        return trial(load_fps, duration_ns, [way(intended, lost=max(over, accident))])

    made: list[int] = []
    spec = spec_of(
        "mlr",
        initial_duration=seconds,
        final_duration=seconds,
        duration_sum="15.4s",
        exceed_ratio=exceed,
    )
    for goal in search(spec, every_third_is_lossy).goals:
        assert goal.lower_fps is None or goal.lower_fps <= 1_005_026


@pytest.mark.parametrize("finest", ["0.0001%", "0.01%", "1%"])
def test_goals_of_very_different_widths_still_end(finest: str) -> None:
    goals = {
        "ndr": {"loss_ratio": "0", "width": finest},
        "pdr": {"loss_ratio": "0.5%", "width": "90%"},
    }
    ndr, pdr = search(spec_of("mlr", goals=goals), switch(10**6)).goals
    assert {ndr.limit, pdr.limit} == {Limit.DUT}


@given(
    capacity=st.integers(1, 2 * 10**6),
    low=st.integers(1, 10**5),
    reach=st.integers(1, 2 * 10**6),
    loss=st.sampled_from(("0", "0.1%", "3%")),
    exceed=st.sampled_from(("0", "1%", "20%", "50%", "90%")),
    width=st.sampled_from(("0.1%", "0.5%", "10%", "60%")),
    durations_ms=st.lists(st.integers(1, 5000), min_size=3, max_size=3).map(sorted),
    accidents=st.sampled_from((0.0, 0.1, 0.5, 0.9)),
    chance=st.randoms(use_true_random=False),
)
def test_whatever_the_goal_and_the_switch_the_library_and_our_bounds_agree(
    capacity: int,
    low: int,
    reach: int,
    loss: str,
    exceed: str,
    width: str,
    durations_ms: list[int],
    accidents: float,
    chance: Any,
) -> None:
    """The cross-check within the wrapper is the assertion; the budget ends what would not end."""

    def erratic(load_fps: int, duration_ns: int) -> Trial:
        intended = max(1, intended_frames(load_fps, duration_ns))
        over = max(0, intended - intended_frames(capacity, duration_ns))
        accident = int(chance.random() < accidents)
        return trial(load_fps, duration_ns, [way(intended, lost=max(over, accident))])

    initial, final, total = (f"{ms}ms" for ms in durations_ms)
    spec = spec_of(
        "mlr",
        goals={"ndr": {"loss_ratio": "0"}, "other": {"loss_ratio": loss, "width": "1%"}},
        exceed_ratio=exceed,
        width=width,
        initial_duration=initial,
        final_duration=final,
        duration_sum=total,
    )
    probe = probe_of(erratic, budget_s=3000)
    result = spec.search(Loads(low, low + reach, LINE_RATE)).run(probe)
    for goal in result.goals:
        assert goal.reason
        if goal.lower_fps is not None and goal.upper_fps is not None:
            assert goal.lower_fps < goal.upper_fps


@pytest.mark.parametrize("capacity", [2, 37, 150, 999])
def test_loads_so_low_that_whole_frames_are_coarser_than_the_width_do_no_harm(
    capacity: int,
) -> None:
    for goal in search(spec_of("mlr"), switch(capacity), Loads(1, 1000, LINE_RATE)).goals:
        assert goal.lower_fps is not None
        assert goal.lower_fps * (1 - Fraction(goal.loss_ratio)) <= capacity
        assert goal.upper_fps is None or goal.upper_fps > capacity


@pytest.mark.parametrize("width", ["0.1%", "0.5%", "50%", "99%"])
@pytest.mark.parametrize("low", [1, 999, 10**6 - 1])
def test_a_range_narrower_than_the_width_still_ends(low: int, width: str) -> None:
    """The library alone would look for a grid of loads for ever."""
    loads = Loads(low, low + 1, LINE_RATE)
    for goal in search(spec_of("mlr", width=width), switch(10**6), loads).goals:
        assert goal.limit in (Limit.DUT, Limit.SETTING)


def test_the_upper_bound_of_a_goal_without_exceed_ratio_is_tried_again() -> None:
    """One frame is lost once, in the second trial; that alone makes an upper bound."""

    def accident(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        intended = intended_frames(load_fps, duration_ns)
        return trial(load_fps, duration_ns, [way(intended, lost=int(len(made) == 1))])

    made: list[int] = []
    for goal in search(spec_of("mlr as rfc2544"), accident).goals:
        if goal.goal == "ndr":
            assert goal.limit is Limit.UNKNOWN
            assert Flag.UPPER_NOT_REPRODUCED in goal.flags
            assert "not seen again" in goal.reason
        else:
            assert goal.limit is Limit.LINK


def test_an_upper_bound_that_loses_again_stands() -> None:
    probe = probe_of(switch(10**6))
    result = spec_of("mlr as rfc2544").search(LOADS).run(probe)
    for goal in result.goals:
        at_upper = [each for each in probe.trials if each.load_fps == goal.upper_fps]
        assert len(at_upper) == 3
        assert (goal.limit, goal.flags) == (Limit.DUT, ())


def test_the_library_is_never_stopped_by_the_clock_on_the_wall() -> None:
    spec = spec_of("mlr")
    assert isinstance(spec.search(LOADS), MultipleLossRatio)
    probe = probe_of(switch(10**6))
    assert spec.search(LOADS).run(probe).complete
    assert probe.budget.spent_ns > 0


@pytest.mark.parametrize("budget_s", [0, 5, 11, 50, 100, 200, 300])
def test_when_the_budget_ends_the_bounds_found_so_far_are_the_answer(budget_s: int) -> None:
    probe = probe_of(switch(10**6), budget_s)
    result = spec_of("mlr").search(LOADS).run(probe)
    assert not result.complete
    assert probe.budget.spent_ns <= budget_s * NANOSECONDS
    for goal in result.goals:
        if goal.limit is Limit.BUDGET:
            assert Flag.OUT_OF_BUDGET in goal.flags
        assert goal.lower_fps is None or goal.lower_fps <= 1_005_026
        assert goal.upper_fps is None or goal.upper_fps > 10**6


def test_a_goal_that_was_reached_before_the_budget_ended_keeps_its_answer() -> None:
    whole = search(spec_of("mlr"), switch(10**6))
    outcomes = set()
    for budget_s in range(300, 350, 10):
        result = spec_of("mlr").search(LOADS).run(probe_of(switch(10**6), budget_s))
        for goal, final in zip(result.goals, whole.goals, strict=True):
            outcomes.add(goal.limit)
            assert goal == final or goal.limit is Limit.BUDGET
    assert outcomes == {Limit.DUT, Limit.BUDGET}
