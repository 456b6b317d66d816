"""Simulated VNFs keep the promises of all VNFs."""

from __future__ import annotations

import pytest
from simulated_cases import simulated_case
from switch_cases import PVP
from vnfs_contract import VnfsContract

from vsperf.config.case import CaseSpec
from vsperf.drivers.vnfs.sim import SimulatedVnf


class TestSimulatedVnfs(VnfsContract):
    drives = SimulatedVnf

    @pytest.fixture(scope="class")
    @classmethod
    def case(cls) -> CaseSpec:
        return simulated_case(
            {"behaviour": {"kind": "ideal"}}, topology=PVP, vnf=SimulatedVnf.Spec(kind="sim")
        )
