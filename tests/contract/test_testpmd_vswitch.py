"""testpmd as a switch keeps the promises of all switch drivers, with both kinds of port."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from switch_cases import switch_case
from vswitch_contract import VSwitchContract

from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch
from vsperf.vswitches.testpmd.driver import TestpmdSwitch


@pytest.mark.machine
class TestTestpmd(VSwitchContract):
    @pytest.fixture
    def driver(self, require: Callable[[str], None]) -> VSwitch:
        require("dpdk-testpmd")
        return TestpmdSwitch()

    @pytest.fixture(params=["vhost-user-client", "vhost-user"])
    def case(self, request: pytest.FixtureRequest) -> CaseSpec:
        return switch_case("testpmd", {"ports": request.param, "hugepages": False})
