"""The kernel's bridge keeps the promises of all switch drivers, learning or told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from vswitch_contract import ForwardingContract, real_case

from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch
from vsperf.vswitches.linux_bridge.driver import LinuxBridge

pytestmark = pytest.mark.machine


class TestLinuxBridge(ForwardingContract):
    runs_programs = False

    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls, require: Callable[[str], None]) -> VSwitch:
        require("bridges")
        require("tgen")
        return LinuxBridge()

    @pytest.fixture(scope="class", params=["learn", "l2"])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        settings = {"kind": "linux-bridge", "flows": request.param}
        return real_case(LinuxBridge.Spec.model_validate(settings))
