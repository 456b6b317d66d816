"""After a search: bounds tried again, and an answer from clean time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest
from all_wrong import none_wrong
from search_models import LINE_RATE, LOADS, Measure, lossy, probe_of, spec_of, switch
from slot_samples import in_slots

from vsperf.errors import InvalidTrialError
from vsperf.quantities.human import End, human_fps
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.clean import counted_ns, in_clean_time
from vsperf.records.flags import Flag
from vsperf.records.result import CleanResult, GoalResult, Limit, SearchResult
from vsperf.records.trial import Trial
from vsperf.search.base import Probe
from vsperf.search.classify import failed
from vsperf.search.settle import UNSEEN, least_trials

# In clean time a search answers once more: for what the switch does while all of it runs.

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


def test_loads_of_which_nobody_knows_the_clean_time_are_not_tried_for_it_again_and_again() -> None:
    def measure(load_fps: int, duration_ns: int) -> Trial:
        slotted = in_slots(load_fps, duration_ns, CAPACITY, 1, 0, 0)
        known = load_fps <= CAPACITY
        return slotted if known else slotted.model_copy(update={"slots": None})

    goal, probe = found("rfc2544", measure)
    plain = probe_of(measure)
    spec_of("rfc2544", goals=NDR).search(LOADS).run(plain)
    assert goal.lower_fps is not None, "the raw answer stands"
    assert clean_of(goal).limit is None
    assert "of 3 trials in turn nobody knows" in clean_of(goal).reason
    assert len(probe.trials) <= len(plain.trials) + 2 + UNSEEN


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


# After a search its bounds are tried again; these trials count, and it goes on from there.

FIRST, SECOND = 4_000_000, 2_000_000


def found_of_confirm(
    name: str, measure: Measure, budget_s: float | None = None
) -> tuple[GoalResult, int]:
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
    goal, all_trials = found_of_confirm(name, switch(FIRST))
    assert goal == plain.goals[0]
    assert all_trials == trials + 2


@pytest.mark.parametrize("name", METHODS)
def test_where_a_switch_fell_since_the_search_goes_on_from_there(name: str) -> None:
    _, trials = alone(name, switch(FIRST))
    goal, _ = found_of_confirm(name, changing(lambda number: number > trials))
    assert goal.lower_fps is not None
    assert goal.lower_fps <= SECOND < (goal.upper_fps or 0)
    assert Flag.CHANGED_SINCE not in goal.flags, "the bounds found then stand"


def test_where_a_switch_rose_since_trials_that_pass_outweigh_those_that_failed() -> None:
    _, trials = alone("mlr", switch(SECOND))
    goal, _ = found_of_confirm("mlr", changing(lambda number: number <= trials))
    assert goal.lower_fps is not None
    assert goal.lower_fps <= FIRST < (goal.upper_fps or 0)
    assert Flag.CHANGED_SINCE not in goal.flags


@pytest.mark.parametrize("name", ["rfc2544", "tst009"])
def test_where_no_later_trial_outweighs_a_loss_the_change_is_said(name: str) -> None:
    plain, trials = alone(name, switch(SECOND))
    goal, _ = found_of_confirm(name, changing(lambda number: number <= trials))
    assert (goal.lower_fps, goal.upper_fps) == (plain.goals[0].lower_fps, plain.goals[0].upper_fps)
    assert Flag.CHANGED_SINCE in goal.flags


@pytest.mark.parametrize("name", METHODS)
def test_a_switch_that_does_not_come_to_rest_has_no_answer(name: str) -> None:
    made: list[int] = []

    def tiring(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        return switch(int(FIRST * 0.99 ** len(made)))(load_fps, duration_ns)

    goal, _ = found_of_confirm(name, tiring)
    assert goal.limit is Limit.UNKNOWN or goal.lower_fps is None, "at last it carries nothing"


@pytest.mark.parametrize("name", METHODS)
def test_one_accident_at_the_end_counts_like_any_other_trial(name: str) -> None:
    """Where half of the time may be lossy the interval stays; it is said that trials disagree."""
    plain, trials = alone(name, switch(FIRST))
    upper_and_lower = trials + 2
    goal, all_trials = found_of_confirm(name, changing(lambda number: number == upper_and_lower))
    assert Flag.UNSTABLE in goal.flags
    if name == "mlr":
        assert (goal.lower_fps, goal.upper_fps) == (
            plain.goals[0].lower_fps,
            plain.goals[0].upper_fps,
        )
        assert all_trials == upper_and_lower + 1
    else:
        assert goal.upper_fps == plain.goals[0].lower_fps, "a trial there was lossy"


def test_a_load_that_fails_in_most_trials_after_the_search_is_no_lower_bound() -> None:
    """So it was with bounds whose later trials nobody asked: 2 of 8 had passed."""
    _, trials = alone("mlr", switch(FIRST))
    measure = changing(lambda number: number > trials + 1 and number % 4 > 0)
    probe = probe_of(measure)
    goal = spec_of("mlr", goals=NDR).confirmed(LOADS).run(probe).goals[0]
    there = [one for one in probe.trials if one.load_fps == goal.lower_fps]
    assert 2 * sum(not failed(one, Fraction(0)) for one in there) >= len(there)
    above = [one for one in probe.trials if one.load_fps == goal.upper_fps]
    assert 2 * sum(failed(one, Fraction(0)) for one in above) > len(above)


@pytest.mark.parametrize("name", METHODS)
def test_what_passed_up_to_the_line_rate_has_one_bound_to_try(name: str) -> None:
    _, trials = alone(name, switch(LINE_RATE))
    goal, all_trials = found_of_confirm(name, switch(LINE_RATE))
    assert goal.upper_fps is None
    assert all_trials == trials + 1


@pytest.mark.parametrize("name", METHODS)
def test_without_time_for_the_pair_the_result_stands_as_it_is(name: str) -> None:
    probe = probe_of(switch(FIRST))
    plain = spec_of(name, goals=NDR).search(LOADS).run(probe)
    enough = sum(trial.elapsed_ns for trial in probe.trials) / NANOSECONDS
    goal, trials = found_of_confirm(name, switch(FIRST), enough)
    assert (goal, trials) == (plain.goals[0], len(probe.trials))


def by_chance(seed: int) -> Measure:
    """Return a switch that fails at random, more often at higher loads."""
    chance = Random(seed)

    def measure(load_fps: int, duration_ns: int) -> Trial:
        fails = chance.random() < load_fps / LINE_RATE
        return lossy(load_fps, duration_ns / NANOSECONDS, Fraction(fails, 10))

    return measure


def test_a_search_that_comes_to_no_end_has_made_all_of_its_trials() -> None:
    """Where an upper bound is verified, that very trial may take it back."""
    spec = spec_of("mlr", goals=NDR, duration_sum="1s", width="5%")
    endless = []
    for seed in range(100):
        probe = probe_of(by_chance(seed))
        asked = spec.confirmed(LOADS)
        first = asked.search.run(probe)
        made = len(probe.trials)
        most = made + 2 * max(least_trials(asked.questions.values()), made)
        (goal,) = asked.agreed(probe, first, made).goals
        if "came to no end" in goal.reason and len(probe.trials) < most:
            endless.append(f"seed {seed}: {len(probe.trials)} of {most} trials, {goal.reason}")
    none_wrong(endless)


def test_what_goes_on_from_an_answer_may_take_as_much_each_time() -> None:
    """Where nothing comes to rest each time took twice as many trials as there were."""
    spec = spec_of("mlr", goals=NDR)
    more = 2 * least_trials(spec.confirmed(LOADS).questions.values())
    made: list[int] = []

    def restless(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        return switch(int(FIRST * 0.99 ** (len(made) // 2)))(load_fps, duration_ns)

    probe = probe_of(restless)
    result = spec.confirmed(LOADS).run(probe)
    for _ in range(3):
        before = len(probe.trials)
        result = spec.confirmed(LOADS).agreed(probe, result)
        assert len(probe.trials) < before + 2 * more, "what is on its way at the end is finished"


def invalid_from(number: int, measure: Measure) -> Measure:
    """Return a testbed on which no trial from that one on is to be had."""
    made: list[int] = []

    def measured(load_fps: int, duration_ns: int) -> Trial:
        made.append(load_fps)
        if len(made) >= number:
            raise InvalidTrialError("it stayed invalid", why="so it is", fix="none")
        return measure(load_fps, duration_ns)

    return measured


@pytest.mark.parametrize("closing", [1, 2])
@pytest.mark.parametrize("name", METHODS)
def test_a_closing_trial_that_stays_invalid_takes_nothing_from_the_answer(
    name: str, closing: int
) -> None:
    plain, trials = alone(name, switch(FIRST))
    probe = probe_of(invalid_from(trials + closing, switch(FIRST)))
    result = spec_of(name, goals=NDR).confirmed(LOADS).run(probe)
    (goal,), (before,) = result.goals, plain.goals
    assert goal == before.model_copy(update={"flags": (*before.flags, Flag.FEWER_REPEATS)})
    assert (result.spoiled, result.complete) == ("it stayed invalid", True)
    assert not result.whole


@pytest.mark.parametrize("name", ["rfc2544", "tst009"])
def test_a_bound_taken_back_before_a_trial_stays_invalid_is_told_as_it_is_by_then(
    name: str,
) -> None:
    plain, trials = alone(name, switch(FIRST))
    fallen = changing(lambda number: number > trials)
    probe = probe_of(invalid_from(trials + 3, fallen))
    result = spec_of(name, goals=NDR).confirmed(LOADS).run(probe)
    (goal,) = result.goals
    assert goal.upper_fps == plain.goals[0].lower_fps
    assert goal.limit is Limit.UNKNOWN
    assert goal.reason.endswith("a trial that it needs is not to be had: it stayed invalid")
    assert result.complete, "there was time"


@pytest.mark.parametrize("name", METHODS)
def test_what_the_time_did_not_suffice_for_is_told_by_how_many_trials_passed(name: str) -> None:
    probe = probe_of(switch(FIRST))
    plain = spec_of(name, goals=NDR).search(LOADS).run(probe)
    trials = len(probe.trials)
    longest = max(trial.elapsed_ns for trial in probe.trials)
    enough = (sum(trial.elapsed_ns for trial in probe.trials) + 8 * longest) / NANOSECONDS
    goal, _ = found_of_confirm(name, changing(lambda number: number > trials), enough)
    if name == "mlr":  # eight trials do not outweigh eleven
        assert Flag.CHANGED_SINCE in goal.flags
        return
    assert goal.limit is Limit.BUDGET
    assert goal.upper_fps is not None
    assert goal.upper_fps <= (plain.goals[0].lower_fps or 0)
    assert f"below {human_fps(goal.upper_fps, End.UPPER)}: " in goal.reason
    assert f"; most passed at {human_fps(goal.lower_fps or 0)} (" in goal.reason


@pytest.mark.parametrize("name", METHODS)
def test_a_switch_rests_from_overload_before_its_upper_bound_is_tried_again(name: str) -> None:
    """Overload tires it for as long as it is offered more than half of what it can carry."""
    rested: list[int] = []
    tired: list[bool] = [False]

    def measure(load_fps: int, duration_ns: int) -> Trial:
        tired[0] = load_fps > FIRST or (tired[0] and load_fps > FIRST // 2)
        return switch(FIRST * 7 // 10 if tired[0] else FIRST)(load_fps, duration_ns)

    def rest(load_fps: int, duration_ns: int) -> Trial:
        rested.append(load_fps)
        return measure(load_fps, duration_ns)

    probe = probe_of(measure)
    probe.rest = rest
    (goal,) = spec_of(name, goals=NDR).confirmed(LOADS).run(probe).goals
    assert all(load < FIRST // 100 for load in rested)
    told = {Flag.CHANGED_SINCE, Flag.UNSTABLE, Flag.LOSS_INVERSION} & set(goal.flags)
    assert told or (goal.lower_fps or 0) <= FIRST <= (goal.upper_fps or 0)


def test_a_rest_is_not_taken_for_a_trial_of_its_load() -> None:
    def lossy_when_idle(load_fps: int, duration_ns: int) -> Trial:
        return lossy(load_fps, duration_ns / NANOSECONDS, Fraction(1, 2))

    probe = probe_of(switch(FIRST))
    probe.rest = lossy_when_idle
    (goal,) = spec_of("rfc2544", goals=NDR).confirmed(LOADS).run(probe).goals
    assert goal == alone("rfc2544", switch(FIRST))[0].goals[0]
