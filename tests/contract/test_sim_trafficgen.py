"""The simulated generator keeps the promises of all generator drivers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from places import PLACEMENT, started_switch
from simulated_cases import WAYS, simulated_case
from trafficgen_contract import Rig, TrafficGeneratorContract

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.sim import SimulatedGenerator
from vsperf.drivers.vswitches.sim import SimulatedSwitch


class TestSimulatedGenerator(TrafficGeneratorContract):
    drives = SimulatedGenerator

    @pytest.fixture(scope="class", params=["both", "forward", "reverse"])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return simulated_case(traffic={"direction": request.param})

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls, case: CaseSpec) -> Iterator[Rig]:
        switch = SimulatedSwitch()
        plan = switch.plan(case, PLACEMENT)
        with started_switch(switch, case, plan):
            yield Rig(plan.endpoints, WAYS[case.traffic.direction])
