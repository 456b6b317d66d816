"""Whoever collects never changes what a trial says, and who is lost is a warning."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from collecting_world import Driver, Looks, notes_in, started
from series_samples import header

from vsperf.collectors.base import Parts, Seat
from vsperf.engine.collecting import Collecting
from vsperf.errors import ComponentError
from vsperf.record.plan import Placement
from vsperf.record.trial import Purpose
from vsperf.store.series import SeriesFile


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
        (warning,) = found.warnings
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
