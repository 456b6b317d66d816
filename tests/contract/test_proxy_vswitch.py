"""Proxies keep the promises of all switch drivers.

Frames of a test are not addressed to them. What passes them is seen in
`integration/test_proxy_devices.py`, by connections.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from connection_cases import opened_through
from switch_cases import driver_of
from vswitch_contract import VSwitchContract

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import VSwitch

pytestmark = [pytest.mark.machine, pytest.mark.thorough]


class ProxyContract(VSwitchContract):
    kind: str
    part: str
    """Of the machine."""

    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls, require: Callable[[str], None]) -> VSwitch:
        require("taps")
        require(cls.part)
        return driver_of(cls.kind)

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return opened_through(cls.kind, real=True, clients=256, servers=256)


class TestHaproxy(ProxyContract):
    kind, part = "haproxy", "haproxy"


class TestNginxStream(ProxyContract):
    kind, part = "nginx-stream", "nginx-stream"
