"""What follows a search says something of loads, too: the answer is that of all trials."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from bench_models import FluidBench
from record_samples import goal
from reread import answers
from search_models import LINE_RATE, spec_of

from vsperf.config.traffic import LatencyTrials
from vsperf.engine.case import followed
from vsperf.errors import InvalidTrialError
from vsperf.methods.base import PLAIN, Bench, TrialOptions
from vsperf.methods.follow import LatencyAtShares
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.result import SearchResult, latency_trials
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import Budget, Loads

QUICK: dict[str, Any] = {
    "goals": {"ndr": {"loss_ratio": "0"}},
    "initial_duration": "500ms",
    "duration_sum": "5s",
    "width": "1%",
}
SPEC = spec_of("mlr", **QUICK)


def searched() -> tuple[FluidBench, SearchResult]:
    """Return a bench on which a search found the capacity of a switch."""
    bench = FluidBench(4_000_000, loads=Loads(9001, LINE_RATE, LINE_RATE))
    return bench, SPEC.run(bench)


def below(bench: FluidBench, result: SearchResult, *, lossy: bool) -> int:
    """Measure latency at nine tenths of the lower bound, and return that load."""
    load = (result.goals[0].lower_fps or 0) * 9 // 10
    bench.lossy_loads = {load} if lossy else set()
    bench.trial(load, 10 * NANOSECONDS, TrialOptions(Purpose.LATENCY, "90% of ndr"))
    return load


def test_where_latency_trials_lose_nothing_the_answer_stays_and_nothing_is_measured() -> None:
    bench, result = searched()
    below(bench, result, lossy=False)
    made = len(bench.made)
    assert SPEC.reconsidered(result, bench, bench.made) is result
    assert len(bench.made) == made


def test_a_load_below_the_answer_that_latency_trials_refute_takes_it_back() -> None:
    bench, result = searched()
    load = below(bench, result, lossy=True)
    again = SPEC.reconsidered(result, bench, bench.made)
    (goal,) = again.goals
    assert goal.upper_fps == load
    assert load * 99 // 100 <= (goal.lower_fps or 0) < load
    search = SPEC.model_dump(mode="json")
    assert [against for _, against in answers(search, bench.made, again)] == [()]
    (refuted,) = (against for _, against in answers(search, bench.made, result))
    assert refuted, "what was said before is not what the trials say"


class Unmeasured:
    """A follower that would measure for ten seconds."""

    phase: ClassVar[str] = "latency"
    durations_ns = (10 * NANOSECONDS,)

    def follow(self, result: SearchResult, bench: Bench) -> tuple[str, ...]:
        del result, bench
        return ()


def test_what_takes_a_bound_back_leaves_time_to_follow_once_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = FluidBench(1, budget=Budget(100 * NANOSECONDS))
    left: list[int | None] = []

    class Reconsidering:
        def reconsidered(self, *_: object) -> SearchResult:
            left.append(bench.budget.left_ns)
            return answered(1000 - len(left))

    monkeypatch.setattr("vsperf.engine.case.method_of", lambda spec: Reconsidering())
    nothing = SimpleNamespace(trials=[])
    run = SimpleNamespace(
        enter=lambda phase: None, budget=bench.budget, case=SimpleNamespace(seeded_spec=None)
    )
    on = SimpleNamespace(budget=bench.budget, overhead_ns=0, measurer=nothing)
    followed(cast(Any, run), answered(1000), cast(Any, on), [Unmeasured()], 0)
    assert left == [90 * NANOSECONDS, 100 * NANOSECONDS]


class Spoiled(FluidBench):
    """No trial is to be had any more."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        raise InvalidTrialError("it stayed invalid", why="so it is", fix="none")


def test_an_answer_that_is_taken_back_is_not_lost_where_a_trial_then_stays_invalid() -> None:
    goals = {"ndr": {"loss_ratio": "0"}, "pdr": {"loss_ratio": "50%"}}
    spec = spec_of("mlr", **{**QUICK, "goals": goals})
    bench = FluidBench(4_000_000, loads=Loads(9001, LINE_RATE, LINE_RATE))
    result = spec.run(bench)
    load = below(bench, result, lossy=True)
    again = spec.reconsidered(result, Spoiled(1, loads=bench.loads), bench.made)
    ndr, pdr = again.goals
    assert ndr.upper_fps == load
    assert "it stayed invalid" in ndr.reason
    assert (pdr.lower_fps, pdr.upper_fps, pdr.limit) == (
        result.goals[1].lower_fps,
        result.goals[1].upper_fps,
        result.goals[1].limit,
    )
    assert again.spoiled == "it stayed invalid"


def answered(lower_fps: int | None) -> SearchResult:
    """Return an answer to NDR."""
    return SearchResult(goals=(goal(lower_fps, 901),))


@pytest.mark.parametrize(
    ("lower_fps", "loads"), [(1000, [900, 500]), (500, [450]), (1010, []), (None, [])]
)
def test_latency_is_that_of_shares_of_the_answer_that_there_is_in_the_end(
    lower_fps: int | None, loads: list[int]
) -> None:
    """Where the time was over, nothing was made at a share of the new one."""
    bench, _ = searched()
    for load in (900, 450):
        bench.trial(load, NANOSECONDS, TrialOptions(Purpose.LATENCY, "90% of ndr"))
    bench.trial(500, NANOSECONDS, TrialOptions(Purpose.LATENCY, "50% of ndr"))
    kept = latency_trials(bench.made, answered(lower_fps))
    assert [one.load_fps for one in kept] == loads


def test_where_there_is_no_lower_bound_latency_says_what_there_is() -> None:
    bench, _ = searched()
    asked = {"goal": "ndr", "loads": ["50%"], "duration": "1s"}
    follower = LatencyAtShares(LatencyTrials.model_validate(asked))
    none = goal(None, 901).model_copy(update={"reason": "above it 950 fps passed (1 of 1)"})
    (said,) = follower.follow(SearchResult(goals=(none,)), bench)
    assert said == (
        "latency not measured: there is no lower bound of ndr to refer to: "
        "above it 950 fps passed (1 of 1)"
    )


def test_a_load_that_refers_to_something_else_stays() -> None:
    bench, _ = searched()
    for reference in ("90% of the throughput", "half of it", "50% of pdr", None):
        bench.trial(900, NANOSECONDS, TrialOptions(Purpose.LATENCY, reference))
    stranger = "much of ndr"
    bench.trial(900, NANOSECONDS, TrialOptions(Purpose.LATENCY, stranger))
    kept = latency_trials(bench.made, answered(500))
    assert [one.reference for one in kept] == [one.reference for one in bench.made[-5:-1]]
