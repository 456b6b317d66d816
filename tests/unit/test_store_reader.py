"""A run reads back as it was written; damage is either tolerated and said, or refused by line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from record_samples import (
    case_lines,
    case_record,
    case_start,
    header,
    planned,
    run_end,
    run_lines,
    trial_line,
)

from vsperf.errors import Location, StoreError, VsperfError
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.reader import RunState, check_run
from vsperf.records.files.validation import validate_file
from vsperf.records.files.view import RunView, open_run
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import LINE, Line, Outcome, RunResume

FIRST, SECOND = (case.key for case in header().cases)
RESUME = RunResume(resumed_at="2026-11-20T11:00:00Z", argv=("vsperf", "run", "--resume", "k7f3"))


def store(folder: Path, lines: list[Line], tail: bytes = b"") -> Path:
    """Lay down a record file as it would look on disk."""
    folder.mkdir(exist_ok=True)
    content = b"".join(LINE.dump_json(line) + b"\n" for line in lines)
    (folder / RECORDS).write_bytes(content + tail)
    return folder


def read(tmp_path: Path, *lines: Line, tail: bytes = b"") -> RunView:
    return whole(store(tmp_path / "run", [header(), *lines], tail))


def whole(folder: Path) -> RunView:
    """Open a run of which every line is looked at."""
    check_run(folder)
    return open_run(folder)


def test_a_finished_run_has_all_its_cases_in_planned_order(tmp_path: Path) -> None:
    backwards = [*case_lines(SECOND), *case_lines(FIRST), run_end()]
    run = read(tmp_path, *backwards)
    assert run.state is RunState.FINISHED
    assert [case.key for case in run.cases()] == [FIRST, SECOND]
    assert [len(case.trials) for case in run.cases()] == [3, 3]
    assert run.unfinished() == ()
    assert run.end == run_end()


def test_an_interrupted_case_has_its_trials_and_no_record(tmp_path: Path) -> None:
    run = read(tmp_path, *case_lines(FIRST), case_start(SECOND), trial_line(SECOND))
    assert run.state is RunState.INTERRUPTED
    _, case = run.cases()
    assert case.record is None
    assert len(case.trials) == 1
    assert [case.key for case in run.unfinished()] == [SECOND]


def test_a_case_that_was_never_begun_is_unfinished(tmp_path: Path) -> None:
    run = read(tmp_path)
    assert next(run.cases()).attempt == 0
    assert tuple(next(run.cases()).trials) == ()
    assert [case.key for case in run.unfinished()] == [FIRST, SECOND]


def test_trials_of_an_abandoned_attempt_are_counted_apart_from_those_that_count(
    tmp_path: Path,
) -> None:
    abandoned = (case_start(FIRST), trial_line(FIRST, 1), trial_line(FIRST, 2))
    run = read(tmp_path, *abandoned, RESUME, *case_lines(FIRST, trials=1, attempt=2))
    case = next(run.cases())
    assert (case.attempt, case.start) == (2, case_start(FIRST, 2))
    assert [trial.index for trial in case.trials] == [1]
    assert case.abandoned == 2
    assert run.resumes == (RESUME,)


def test_an_aborted_case_is_run_again_on_resume(tmp_path: Path) -> None:
    aborted = case_record(FIRST, outcome=Outcome.ABORTED)
    run = read(tmp_path, case_start(FIRST), trial_line(FIRST), aborted, run_end(130))
    assert next(run.cases()).record == aborted
    assert [case.key for case in run.unfinished()] == [FIRST, SECOND]


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.ABORTED])
def test_every_other_outcome_is_final(tmp_path: Path, outcome: Outcome) -> None:
    run = read(tmp_path, case_start(FIRST), case_record(FIRST, outcome=outcome))
    assert [case.key for case in run.unfinished()] == [SECOND]


def test_a_case_begun_again_takes_back_its_older_record(tmp_path: Path) -> None:
    aborted = case_record(FIRST, outcome=Outcome.ABORTED)
    run = read(tmp_path, case_start(FIRST), aborted, run_end(130), RESUME, case_start(FIRST, 2))
    assert next(run.cases()).record is None


def test_a_skipped_case_needs_no_start(tmp_path: Path) -> None:
    skipped = case_record(FIRST, outcome=Outcome.SKIP, reason="no such NIC", result=None, trials=0)
    case = next(read(tmp_path, skipped).cases())
    assert (case.record, tuple(case.trials), case.start) == (skipped, (), None)


def test_a_resumed_run_is_not_finished_until_it_ends_again(tmp_path: Path) -> None:
    assert read(tmp_path, run_end(130), RESUME).state is RunState.INTERRUPTED
    assert read(tmp_path, run_end(130), RESUME, run_end(0)).end == run_end(0)


@pytest.mark.parametrize("tail", [b"{", b'{"type":"run-end"', b"\0\0\0\0", b"\xff", b"rubbish\n"])
def test_a_torn_last_line_is_tolerated_and_said(tmp_path: Path, tail: bytes) -> None:
    run = read(tmp_path, *case_lines(FIRST), tail=tail)
    assert run.torn
    assert [case.key for case in run.unfinished()] == [SECOND]


def test_a_last_line_without_its_newline_does_not_count(tmp_path: Path) -> None:
    run = read(tmp_path, *case_lines(FIRST), tail=LINE.dump_json(run_end()))
    assert run.torn
    assert run.end is None


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"not json", "JSON"),
        (b"", "JSON"),
        (b"[" * 100_000, "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[]", "should be an object"),
        (b'{"type":"trail"}', "trail"),
        (b'{"type":"run-end","finished_at":"x"}', "run-end.exit_code: Field required"),
        (b'{"type":"run-end","finished_at":"x","exit_code":"0"}', "valid integer"),
        (b'{"type":"run-end","finished_at":"x","exit_code":0.5}', "valid integer"),
        (b'{"type":"run-end","finished_at":"x","exit_code":1%s}' % (b"0" * 30), "64 bits"),
        (b'{"type":"run-end","finished_at":"x","exit_code":%s}' % (b"9" * 4000), "64 bits"),
        (b'{"type":"run-end","finished_at":"x","exit_code":1e999}', "finite"),
        (b'{"type":"run-end","finished_at":"x","exit_code":NaN}', "no number"),
        (b'{"type":"run-end","finished_at":"x","exit_code":0,"y":1}', "run-end.y: Extra inputs"),
    ],
)
def test_a_bad_line_in_the_middle_is_refused_with_its_place(
    tmp_path: Path, bad: bytes, why: str
) -> None:
    folder = store(tmp_path / "run", [header(), *case_lines(FIRST)])
    content = (folder / RECORDS).read_bytes().splitlines(keepends=True)
    content.insert(2, bad + b"\n")
    (folder / RECORDS).write_bytes(b"".join(content))
    with pytest.raises(StoreError) as caught:
        whole(folder)
    problem = caught.value.problems[0]
    assert problem.where == Location(str(folder / RECORDS), 3)
    assert why in (problem.why or "")


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([trial_line(FIRST)], "not running"),
        ([*case_lines(FIRST), trial_line(FIRST)], "not running"),
        ([case_start("unknown")], "does not announce"),
        ([case_record("unknown")], "does not announce"),
        ([header()], "second header"),
    ],
)
def test_lines_that_contradict_each_other_are_refused(
    tmp_path: Path, lines: list[Line], why: str
) -> None:
    with pytest.raises(StoreError, match="contradict") as caught:
        read(tmp_path, *lines)
    assert why in (caught.value.problems[0].why or "")


@pytest.mark.parametrize("content", [b"", b"{", b'{"type":"run"', b"\n", b"null\n", b"{}\n"])
def test_a_file_without_a_header_is_a_plain_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RECORDS).write_bytes(content)
    with pytest.raises(StoreError):
        whole(tmp_path)


def test_a_folder_without_records_and_one_that_is_missing_are_plain_errors(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(StoreError, match="holds no run"):
            whole(folder)


def test_records_that_are_a_directory_are_a_plain_error(tmp_path: Path) -> None:
    (tmp_path / RECORDS).mkdir()
    with pytest.raises(StoreError, match="cannot be read"):
        whole(tmp_path)


def a_link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


def a_giant_without_content(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def a_giant_behind_its_header(path: Path) -> None:
    path.write_bytes(LINE.dump_json(header()) + b"\n")
    os.truncate(path, 1 << 40)


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize(
    ("put", "why"),
    [
        (os.mkfifo, "not a regular file"),
        (a_link, "it is a link"),
        (a_giant_without_content, "line of more than"),
        (a_giant_behind_its_header, "behind line 0"),
    ],
)
def test_what_is_no_record_file_is_refused_before_it_takes_time_or_memory(
    tmp_path: Path, put: Callable[[Path], None], why: str
) -> None:
    put(tmp_path / RECORDS)
    for read_it in (lambda: whole(tmp_path), lambda: validate_file(tmp_path / RECORDS)):
        with pytest.raises(StoreError, match="cannot be read") as caught:
            read_it()
        assert why in str(caught.value.problems[0].why)


def test_reading_changes_nothing(tmp_path: Path) -> None:
    folder = store(tmp_path / "run", [header(), *run_lines(header())], b"{torn")
    before = [(path.name, path.stat().st_mtime_ns) for path in sorted(folder.iterdir())]
    content = (folder / RECORDS).read_bytes()
    open_run(folder)
    assert [(path.name, path.stat().st_mtime_ns) for path in sorted(folder.iterdir())] == before
    assert (folder / RECORDS).read_bytes() == content


def test_a_copied_run_folder_reads_the_same(tmp_path: Path) -> None:
    run = read(tmp_path, *run_lines(header()))
    copy = shutil.copytree(tmp_path / "run", tmp_path / "copy")
    seen = [[(case.record, *case.trials) for case in one.cases()] for one in (run, open_run(copy))]
    assert seen[0] == seen[1]


def test_text_keeps_every_character_that_json_lines_could_stumble_over(tmp_path: Path) -> None:
    label = 'line\u2028separator \x85 newline\n tab\t quote" nul\0 emoji🎈'
    head = header().model_copy(update={"cases": (planned(1, label=label),)})
    assert next(open_run(store(tmp_path / "run", [head])).cases()).planned.label == label


WHOLE = b"".join(LINE.dump_json(line) + b"\n" for line in (header(), *run_lines(header())))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_damage_whatever_ends_in_anything_but_a_run_or_a_plain_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(WHOLE)))
    end = data.draw(st.integers(start, min(len(WHOLE), start + 500)))
    content = WHOLE[:start] + data.draw(st.binary(max_size=30)) + WHOLE[end:]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / RECORDS).write_bytes(content)
    try:
        whole(folder)
    except VsperfError as error:
        assert error.problems[0].what


@pytest.mark.parametrize("damage", [b"\xd9", b"\x01", b"\\q", b"\\u12", b"\xff\xff", b"\n"])
def test_a_key_that_is_no_text_any_more_is_told_with_its_line(
    tmp_path: Path, damage: bytes
) -> None:
    """The begin of a line of a case is read apart from the rest of it."""
    first, line, *rest = WHOLE.splitlines(keepends=True)
    key = b'"case":"'
    at = line.index(key) + len(key) + 3
    (tmp_path / RECORDS).write_bytes(b"".join([first, line[:at], damage, line[at:], *rest]))
    with pytest.raises(VsperfError) as told:
        open_run(tmp_path)
    assert f"{RECORDS}:2" in str(told.value.problems[0].where)


READER = """
import sys
from pathlib import Path
from vsperf.records.files.view import open_run
seen = 0
while seen < int(sys.argv[2]):
    trials = len(tuple(next(open_run(Path(sys.argv[1])).cases()).trials))
    assert trials >= seen, "trials vanished"
    seen = trials
"""


def test_a_run_can_be_read_at_any_moment_while_it_is_written(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, ("phy2phy_tput",), header) as writer:
        command = [sys.executable, "-c", READER, os.fspath(writer.folder), "500"]
        writer.append(case_start(FIRST))
        with subprocess.Popen(command) as reader:
            for index in range(1, 501):
                writer.append(trial_line(FIRST, index))
        assert reader.returncode == 0
