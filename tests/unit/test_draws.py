"""What was found on one deployment is asked again on others, and the answer says how far they lie.

Switches with a capacity that is known, another one on each deployment.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from all_wrong import none_wrong
from assertions import known
from record_samples import goal as answered
from reread import answers
from search_models import LINE_RATE, LOADS, NDR_PDR, lossy, spec_of, switch
from slot_samples import in_slots
from test_regimes import FAR_NS, NEAR_NS, SHORT, Host

from vsperf.analysis.answers import over_draws
from vsperf.errors import InvalidTrialError
from vsperf.methods.base import PLAIN, TrialOptions
from vsperf.methods.throughput import Throughput
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.result import Draw, Draws, GoalResult, Limit, SearchResult, View
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import Budget, Loads
from vsperf.search.draws import WIDTH

NDR = {"ndr": {"loss_ratio": "0"}}
CAPACITY = 5_000_000
SCATTER = 0.04
SLIGHT = Fraction(3, 1000)
QUICK: dict[str, dict[str, Any]] = {**SHORT, "mlr": {"duration_sum": "5s", "width": "1%"}}
Measure = Callable[[int, int], Trial]


class Stage:
    """A bench on deployments, one after the other; a trial knows on which it was made."""

    def __init__(self, measure: Measure, budget_s: int | None = None) -> None:
        self.measure = measure
        self.loads: Loads = LOADS
        self.budget = Budget(None if budget_s is None else budget_s * NANOSECONDS)
        self.overhead_ns = 0
        self.deployment = 1
        self.trials: list[Trial] = []

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        made = self.measure(load_fps, duration_ns)
        news = {
            "purpose": options.purpose,
            "deployment": self.deployment,
            "index": len(self.trials) + 1,
            "elapsed_ns": duration_ns,
        }
        self.trials.append(made.model_copy(update=news))
        return self.trials[-1]


class MovedStage(Stage):
    """The same on a machine that moves its CPUs."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.measure)
        self.host = host

    def round_trip_ns(self) -> int | None:
        return self.host.round_trip_ns()

    def hold(self, ns: int) -> None:
        self.host.hold(ns)


def drawn(
    spec: Throughput, stage: Stage, others: Sequence[Measure], *, count: int | None = None
) -> SearchResult:
    """Return what a method says once it has asked further deployments."""
    result = spec.run(stage)
    first = tuple(stage.trials)
    for number, measure in enumerate(others, start=2):
        stage.measure, stage.deployment = measure, number
        result = spec.drawn(result, stage, first, number)
    return result


def stalled(capacity_fps: int) -> Measure:
    """A switch whose trials each lose a batch while the generator stands still."""
    return lambda load, ns: in_slots(load, ns, capacity_fps, 1, 32, 0)


def capacities(seed: int, count: int = 5) -> list[int]:
    luck = random.Random(seed)
    return [round(CAPACITY * math.exp(luck.gauss(0, SCATTER))) for _ in range(count)]


def asked(name: str, **changes: Any) -> Throughput:
    return spec_of(name, **{"goals": NDR, "draws": 5, **QUICK[name], **changes})


def wrong(spec: Throughput, stage: Stage, result: SearchResult, truths: Sequence[int]) -> list[str]:
    """Say where a deployment's capacity is not in its interval, or that of all not in theirs."""
    (goal,) = result.goals
    draws = known(goal.draws)
    told = f"{spec.kind} {[(one.lower_fps, one.upper_fps) for one in draws.made]} of {truths}"
    found = [
        f"deployment {one.deployment}: {told}"
        for one, truth in zip(draws.made, truths, strict=True)
        if not (one.told and (one.lower_fps or 0) <= truth < (one.upper_fps or 0))
    ]
    if not ((draws.lower_fps or 0) <= min(truths) and max(truths) < (draws.upper_fps or 0)):
        found.append(f"over all: {told}")
    return found


@pytest.mark.parametrize("name", QUICK)
def test_each_deployment_has_its_capacity_in_its_interval_and_all_in_theirs(name: str) -> None:
    found = []
    for seed in range(20):
        truths, spec = capacities(seed), asked(name)
        stage = Stage(switch(truths[0]))
        result = drawn(spec, stage, [switch(one) for one in truths[1:]])
        found += wrong(spec, stage, result, truths)
    none_wrong(found)


@pytest.mark.parametrize("width", ["1%", "2%"])
@pytest.mark.parametrize("percent", range(85, 118, 3))
def test_a_goal_finds_its_way_from_where_another_one_has_been(percent: int, width: str) -> None:
    """What that has left may be all above what this one begins with, or all below."""
    spec = asked("mlr", goals=NDR_PDR, draws=2, width=width, duration_sum="3s")
    truth = CAPACITY * percent // 100
    stage = Stage(stalled(CAPACITY))
    result = drawn(spec, stage, [stalled(truth)])
    for goal in result.goals:
        _, other = known(goal.draws).made
        assert other.told, other.reason
        carried = truth / (1 - Fraction(goal.loss_ratio))
        assert (other.lower_fps or 0) <= carried < (other.upper_fps or 0)
    assert sum(one.deployment == 2 for one in stage.trials) <= 30


def losing_a_bit(knee_fps: int) -> Measure:
    """A switch that loses 0.3 % above its knee, which is too much for one goal alone."""
    return lambda load, ns: lossy(load, ns / NANOSECONDS, SLIGHT if load > knee_fps else 0)


def test_a_load_that_passed_above_where_a_goal_begins_is_not_tried_for_ever() -> None:
    """What fails NDR there passes PDR, whose range ended below it."""
    spec = asked("mlr", goals=NDR_PDR, draws=2, width="2%", duration_sum="3s")
    stage = Stage(switch(CAPACITY))
    result = drawn(spec, stage, [losing_a_bit(CAPACITY * 103 // 100)])
    ndr, pdr = (known(goal.draws).made[1] for goal in result.goals)
    assert ndr.told
    assert (pdr.lower_fps or 0) > CAPACITY * 110 // 100, pdr.reason


@pytest.mark.parametrize("name", QUICK)
def test_so_they_do_where_a_machine_stalls_by_clean_time(name: str) -> None:
    found = []
    for seed in range(5):
        truths, spec = capacities(seed), asked(name)
        stage = Stage(stalled(truths[0]))
        result = drawn(spec, stage, [stalled(one) for one in truths[1:]])
        assert result.goals[0].draws is not None
        assert result.goals[0].draws.view is View.CLEAN
        found += wrong(spec, stage, result, truths)
    none_wrong(found)


def test_another_program_finds_the_same_in_the_trials_alone() -> None:
    found = []
    for name in QUICK:
        for kind in (switch, stalled):
            spec, truths = asked(name), capacities(7)
            stage = Stage(kind(truths[0]))
            result = drawn(spec, stage, [kind(one) for one in truths[1:]])
            told = dict(answers(spec.model_dump(mode="json"), stage.trials, result))
            assert {f"ndr on deployment {n}" for n in range(2, 6)} | {
                "ndr over deployments"
            } <= set(told)
            found += [f"{name}, {goal}: {text}" for goal, said in told.items() for text in said]
    none_wrong(found)


def test_that_program_tells_of_a_draw_that_trials_do_not_defend() -> None:
    spec, truths = asked("mlr"), capacities(7, 2)
    stage = Stage(switch(truths[0]))
    result = drawn(spec, stage, [switch(truths[1])])
    (goal,) = result.goals
    assert goal.draws is not None
    first, other = goal.draws.made
    forged = other.model_copy(update={"lower_fps": (other.lower_fps or 0) + 1})
    draws = goal.draws.model_copy(update={"made": (first, forged)})
    lie = result.model_copy(update={"goals": (goal.model_copy(update={"draws": draws}),)})
    told = dict(answers(spec.model_dump(mode="json"), stage.trials, lie))
    assert told["ndr on deployment 2"]


def test_a_deployment_like_the_first_takes_few_trials() -> None:
    """Three trials decide a load here: two loads, and perhaps one that leads there."""
    spec = asked("mlr")
    stage = Stage(switch(CAPACITY))
    drawn(spec, stage, [switch(CAPACITY)])
    again = [one for one in stage.trials if one.deployment == 2]
    assert {one.purpose for one in again} == {Purpose.DRAW}
    assert len(again) <= 7


def test_an_interval_on_a_further_deployment_is_no_wider_than_announced() -> None:
    spec, stage = asked("mlr"), Stage(switch(CAPACITY))
    result = drawn(spec, stage, [switch(round(CAPACITY * 1.3)), switch(round(CAPACITY * 0.6))])
    draws = known(result.goals[0].draws)
    for one in draws.made:
        assert one.lower_fps is not None
        assert one.upper_fps is not None
        assert one.upper_fps - one.lower_fps <= WIDTH * one.upper_fps


def test_what_trials_on_other_deployments_lose_takes_nothing_back_of_the_first() -> None:
    spec, stage = asked("mlr"), Stage(switch(CAPACITY))
    alone = spec.run(Stage(switch(CAPACITY)))
    result = drawn(spec, stage, [switch(CAPACITY // 2)])
    before, after = alone.goals[0], result.goals[0]
    assert (after.lower_fps, after.upper_fps) == (before.lower_fps, before.upper_fps)
    again = spec.reconsidered(result, stage, stage.trials)
    assert (again.goals[0].lower_fps, again.goals[0].upper_fps) == (
        before.lower_fps,
        before.upper_fps,
    )


def test_all_that_can_be_offered_is_asked_again_where_it_passed() -> None:
    spec, stage = asked("mlr"), Stage(switch(2 * LINE_RATE))
    result = drawn(spec, stage, [switch(2 * LINE_RATE), switch(CAPACITY)])
    draws = known(result.goals[0].draws)
    assert [one.limit for one in draws.made] == [Limit.LINK, Limit.LINK, Limit.DUT]
    assert draws.upper_fps is None
    assert (draws.lower_fps or 0) <= CAPACITY


def test_a_deployment_is_held_against_the_first_in_the_same_regime() -> None:
    """Near 4 Mfps and far 3: a draw of one is never told from trials in the other."""
    for name in ("mlr", "rfc2544"):
        spec = asked(name)
        host = Host(9 * NANOSECONDS, 11 * NANOSECONDS)
        stage = MovedStage(host)
        result = drawn(spec, stage, [host.measure, host.measure])
        draws = known(result.goals[0].draws)
        assert draws.view in (View.NEAR, View.FAR)
        truth = 4_000_000 if draws.view is View.NEAR else 3_000_000
        told = [one for one in draws.made if one.told]
        assert len(told) == 3
        assert all((one.lower_fps or 0) <= truth <= (one.upper_fps or 0) for one in told)
        found = dict(answers(spec.model_dump(mode="json"), stage.trials, result))
        none_wrong(f"{goal}: {text}" for goal, said in found.items() for text in said)


def test_where_the_machine_is_in_another_regime_all_the_while_there_is_no_draw() -> None:
    spec = asked("mlr")
    host = Host(1, 1, near_for=10**15)
    stage = MovedStage(host)
    result = spec.run(stage)
    first = tuple(stage.trials)
    assert {trip for one in first for trip in one.round_trips_ns} == {NEAR_NS}
    host.near_for, stage.deployment = 0, 2
    host.look()
    result = spec.drawn(result, stage, first, 2)
    draws = known(result.goals[0].draws)
    last = draws.made[-1]
    assert {trip for one in stage.trials[len(first) :] for trip in one.round_trips_ns} == {FAR_NS}
    assert not last.told
    assert last.reason == "its CPUs were far from each other, and not as on the first deployment"
    assert over_draws(result.goals[0]) == ""


def test_a_deployment_of_whose_time_little_is_clean_has_no_answer() -> None:
    spec, stage = asked("mlr"), Stage(stalled(CAPACITY))
    result = drawn(spec, stage, [lambda load, ns: in_slots(load, ns, CAPACITY, ns // 10**7, 32, 0)])
    draws = known(result.goals[0].draws)
    assert not draws.made[1].told
    assert draws.made[1].reason.endswith("of the time was clean")


def test_a_trial_that_stays_invalid_leaves_the_other_deployments() -> None:
    def never(load_fps: int, duration_ns: int) -> Trial:
        raise InvalidTrialError("trial 40 stayed invalid")

    spec, stage = asked("mlr"), Stage(switch(CAPACITY))
    result = drawn(spec, stage, [never, switch(CAPACITY)])
    draws = known(result.goals[0].draws)
    assert [one.told for one in draws.made] == [True, False, True]
    assert "stayed invalid" in draws.made[1].reason
    assert over_draws(result.goals[0]).endswith("over 2 of 5")


def test_where_the_time_ends_the_deployment_tells_nothing() -> None:
    spec, stage = asked("mlr"), Stage(switch(CAPACITY))
    result = spec.run(stage)
    first = tuple(stage.trials)
    stage.budget.limit_ns = stage.budget.spent_ns + 2 * NANOSECONDS
    stage.measure, stage.deployment = switch(CAPACITY), 2
    result = spec.drawn(result, stage, first, 2)
    assert result.goals[0].draws is not None
    assert result.goals[0].draws.made[-1].limit is Limit.BUDGET
    assert not result.goals[0].draws.made[-1].told


@pytest.mark.parametrize("limit", [Limit.HOST, Limit.BUDGET, Limit.UNKNOWN])
def test_an_answer_that_is_not_the_switchs_is_not_asked_again(limit: Limit) -> None:
    spec, stage = asked("mlr"), Stage(switch(CAPACITY))
    result = spec.run(stage)
    goal = result.goals[0].model_copy(update={"limit": limit})
    again = spec.drawn(result.model_copy(update={"goals": (goal,)}), stage, stage.trials, 2)
    assert again.goals[0].draws is None


def goal_with(*draws: Draw) -> GoalResult:
    return answered(2_600_000, 2_630_000, draws=Draws(asked=3, view=View.NEAR, made=draws))


def draw(number: int, lower: int, upper: int | None, limit: Limit | None = Limit.DUT) -> Draw:
    return Draw(deployment=number, lower_fps=lower, upper_fps=upper, limit=limit, reason="")


def test_the_interval_over_deployments_holds_each_of_theirs() -> None:
    goal = goal_with(
        draw(1, 2_600_000, 2_630_000), draw(2, 2_480_000, 2_520_000), draw(3, 2_680_000, 2_710_000)
    )
    assert over_draws(goal) == "near 2.480 … 2.710 Mfps over 3"


def test_one_deployment_has_no_interval_over_several() -> None:
    assert over_draws(goal_with(draw(1, 2_600_000, 2_630_000))) == ""


def test_the_time_of_draws_is_announced() -> None:
    stage = Stage(switch(CAPACITY))
    assert asked("mlr", draws=1).drawing_ns(stage) == 0
    once = asked("mlr", draws=2).drawing_ns(stage)
    assert asked("mlr", draws=5).drawing_ns(stage) == 4 * once > 0


def test_the_answer_of_one_deployment_is_the_default() -> None:
    assert spec_of("mlr").draws == 1
    assert Fraction(WIDTH) == Fraction(1, 50)
