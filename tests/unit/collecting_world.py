"""Collectors as tests make them, started as a case does whose parts stand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from simulated_cases import simulated_case

from vsperf.config.base import DriverSpec
from vsperf.config.case import Case
from vsperf.drivers.collectors.base import OwnTrialsSpec, Parts, Seat
from vsperf.engine.collecting import Collecting, collected
from vsperf.errors import ComponentError
from vsperf.host.workspace import Nowhere
from vsperf.records.files.series import series_of
from vsperf.records.run import Placement
from vsperf.records.series import Note, Quantity

PLAIN = DriverSpec(kind="own")


class Looks:
    """A collector that notes when it is asked to look, and may die of it."""

    def __init__(self, dies_at: int | None = None, of: BaseException | None = None) -> None:
        self.dies_at = dies_at
        self.of = of or ComponentError("collect-proc was killed by SIGKILL")
        self.looks: list[tuple[str, int]] = []

    def begin(self, trial: int) -> None:
        self.looks.append(("begin", trial))

    def end(self, trial: int) -> None:
        if trial == self.dies_at:
            raise self.of
        self.looks.append(("end", trial))


@dataclass
class Driver:
    """Starts a collector that was made before, or fails to."""

    looks: Looks
    at_start: BaseException | None = None
    at_end: BaseException | None = None
    weighs: bool = False
    settings: DriverSpec = PLAIN
    left: bool = False
    kind: ClassVar[str] = "own"

    def heavy(self, settings: object) -> bool:
        return self.weighs

    def disturbs(self, settings: object) -> str:
        return "light"

    def quantities(self, settings: object) -> tuple[Quantity, ...]:
        return ()

    def facts(self, settings: object) -> dict[str, Any]:
        return {}

    @contextmanager
    def start(self, settings: object, seat: Seat) -> Iterator[Looks]:
        if self.at_start is not None:
            raise self.at_start
        yield self.looks
        self.left = True
        if self.at_end is not None:
            raise self.at_end


def asking(trials: int, duration: str = "1s") -> OwnTrialsSpec:
    return OwnTrialsSpec.model_validate({"kind": "own", "trials": trials, "duration": duration})


def heavy(looks: Looks, trials: int, duration: str = "1s", **changes: Any) -> Driver:
    """Return what starts a collector that has so many trials for itself."""
    return Driver(looks, weighs=True, settings=asking(trials, duration), **changes)


@contextmanager
def started(folder: Path, **drivers: Driver) -> Iterator[Collecting]:
    """Start collectors as a case does whose parts stand."""
    asked = {name: driver.settings for name, driver in drivers.items()}
    case = Case(simulated_case().model_copy(update={"collect": asked}))
    parts = Parts(None, None, None)
    writer: Any = SimpleNamespace(folder=folder, run="run-1")
    known: Any = drivers
    with collected(case, known, parts, Placement(), Nowhere(), (writer, 1)) as found:
        yield found


def notes_in(folder: Path) -> dict[str, list[Note]]:
    (case,) = (folder / "series").iterdir()
    return {one.header.collector: list(one.notes()) for one in series_of(folder, case.name, 1)}
