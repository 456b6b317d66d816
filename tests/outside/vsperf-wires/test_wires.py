# vsperf-wires/test_wires.py
"""Everything of this package keeps the promises of its kind, as vsperf's tests have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from collector_contract import CollectorContract, LightContract
from export_contract import ExportContract
from figure_contract import FigureContract
from load_contract import LoadContract
from method_contract import MethodContract
from places import PLACEMENT, started_switch
from program_contract import ProgramContract
from simulated_cases import WAYS
from switch_cases import PVP
from trafficgen_contract import Rig, TrafficGeneratorContract
from vnfs_contract import VnfsContract
from vsperf_wires import figure
from vsperf_wires.collector import LoadAverage
from vsperf_wires.export import Lines
from vsperf_wires.generator import NumberedFrames, NumberedSpec
from vsperf_wires.load import Spin
from vsperf_wires.method import KeepsShare
from vsperf_wires.program import Pour
from vsperf_wires.switch import RelaySpec, RelaySwitch
from vsperf_wires.vnf import RelayVnfs, RelayVnfSpec
from vswitch_contract import ForwardingContract, real_case

from vsperf.config.case import CaseSpec
from vsperf.drivers.collectors.base import Collector
from vsperf.drivers.generators.base import TrafficGenerator
from vsperf.drivers.loads.base import LoadGenerator
from vsperf.drivers.programs.base import Program
from vsperf.drivers.vnfs.base import Vnf
from vsperf.drivers.vswitches.base import VSwitch
from vsperf.methods.base import Method
from vsperf.output.export.base import Format
from vsperf.output.figures.plot import Plot

PATIENT = NumberedSpec.model_validate({"kind": "numbered", "grace": "1s"})


def wired(**sections: Any) -> CaseSpec:
    case = real_case(RelaySpec(kind="relay"), **sections)
    return case.model_copy(update={"generator": PATIENT})


class TestRelay(ForwardingContract):
    restarts = changes_rules = counts_at_ports = False

    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> VSwitch:
        return RelaySwitch()

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return wired()


class TestNumberedFrames(TrafficGeneratorContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> TrafficGenerator:
        return NumberedFrames()

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return wired()

    @pytest.fixture(scope="class")
    @classmethod
    def rig(cls, case: CaseSpec) -> Iterator[Rig]:
        switch = RelaySwitch()
        plan = switch.plan(case, PLACEMENT)
        with started_switch(switch, case, plan) as running:
            folder = running.program.log.parent
            ends = tuple(
                one.model_copy(update={"address": str(folder / f"{one.link}.sock")})
                for one in plan.endpoints
            )
            yield Rig(ends, WAYS["both"])


class TestLoadAverage(CollectorContract, LightContract):
    @pytest.fixture
    def driver(self) -> Collector:
        return LoadAverage()

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {}


class TestSpin(LoadContract):
    @pytest.fixture
    def driver(self) -> LoadGenerator:
        return Spin()

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {}


class TestPour(ProgramContract):
    @pytest.fixture
    def driver(self) -> Program:
        return Pour()

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {}


class TestRelayVnfs(VnfsContract):
    @pytest.fixture(scope="class")
    @classmethod
    def driver(cls) -> Vnf:
        return RelayVnfs()

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return wired(topology=PVP, vnf=RelayVnfSpec(kind="relay"))


class TestLines(ExportContract):
    @pytest.fixture
    def driver(self) -> Format:
        return Lines()


class TestLosses(FigureContract):
    @pytest.fixture(scope="class")
    @classmethod
    def plot(cls) -> Plot:
        return figure.PLOT


class TestKeepsShare(MethodContract):
    @pytest.fixture
    def method(self) -> Method:
        return KeepsShare.model_validate({"kind": "keeps", "duration": "1s"})
