"""What every driver of a collector does, whatever it collects; it joins by two fixtures.

    class TestMyCollector(CollectorContract, LightContract):
        @pytest.fixture
        def driver(self) -> Collector: ...       # the driver
        @pytest.fixture
        def settings(self) -> dict[str, Any]: ...  # those for a look that is over soon

`LightContract` is for those that look around the trials of others, and `ProgramContract` for those
of them that have a program of their own.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from places import known_too_early, marked, short_room
from series_samples import header
from simulated_cases import simulated_case

from vsperf.config.base import DriverSpec
from vsperf.drivers.collectors.base import COMPONENT, Collector, Parts, Seat
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace
from vsperf.records.files.series import SeriesFile, StoredSeries, series_of
from vsperf.records.run import Placement
from vsperf.records.series import Nature, SeriesHeader

CPU = min(os.sched_getaffinity(0))
PLACED = Placement(cpus={"vsperf": (CPU,)})
TRIAL_S = 0.3


class Inside:
    """A switch, or VNFs, that can be asked."""

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


def stored(folder: Path) -> StoredSeries:
    (found,) = series_of(folder, header().case, 1)
    return found


def fallen(found: StoredSeries) -> list[str]:
    """Return what fell within a trial, of that which is declared to be a counter."""
    last: dict[tuple[int, str, str], float] = {}
    wrong = []
    for sample in found.samples():
        for name, value in sample.values.items():
            quantity, key = found.header.quantity(name), (sample.trial, sample.of, name)
            if quantity is not None and quantity.nature is Nature.COUNTER and value is not None:
                if value < last.get(key, value):
                    wrong.append(f"{name} of {sample.of}: {last[key]}, then {value}")
                last[key] = value
    return wrong


class Fixtures:
    """A collector with settings, and a place for it."""

    @pytest.fixture
    def driver(self) -> Collector:
        raise NotImplementedError

    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        raise NotImplementedError

    @pytest.fixture
    def one(self, driver: Collector, settings: dict[str, Any]) -> Held:
        return Held(driver, driver.Spec.model_validate({"kind": driver.kind, **settings}))

    @pytest.fixture
    def place(self) -> Iterator[Workspace]:
        with short_room("the contract of collectors") as made:
            yield made


class CollectorContract(Fixtures):
    """Checks that hold for any collector."""

    def test_what_it_collects_has_names_units_and_a_price(self, one: Held) -> None:
        head = one.header()
        names = [quantity.name for quantity in head.quantities]
        assert names, "it says of nothing that it collects it"
        assert len(names) == len(set(names)), "names stand for one thing each"
        assert [one.name for one in head.quantities if not one.unit] == [], "units, or 1"
        assert head.disturbs.startswith("heavy: " if head.heavy else "light: ")
        assert SeriesHeader.model_validate_json(head.model_dump_json()) == head

    def test_a_plan_says_what_it_will_do_and_touches_nothing(
        self, one: Held, tmp_path: Path
    ) -> None:
        first, second = (one.driver.plan(one.settings, "mine", PLACED) for _ in range(2))
        assert first == second
        assert {step.component for step in first} == {COMPONENT}
        assert [step.action for step in first if "mine" not in step.action] == [], "whose steps"
        assert known_too_early(first) == []
        assert list(tmp_path.iterdir()) == []


class LightContract(Fixtures):
    """Checks of a collector that looks around the trials of others."""

    runs_programs: ClassVar[bool] = False
    """Whether it has a program of its own."""

    def during(self, one: Held, place: Workspace) -> None:
        """Do what a collector waits for in a trial."""

    def test_it_looks_at_each_trial_by_its_number_and_leaves_nothing(
        self, one: Held, place: Workspace, tmp_path: Path
    ) -> None:
        began = time.time_ns()
        with one.driver.start(one.settings, one.seat(place, tmp_path)) as running:
            for trial in (3, 8):
                running.begin(trial)
                time.sleep(TRIAL_S)
                self.during(one, place)
                running.end(trial)
            assert bool(marked(place)) is self.runs_programs, "whether it has a program"
        assert marked(place) == []
        found = stored(tmp_path)
        samples = list(found.samples())
        assert {sample.trial for sample in samples} == {3, 8}
        for sample in samples:
            assert began <= sample.at_ns <= time.time_ns()
            assert sample.of, "it says of whom"
            assert sample.values, f"nothing was seen of {sample.of}, and nobody says why"
            for name in sample.values:
                quantity = found.header.quantity(name)
                assert quantity is not None, f"{name} is declared nowhere"
                assert quantity.nature is not Nature.TOTAL, "that is for heavy ones"
        assert fallen(found) == [], "a counter only grows"


class ProgramContract(LightContract):
    """Checks of one that has a program of its own."""

    runs_programs = True

    def test_one_whose_program_is_killed_says_so_and_can_be_left(
        self, one: Held, place: Workspace, tmp_path: Path
    ) -> None:
        with one.driver.start(one.settings, one.seat(place, tmp_path)) as running:
            running.begin(1)
            running.end(1)
            for number in (signal.SIGSTOP, signal.SIGKILL):  # so none ends for the end of another
                for pid in marked(place):
                    os.kill(pid, number)
            with pytest.raises(ComponentError, match="was killed by SIGKILL"):
                for trial in range(2, 100):  # the kernel may take a moment to end it
                    running.begin(trial)
                    time.sleep(TRIAL_S / 3)
                    running.end(trial)
        assert marked(place) == []
        assert place.parts == {}, "the case goes on without it"
