"""OVS-DPDK keeps the promises of all switch drivers, with both kinds of port."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from places import hugepages
from vswitch_contract import ForwardingContract, real_case

from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import VSwitch
from vsperf.vswitches.ovs.dpdk.driver import OvsDpdk


@pytest.mark.machine
class TestOvsDpdk(ForwardingContract):
    @pytest.fixture
    def driver(self, require: Callable[[str], None]) -> Iterator[VSwitch]:
        require("ovs-dpdk")
        require("tgen")
        require("hugepages")
        with hugepages():
            yield OvsDpdk()

    @pytest.fixture(params=["vhost-user-client", "vhost-user"])
    def case(self, request: pytest.FixtureRequest) -> CaseSpec:
        return real_case(OvsDpdk.Spec.model_validate({"kind": "ovs-dpdk", "ports": request.param}))
