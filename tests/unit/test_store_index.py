"""The index says what the records say: of runs and cases, as they come, grow, change and go."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from record_samples import (
    case_record,
    case_start,
    header,
    run_end,
    trial_line,
)
from stored_runs import (
    everything,
    finished,
    fixture_mixed,
    rebuilt,
    refreshed,
    rows,
    store,
    store_finished,
)

from vsperf.errors import UsageError
from vsperf.records.files.folders import RECORDS
from vsperf.records.files.index import Filter, Index
from vsperf.records.files.reader import RunState
from vsperf.records.files.writer import RunWriter
from vsperf.records.run import LINE, Line, Outcome, RunHeader, RunResume

__all__ = ["fixture_mixed"]

FIRST, SECOND = (case.key for case in header().cases)


def test_a_finished_run_is_one_row_with_what_its_cases_came_to(tmp_path: Path) -> None:
    folder = store_finished(tmp_path)
    with refreshed(tmp_path) as index:
        (run,) = index.runs()
    assert (run.run, run.folder, run.state) == (folder.name, folder, RunState.FINISHED)
    assert (run.testbed, run.preset, run.simulated) == ("sim", "quick", True)
    assert (run.cases, run.outcomes, run.exit_code) == (2, {"PASS": 2}, 0)


def test_a_case_is_one_row_with_its_bounds_and_what_limited_it(tmp_path: Path) -> None:
    store_finished(tmp_path)
    with refreshed(tmp_path) as index:
        case, second = index.cases()
    assert (case.key, case.label, case.testcase) == (FIRST, "phy2phy_tput-64B", "phy2phy_tput")
    assert (case.frame_size, case.flows, case.tags) == (64, 4096, ("throughput", "smoke"))
    assert (case.lower_fps, case.upper_fps, case.limit) == (8_000_000, 8_040_000, "dut")
    assert case.outcome is Outcome.PASS
    assert second.frame_size == 128
    assert case.as_json()["result"]["goals"][0]["goal"] == "ndr"


def test_a_case_that_did_not_end_has_no_outcome_and_all_of_its_fields_are_null(
    tmp_path: Path,
) -> None:
    store(tmp_path, "2026-11-20-x-aaaa", [header(), case_start(FIRST), trial_line(FIRST)], b"{to")
    with refreshed(tmp_path) as index:
        (run,) = index.runs()
        case, untouched = index.cases()
    assert run.state is RunState.INTERRUPTED
    assert (case.attempt, case.outcome, case.lower_fps) == (1, None, None)
    assert (untouched.attempt, untouched.outcome) == (0, None)
    assert case.as_json()["outcome"] is None
    assert case.as_json().keys() >= {"result", "limit", "flags", "trials", "reason"}


def test_the_last_attempt_counts_and_a_new_one_takes_back_an_older_result(tmp_path: Path) -> None:
    aborted = case_record(FIRST, outcome=Outcome.ABORTED)
    lines: list[Line] = [header(), case_start(FIRST), trial_line(FIRST), aborted, run_end(130)]
    again: list[Line] = [
        RunResume(resumed_at="2026-11-20T11:00:00Z", argv=()),
        case_start(FIRST, 2),
    ]
    store(tmp_path, "2026-11-20-x-aaaa", [*lines, *again])
    with refreshed(tmp_path) as index:
        assert index.cases()[0].outcome is None
        assert index.runs()[0].exit_code is None
        store(tmp_path, "2026-11-20-x-aaaa", [*lines, *again, case_record(FIRST), run_end()])
        index.refresh()
        assert index.cases()[0].outcome is Outcome.PASS
        assert index.runs()[0].exit_code == 0


@pytest.mark.parametrize(
    ("wanted", "runs", "cases"),
    [
        (Filter(), "cba", 5),
        (Filter(limit=1), "c", 1),
        (Filter(testcase="phy2phy_*"), "ca", 4),
        (Filter(testcase="pvp_tput-1518B"), "b", 1),
        (Filter(testcase="[!p]*"), "", 0),
        (Filter(testcase="phy2phy"), "", 0),
        (Filter(outcome=Outcome.FAIL), "b", 1),
        (Filter(outcome=Outcome.PASS), "a", 2),
        (Filter(testbed="lab"), "b", 1),
        (Filter(preset="quick"), "ca", 4),
        (Filter(simulated=False), "b", 1),
        (Filter(simulated=True), "ca", 4),
        (Filter(tag="vm"), "b", 1),
        (Filter(since="2026-11-21"), "cb", 3),
        (Filter(since="2026-11-21T12:00"), "c", 2),
        (Filter(since="2026-11-22"), "c", 2),
        (Filter(since="2026-11-23"), "", 0),
        (Filter(run="2026-11-20-phy2phy_tput-aaaa"), "a", 2),
        (Filter(testcase="phy2phy_*", outcome=Outcome.PASS, testbed="sim"), "a", 2),
        (Filter(testcase="'; DROP TABLE runs; --"), "", 0),
    ],
)
def test_filters_choose_runs_and_cases(mixed: Path, wanted: Filter, runs: str, cases: int) -> None:
    with refreshed(mixed) as index:
        assert "".join(entry.run[-1] for entry in index.runs(wanted)) == runs
        assert len(index.cases(wanted)) == cases


def test_a_day_that_is_none_is_a_plain_error(mixed: Path) -> None:
    with refreshed(mixed) as index, pytest.raises(UsageError, match="is not a day"):
        index.runs(Filter(since="yesterday"))


def test_an_empty_or_missing_results_directory_holds_no_runs_and_is_not_made(
    tmp_path: Path,
) -> None:
    assert everything(tmp_path) == [(), (), ()]
    assert everything(tmp_path / "none") == [(), (), ()]
    assert not (tmp_path / "none").exists()


def test_only_changed_runs_are_read_again(mixed: Path) -> None:
    everything(mixed)
    unchanged = mixed / "2026-11-20-phy2phy_tput-aaaa" / RECORDS
    status = unchanged.stat()
    with unchanged.open("r+b") as file:  # a change that leaves size and time as they were
        file.write(b"#")
    os.utime(unchanged, ns=(status.st_atime_ns, status.st_mtime_ns))
    with Index.open(mixed) as index:
        assert index.refresh() == (), "the file was opened although nothing spoke for it"


def test_a_growing_run_is_followed_line_by_line_and_ends_as_if_read_at_once(tmp_path: Path) -> None:
    run = "2026-11-20-phy2phy_tput-k7f3"
    lines = [header(run), case_start(FIRST), trial_line(FIRST, 1), *finished(header(run))[1:]]
    with Index.open(tmp_path) as index:
        for count in range(1, len(lines) + 1):
            store(tmp_path, run, lines[:count], tail=b'{"torn' if count % 2 else b"")
            assert index.refresh() == ()
        followed = rows(index)
    at_once = rebuilt(tmp_path)
    assert followed[1:] == at_once[1:]
    assert followed[0] == at_once[0]


def rewrite(path: Path, content: bytes) -> None:
    """Write as much anew, at another time: the clock of files may stand still for 10 ms."""
    before_ns = path.stat().st_mtime_ns
    path.write_bytes(content)
    os.utime(path, ns=(before_ns, before_ns + 1))


def test_a_file_that_was_rewritten_is_read_from_its_beginning(tmp_path: Path) -> None:
    folder = store_finished(tmp_path)
    with refreshed(tmp_path) as index:
        content = (folder / RECORDS).read_bytes()
        rewrite(folder / RECORDS, content.replace(b'"PASS"', b'"FAIL"'))
        assert index.refresh() == ()
        assert {case.outcome for case in index.cases()} == {Outcome.FAIL}


def test_a_deleted_run_leaves_the_index(mixed: Path) -> None:
    with refreshed(mixed) as index:
        shutil.rmtree(mixed / "2026-11-21-pvp_tput-bbbb")
        index.refresh()
        assert [run.run[-1] for run in index.runs()] == ["c", "a"]
        assert all(case.label != "pvp_tput-1518B" for case in index.cases())


def test_a_run_folder_that_was_renamed_is_known_by_its_new_name(tmp_path: Path) -> None:
    folder = store_finished(tmp_path)
    with refreshed(tmp_path) as index:
        folder.rename(tmp_path / "before-the-upgrade")
        index.refresh()
        assert [run.run for run in index.runs()] == ["before-the-upgrade"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "killed before its header"),
        (b"\0" * 5000, "killed before its header"),
        (b'{"type":"trial"}\n', "does not begin with the header"),
        (LINE.dump_json(header(schema_version=99)) + b"\n", "newer vsperf"),
        (LINE.dump_json(header()) + b"\nnonsense\n{}\n", "records.jsonl:2"),
        (LINE.dump_json(header()) + b'\n{"type":"run-end"}\n', "records.jsonl:2"),
        (LINE.dump_json(header()) + b"\n" + LINE.dump_json(case_start("x")) + b"\n", "the case x"),
    ],
)
def test_a_broken_run_is_reported_and_the_others_are_listed(
    mixed: Path, content: bytes, why: str
) -> None:
    folder = mixed / "2026-11-23-phy2phy_tput-dddd"
    folder.mkdir()
    (folder / RECORDS).write_bytes(content)
    with Index.open(mixed) as index:
        for _ in range(2):  # it is not forgotten, nor read again
            (broken,) = index.refresh()
            assert broken.folder == folder
            assert why in broken.problem
        assert len(index.runs()) == 3


def test_a_broken_run_that_was_mended_is_listed_again(tmp_path: Path) -> None:
    folder = store_finished(tmp_path)
    good = (folder / RECORDS).read_bytes()
    with refreshed(tmp_path) as index:
        rewrite(folder / RECORDS, good.replace(b'"PASS"', b'"GOOD"'))
        assert len(index.refresh()) == 1
        assert index.runs() == ()
        rewrite(folder / RECORDS, good)
        assert index.refresh() == ()
        assert len(index.cases()) == 2


def test_a_run_that_is_being_written_is_shown_as_running(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path, ("phy2phy_tput",), header), refreshed(tmp_path) as index:
        assert index.runs()[0].state is RunState.RUNNING
    with refreshed(tmp_path) as index:
        assert index.runs()[0].state is RunState.INTERRUPTED


def test_a_few_letters_find_a_run(mixed: Path) -> None:
    with refreshed(mixed) as index:
        assert index.resolve("bbbb") == mixed / "2026-11-21-pvp_tput-bbbb"


def test_a_run_that_is_just_being_born_is_not_called_broken(tmp_path: Path) -> None:
    def look(run: str) -> RunHeader:
        with Index.open(tmp_path) as index:
            assert index.refresh() == ()
            assert index.runs() == ()
        return header(run)

    with RunWriter.create(tmp_path, ("phy2phy_tput",), look), refreshed(tmp_path) as index:
        assert len(index.runs()) == 1
