"""What every method does on any bench; it joins by one fixture.

class TestMyMethod(MethodContract):
    @pytest.fixture
    def method(self) -> Method: ...      # with trials that a model gets through soon

`fluid` is a bench with an exact switch on it: a capacity, and a buffer in front of it.
"""

from __future__ import annotations

from typing import Any

import pytest
from bench_models import FluidBench
from search_models import case_of

from vsperf.config.case import CaseSpec
from vsperf.errors import InvalidTrialError
from vsperf.methods.base import PLAIN, Method, TrialOptions, loads_of
from vsperf.records.result import Level, SearchResult
from vsperf.records.trial import Trial
from vsperf.search.base import Budget, BudgetExhausted

CAPACITY = 5_000_000
CAP = 3_000_000
EVENTS = {"restart-switch": 10**9, "kill-switch": 10**9, "reboot-vnfs": 10**9}


class Spoiled(FluidBench):
    """No trial of it can be believed."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        super().trial(load_fps, duration_ns, options)
        raise InvalidTrialError("it was spoiled")


class MethodContract:
    """Checks that hold for any method."""

    @pytest.fixture
    def method(self) -> Method:
        raise NotImplementedError

    @pytest.fixture
    def case(self, method: Method) -> CaseSpec:
        return case_of("mlr", search=method)

    @pytest.fixture
    def fluid(self, case: CaseSpec) -> dict[str, Any]:
        """What the bench of each check is made with."""
        return {
            "capacity_fps": CAPACITY,
            "buffer_frames": 4000,
            "outages_ns": EVENTS,
            "recovery_ns": 1_000_000,
            "latencies_ns": [10_000] * 600,
            "loads": loads_of(case),
        }

    def test_it_says_what_it_is(self, method: Method) -> None:
        assert len(method.summary.splitlines()) == 1, "one line for lists"

    def test_its_settings_are_the_same_after_they_were_stored(self, method: Method) -> None:
        assert type(method).model_validate_json(method.model_dump_json()) == method

    def test_it_offers_nothing_above_what_the_generator_was_seen_to_do(
        self, method: Method, case: CaseSpec
    ) -> None:
        below, whole = loads_of(case, CAP), loads_of(case)
        assert max(method.offered(below)) <= CAP < whole.maximum
        assert max(method.offered(whole)) <= whole.maximum

    def test_it_asks_for_loads_that_it_offers_and_no_others(
        self, method: Method, fluid: dict[str, Any]
    ) -> None:
        bench = FluidBench(**fluid)
        method.run(bench)
        assert bench.made, "it came to an answer without a trial"
        above = [one.load_fps for one in bench.made if one.load_fps > bench.loads.maximum]
        assert above == [], f"there is no more than {bench.loads.maximum}"

    def test_the_same_switch_gives_the_same_answer_which_can_be_stored(
        self, method: Method, fluid: dict[str, Any]
    ) -> None:
        found = method.run(FluidBench(**fluid))
        assert method.run(FluidBench(**fluid)) == found
        assert SearchResult.model_validate_json(found.model_dump_json()) == found

    def test_its_figures_are_those_that_a_criterion_can_be_about(
        self, method: Method, fluid: dict[str, Any]
    ) -> None:
        found, known = method.run(FluidBench(**fluid)), method.metrics()
        assert found.goals or found.figures or found.loads, "it has no answer"
        assert known, "no criterion can be about it"
        told = {one.name: one.unit for one in found.figures if one.name in known}
        assert told == {name: unit for name, unit in known.items() if name in told}

    def test_where_the_time_is_over_it_ends_with_what_it_has(
        self, method: Method, fluid: dict[str, Any]
    ) -> None:
        whole = FluidBench(**fluid)
        method.run(whole)
        longest = max(trial.elapsed_ns for trial in whole.made)
        limit = sum(trial.elapsed_ns for trial in whole.made) // 2
        bench = FluidBench(**fluid, budget=Budget(limit))
        try:
            found = method.run(bench)
        except BudgetExhausted:
            return
        assert sum(trial.elapsed_ns for trial in bench.made) <= limit + longest
        assert not found.complete or len(bench.made) <= len(whole.made)

    def test_of_trials_that_cannot_be_believed_it_makes_no_answer(
        self, method: Method, fluid: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidTrialError):
            method.run(Spoiled(**fluid))

    def test_it_says_how_it_stands_to_each_standard_once_and_why(
        self, method: Method, case: CaseSpec, fluid: dict[str, Any]
    ) -> None:
        found = method.run(FluidBench(**fluid))
        verdicts = method.compliance(case, (64,), found)
        standards = [one.standard for one in verdicts]
        assert standards, "it says of no standard how it stands to it"
        assert len(set(standards)) == len(standards), "once for each"
        silent = [one.standard for one in verdicts if one.level is Level.NOT and not one.deviations]
        assert silent == [], "why it does not comply"
