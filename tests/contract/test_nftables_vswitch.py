"""The kernel as a router keeps the promises of all switch drivers, whatever it rewrites.

Frames of a test are not addressed to it. What passes it is seen in `integration/test_nftables.py`,
by connections.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from connection_cases import opened_through
from vswitch_contract import VSwitchContract, thorough

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import VSwitch
from vsperf.drivers.vswitches.nftables.driver import Nftables

pytestmark = pytest.mark.machine


class TestNftables(VSwitchContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls, require: Callable[[str], None]) -> VSwitch:
        require("nftables")
        return Nftables()

    @pytest.fixture(scope="class", params=["source", thorough("destination"), thorough("none")])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return opened_through("nftables", real=True, clients=256, servers=256, nat=request.param)
