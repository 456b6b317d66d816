"""All programs of this package keep the promises of programs."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Require
from named_programs import named_program
from program_contract import ProgramContract

from vsperf.drivers.programs.base import Program
from vsperf.plugins import Plugins

pytestmark = pytest.mark.machine

SETTINGS: dict[str, dict[str, Any]] = {
    "iperf": {"congestion": "reno"},
    "iperf3": {"congestion": "reno"},
    "netperf": {"path": named_program("netperf")},
    "wrk": {},
    "wrk2": {"path": named_program("wrk2")},
    "h2load": {},
    "irtt": {},
}
BESIDE = dict.fromkeys(("wrk", "wrk2", "h2load"), ("nginx",))
"""Programs that serve others."""


class TestProgram(ProgramContract):
    @pytest.fixture(params=sorted(SETTINGS))
    def kind(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture(autouse=True)
    def _there(self, kind: str, request: pytest.FixtureRequest, require: Require) -> None:
        """Require the program where it is run; its words and answers are known without it."""
        if "places" in request.fixturenames:
            require("root")
            for program in (kind, *BESIDE.get(kind, ())):
                require(program)

    @pytest.fixture
    def driver(self, kind: str) -> Program:
        plugins = Plugins.load()
        section = "program" if kind in plugins.drivers("program") else "probe"
        found: Program = plugins.driver(section, kind)
        return found

    @pytest.fixture
    def settings(self, kind: str) -> dict[str, Any]:
        return SETTINGS[kind]


def test_each_program_that_this_package_offers_is_tried() -> None:
    plugins = Plugins.load()
    offered = {*plugins.drivers("program"), *plugins.drivers("probe")}
    assert offered == set(SETTINGS)
