"""OVS-DPDK keeps the promises of all switch drivers, with both kinds of port."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from ovs_cases import ovs_case
from places import hugepages
from vswitch_contract import VSwitchContract

from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch
from vsperf.vswitches.ovs.dpdk.driver import OvsDpdk


@pytest.mark.machine
class TestOvsDpdk(VSwitchContract):
    @pytest.fixture
    def driver(self, require: Callable[[str], None]) -> Iterator[VSwitch]:
        require("ovs-dpdk")
        require("hugepages")
        with hugepages():
            yield OvsDpdk()

    @pytest.fixture(params=["vhost-user-client", "vhost-user"])
    def case(self, request: pytest.FixtureRequest) -> CaseSpec:
        return ovs_case({"ports": request.param})
