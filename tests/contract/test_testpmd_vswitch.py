"""testpmd as a switch keeps the promises of all switch drivers, with both kinds of port."""

from __future__ import annotations

import pytest
from vswitch_contract import ForwardingContract, real_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.testpmd.driver import TestpmdSwitch

pytestmark = [pytest.mark.machine, pytest.mark.needs("dpdk-testpmd", "tgen")]


class TestTestpmd(ForwardingContract):
    changes_rules = False

    drives = TestpmdSwitch

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return case_of("vhost-user-client")


@pytest.mark.thorough
class TestTestpmdThatListens(TestTestpmd):
    restarts = False

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return case_of("vhost-user")


def case_of(ports: str) -> CaseSpec:
    settings = {"kind": "testpmd", "ports": ports, "hugepages": False}
    return real_case(TestpmdSwitch.Spec.model_validate(settings))
