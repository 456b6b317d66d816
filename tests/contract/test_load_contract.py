"""All loads of this package keep the promises of loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from load_contract import PLACED, Fixtures, PlannedContract, RunningContract, case_of

from vsperf.drivers.loads.base import LoadGenerator
from vsperf.errors import NotReadyError
from vsperf.host.workspace import workspace
from vsperf.plugins import Plugins

pytestmark = pytest.mark.machine

LITTLE = {
    "buffer": "1MiB", "read_size": "64KiB", "write_size": "64KiB", "read_rate": "20MB/s",
    "write_rate": "10MB/s", "sleep": True,
}  # fmt: skip
SETTINGS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "memory": (("memory-load",), LITTLE),
    "memory-vm": (("memory-load", "guests"), LITTLE),
    "stress": (("stress-ng",), {"load": "cpu", "cpu_share": 20}),
    "stress-vm": (("stress-ng", "guests"), {"load": "cpu", "cpu_share": 20, "memory": "16MiB"}),
    "command": ((), {"argv": ["sh", "-c", "while :; do sleep 0.01; done"]}),
}
"""By kind: what it needs of the machine, and settings that disturb nobody."""
KINDS = tuple(Plugins.load().drivers("noise"))
PROCESSES_EVERY_DAY = [
    pytest.param(kind, marks=pytest.mark.everyday) if kind in {"memory", "stress"} else kind
    for kind in KINDS
]
"""The others take a guest, or are more of the same."""


class OfThisPackage(Fixtures):
    """Loads by kind, with settings of this page."""

    @pytest.fixture
    def driver(self, request: pytest.FixtureRequest) -> LoadGenerator:
        found: LoadGenerator = Plugins.load().driver("noise", request.param)
        return found

    @pytest.fixture
    def settings(self, driver: LoadGenerator) -> dict[str, Any]:
        return SETTINGS.get(driver.kind, ((), {}))[1]


@pytest.mark.parametrize("driver", KINDS, indirect=True)
class TestEach(OfThisPackage, PlannedContract):
    pass


@pytest.mark.parametrize("driver", PROCESSES_EVERY_DAY, indirect=True)
class TestEachThatRuns(OfThisPackage, RunningContract):
    @pytest.fixture(autouse=True)
    def _is_here(self, driver: LoadGenerator, require: Require) -> None:
        for part in SETTINGS.get(driver.kind, ((), {}))[0]:
            require(part)


@pytest.mark.needs("stress-ng", "guests")
def test_a_guest_in_a_folder_with_too_long_a_path_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    driver: LoadGenerator = Plugins.load().driver("noise", "stress-vm")
    case = case_of(driver, SETTINGS["stress-vm"][1])
    with (
        workspace("a long way down", tmp_path / ("deep" * 20)) as place,
        pytest.raises(NotReadyError, match="the path of a socket is too long") as refused,
        driver.start(case, PLACED, place),
    ):
        pass
    assert "VSPERF_RUNTIME" in str(refused.value.problems[0].fix)
