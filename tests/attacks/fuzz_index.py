"""The index: whatever is in its place, it is made anew, and answers as if nothing had been."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from attacks.apart import SET_UP_S, Ended, vsperf
from attacks.damage import damaged_bytes
from attacks.fuzz_records import SELECTION
from attacks.worker import Fuzzer
from vsperf.errors import ExitCode
from vsperf.records.files.index import INDEX

ASIDE = (INDEX, f"{INDEX}-journal", f"{INDEX}-wal", f"{INDEX}-shm")
STATEMENTS = (
    "DROP TABLE {table}",
    "DELETE FROM {table}",
    "UPDATE {table} SET {column} = NULL",
    "UPDATE {table} SET {column} = x'00ff'",
    "UPDATE {table} SET {column} = 'no such thing'",
    "UPDATE {table} SET {column} = -1",
    "ALTER TABLE {table} DROP COLUMN {column}",
    "ALTER TABLE {table} RENAME COLUMN {column} TO other",
    "ALTER TABLE {table} RENAME TO other",
    "CREATE VIEW other AS SELECT * FROM {table}",
    "PRAGMA user_version = 7",
    "PRAGMA user_version = 0",
    "PRAGMA journal_mode = WAL",
    "PRAGMA encoding = 'UTF-16'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'nonsense'",
    "CREATE TRIGGER other AFTER INSERT ON {table} BEGIN DELETE FROM {table}; END",
)


class Corruption(Fuzzer):
    """A folder of results whose index is broken again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        for _ in range(2):
            made = vsperf("run", *SELECTION, folder=folder, patience_s=SET_UP_S)
            assert made.code == ExitCode.OK, made.err
        self.expected = [ended.out for ended in self._answers()]
        self.good = (self.results / INDEX).read_bytes()

    def __call__(self, chance: random.Random) -> list[str]:
        for name in ASIDE:
            _remove(self.results / name)
        how = self._break(chance)
        answers = self._answers()
        found = [problem for ended in answers for problem in ended.problems({int(ExitCode.OK)})]
        if not found and [ended.out for ended in answers] != self.expected:
            found.append("the answer is another one than before")
        return [f"{problem}, after {how}" for problem in found]

    def _break(self, chance: random.Random) -> str:
        """Put something in the place of the index; return what."""
        path = self.results / chance.choice([INDEX] * 6 + list(ASIDE))
        if path.name != INDEX:
            (self.results / INDEX).write_bytes(self.good)
        match chance.randrange(8):
            case 0:
                path.mkdir()
                return f"a folder at {path.name}"
            case 1:
                path.symlink_to(chance.choice([path.name, "/dev/full", "gone", "."]))
                return f"a link at {path.name}"
            case 2:
                os.mkfifo(path)
                return f"a pipe at {path.name}"
            case 3:
                path.write_bytes(chance.randbytes(chance.choice([1, 100, 5000])))
                return f"noise at {path.name}"
            case 4 | 5:
                path.write_bytes(damaged_bytes(self.good, chance))
                return f"a damaged index at {path.name}"
            case _:
                return self._change(chance)

    def _change(self, chance: random.Random) -> str:
        """Change the database by its own means."""
        path = self.results / INDEX
        path.write_bytes(self.good)
        done = []
        with closing(sqlite3.connect(path)) as database:
            names = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
            tables = [name for (name,) in database.execute(names)]
            for _ in range(chance.randint(1, 3)):
                table = chance.choice(tables)
                rows = database.execute(f"SELECT name FROM pragma_table_info('{table}')")
                columns = [name for (name,) in rows] or ["gone"]
                text = chance.choice(STATEMENTS)
                text = text.format(table=table, column=chance.choice(columns))
                done.append(text)
                with suppress(sqlite3.Error):
                    database.executescript(text)
                with suppress(sqlite3.Error):
                    database.commit()
        return "; ".join(done)

    def _answers(self) -> list[Ended]:
        return [
            vsperf("results", *more, "--json", folder=self.folder) for more in ((), ("--cases",))
        ]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def fuzzer(folder: Path) -> Fuzzer:
    """Return the fuzzer of this module."""
    return Corruption(folder)
