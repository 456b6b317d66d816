"""What every virtual switch driver promises; a driver joins by subclassing with two fixtures.

class TestMySwitch(VSwitchContract):
    @pytest.fixture
    def driver(self) -> VSwitch: ...      # the driver
    @pytest.fixture
    def case(self) -> CaseSpec: ...       # a case that it can deploy on this machine
"""

from __future__ import annotations

from pathlib import Path

import pytest
from leave_no_trace import Places, left_behind, snapshot
from places import PLACEMENT, started_switch
from witness import witness

from vsperf.errors import VsperfError
from vsperf.record.placeholder import shown
from vsperf.record.plan import Endpoint, Step
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch


class VSwitchContract:
    """Checks that hold for any switch."""

    @pytest.fixture
    def driver(self) -> VSwitch:
        raise NotImplementedError

    @pytest.fixture
    def case(self) -> CaseSpec:
        raise NotImplementedError

    def test_it_says_what_it_is(self, driver: VSwitch) -> None:
        assert driver.kind
        assert driver.summary and "\n" not in driver.summary

    def test_its_settings_are_complete_with_nothing_but_the_kind(self, driver: VSwitch) -> None:
        spec = driver.Spec.model_validate({"kind": driver.kind})
        assert spec.kind == driver.kind
        assert spec.model_dump(exclude_defaults=True) == {"kind": driver.kind}

    def test_planning_touches_nothing(self, driver: VSwitch, case: CaseSpec) -> None:
        driver.plan(case, PLACEMENT)  # whatever has to be imported is imported now
        with witness() as seen:
            driver.plan(case, PLACEMENT)
        assert seen == []

    def test_planning_twice_gives_the_same_plan(self, driver: VSwitch, case: CaseSpec) -> None:
        assert driver.plan(case, PLACEMENT) == driver.plan(case, PLACEMENT)

    def test_the_plan_says_who_does_what(self, driver: VSwitch, case: CaseSpec) -> None:
        plan = driver.plan(case, PLACEMENT)
        assert plan.steps
        assert {step.component for step in plan.steps} == {"vswitch"}
        assert all(step.action for step in plan.steps)

    def test_each_link_of_the_topology_has_one_endpoint(
        self, driver: VSwitch, case: CaseSpec
    ) -> None:
        endpoints = driver.plan(case, PLACEMENT).endpoints
        assert tuple(endpoint.link for endpoint in endpoints) == case.topology.links
        assert all(endpoint.kind and endpoint.address for endpoint in endpoints)

    def test_the_plan_survives_being_stored(self, driver: VSwitch, case: CaseSpec) -> None:
        """Placeholders are written down as words, and stay words; all else is as it was."""
        plan = driver.plan(case, PLACEMENT)
        for endpoint in plan.endpoints:
            stored = endpoint.model_dump_json()
            assert Endpoint.model_validate_json(stored).model_dump_json() == stored
            assert Endpoint.model_validate_json(stored).address == shown(endpoint.address)
        for step in plan.steps:
            stored = step.model_dump_json()
            assert Step.model_validate_json(stored).model_dump_json() == stored

    def test_settings_of_another_driver_are_refused(self, driver: VSwitch, case: CaseSpec) -> None:
        foreign = case.model_copy(update={"vswitch": DriverSpec(kind="something-else")})
        with pytest.raises(VsperfError, match="something-else"):
            driver.plan(foreign, PLACEMENT)

    def test_it_has_no_failure_while_it_works(self, driver: VSwitch, case: CaseSpec) -> None:
        with started_switch(driver, case) as running:
            assert running.failure() is None
            assert running.failure() is None

    def test_a_stopped_switch_does_not_claim_to_work(self, driver: VSwitch, case: CaseSpec) -> None:
        with started_switch(driver, case) as running:
            pass
        assert running.failure()

    def test_it_leaves_nothing_behind(
        self, driver: VSwitch, case: CaseSpec, tmp_path: Path
    ) -> None:
        places = Places()
        before = snapshot(places, tmp_path)
        with started_switch(driver, case):
            pass
        assert left_behind(before, lambda: snapshot(places, tmp_path)) == []

    def test_it_leaves_nothing_behind_when_the_measurement_fails(
        self, driver: VSwitch, case: CaseSpec, tmp_path: Path
    ) -> None:
        places = Places()
        before = snapshot(places, tmp_path)
        with pytest.raises(ZeroDivisionError), started_switch(driver, case):
            raise ZeroDivisionError
        assert left_behind(before, lambda: snapshot(places, tmp_path)) == []

    def test_it_can_be_started_again(self, driver: VSwitch, case: CaseSpec) -> None:
        plan = driver.plan(case, PLACEMENT)
        for _ in range(2):
            with started_switch(driver, case, plan) as running:
                assert running.failure() is None
