"""No switch at all keeps the promises of all switch drivers, too."""

from __future__ import annotations

import pytest
from switch_cases import switch_case
from vswitch_contract import VSwitchContract

from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch
from vsperf.vswitches.none import NoSwitch


class TestNoSwitch(VSwitchContract):
    @pytest.fixture
    def driver(self) -> VSwitch:
        return NoSwitch()

    @pytest.fixture
    def case(self) -> CaseSpec:
        return switch_case("none")
