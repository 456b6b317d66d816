"""What a method does several times, where a trial cannot be believed in the end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from bench_models import LOADS, FluidBench, figures, method
from search_models import case_of

from vsperf.engine.criteria import flags_of
from vsperf.errors import InvalidTrialError
from vsperf.methods.base import PLAIN, Manner, repeated
from vsperf.record.flags import Flag
from vsperf.record.result import SearchResult
from vsperf.record.trial import Trial
from vsperf.search.base import Budget, BudgetExhausted
from vsperf.units import NANOSECONDS

WHY = "trial 9 at 5.000 Mfps stayed invalid after 2 repeats: stretched"
RESET = {"throughput": "5Mfps", "events": ["restart-switch", "kill-switch"]}


@dataclass
class SpoiledBench(FluidBench):
    """A bench on which all trials stay invalid from one on."""

    good: int = 0
    """Trials that can be believed."""

    def trial(self, load_fps: int, duration_ns: int, manner: Manner = PLAIN) -> Trial:
        if len(self.made) >= self.good:
            raise InvalidTrialError(WHY)
        return super().trial(load_fps, duration_ns, manner)


def spoiled_bench(good: int, reference: int = 5_000_000) -> SpoiledBench:
    return SpoiledBench(
        5_000_000,
        buffer_frames=4000,
        outages_ns={"restart-switch": 10**9, "kill-switch": 10**9},
        loads=replace(LOADS, reference=reference),
        good=good,
        latencies_ns=[10_000] * 600,
    )


@pytest.mark.parametrize("kind", ["latency", "broadcast"])
def test_the_repeats_before_an_invalid_trial_stand(kind: str) -> None:
    result = method(kind, throughput="5Mfps", repeats=5).run(spoiled_bench(3))

    spread = result.figures[0].spread
    assert spread is not None and spread.runs == 3
    assert (result.spoiled, result.complete, result.whole) == (WHY, True, False)


def test_searches_for_a_burst_before_an_invalid_trial_stand() -> None:
    whole = spoiled_bench(10**6)
    asked = method("back2back", throughput="5Mfps", repeats=5)
    asked.run(whole)

    result = asked.run(spoiled_bench(len(whole.made) - 1))

    spread = result.figures[0].spread
    assert spread is not None and spread.runs == 4
    assert result.spoiled == WHY
    (found,) = asked.compliance(case_of("mlr", search=asked), [64], result)
    assert "a trial that stayed invalid came before 5 searches" in found.deviations


def test_an_event_whose_trials_are_invalid_leaves_the_figures_of_the_other() -> None:
    result = method("reset", **RESET, repeats=2).run(spoiled_bench(2))

    assert "restart_time" in figures(result) and "kill_time" not in figures(result)
    assert result.spoiled == WHY


def test_a_flow_set_up_rate_stands_without_the_latencies_that_follow_it() -> None:
    loads = replace(LOADS, flows=4096)
    whole = FluidBench(5_000_000, loads=loads)
    asked = method("flow_setup", repeats=1)
    asked.run(whole)

    result = asked.run(SpoiledBench(5_000_000, loads=loads, good=len(whole.made) - 1))

    assert list(figures(result)) == ["flow_setup_rate"]
    assert result.spoiled == WHY


@pytest.mark.parametrize("kind", ["latency", "recovery", "back2back", "reset"])
def test_where_nothing_was_found_before_it_the_invalid_trial_ends_the_case(kind: str) -> None:
    with pytest.raises(InvalidTrialError):
        method(kind, throughput="4Mfps").run(spoiled_bench(0, reference=4_000_000))


def test_a_result_from_fewer_repeats_is_flagged_and_not_as_one_that_the_time_cut_short() -> None:
    bench = spoiled_bench(3)
    result = method("latency", throughput="5Mfps", repeats=5).run(bench)

    assert flags_of(result, bench.made) == (Flag.FEWER_REPEATS,)
    assert flags_of(SearchResult(complete=False), ()) == (Flag.OUT_OF_BUDGET,)


def test_the_time_that_ends_is_told_apart() -> None:
    bench = FluidBench(5_000_000, budget=Budget(3 * NANOSECONDS))

    def once() -> None:
        bench.budget.require(NANOSECONDS)
        bench.budget.spend(NANOSECONDS)

    found = repeated(5, once)

    assert (len(found.found), found.in_time, found.spoiled) == (3, False, "")
    with pytest.raises(BudgetExhausted):
        once()
