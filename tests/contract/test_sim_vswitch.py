"""The simulated switch keeps the promises of all switch drivers, with every behaviour."""

from __future__ import annotations

import pytest
from simulated_cases import KINDS, simulated_case
from vswitch_contract import ForwardingContract, VSwitchContract

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.sim import SimulatedSwitch


class TestSimulatedSwitch(VSwitchContract):
    has_nics = False

    drives = SimulatedSwitch

    @pytest.fixture(scope="class", params=KINDS)
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return simulated_case({"behaviour": {"kind": request.param}})


class TestSoundSimulatedSwitch(ForwardingContract):
    """One that loses nothing, and frames that go through it."""

    has_nics = runs_programs = changes_rules = counts_at_ports = False

    drives = SimulatedSwitch

    @pytest.fixture(scope="class", params=["port", "learn"])
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        return simulated_case({"behaviour": {"kind": "ideal"}, "flows": request.param})
