"""The kernel's bridge keeps the promises of switch drivers, learning or told, on taps or pairs."""

from __future__ import annotations

import subprocess

import pytest
from standing import Standing
from vswitch_contract import ForwardingContract, real_case, thorough

from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.linux_bridge.driver import LinuxBridge

pytestmark = [pytest.mark.machine, pytest.mark.needs("bridges", "tgen")]


class TestLinuxBridge(ForwardingContract):
    runs_programs = False

    @classmethod
    def rules_of(cls, standing: Standing) -> list[str]:
        """Return the addresses that it was told, and not those that it learned."""
        _, by_hand = standing.parts.switch.access()
        done = subprocess.run(by_hand.split(), capture_output=True, text=True, check=True)
        return sorted(line for line in done.stdout.splitlines() if "static" in line)

    drives = LinuxBridge

    @pytest.fixture(
        scope="class",
        params=[("learn", "tap"), thorough(("l2", "tap")), thorough(("learn", "pair"))],
        ids="-".join,
    )
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> CaseSpec:
        flows, ports = request.param
        settings = {"kind": "linux-bridge", "flows": flows, "ports": ports}
        return real_case(LinuxBridge.Spec.model_validate(settings))
