"""VPP keeps the promises of all switch drivers, with each kind of port and way of forwarding.

Where it keeps a table of connections, no frame of a test passes it; what does is seen in
`integration/test_real_vpp_nat.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from connection_cases import opened_through
from places import PLACEMENT, hugepages
from vpp_cases import vpp_install
from vswitch_contract import ForwardingContract, VSwitchContract, real_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import VSwitch
from vsperf.drivers.vswitches.vpp.driver import Vpp

pytestmark = [
    pytest.mark.machine,
    pytest.mark.thorough,
    pytest.mark.needs("vpp", "tgen", "hugepages"),
]


def case_with(settings: dict[str, Any]) -> CaseSpec:
    return real_case(Vpp.Spec.model_validate({"kind": "vpp", "install": vpp_install(), **settings}))


class VppContract(ForwardingContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> Iterator[VSwitch]:
        with hugepages():
            yield Vpp()

    def is_found_again(self, driver: VSwitch, case: CaseSpec) -> bool:
        """Only where VPP calls: DPDK's ports, a memif as well, do so once."""
        kinds = {end.kind for end in driver.plan(case, PLACEMENT).endpoints}
        return kinds == {"vhost-user-client"}


class TestVpp(VppContract):
    """A cross-connect, which has no rules."""

    changes_rules: ClassVar[bool] = False

    @pytest.fixture(scope="class", params=["vhost-user-client", "vhost-user", "memif"])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return case_with({"ports": request.param})


class TestVppWithTables(VppContract):
    """A bridge and a router, which have addresses and routes to change."""

    @pytest.fixture(scope="class", params=["bridge", "ip4"])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return case_with({"forwarding": request.param})


class TestVppWithConnections(VSwitchContract):
    """A NAT and a load balancer."""

    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> Iterator[VSwitch]:
        with hugepages():
            yield Vpp()

    @pytest.fixture(scope="class", params=["source", "destination"])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        install, nat = vpp_install(), request.param
        return opened_through("vpp", real=True, clients=256, servers=255, install=install, nat=nat)
