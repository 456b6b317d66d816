"""TRex keeps the promises of all generator drivers, on both ends of a cable of the kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cable import fixture_cables
from conftest import Require
from simulated_cases import WAYS
from trafficgen_contract import Rig, TrafficGeneratorContract
from trex_cases import ends, trex_case

from vsperf.spec.case import CaseSpec
from vsperf.trafficgens.base import TrafficGenerator
from vsperf.trafficgens.trex.driver import TrexGenerator

pytestmark = pytest.mark.machine
__all__ = ["fixture_cables"]


class TestOnACable(TrafficGeneratorContract):
    @pytest.fixture(autouse=True)
    def _needs_trex(self, require: Require) -> None:
        require("trex")
        require("taps")

    @pytest.fixture
    def driver(self) -> TrafficGenerator:
        return TrexGenerator()

    @pytest.fixture
    def case(self) -> CaseSpec:
        return trex_case()

    @pytest.fixture
    def rig(self, case: CaseSpec, cables: None) -> Iterator[Rig]:
        yield Rig(ends("vscable0"), WAYS["both"])
