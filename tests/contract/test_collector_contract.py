"""What every driver of a collector does, whatever it collects."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ovs_traffic import wait_until
from places import known_too_early, marked, short_room
from series_samples import header
from simulated_cases import simulated_case

from vsperf.collectors.base import COMPONENT, Collector, Parts, Seat
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace
from vsperf.plugins import Plugins
from vsperf.record.plan import Placement
from vsperf.record.series import Nature, SeriesHeader
from vsperf.spec.base import DriverSpec
from vsperf.store.series import SeriesFile, StoredSeries, series_of

CPU = min(os.sched_getaffinity(0))
PLACED = Placement(cpus={"vsperf": (CPU,)})
SPEAKS = "import time\nwhile True: print('{\"ticks\": 7}', flush=True); time.sleep(0.02)"
KINDS: dict[str, dict[str, Any]] = {
    "proc": {"every": "100ms"},
    "network": {"every": "100ms"},
    "ovs": {},
    "vpp": {},
    "guest": {},
    "command": {"argv": [sys.executable, "-c", SPEAKS]},
    "perf": {},
    "switch-trace": {},
    "witness": {"frames": 1000},
}
"""Every kind with settings for a look that is over soon."""
LIGHT = ("proc", "network", "ovs", "vpp", "guest", "command")
"""Those that look around the trials of others."""
PROGRAMS = ("proc", "network", "command")
"""Those of them that have a program of their own."""
TRIAL_S = 0.3


class Inside:
    """A switch, or machines, that can be asked."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names, self._asked = names, 0

    def insides(self) -> dict[str, dict[str, int]]:
        self._asked += 1
        return {"one": dict.fromkeys(self._names, self._asked)}


@dataclass(frozen=True)
class Held:
    """A collector that is held to the contract."""

    driver: Collector
    settings: DriverSpec

    def header(self) -> SeriesHeader:
        mine = {
            "collector": self.driver.kind,
            "kind": self.driver.kind,
            "heavy": self.driver.heavy(self.settings),
            "disturbs": self.driver.disturbs(self.settings),
            "quantities": self.driver.quantities(self.settings),
            "facts": self.driver.facts(self.settings),
        }
        return header().model_copy(update=mine)

    def seat(self, place: Workspace, folder: Path) -> Seat:
        names = tuple(one.name.replace("*", "x") for one in self.header().quantities)
        parts = Parts(Inside(names), Inside(names), None)
        file = SeriesFile.begin(folder, self.header())
        return Seat(self.driver.kind, simulated_case(), PLACED, place, parts, file)


@pytest.fixture(name="place")
def fixture_place() -> Iterator[Workspace]:
    with short_room("the contract of collectors") as made:
        yield made


def held(kind: str) -> Held:
    driver: Collector = Plugins.load().driver("collect", kind)
    return Held(driver, driver.Spec.model_validate({"kind": kind, **KINDS[kind]}))


def stored(folder: Path) -> StoredSeries:
    (found,) = series_of(folder, header().case, 1)
    return found


def lines_said(place: Workspace) -> int:
    """Return how many lines programs have written that a collector of lines reads."""
    return sum(log.read_bytes().count(b"\n") for log in place.folder.glob("*.log"))


def await_lines(place: Workspace) -> None:
    """Wait for lines of now; the first that comes may have been written before."""
    said = lines_said(place)
    wait_until(lambda: lines_said(place) > said + 1)


def test_every_kind_that_is_installed_is_held_to_this() -> None:
    assert set(KINDS) == set(Plugins.load().drivers("collect"))
    assert set(LIGHT) == {kind for kind in KINDS if not held(kind).header().heavy}


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_collects_has_names_units_and_a_price(kind: str) -> None:
    one = held(kind).header()
    names = [quantity.name for quantity in one.quantities]
    assert names
    assert len(names) == len(set(names))
    assert all(quantity.unit for quantity in one.quantities)
    assert one.disturbs.startswith("heavy: " if one.heavy else "light: ")
    assert SeriesHeader.model_validate_json(one.model_dump_json()) == one


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_says_what_it_will_do_and_touches_nothing(kind: str, tmp_path: Path) -> None:
    one = held(kind)
    first, second = (one.driver.plan(one.settings, "mine", PLACED) for _ in range(2))
    assert first == second
    assert {step.component for step in first} == {COMPONENT}
    assert all("mine" in step.action for step in first)
    assert known_too_early(first) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", LIGHT)
def test_it_looks_at_each_trial_by_its_number_and_leaves_nothing(
    kind: str, place: Workspace, tmp_path: Path
) -> None:
    one = held(kind)
    began = time.time_ns()
    with one.driver.start(one.settings, one.seat(place, tmp_path)) as running:
        for trial in (3, 8):
            running.begin(trial)
            time.sleep(TRIAL_S)
            if kind == "command":
                await_lines(place)
            running.end(trial)
        assert bool(marked(place)) is (kind in PROGRAMS)
    assert marked(place) == []
    found = stored(tmp_path)
    samples = list(found.samples())
    assert {sample.trial for sample in samples} == {3, 8}
    for sample in samples:
        assert began <= sample.at_ns <= time.time_ns()
        assert sample.of
        for name in sample.values:
            quantity = found.header.quantity(name)
            assert quantity is not None, f"{name} is declared nowhere"
            assert quantity.nature is not Nature.TOTAL, "that is for heavy ones"


@pytest.mark.parametrize("kind", PROGRAMS)
def test_one_whose_program_is_killed_says_so_and_can_be_left(
    kind: str, place: Workspace, tmp_path: Path
) -> None:
    one = held(kind)
    with one.driver.start(one.settings, one.seat(place, tmp_path)) as running:
        running.begin(1)
        running.end(1)
        for pid in marked(place):
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(ComponentError, match="was killed by SIGKILL"):
            for trial in range(2, 100):  # the kernel may take a moment to end it
                running.begin(trial)
                time.sleep(TRIAL_S / 3)
                running.end(trial)
    assert marked(place) == []
    assert place.parts == {}, "the case goes on without it"


@pytest.mark.parametrize("kind", ["ovs", "vpp", "guest"])
def test_who_asks_somebody_that_cannot_be_asked_refuses(
    kind: str, place: Workspace, tmp_path: Path
) -> None:
    one = held(kind)
    seat = one.seat(place, tmp_path)
    mute = Seat(kind, seat.case, PLACED, place, Parts(object(), object(), None), seat.file)
    with (
        pytest.raises(ComponentError, match="cannot be asked"),
        one.driver.start(one.settings, mute),
    ):
        pass
