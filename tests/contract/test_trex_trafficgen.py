"""TRex keeps the promises of all generator drivers, on both ends of a cable of the kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cable import two_cables
from simulated_cases import WAYS
from trafficgen_contract import Rig, TrafficGeneratorContract
from trex_cases import ends, trex_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import TrafficGenerator
from vsperf.drivers.generators.trex.driver import TrexGenerator

pytestmark = [pytest.mark.machine, pytest.mark.thorough, pytest.mark.needs("trex", "taps")]


class TestOnACable(TrafficGeneratorContract):
    drives = TrexGenerator

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return trex_case()

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls, driver: TrafficGenerator, case: CaseSpec) -> Iterator[Rig]:
        with two_cables():
            yield Rig(ends("vscable0"), WAYS["both"])
