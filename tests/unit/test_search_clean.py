"""In clean time a search answers once more: for what the switch does while all of it runs."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest
from search_models import LOADS, Measure, probe_of, spec_of
from slot_samples import in_slots

from vsperf.errors import InvalidTrialError
from vsperf.record.clean import counted_ns, in_clean_time
from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.record.result import CleanResult, GoalResult
from vsperf.record.trial import Trial
from vsperf.search.base import Probe
from vsperf.units import NANOSECONDS

METHODS = ("mlr", "rfc2544", "tst009")
NDR = {"ndr": {"loss_ratio": "0"}}
CAPACITY = 4_000_000

Disturbed = Callable[[int], tuple[int, int]]
"""Number of the trial → in how many of its slots the generator was away, and frames lost there."""


def machine(disturbed: Disturbed, capacity_fps: int = CAPACITY, own_loss: int = 0) -> Measure:
    """Return a switch on a machine that stands still now and then.

    `own_loss` is what the switch loses in each trial, in a slot in which everybody runs.
    """
    made: list[int] = []

    def measure(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        gaps, lost = disturbed(len(made))
        return in_slots(load_fps, duration_ns, capacity_fps, gaps, lost, own_loss)

    return measure


def found(name: str, measure: Measure, budget_s: float | None = None) -> tuple[GoalResult, Probe]:
    probe = probe_of(measure, budget_s)
    return spec_of(name, goals=NDR).confirmed(LOADS).run(probe).goals[0], probe


def clean_of(goal: GoalResult) -> CleanResult:
    assert goal.clean is not None
    return goal.clean


@pytest.mark.parametrize("name", METHODS)
def test_on_a_machine_that_never_stands_still_both_answers_are_the_same(name: str) -> None:
    measure = machine(lambda number: (0, 0))
    goal, probe = found(name, measure)
    plain = probe_of(measure)
    spec_of(name, goals=NDR).search(LOADS).run(plain)
    clean = clean_of(goal)
    assert (clean.lower_fps, clean.upper_fps) == (goal.lower_fps, goal.upper_fps)
    assert (clean.limit, clean.share) == (goal.limit, "1")
    assert len(probe.trials) == len(plain.trials) + 2, "the closing pair alone"


@pytest.mark.parametrize("name", METHODS)
def test_loss_while_somebody_stood_still_is_left_out(name: str) -> None:
    """Each trial loses a batch in a slot in which the generator was away."""
    goal, _ = found(name, machine(lambda number: (1, 32)))
    clean = clean_of(goal)
    assert goal.limit is Limit.HOST
    assert goal.lower_fps is None
    assert clean.lower_fps is not None
    assert clean.upper_fps is not None
    assert clean.lower_fps <= CAPACITY < clean.upper_fps
    assert clean.limit is Limit.DUT
    assert Fraction(97, 100) <= Fraction(clean.share) < 1


@pytest.mark.parametrize("name", METHODS)
def test_loss_while_everybody_ran_is_the_switchs_own(name: str) -> None:
    """The generator is away as often, but the batch is lost at another time."""
    goal, _ = found(name, machine(lambda number: (1, 0), own_loss=32))
    clean = clean_of(goal)
    assert goal.limit is not Limit.HOST
    assert clean.lower_fps is None
    assert clean.upper_fps == goal.upper_fps


@pytest.mark.parametrize("name", ["mlr", "rfc2544"])
def test_trials_go_on_until_clean_time_fills_what_the_goal_asks_for(name: str) -> None:
    """A quarter of each trial does not count."""
    goal, probe = found(name, machine(lambda number: (1 + number % 2, 0)))
    wanted_ns = {"mlr": 21, "rfc2544": 60}[name] * NANOSECONDS
    clean = clean_of(goal)
    at_lower = [trial for trial in probe.trials if trial.load_fps == clean.lower_fps]
    clean_ns = sum(counted_ns(in_clean_time(trial)) for trial in at_lower)
    share = Fraction(1, 2) if name == "mlr" else Fraction(1)  # a goal may be sure before its sum
    assert clean_ns >= share * wanted_ns
    assert clean_ns < sum(trial.duration_ns for trial in at_lower)


def test_a_machine_that_stands_still_most_of_the_time_gets_no_such_number() -> None:
    goal, _ = found("mlr", machine(lambda number: (1000, 0)))
    clean = clean_of(goal)
    assert (clean.lower_fps, clean.upper_fps, clean.limit) == (None, None, None)
    assert Fraction(clean.share) < Fraction(1, 2)
    assert "of the time was clean" in clean.reason
    assert goal.lower_fps is not None, "the raw answer stands"


def test_without_time_for_more_trials_there_is_no_such_number() -> None:
    restless = machine(lambda number: (1, 32) if number % 3 else (1, 0))
    unlimited = probe_of(restless)
    spec_of("rfc2544", goals=NDR).search(LOADS).run(unlimited)
    goal, _ = found("rfc2544", restless, unlimited.budget.spent_ns / NANOSECONDS + 1)
    clean = clean_of(goal)
    assert (clean.lower_fps, clean.upper_fps) == (None, None)
    assert clean.reason == "the time ended before clean time sufficed"


def test_a_generator_without_slots_has_one_answer() -> None:
    def measure(load_fps: int, duration_ns: int) -> Trial:
        slotted = in_slots(load_fps, duration_ns, CAPACITY, 1, 0, 0)
        return slotted.model_copy(update={"slots": None})

    goal, _ = found("mlr", measure)
    assert goal.clean is None


@pytest.mark.parametrize("name", ["mlr", "mlr as rfc2544", "rfc2544", "tst009"])
def test_what_is_known_of_a_load_is_not_wasted(name: str) -> None:
    """Gaps without loss change no outcome: trials are only made where clean time is missing."""
    spec = spec_of(name, goals=NDR)
    plain = probe_of(machine(lambda number: (1, 0)))
    spec.search(LOADS).run(plain)
    probe = probe_of(machine(lambda number: (1, 0)))
    spec.confirmed(LOADS).run(probe)
    closing = 2
    assert len(probe.trials) <= len(plain.trials) + closing + 2
    assert {trial.load_fps for trial in probe.trials} == {trial.load_fps for trial in plain.trials}


def test_a_trial_that_stays_invalid_costs_the_clean_answer_alone() -> None:
    restless = machine(lambda number: (1, 32))
    plain = probe_of(restless)
    spec_of("rfc2544", goals=NDR).search(LOADS).run(plain)
    made: list[int] = []

    def measure(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        if len(made) == len(plain.trials) + 1:
            raise InvalidTrialError("trial 9 stayed invalid")
        return restless(load_fps, duration_ns)

    goal, _ = found("rfc2544", measure)
    assert goal.limit is Limit.HOST
    assert clean_of(goal).limit is None
    assert "trial 9 stayed invalid" in clean_of(goal).reason


def test_time_is_left_for_the_closing_pair() -> None:
    """What clean time needs is more than there is; both bounds are tried again all the same."""
    measure = machine(lambda number: (1, 0))
    plain = probe_of(measure)
    spec_of("rfc2544", goals=NDR).search(LOADS).run(plain)
    one = plain.budget.spent_ns // len(plain.trials)
    probe = probe_of(measure, (plain.budget.spent_ns + 9 * one) / NANOSECONDS)
    goal = spec_of("rfc2544", goals=NDR).confirmed(LOADS).run(probe).goals[0]
    assert [trial.load_fps for trial in probe.trials[-2:]] == [goal.upper_fps, goal.lower_fps]


def test_a_switch_that_changed_is_seen_in_clean_time_as_well() -> None:
    """As measured there is no lower bound to try again: each trial loses a batch in a stall."""
    made: list[int] = []

    def falling(after: int) -> Measure:
        def measure(load_fps: int, duration_ns: int) -> Trial:
            made.append(load_fps)
            capacity = CAPACITY if len(made) <= after else CAPACITY // 2
            return in_slots(load_fps, duration_ns, capacity, 1, 32, 0)

        return measure

    spec = spec_of("mlr", goals=NDR, duration_sum="5s")
    spec.confirmed(LOADS).run(probe_of(falling(1000)))
    steady = len(made)
    made.clear()
    goal = spec.confirmed(LOADS).run(probe_of(falling(steady - 2))).goals[0]
    clean = clean_of(goal)
    assert len(made) > steady
    assert clean.lower_fps is not None
    assert clean.lower_fps <= CAPACITY // 2
    assert Flag.CHANGED_SINCE not in goal.flags, "the second search stands"


def falling_apart(after: int, *, known: bool) -> Measure:
    """Return a switch that its machine stops for a while, once the search has ended.

    Each of these trials fails, by what is lost where somebody stood still, or of which nobody
    knows where.
    """
    made: list[int] = []

    def measure(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        stopped = after < len(made) <= after + 40
        one = in_slots(load_fps, duration_ns, CAPACITY, 1, 5000 if stopped else 0, 0)
        return one if known or not stopped else one.model_copy(update={"slots": None})

    return measure


@pytest.mark.parametrize("known", [True, False])
def test_what_speaks_against_a_bound_as_measured_says_nothing_of_one_in_clean_time(
    known: bool,
) -> None:
    spec = spec_of("mlr", goals=NDR)
    calm = probe_of(falling_apart(1000, known=True))
    spec.confirmed(LOADS).run(calm)
    goal = spec.confirmed(LOADS).run(probe_of(falling_apart(len(calm.trials) - 2, known=known)))
    (one,) = goal.goals
    assert clean_of(one).lower_fps is not None
    assert one.lower_fps != clean_of(one).lower_fps, "as measured it fell"
    assert Flag.CHANGED_SINCE not in one.flags


def test_a_machine_that_never_agrees_with_itself_ends_the_search_some_time() -> None:
    """A trial passes or fails by chance at any load, with the generator away in each of them."""
    chance = Random(1)

    def measure(load_fps: int, duration_ns: int) -> Trial:
        return in_slots(load_fps, duration_ns, CAPACITY, 30, 0, 32 * chance.randrange(2))

    spec = spec_of("mlr", goals=NDR)
    plain = probe_of(measure)
    spec.search(LOADS).run(plain)
    goal, probe = found("mlr", measure)
    assert goal.clean is not None
    assert len(probe.trials) < 10 * max(100, len(plain.trials))
