"""The kernel as a router keeps the promises of all switch drivers, whatever it rewrites.

Frames of a test are not addressed to it. What passes it is seen in `integration/test_nftables.py`,
by connections.
"""

from __future__ import annotations

import pytest
from connection_cases import opened_through
from vswitch_contract import VSwitchContract, thorough

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.nftables.driver import Nftables

pytestmark = [pytest.mark.machine, pytest.mark.needs("nftables")]


class TestNftables(VSwitchContract):
    drives = Nftables

    @pytest.fixture(scope="class", params=["source", thorough("destination"), thorough("none")])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return opened_through("nftables", real=True, clients=256, servers=256, nat=request.param)
