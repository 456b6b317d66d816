"""IPVS keeps the promises of all switch drivers, whatever it rewrites.

Frames of a test are not addressed to it. What passes it is seen in `integration/test_real_ipvs.py`,
by connections.
"""

from __future__ import annotations

import pytest
from connection_cases import opened_through
from vswitch_contract import VSwitchContract

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.ipvs.driver import Ipvs

pytestmark = [pytest.mark.machine, pytest.mark.thorough, pytest.mark.needs("ipvs")]


class TestIpvs(VSwitchContract):
    drives = Ipvs

    @pytest.fixture(scope="class", params=["nat", "dr"])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return opened_through("ipvs", real=True, clients=256, servers=256, mode=request.param)
