"""After a search its bounds are tried again: what no longer stands is searched anew, or said."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from search_models import LINE_RATE, LOADS, Measure, probe_of, spec_of, switch

from vsperf.record.flags import Flag
from vsperf.record.result import GoalResult, SearchResult
from vsperf.record.trial import Trial
from vsperf.search.confirm import TRIALS
from vsperf.units import NANOSECONDS

NDR = {"ndr": {"loss_ratio": "0"}}
METHODS = ("mlr", "rfc2544", "tst009")
FIRST, SECOND = 4_000_000, 2_000_000


def found(name: str, measure: Measure, budget_s: float | None = None) -> tuple[GoalResult, int]:
    """Return the answer of a search with its closing pair, and how many trials it took."""
    probe = probe_of(measure, budget_s)
    result = spec_of(name, goals=NDR).confirmed(LOADS).run(probe)
    return result.goals[0], len(probe.trials)


def alone(name: str, measure: Measure) -> tuple[SearchResult, int]:
    probe = probe_of(measure)
    return spec_of(name, goals=NDR).search(LOADS).run(probe), len(probe.trials)


def changing(when: Callable[[int], bool]) -> Measure:
    """Return a switch that carries less from the trial on that `when` says."""
    made: list[int] = []

    def measure(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        return switch(SECOND if when(len(made)) else FIRST)(load_fps, duration_ns)

    return measure


@pytest.mark.parametrize("name", METHODS)
def test_a_steady_switch_costs_one_trial_at_each_bound(name: str) -> None:
    plain, trials = alone(name, switch(FIRST))
    goal, all_trials = found(name, switch(FIRST))
    assert goal == plain.goals[0]
    assert all_trials == trials + 2


@pytest.mark.parametrize("name", METHODS)
def test_a_switch_that_fell_since_is_searched_again(name: str) -> None:
    _, trials = alone(name, switch(FIRST))
    goal, _ = found(name, changing(lambda number: number > trials))
    assert goal.lower_fps is not None
    assert goal.lower_fps <= SECOND < (goal.upper_fps or 0)
    assert Flag.CHANGED_SINCE not in goal.flags, "the second search stands"


@pytest.mark.parametrize("name", METHODS)
def test_a_switch_that_rose_since_is_searched_again(name: str) -> None:
    _, trials = alone(name, switch(SECOND))
    goal, _ = found(name, changing(lambda number: number <= trials))
    assert goal.lower_fps is not None
    assert goal.lower_fps <= FIRST < (goal.upper_fps or 0)
    assert Flag.CHANGED_SINCE not in goal.flags


@pytest.mark.parametrize("name", METHODS)
def test_a_switch_that_does_not_come_to_rest_is_said_to_have_changed(name: str) -> None:
    made: list[int] = []

    def tiring(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        return switch(int(FIRST * 0.99 ** len(made)))(load_fps, duration_ns)

    assert Flag.CHANGED_SINCE in found(name, tiring)[0].flags


@pytest.mark.parametrize("name", METHODS)
def test_one_accident_at_the_end_contradicts_nothing(name: str) -> None:
    plain, trials = alone(name, switch(FIRST))
    upper_and_lower = trials + 2
    goal, all_trials = found(name, changing(lambda number: number == upper_and_lower))
    assert goal == plain.goals[0]
    assert all_trials == upper_and_lower + 1


def test_a_bound_is_contradicted_by_three_trials_and_fewer_call_it_unstable() -> None:
    plain, trials = alone("rfc2544", switch(FIRST))
    lower = range(trials + 2, trials + 2 + TRIALS)
    fewer, _ = found("rfc2544", changing(lambda number: number in lower[:-1]))
    assert fewer.flags == (*plain.goals[0].flags, Flag.UNSTABLE)
    assert fewer.model_copy(update={"flags": plain.goals[0].flags}) == plain.goals[0]


@pytest.mark.parametrize("name", METHODS)
def test_what_passed_up_to_the_line_rate_has_one_bound_to_try(name: str) -> None:
    _, trials = alone(name, switch(LINE_RATE))
    goal, all_trials = found(name, switch(LINE_RATE))
    assert goal.upper_fps is None
    assert all_trials == trials + 1


@pytest.mark.parametrize("name", METHODS)
def test_without_time_for_the_pair_the_result_stands_as_it_is(name: str) -> None:
    probe = probe_of(switch(FIRST))
    plain = spec_of(name, goals=NDR).search(LOADS).run(probe)
    enough = sum(trial.elapsed_ns for trial in probe.trials) / NANOSECONDS
    goal, trials = found(name, switch(FIRST), enough)
    assert (goal, trials) == (plain.goals[0], len(probe.trials))


@pytest.mark.parametrize("name", METHODS)
def test_without_time_for_a_second_search_the_first_one_is_said_to_be_outdated(name: str) -> None:
    probe = probe_of(switch(FIRST))
    plain = spec_of(name, goals=NDR).search(LOADS).run(probe)
    trials = len(probe.trials)
    longest = max(trial.elapsed_ns for trial in probe.trials)
    enough = (sum(trial.elapsed_ns for trial in probe.trials) + 8 * longest) / NANOSECONDS
    goal, _ = found(name, changing(lambda number: number > trials), enough)
    assert (goal.lower_fps, goal.upper_fps) == (plain.goals[0].lower_fps, plain.goals[0].upper_fps)
    assert Flag.CHANGED_SINCE in goal.flags
