"""Whoever collects never changes what a trial says, and who is lost is a warning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from record_samples import goal_result
from series_samples import header
from simulated_cases import simulated_case

from vsperf.collectors.base import Parts, Seat
from vsperf.engine.collecting import Collecting, collected, load_of
from vsperf.errors import ComponentError
from vsperf.host.workspace import Nowhere
from vsperf.record.limit import Limit
from vsperf.record.plan import Placement
from vsperf.record.result import LoadResult, SearchResult
from vsperf.record.series import Note, Quantity
from vsperf.record.trial import Purpose
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import Case
from vsperf.store.series import SeriesFile, series_of


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


def collecting(folder: Path, **collectors: Looks) -> Collecting:
    spec: Any = SimpleNamespace()
    place: Any = SimpleNamespace()
    running: dict[str, Any] = {}
    for name, one in collectors.items():
        file = SeriesFile.begin(folder, header(name))
        parts = Parts(None, None, None)
        running[name] = (Seat(name, spec, Placement(), place, parts, file), one)
    return Collecting(running)


@dataclass
class Driver:
    """Starts a collector that was made before, or fails to."""

    looks: Looks
    at_start: BaseException | None = None
    at_end: BaseException | None = None
    weighs: bool = False
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


NOBODY: Any = SimpleNamespace(
    budget=SimpleNamespace(left_ns=None), policy=SimpleNamespace(overhead_ns=0)
)
"""A measurer that makes no trial."""


@contextmanager
def started(folder: Path, **drivers: Driver) -> Iterator[Collecting]:
    """Start collectors as a case does whose parts stand."""
    asked = {name: DriverSpec(kind="own") for name in drivers}
    case = Case(simulated_case().model_copy(update={"collect": asked}))
    deployment: Any = SimpleNamespace(switch=None, machines=None, generator=None)
    writer: Any = SimpleNamespace(folder=folder, run="run-1")
    known: Any = drivers
    with collected(case, known, deployment, Placement(), Nowhere(), (writer, 1)) as found:
        yield found


def notes_in(folder: Path) -> dict[str, list[Note]]:
    (case,) = (folder / "series").iterdir()
    return {one.header.collector: list(one.notes()) for one in series_of(folder, case.name, 1)}


def test_each_looks_before_a_trial_and_after_it(tmp_path: Path) -> None:
    one = Looks()
    found = collecting(tmp_path, proc=one)
    found.begin(3, Purpose.SEARCH)
    found.end()
    assert one.looks == [("begin", 3), ("end", 3)]


def test_nobody_looks_at_a_path_check(tmp_path: Path) -> None:
    one = Looks()
    found = collecting(tmp_path, proc=one)
    found.begin(1, Purpose.PATH_CHECK)
    found.end()
    assert one.looks == []


def test_an_end_without_a_begin_is_nothing(tmp_path: Path) -> None:
    one = Looks()
    collecting(tmp_path, proc=one).end()
    assert one.looks == []


def test_who_is_lost_is_a_warning_and_a_note_and_the_others_go_on(tmp_path: Path) -> None:
    dying, other = Looks(dies_at=2), Looks()
    found = collecting(tmp_path, proc=dying, ovs=other)
    for number in (1, 2, 3):
        found.begin(number, Purpose.SEARCH)
        found.end()
    assert found.warnings == (
        "the collector proc was lost at trial 2: collect-proc was killed by SIGKILL; its series "
        "end there",
    )
    assert dying.looks[-1] == ("begin", 2)
    assert other.looks[-1] == ("end", 3)
    notes = notes_in(tmp_path)
    assert [note.trial for note in notes["proc"]] == [2]
    assert notes["ovs"] == []


def test_who_fails_in_a_way_that_nobody_thought_of_is_lost_all_the_same(tmp_path: Path) -> None:
    """A collector may be a plugin's, and whatever it raises ends it, and never the case."""
    found = collecting(tmp_path, own=Looks(dies_at=1, of=ZeroDivisionError("by zero")))
    found.begin(1, Purpose.SEARCH)
    found.end()
    assert found.warnings == (
        "the collector own was lost at trial 1: ZeroDivisionError: by zero; its series end there",
    )


def test_an_interruption_is_nobodys_loss(tmp_path: Path) -> None:
    found = collecting(tmp_path, own=Looks(dies_at=1, of=KeyboardInterrupt()))
    found.begin(1, Purpose.SEARCH)
    with pytest.raises(KeyboardInterrupt):
        found.end()
    assert found.warnings == ()


class TestStart:
    @pytest.mark.parametrize(
        ("error", "why"),
        [
            (
                ComponentError("collect-one hangs", why="it is tired"),
                "collect-one hangs: it is tir",
            ),
            (FileExistsError(17, "File exists", "one.ctl"), "one.ctl: File exists"),
            (ValueError("three"), "ValueError: three"),
        ],
    )
    def test_who_cannot_start_is_a_warning_and_a_note_and_the_others_go_on(
        self, tmp_path: Path, error: Exception, why: str
    ) -> None:
        other = Looks()
        with started(tmp_path, one=Driver(Looks(), at_start=error), two=Driver(other)) as found:
            found.begin(1, Purpose.SEARCH)
            found.end()
        assert other.looks == [("begin", 1), ("end", 1)]
        (warning,) = found.own_trials(NOBODY, SearchResult())
        assert warning.startswith(f"the collector one did not start: {why}")
        notes = notes_in(tmp_path)
        assert notes["two"] == []
        (note,) = notes["one"]
        assert (note.trial, note.text) == (0, warning)

    def test_one_whose_file_cannot_be_made_is_a_warning_too(self, tmp_path: Path) -> None:
        (tmp_path / "series").write_text("no folder")
        with started(tmp_path, one=Driver(Looks())) as found:
            assert found.running == {}
        (warning,) = found.warnings
        assert "the series of one cannot be written" in warning

    def test_who_cannot_end_does_not_end_the_case(self, tmp_path: Path) -> None:
        first = Driver(Looks())
        with started(tmp_path, one=first, two=Driver(Looks(), at_end=OSError(5, "I/O error"))):
            pass
        assert first.left, "the others are ended all the same"
        notes = notes_in(tmp_path)
        assert [note.text for note in notes["two"]] == [
            "the collector two did not end well: I/O error"
        ]

    def test_an_interruption_of_the_start_passes(self, tmp_path: Path) -> None:
        with (
            pytest.raises(KeyboardInterrupt),
            started(tmp_path, one=Driver(Looks(), at_start=KeyboardInterrupt())),
        ):
            pass

    def test_a_heavy_one_that_cannot_start_leaves_the_result_as_it_is(self, tmp_path: Path) -> None:
        heavy = Driver(Looks(), at_start=FileExistsError(17, "File exists"), weighs=True)
        with started(tmp_path, one=heavy) as found:
            (warning,) = found.own_trials(NOBODY, SearchResult(goals=(goal_result(7_000_000),)))
        assert warning == "the trial for one failed: File exists"


def test_a_heavy_one_gets_the_load_that_was_found() -> None:
    def at(load_fps: int, passed: int) -> LoadResult:
        return LoadResult(
            load_fps=load_fps,
            trials=1,
            passed=passed,
            worst_loss_ratio="0",
            throughput_fps=load_fps,
            limit=Limit.DUT,
            reason="",
        )

    assert load_of(SearchResult(goals=(goal_result(7_000_000),))) == 7_000_000
    assert load_of(SearchResult(loads=(at(1000, 1), at(3000, 1), at(4000, 0)))) == 3000
    assert load_of(SearchResult()) is None
