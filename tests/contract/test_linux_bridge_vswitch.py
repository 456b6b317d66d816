"""The kernel's bridge keeps the promises of all switch drivers, learning or told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from switch_cases import switch_case
from vswitch_contract import VSwitchContract

from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch
from vsperf.vswitches.linux_bridge.driver import LinuxBridge


@pytest.mark.machine
class TestLinuxBridge(VSwitchContract):
    @pytest.fixture
    def driver(self, require: Callable[[str], None]) -> VSwitch:
        require("bridges")
        return LinuxBridge()

    @pytest.fixture(params=["learn", "l2"])
    def case(self, request: pytest.FixtureRequest) -> CaseSpec:
        return switch_case("linux-bridge", {"flows": request.param})
