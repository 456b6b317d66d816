"""VPP keeps the promises of all switch drivers, with each kind of port."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from places import hugepages
from vpp_cases import vpp_case
from vswitch_contract import VSwitchContract

from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch
from vsperf.vswitches.vpp.driver import Vpp


@pytest.mark.machine
class TestVpp(VSwitchContract):
    @pytest.fixture
    def driver(self, require: Callable[[str], None]) -> Iterator[VSwitch]:
        require("vpp")
        require("hugepages")
        with hugepages():
            yield Vpp()

    @pytest.fixture(params=["vhost-user-client", "vhost-user", "memif"])
    def case(self, request: pytest.FixtureRequest) -> CaseSpec:
        return vpp_case({"ports": request.param})
