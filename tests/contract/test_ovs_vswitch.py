"""OVS keeps the promises of all switch drivers, with DPDK and without, whatever its ports are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from ovs_cases import rules_in
from places import hugepages
from standing import Standing
from vswitch_contract import ForwardingContract, real_case, thorough

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import VSwitch
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk, OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.plain.driver import Ovs
from vsperf.drivers.vswitches.ovs.running import RunningOvs

pytestmark = pytest.mark.machine


SOON_S = 1.0
"""Patience with a daemon that is known to hang: no longer one proves more."""


class OvsContract(ForwardingContract):
    @contextmanager
    def short_patience(self, switch: RunningOvs) -> Iterator[None]:
        usual, switch.patience_s = switch.patience_s, SOON_S
        try:
            yield
        finally:
            switch.patience_s = usual

    @classmethod
    def rules_of(cls, standing: Standing) -> list[str]:
        return rules_in(standing.parts.switch)


class TestOvsDpdk(OvsContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls, require: Callable[[str], None]) -> Iterator[VSwitch]:
        require("ovs-dpdk")
        require("tgen")
        require("hugepages")
        with hugepages():
            yield OvsDpdk()

    def counting_ports(self, case: CaseSpec) -> bool:
        """Of a port at whose socket it is the server it tells of no frame; its threads do."""
        assert isinstance(case.vswitch, OvsDpdkSpec)
        return case.vswitch.ports != "vhost-user"

    @pytest.fixture(scope="class", params=["vhost-user-client", thorough("vhost-user")])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return real_case(OvsDpdkSpec.model_validate({"kind": "ovs-dpdk", "ports": request.param}))


class TestOvs(OvsContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls, require: Callable[[str], None]) -> VSwitch:
        require("ovs")
        require("tgen")
        return Ovs()

    @pytest.fixture(scope="class", params=["tap", thorough("packet")])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return real_case(Ovs.Spec.model_validate({"kind": "ovs", "ports": request.param}))
