"""The index says what the records say: of runs and cases, as they come, grow, change and go."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from attacker import NOBODY
from forged_index import change, seal
from record_samples import case_record, case_start, header, run_end, trial_line
from stored_runs import (
    ALL_TABLES,
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
from vsperf.records.files.index import INDEX, SCRATCH, SEED, Filter, Index
from vsperf.records.files.leftovers import leftovers
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
        (Filter(testcase="x\udcff", testbed="x\udcff"), "", 0),
        (Filter(tag="x\udcff"), "", 0),
        (Filter(labels=(("x\udcff", "x\udcff"),)), "", 0),
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


# Whatever lies in the place of the index, or beside it, answers are those of the records.


def test_a_deleted_index_is_made_anew_and_says_the_same(mixed: Path) -> None:
    before = everything(mixed)
    (mixed / INDEX).unlink()
    assert everything(mixed) == before


def junk(path: Path) -> None:
    path.write_bytes(b"this is no database, but longer than a header of one" * 100)


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def holes(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)


def tables_gone(path: Path) -> None:
    change(path, "DROP TABLE cases")


def a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere/at/all")


def another_value(path: Path) -> None:
    content = path.read_bytes()
    assert b"PASS" in content
    path.write_bytes(content.replace(b"PASS", b"FAIL"))


def a_longer_image(path: Path) -> None:
    path.write_bytes(path.read_bytes() + bytes(4096))


def a_giant_without_content(path: Path) -> None:
    os.truncate(path, 1 << 40)


def a_pipe_beside_it(path: Path) -> None:
    """Lay one where SQLite, if it opened the file, would look for what a killed process left."""
    for end in ("journal", "wal", "shm"):
        os.mkfifo(f"{path}-{end}")


def unbelievable(values: str, sealed: bool = False) -> Callable[[Path], None]:
    """Return the damage that leaves a sound database with values that nothing can have written."""

    def damage(path: Path) -> None:
        change(path, f"UPDATE {values}")
        if sealed:
            seal(path)

    return damage


UNBELIEVABLE = (
    "runs SET started_at = NULL",
    "runs SET testbed = X'00ff'",
    "runs SET cases = 'many'",
    "runs SET exit_code = 'well'",
    "runs SET read_crc = 'none', size = 1",
    "runs SET read_bytes = 'all', size = 1",
    "cases SET tags = '{'",
    "cases SET tags = '[[]]'",
    "cases SET label = NULL",
    "cases SET frame_size = 'small'",
    "cases SET record = '{}'",
    "cases SET record = '{'",
    "cases SET record = replace(record, 'PASS', 'GOOD')",
)


@pytest.mark.usefixtures("never_waits")
@pytest.mark.parametrize(
    "damage",
    [
        *(junk, half, holes, tables_gone, another_value, a_longer_image, a_giant_without_content),
        *(a_directory, a_pipe, a_link_to_nothing, a_pipe_beside_it),
        *(pytest.param(unbelievable(values, sealed=True), id=values) for values in UNBELIEVABLE),
    ],
)
def test_a_damaged_index_is_made_anew_without_a_word(
    mixed: Path, damage: Callable[[Path], None]
) -> None:
    before = everything(mixed)
    damage(mixed / INDEX)
    assert everything(mixed) == before
    assert everything(mixed) == before


@pytest.mark.needs("root")
def test_an_index_that_another_user_made_is_not_believed(mixed: Path) -> None:
    before = everything(mixed)
    change(mixed / INDEX, "UPDATE runs SET testbed = 'theirs'")
    seal(mixed / INDEX)
    os.chown(mixed / INDEX, NOBODY, NOBODY)
    assert everything(mixed) == before


def test_whatever_a_value_of_the_index_becomes_there_is_an_answer(mixed: Path) -> None:
    before = everything(mixed)
    with sqlite3.connect(mixed / INDEX) as database:
        columns = [
            (table, column)
            for table in ALL_TABLES
            for _, column, *_ in database.execute(f"PRAGMA table_info({table})")
        ]
    database.close()
    for table, column in columns:
        for value in ("NULL", "'x'", "-1", "X'ff'", "99999999999999999999"):
            values = f"OR IGNORE {table} SET {column} = {value}"
            unbelievable(values)(mixed / INDEX)
            assert everything(mixed) == before
            unbelievable(values, sealed=True)(mixed / INDEX)
            everything(mixed)
            (mixed / INDEX).unlink()
            everything(mixed)


def test_an_image_that_is_as_it_was_written_is_believed(mixed: Path) -> None:
    everything(mixed)
    unbelievable("cases SET label = 'believed'", sealed=True)(mixed / INDEX)
    with refreshed(mixed) as index:
        assert {case.label for case in index.cases()} == {"believed"}


def test_an_index_of_another_layout_is_made_anew(
    mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = everything(mixed)
    with monkeypatch.context() as another:
        another.setattr("vsperf.records.files.index.SEED", SEED + 1)
        unbelievable("cases SET label = 'believed'", sealed=True)(mixed / INDEX)
    assert everything(mixed) == before


def test_an_index_that_is_a_link_is_replaced_and_what_it_leads_to_stays(
    mixed: Path, tmp_path: Path
) -> None:
    before = everything(mixed)
    elsewhere = tmp_path / "elsewhere"
    (mixed / INDEX).rename(elsewhere)
    another_value(elsewhere)
    seal(elsewhere)  # it would be believed, were it no link
    content = elsewhere.read_bytes()
    (mixed / INDEX).symlink_to(elsewhere)
    assert everything(mixed) == before
    assert elsewhere.read_bytes() == content
    assert not (mixed / INDEX).is_symlink()


def test_an_index_that_is_damaged_while_it_is_open_heals(mixed: Path) -> None:
    before = everything(mixed)
    with refreshed(mixed) as index:
        junk(mixed / INDEX)
        index.refresh()
        assert [(), index.runs(), index.cases()] == before
    assert everything(mixed) == before


def test_what_a_kill_leaves_of_an_index_is_found_and_removed(mixed: Path) -> None:
    everything(mixed)
    scratch = mixed / f"{SCRATCH}0123"
    (mixed / INDEX).rename(scratch)
    (leftover,) = leftovers(mixed)
    leftover.remove()
    assert not scratch.exists()


@pytest.mark.parametrize("fresh", [True, False])
def test_a_directory_that_cannot_be_written_is_read_all_the_same(fresh: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        results = Path(name)
        store_finished(results)
        expected = everything(results)
        if not fresh:
            (results / INDEX).unlink()
        files = sorted(results.iterdir())
        results.chmod(0o555)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)
            with Index.open(results) as index:
                assert [index.refresh(), index.runs(), index.cases()] == expected
        finally:
            os.seteuid(user)
            results.chmod(0o755)
        assert sorted(results.iterdir()) == files


HAMMER = """
import sys
from pathlib import Path
from vsperf.records.files.index import INDEX, SCRATCH, SEED, Index
from vsperf.records.files.leftovers import leftovers
for _ in range(15):
    with Index.open(Path(sys.argv[1])) as index:
        broken = index.refresh()
        assert not broken, broken
        assert len(index.runs()) >= 3 and len(index.cases()) >= 5
"""


def test_many_processes_may_use_and_lose_the_index_at_once(mixed: Path) -> None:
    command = [sys.executable, "-c", HAMMER, str(mixed)]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    number = 0
    while any(child.poll() is None for child in children):
        number += 1
        store_finished(mixed, f"2026-11-24-phy2phy_tput-{number:04d}")
        if number % 3 == 0:
            (mixed / INDEX).unlink(missing_ok=True)
        if number % 4 == 0 and (mixed / INDEX).exists():
            junk(mixed / INDEX)
        time.sleep(0.05)
    for child in children:
        _, errors = child.communicate()
        assert child.returncode == 0, errors
    with refreshed(mixed) as index:
        assert len(index.runs()) == number + 3
        assert rows(index)[1:] == rebuilt(mixed)[1:]
