"""All programs of this package keep the promises of programs."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Require
from netperf_path import netperf_path
from program_contract import ProgramContract

from vsperf.drivers.programs.base import Program
from vsperf.plugins import Plugins

pytestmark = pytest.mark.machine

SETTINGS: dict[str, dict[str, Any]] = {
    "iperf3": {"congestion": "reno"},
    "netperf": {"path": netperf_path()},
}


class TestProgram(ProgramContract):
    @pytest.fixture(params=sorted(SETTINGS))
    def kind(self, request: pytest.FixtureRequest, require: Require) -> str:
        require("root")
        require(request.param)
        return str(request.param)

    @pytest.fixture
    def driver(self, kind: str) -> Program:
        found: Program = Plugins.load().driver("program", kind)
        return found

    @pytest.fixture
    def settings(self, kind: str) -> dict[str, Any]:
        return SETTINGS[kind]


def test_each_program_that_this_package_offers_is_tried() -> None:
    assert set(Plugins.load().drivers("program")) == set(SETTINGS)
