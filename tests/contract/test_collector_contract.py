"""All collectors of this package keep the promises of collectors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from collector_contract import (
    PLACED,
    CollectorContract,
    Fixtures,
    Held,
    LightContract,
    ProgramContract,
)
from ovs_traffic import wait_until

from vsperf.drivers.collectors.base import Collector, Parts, Seat
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace
from vsperf.plugins import Plugins

SPEAKS = "import time\nwhile True: print('{\"ticks\": 7}', flush=True); time.sleep(0.02)"
SETTINGS: dict[str, dict[str, Any]] = {
    "proc": {"every": "100ms"},
    "network": {"every": "100ms"},
    "command": {"argv": [sys.executable, "-c", SPEAKS]},
    "pacing": {"frames": 1000},
}
"""What some kinds are told, so that a look is over soon."""
KINDS = tuple(Plugins.load().drivers("collect"))
PROGRAMS = ("proc", "network", "command")
"""Those that have a program of their own, and look around the trials of others."""
ASKING = ("ovs", "vpp", "guest")
"""Those that ask a part what it counts."""


def lines_said(place: Workspace) -> int:
    """Return how many lines programs have written that a collector of lines reads."""
    return sum(log.read_bytes().count(b"\n") for log in place.folder.glob("*.log"))


class OfThisPackage(Fixtures):
    """Collectors by kind, with settings of this page."""

    @pytest.fixture
    def driver(self, request: pytest.FixtureRequest) -> Collector:
        found: Collector = Plugins.load().driver("collect", request.param)
        return found

    @pytest.fixture
    def settings(self, driver: Collector) -> dict[str, Any]:
        return SETTINGS.get(driver.kind, {})


@pytest.mark.parametrize("driver", KINDS, indirect=True)
class TestEach(OfThisPackage, CollectorContract):
    def test_it_is_held_to_more_where_it_is_light(self, one: Held) -> None:
        assert one.header().heavy is (one.driver.kind not in (*PROGRAMS, *ASKING))


@pytest.mark.parametrize("driver", PROGRAMS, indirect=True)
class TestThoseWithPrograms(OfThisPackage, ProgramContract):
    def during(self, one: Held, place: Workspace) -> None:
        """Wait for lines of now; the first that comes may have been written before."""
        if one.driver.kind == "command":
            said = lines_said(place)
            wait_until(lambda: lines_said(place) > said + 1)


@pytest.mark.parametrize("driver", ASKING, indirect=True)
class TestThoseThatAsk(OfThisPackage, LightContract):
    def test_who_asks_somebody_that_cannot_be_asked_refuses(
        self, one: Held, place: Workspace, tmp_path: Path
    ) -> None:
        seat = one.seat(place, tmp_path)
        nobody = Parts(object(), object(), None)
        mute = Seat(one.driver.kind, seat.case, PLACED, place, nobody, seat.file)
        with (
            pytest.raises(ComponentError, match="cannot be asked"),
            one.driver.start(one.settings, mute),
        ):
            pass
