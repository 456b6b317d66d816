"""Whoever collects never changes what a trial says, and who is lost is a warning."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from record_samples import goal_result
from series_samples import CASE, header

from vsperf.collectors.base import Parts, Seat
from vsperf.engine.collecting import Collecting, load_of
from vsperf.errors import ComponentError
from vsperf.record.limit import Limit
from vsperf.record.plan import Placement
from vsperf.record.result import LoadResult, SearchResult
from vsperf.record.trial import Purpose
from vsperf.store.series import SeriesFile, series_of


class Looks:
    """A collector that notes when it is asked to look, and may die of it."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.dies_at = dies_at
        self.looks: list[tuple[str, int]] = []

    def begin(self, trial: int) -> None:
        self.looks.append(("begin", trial))

    def end(self, trial: int) -> None:
        if trial == self.dies_at:
            raise ComponentError("collect-proc was killed by SIGKILL")
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
    notes = {one.header.collector: list(one.notes()) for one in series_of(tmp_path, CASE, 1)}
    assert [note.trial for note in notes["proc"]] == [2]
    assert notes["ovs"] == []


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
