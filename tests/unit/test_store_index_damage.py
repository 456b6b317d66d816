"""Whatever lies in the place of the index, or beside it, answers are those of the records."""

from __future__ import annotations

import os
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
from stored_runs import (
    ALL_TABLES,
    everything,
    fixture_mixed,
    rebuilt,
    refreshed,
    rows,
    store_finished,
)

from vsperf.records.files.index import INDEX, SCRATCH, SEED, Index
from vsperf.records.files.leftovers import leftovers

__all__ = ["fixture_mixed"]


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
