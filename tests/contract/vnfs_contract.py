"""What every driver of VNFs promises; it joins by two fixtures.

class TestMyVnfs(VnfsContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> Vnf: ...          # the driver
    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec: ...       # one with VNFs that can be deployed here
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar

import pytest
from audit import audited
from driver_contract import DriverContract
from switch_cases import TWO_CPUS, deployed, plugins

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.deploy.planner import Drivers, make_plan
from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.vnfs.base import Vnf
from vsperf.errors import VsperfError
from vsperf.host.workspace import Nowhere
from vsperf.records.run import Placement, Wire
from vsperf.records.trial import TrialCounts

LIGHT = TrialRequest(load_fps=1_000, duration_ns=200_000_000)


class VnfsContract(DriverContract):
    """Checks that hold for any VNFs."""

    drives: ClassVar[Callable[[], Vnf]]
    """What makes its driver; where more is needed than that, `driver` is a fixture of its own."""

    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> Vnf:
        return cls.drives()

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def planned(cls, case: CaseSpec) -> tuple[tuple[Wire, ...], Placement]:
        """Return what the NICs are plugged into, and which CPUs there are."""
        plan = make_plan(case, Drivers.of(case, plugins()), TWO_CPUS).plan
        return plan.wires, plan.placement

    def test_planning_touches_nothing_and_is_repeatable(
        self, driver: Vnf, case: CaseSpec, planned: tuple[tuple[Wire, ...], Placement]
    ) -> None:
        first = driver.plan(case, *planned)  # imports what has to be imported
        with audited() as seen:
            second = driver.plan(case, *planned)
        assert seen == []
        assert first == second
        assert {step.component for step in first} == {"vnf"}
        told = " ".join(step.action for step in first)
        assert [name for name in case.topology.vnfs if name not in told] == [], f"in: {told}"

    def test_roles_begin_with_the_name_of_a_vnf(self, driver: Vnf, case: CaseSpec) -> None:
        for need in driver.needs(case).cpus:
            assert need.role.partition(" ")[0] in case.topology.vnfs

    def test_settings_of_another_driver_are_refused(
        self, driver: Vnf, case: CaseSpec, planned: tuple[tuple[Wire, ...], Placement]
    ) -> None:
        foreign = case.model_copy(update={"vnf": DriverSpec(kind="something-else")})
        with (
            pytest.raises(VsperfError, match="something-else"),
            driver.start(foreign, *planned, Nowhere()),
        ):
            pass

    @pytest.mark.everyday
    def test_frames_go_through_them_and_again_after_a_reboot(
        self, driver: Vnf, case: CaseSpec
    ) -> None:
        counted = () if driver.Spec.MODEL else case.topology.vnfs
        with deployed(case) as (parts, _):
            vnfs = parts.vnfs
            assert vnfs is not None, "nothing was deployed"
            for _ in range(2):
                assert vnfs.failure() is None
                _all_arrived(parts.generator.run(LIGHT))
                vnfs.reboot()
            assert tuple(one.name for one in vnfs.counters()) == counted
            assert json.loads(json.dumps(vnfs.facts())) == vnfs.facts()


def _all_arrived(counts: TrialCounts) -> None:
    ways = [(way.sent_frames, way.good_frames) for way in counts.directions]
    assert ways and all(sent == arrived > 0 for sent, arrived in ways), f"sent, arrived: {ways}"
