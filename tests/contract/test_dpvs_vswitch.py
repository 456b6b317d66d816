"""DPVS keeps the promises of all switch drivers, whatever it rewrites.

Frames of a test are not addressed to it. What passes it is seen in `integration/test_real_dpvs.py`,
by connections.
"""

from __future__ import annotations

import pytest
from dpvs_cases import dpvs_case
from vswitch_contract import VSwitchContract

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.dpvs.driver import Dpvs

pytestmark = [pytest.mark.machine, pytest.mark.thorough, pytest.mark.needs("dpvs")]


class TestDpvs(VSwitchContract):
    drives = Dpvs

    @pytest.fixture(scope="class", params=["fnat", "nat", "dr"])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        settings = {"mode": request.param, "hugepages": False}
        return dpvs_case(settings, real=True, clients=16, servers=8)
