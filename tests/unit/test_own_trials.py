"""Heavy collectors have trials for themselves, as many as they ask for; no result is by them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from collecting_world import Driver, Looks, started
from pydantic import ValidationError
from record_samples import goal_result
from search_models import POLICY
from simulated_cases import session, simulated_case

from vsperf.collectors.base import OwnTrialsSpec, own_trials_ns, own_trials_text
from vsperf.collectors.perf import PerfSpec
from vsperf.engine.collecting import Collecting, apart_ns, load_of
from vsperf.engine.measurer import Measurer
from vsperf.engine.watch import Watch
from vsperf.record.limit import Limit
from vsperf.record.result import LoadResult, SearchResult
from vsperf.record.trial import Trial
from vsperf.search.base import Budget
from vsperf.spec.base import DriverSpec
from vsperf.store.series import series_of
from vsperf.units import NANOSECONDS
from vsperf.vswitches.sim import RunningModel

FOUND = SearchResult(goals=(goal_result(7_000_000),))
SECOND = "1s"


def asking(trials: int, duration: str = SECOND) -> OwnTrialsSpec:
    return OwnTrialsSpec.model_validate({"kind": "own", "trials": trials, "duration": duration})


def heavy(looks: Looks, trials: int, **changes: Any) -> Driver:
    return Driver(looks, weighs=True, settings=asking(trials), **changes)


def made(
    found: Collecting, budget: Budget | None = None, result: SearchResult = FOUND
) -> tuple[str, ...]:
    """Have the collectors their trials on a model; return what failed."""
    with session(simulated_case()) as generator:
        told: list[Trial] = []
        watch = Watch(RunningModel(), generator)
        measurer = Measurer(generator, watch, POLICY, budget or Budget(), 2, record=told.append)
        warnings = found.own_trials(measurer, result)
        assert told == measurer.trials == [], "none of them is one of the case"
    return warnings


def own(folder: Path) -> list[Trial]:
    (case,) = (folder / "series").iterdir()
    return [line.trial for one in series_of(folder, case.name, 1) for line in one.own_trials()]


def test_each_of_its_trials_is_looked_at_and_kept(tmp_path: Path) -> None:
    looks = Looks()
    with started(tmp_path, one=heavy(looks, 3)) as found:
        assert made(found) == ()
    assert looks.looks == [(look, number) for number in (1, 2, 3) for look in ("begin", "end")]
    kept = own(tmp_path)
    assert [one.index for one in kept] == [1, 2, 3]
    assert {one.load_fps for one in kept} == {7_000_000}
    assert {one.duration_ns for one in kept} == {NANOSECONDS}
    assert {one.reference for one in kept} == {"for one"}


def test_one_that_listens_hears_of_each_of_its_trials(tmp_path: Path) -> None:
    class Listens(Looks):
        def hear(self, trial: Trial) -> None:
            self.looks.append(("hear", trial.index))

    looks = Listens()
    with started(tmp_path, one=heavy(looks, 2)) as found:
        assert made(found) == ()
    assert looks.looks[:3] == [("begin", 1), ("end", 1), ("hear", 1)]
    assert looks.looks[-1] == ("hear", 2)


def test_one_that_was_lost_hears_nothing_more(tmp_path: Path) -> None:
    class Listens(Looks):
        def hear(self, trial: Trial) -> None:
            raise AssertionError

    with started(tmp_path, one=heavy(Listens(dies_at=1), 1)) as found:
        (warning,) = made(found)
    assert "was lost at trial 1" in warning


def test_those_that_no_time_is_left_for_are_told(tmp_path: Path) -> None:
    for_one_ns = NANOSECONDS + POLICY.overhead_ns
    with started(tmp_path, one=heavy(Looks(), 3)) as found:
        (warning,) = made(found, Budget(for_one_ns))
    assert warning == "1 of 3 trials for one were made: the time was over"
    assert len(own(tmp_path)) == 1


def test_without_time_for_any_nothing_is_collected(tmp_path: Path) -> None:
    with started(tmp_path, one=heavy(Looks(), 3)) as found:
        assert made(found, Budget(1)) == ("nothing was collected by one: the time was over",)


def test_a_search_leaves_them_their_time(tmp_path: Path) -> None:
    with started(tmp_path, one=heavy(Looks(), 3), two=Driver(Looks())) as found:
        assert found.time_ns(overhead_ns=7) == 3 * (NANOSECONDS + 7)


def test_where_no_load_passed_there_is_none_to_have_a_trial_at(tmp_path: Path) -> None:
    with started(tmp_path, one=heavy(Looks(), 3)) as found:
        (warning,) = made(found, result=SearchResult())
    assert "there is no load that passed" in warning


def test_one_that_is_lost_has_no_more_trials_and_the_next_has_its_own(tmp_path: Path) -> None:
    lost, other = Looks(dies_at=2), Looks()
    with started(tmp_path, one=heavy(lost, 3), two=heavy(other, 1)) as found:
        (warning,) = made(found)
    assert warning.startswith("the collector one was lost at trial 2")
    assert lost.looks[-1] == ("begin", 2)
    assert other.looks == [("begin", 1), ("end", 1)]


def test_one_that_cannot_start_leaves_the_result_as_it_is(tmp_path: Path) -> None:
    failing = heavy(Looks(), 3, at_start=FileExistsError(17, "File exists"))
    with started(tmp_path, one=failing) as found:
        assert made(found) == ("the trial for one failed: File exists",)


@pytest.mark.parametrize("count", [0, 21])
def test_so_many_are_refused_where_they_are_written(count: int) -> None:
    with pytest.raises(ValidationError):
        asking(count)


def test_perf_has_enough_to_tell_a_cause_from_chance() -> None:
    settings = PerfSpec.model_validate({"kind": "perf"})
    assert len(own_trials_ns(settings)) == 3
    assert own_trials_text(settings) == "3 trials of its own"


def test_no_trial_is_so_short_that_nothing_is_counted_in_it() -> None:
    assert own_trials_ns(asking(2, "10ms")) == (NANOSECONDS, NANOSECONDS)


def test_a_collector_of_others_that_says_nothing_has_one() -> None:
    assert own_trials_ns(DriverSpec(kind="own")) == (5 * NANOSECONDS,)
    assert own_trials_text(DriverSpec(kind="own")) == "a trial of its own"


def test_only_heavy_ones_add_to_the_time_of_a_case() -> None:
    drivers: Any = {"light": Driver(Looks()), "heavy": heavy(Looks(), 3)}
    asked = {name: driver.settings for name, driver in drivers.items()}
    case = simulated_case().model_copy(update={"collect": asked})
    assert apart_ns(drivers, case) == (NANOSECONDS,) * 3


def test_a_heavy_one_gets_the_load_that_was_found() -> None:
    def at(load_fps: int, passed: int) -> LoadResult:
        return LoadResult(
            load_fps=load_fps,
            trials=1,
            passed=passed,
            worst_loss_ratio="0",
            throughput_fps=load_fps,
            limit=Limit.DUT,
            reason="",
        )

    assert load_of(SearchResult(goals=(goal_result(7_000_000),))) == 7_000_000
    assert load_of(SearchResult(loads=(at(1000, 1), at(3000, 1), at(4000, 0)))) == 3000
    assert load_of(SearchResult()) is None
