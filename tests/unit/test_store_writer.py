"""What is recorded is on disk, whole, whatever happens to the process, the disk or the folder."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from full_disk import longest_file
from hypothesis import given
from hypothesis import strategies as st
from record_samples import case_lines, case_start, header, making, run_end, run_lines, trial_line
from stored_runs import TESTCASES, interrupted_run, write_run

from vsperf.errors import NotReadyError, RecordingError, StoreError, UsageError
from vsperf.records.base import SCHEMA_VERSION
from vsperf.records.files import lines
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.reader import RunState
from vsperf.records.files.view import open_run
from vsperf.records.files.writer import TORN, RunWriter
from vsperf.records.run import LINE, RunHeader


def test_what_is_written_is_read_back_equal(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    content = (folder / RECORDS).read_bytes().splitlines()
    expected = [header(folder.name), *run_lines(header(folder.name))]
    assert [LINE.validate_json(line) for line in content] == expected


def test_a_line_is_in_the_file_as_soon_as_append_returns(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        for number, line in enumerate(run_lines(header()), start=2):
            writer.append(line)
            assert writer.path.read_bytes().count(b"\n") == number


def test_a_second_writer_is_refused_and_told_which_run_is_being_written(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path, TESTCASES, making())
    with writer, pytest.raises(NotReadyError, match=f"{writer.run} is being written"):
        RunWriter.resume(writer.folder)
    RunWriter.resume(writer.folder).close()


def test_a_reader_sees_that_a_run_is_being_written(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        assert open_run(writer.folder).state is RunState.RUNNING
    assert open_run(writer.folder).state is RunState.INTERRUPTED


def test_a_header_that_cannot_be_made_leaves_no_folder_behind(tmp_path: Path) -> None:
    def fail(run: str) -> RunHeader:
        raise UsageError(f"no header for {run}")

    with pytest.raises(UsageError, match="no header"):
        RunWriter.create(tmp_path, TESTCASES, fail)
    assert list(tmp_path.iterdir()) == []


def test_a_results_path_that_is_a_file_is_a_plain_error(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(RecordingError, match="no run folder can be made"):
        RunWriter.create(tmp_path / "results", TESTCASES, making())


def test_a_deleted_folder_is_noticed_and_not_written_into_the_void(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        writer.path.unlink()
        writer.folder.rmdir()
        with pytest.raises(RecordingError) as caught:
            writer.append(case_start("x"))
    assert "was deleted" in (caught.value.problems[0].why or "")


def test_a_full_disk_keeps_whole_lines_only_and_the_run_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    key = header().cases[0].key
    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        writer.append(case_start(key))
        size = writer.path.stat().st_size
        with longest_file(size + 100), pytest.raises(RecordingError) as caught:
            writer.append(trial_line(key))
        assert f"--resume {writer.run}" in (caught.value.problems[0].fix or "")
        assert writer.path.stat().st_size == size
    with RunWriter.resume(writer.folder) as writer:
        writer.append(trial_line(key, 2))
    run = open_run(writer.folder)
    assert not run.torn
    assert [trial.index for trial in next(run.cases()).trials] == [2]


def test_after_a_line_that_did_not_fit_no_shorter_one_ends_the_run(tmp_path: Path) -> None:
    key = header().cases[0].key
    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        writer.append(case_start(key))
        end = len(LINE.dump_json(run_end())) + 1
        with longest_file(writer.path.stat().st_size + end):
            for line in (trial_line(key), run_end()):
                with pytest.raises(RecordingError, match="cannot be written"):
                    writer.append(line)
    assert open_run(writer.folder).state is RunState.INTERRUPTED


def test_a_number_that_no_reader_takes_is_not_written(tmp_path: Path) -> None:
    """A part may lie, such as a guest: the whole run could not be read any more."""
    key = header().cases[0].key
    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        writer.append(case_start(key))
        lie = run_end().model_copy(update={"exit_code": 1 << 64})
        with pytest.raises(RecordingError, match="cannot be written") as caught:
            writer.append(lie)
    assert "a part of the run said what cannot be" in str(caught.value.problems[0].why)
    assert open_run(writer.folder).state is RunState.INTERRUPTED


def test_a_line_that_no_reader_takes_for_its_length_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = header().cases[0].key
    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        writer.append(case_start(key))
        monkeypatch.setattr(lines, "MOST_BYTES", 50)
        with pytest.raises(RecordingError, match="cannot be written") as caught:
            writer.append(run_end())
    assert "than the 0 MB that a line may have" in str(caught.value.problems[0].why)
    monkeypatch.undo()
    assert open_run(writer.folder).state is RunState.INTERRUPTED


def test_an_end_that_did_not_reach_the_disk_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(RecordingError, match="cannot be written"):
            writer.append(run_end())
    assert open_run(writer.folder).state is RunState.INTERRUPTED


def test_a_header_that_does_not_fit_is_no_run_that_could_be_resumed(tmp_path: Path) -> None:
    with longest_file(100), pytest.raises(RecordingError) as caught:
        RunWriter.create(tmp_path, TESTCASES, making())
    assert "resume" not in (caught.value.problems[0].fix or "")
    assert list(tmp_path.iterdir()) == []


def test_arguments_that_are_no_text_are_recorded_readably(tmp_path: Path) -> None:
    raw = os.fsdecode(b"--results=/tmp/\xff")
    with RunWriter.create(tmp_path, TESTCASES, making(argv=("vsperf", raw))) as writer:
        pass
    assert open_run(writer.folder).header.argv == ("vsperf", "--results=/tmp/\\udcff")


def test_resuming_keeps_a_torn_line_aside_and_goes_on(tmp_path: Path) -> None:
    folder = interrupted_run(tmp_path)
    second = header().cases[1].key
    with (folder / RECORDS).open("ab") as file:
        file.write(b'{"type":"trial","case":"phy2')
    with RunWriter.resume(folder) as writer:
        assert writer.before is not None
        assert writer.before.torn
        assert writer.before.state is RunState.INTERRUPTED
        assert [case.key for case in writer.before.unfinished()] == [second]
        for line in case_lines(second, attempt=2):
            writer.append(line)
    assert (folder / TORN).read_bytes() == b'{"type":"trial","case":"phy2\n'
    run = open_run(folder)
    assert not run.torn
    assert run.unfinished() == ()


def test_a_power_cut_takes_no_run_that_has_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is found again once its name is on disk, and that of the folder that it is in."""
    steps = steps_on_disk(monkeypatch)
    with RunWriter.create(tmp_path, TESTCASES, making()) as writer:
        places = (writer.path, writer.folder, tmp_path)
        assert {place.stat().st_ino for place in places} <= set(steps)


def test_a_torn_line_can_be_found_on_disk_before_it_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupted_run(tmp_path)
    with (folder / RECORDS).open("ab") as file:
        file.write(b'{"type":"tri')
    steps = steps_on_disk(monkeypatch)
    RunWriter.resume(folder).close()
    before = steps[: steps.index(CUT)]
    assert {(folder / TORN).stat().st_ino, folder.stat().st_ino} <= set(before)


CUT = -1
"""A file was shortened."""


def steps_on_disk(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note what is forced to the disk from now on, by inode, and that a file was shortened."""
    steps: list[int] = []
    fsync, ftruncate = os.fsync, os.ftruncate

    def forced(descriptor: int) -> None:
        fsync(descriptor)
        steps.append(os.fstat(descriptor).st_ino)

    def shortened(descriptor: int, size: int) -> None:
        ftruncate(descriptor, size)
        steps.append(CUT)

    monkeypatch.setattr(os, "fsync", forced)
    monkeypatch.setattr(os, "ftruncate", shortened)
    return steps


def test_a_second_torn_line_joins_the_first_one(tmp_path: Path) -> None:
    folder = interrupted_run(tmp_path)
    for torn in (b'{"first', b"\0\0\0"):
        with (folder / RECORDS).open("ab") as file:
            file.write(torn)
        RunWriter.resume(folder).close()
    assert (folder / TORN).read_bytes() == b'{"first\n\0\0\0\n'


def test_a_run_of_another_record_version_is_not_resumed_and_not_touched(tmp_path: Path) -> None:
    folder = interrupted_run(tmp_path)
    path = folder / RECORDS
    now, later = (f'"schema_version":{SCHEMA_VERSION + more}' for more in (0, 1))
    path.write_text(path.read_text().replace(now, later, 1))
    content = path.read_bytes()
    with pytest.raises(StoreError, match="newer vsperf"):
        RunWriter.resume(folder)
    assert path.read_bytes() == content


def test_resuming_what_is_not_there_is_a_plain_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no run"):
        RunWriter.resume(tmp_path / "2026-11-20-phy2phy_tput-k7f3")


def test_resuming_a_damaged_run_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    folder = interrupted_run(tmp_path)
    path = folder / RECORDS
    content = path.read_bytes().replace(b'"type":"case",', b'"type":"cake",', 1) + b"{torn"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="cannot be read"):
        RunWriter.resume(folder)
    assert path.read_bytes() == content


def cuts_in_the_last_two_lines(content: bytes) -> list[int]:
    """Return offsets all over the last two lines, and each one where a line begins or ends."""
    middle = content.rfind(b"\n", 0, len(content) - 1) + 1
    start = content.rfind(b"\n", 0, middle - 1) + 1
    edges = (start, middle, len(content))
    return [
        offset
        for offset in range(start, len(content) + 1)
        if offset % 7 == 0 or any(abs(offset - edge) < 12 for edge in edges)
    ]


def test_a_file_cut_anywhere_in_its_last_two_lines_can_be_read_and_resumed(tmp_path: Path) -> None:
    whole = (interrupted_run(tmp_path / "whole") / RECORDS).read_bytes()
    second = header().cases[1].key
    folder = tmp_path / "2026-11-20-phy2phy_tput-cutt"
    folder.mkdir()
    path = folder / RECORDS
    for offset in cuts_in_the_last_two_lines(whole):
        path.write_bytes(whole[:offset])
        (folder / TORN).unlink(missing_ok=True)
        kept = whole[:offset].rfind(b"\n") + 1
        assert open_run(folder).torn is (kept != offset)
        assert path.read_bytes() == whole[:offset], "reading must not change the file"
        with RunWriter.resume(folder) as writer:
            writer.append(case_start(second, attempt=2))
        aside = (folder / TORN).read_bytes() if (folder / TORN).exists() else b""
        assert aside == (whole[kept:offset] + b"\n" if kept != offset else b"")
        assert path.read_bytes().startswith(whole[:kept])
        run = open_run(folder)
        assert not run.torn
        assert [case.key for case in run.unfinished()] == [second]


@given(junk=st.binary(min_size=1, max_size=200))
def test_whatever_lies_behind_the_last_whole_line_is_never_fatal_and_never_lost(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    folder = interrupted_run(tmp_path_factory.mktemp("junk"))
    tail = junk.replace(b"\n", b"?")
    good = (folder / RECORDS).read_bytes()
    (folder / RECORDS).write_bytes(good + tail)
    assert open_run(folder).torn
    RunWriter.resume(folder).close()
    assert (folder / RECORDS).read_bytes() == good
    assert (folder / TORN).read_bytes() == tail + b"\n"


CHILD = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from record_samples import case_start, header, making, trial_line
from vsperf.records.files.writer import RunWriter

with RunWriter.create(Path(sys.argv[1]), ("phy2phy_tput",), making()) as writer:
    key = header().cases[0].key
    writer.append(case_start(key))
    print(writer.folder, flush=True)
    index = 0
    while True:
        index += 1
        writer.append(trial_line(key, index))
        print(index, flush=True)
"""


def test_after_kill_9_every_line_that_append_returned_for_is_there(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    for lines_before_kill in (1, 2, 5, 17, 60, 200):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), here], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            folder = Path(child.stdout.readline().strip())
            for _ in range(lines_before_kill):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
            acknowledged = [int(line) for line in child.stdout if line.endswith("\n")]
        returned_for = acknowledged[-1] if acknowledged else lines_before_kill
        with RunWriter.resume(folder) as writer:  # the kernel has freed the lock
            assert writer.before is not None
            indices = [trial.index for trial in next(writer.before.cases()).trials]
        assert indices == list(range(1, len(indices) + 1))
        assert len(indices) >= returned_for


def test_records_are_plain_json_lines(tmp_path: Path) -> None:
    content = (write_run(tmp_path) / RECORDS).read_text().splitlines()
    types = [json.loads(line)["type"] for line in content]
    one_case = ["case-start", "trial", "trial", "trial", "case"]
    assert types == ["run", *one_case, *one_case, "run-end"]
