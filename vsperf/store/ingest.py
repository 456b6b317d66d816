"""Takes a run's record file into the index: all of it, or what was appended since last time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from vsperf.asked import Asked
from vsperf.errors import Problem, StoreError
from vsperf.record.caps import calibration_in, place_of, refuted
from vsperf.record.run import (
    LINE,
    CaseRecord,
    CaseStart,
    Line,
    PlannedCase,
    RoundLine,
    RunEnd,
    RunHeader,
    RunResume,
    SecondLine,
    TrialLine,
)
from vsperf.store import lines
from vsperf.store.folders import RECORDS
from vsperf.store.reader import parse_lines, refuse_other_versions

TABLES = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY, inode INTEGER, size INTEGER, mtime_ns INTEGER,
    read_bytes INTEGER, read_lines INTEGER, read_crc INTEGER, problem TEXT,
    started_at TEXT, testbed TEXT, preset TEXT, simulated INTEGER, vsperf_version TEXT,
    cases INTEGER, exit_code INTEGER, labels TEXT
) WITHOUT ROWID;
CREATE TABLE cases (
    run TEXT, key TEXT, position INTEGER, id TEXT, label TEXT, testcase TEXT, tags TEXT,
    frame_size INTEGER, flows INTEGER, repeat INTEGER, attempt INTEGER,
    outcome TEXT, record TEXT, place TEXT, refuted TEXT,
    PRIMARY KEY (run, key)
) WITHOUT ROWID;
"""
"""An attempt of 0 is none yet. What is refuted counts as not finished: by a cap of the generator
that was found in the same place."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells, without opening it, that a file is as it was when it was read."""

    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, folder: Path) -> Stamp:
        """Return the stamp of a run's record file; that of a missing file is all zero."""
        try:
            status = (folder / RECORDS).stat()
        except OSError:
            return cls(0, 0, 0)
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


def stamps(database: sqlite3.Connection) -> dict[str, Stamp]:
    """Return the stamps of all indexed runs as they were when they were read."""
    rows = database.execute("SELECT run, inode, size, mtime_ns FROM runs")
    return {run: Stamp(*rest) for run, *rest in rows}


def forget(database: sqlite3.Connection, run: str) -> None:
    """Remove a run from the index."""
    for table in ("runs", "cases"):
        database.execute(f"DELETE FROM {table} WHERE run = ?", (run,))  # noqa: S608


def ingest(database: sqlite3.Connection, folder: Path, stamp: Stamp) -> None:
    """Bring the rows of one run up to date; a run that cannot be read gets the reason instead."""
    try:
        _read(database, folder)
    except (StoreError, OverflowError) as error:
        forget(database, folder.name)
        found = error.problems[0] if isinstance(error, StoreError) else Problem(str(error))
        parts = (str(found.where) if found.where else None, found.what, found.why)
        problem = ": ".join(part for part in parts if part)
        _insert(database, "runs", {"run": folder.name, "problem": problem})
    database.execute(
        "UPDATE runs SET inode = ?, size = ?, mtime_ns = ? WHERE run = ?",
        (stamp.inode, stamp.size, stamp.mtime_ns, folder.name),
    )


def _read(database: sqlite3.Connection, folder: Path) -> None:
    run, path = folder.name, folder / RECORDS
    known = database.execute(
        "SELECT read_lines, read_bytes, read_crc FROM runs WHERE run = ? AND problem IS NULL",
        (run,),
    ).fetchone()
    with lines.opened(path) as found:
        whole, begin = iter(found), 1
        if known is not None and found.skip(*known):
            begin = found.count + 1
        else:
            forget(database, run)
            header = next(whole, None)
            if header is None:
                raise StoreError("it was killed before its header was written")
            refuse_other_versions(path, header)
            _insert(database, "runs", {"run": run})
            whole = chain([header], whole)
        _Rows(database, run).add(parse_lines(path, whole, first=begin))
    _mark_refuted(database, run)
    database.execute(
        "UPDATE runs SET read_lines = ?, read_bytes = ?, read_crc = ? WHERE run = ?",
        (found.count, found.whole_bytes, found.crc, run),
    )


def _mark_refuted(database: sqlite3.Connection, run: str) -> None:
    """Mark each answer that went by a cap which others of its run refute, as `store.spans` does."""
    database.execute("UPDATE cases SET refuted = NULL WHERE run = ?", (run,))
    ended = database.execute(
        "SELECT key, place, record FROM cases WHERE run = ? AND record IS NOT NULL", (run,)
    )
    caps = {key: (place, cap) for key, place, line in ended if (cap := calibration_in(line))}
    database.executemany(
        "UPDATE cases SET refuted = ? WHERE run = ? AND key = ?",
        [(why, run, key) for key, why in refuted(caps).items()],
    )


class _Rows:
    """Turns the lines of one run into rows."""

    def __init__(self, database: sqlite3.Connection, run: str) -> None:
        self._database = database
        self._run = run
        self._attempts: dict[str, int] = dict(
            database.execute("SELECT key, attempt FROM cases WHERE run = ?", (run,))
        )

    def add(self, parsed: Iterable[Line]) -> None:
        """Add lines in the order in which they stand in the file."""
        for line in parsed:
            self._add(line)

    def _add(self, line: Line) -> None:
        match line:
            case TrialLine() | SecondLine() | RoundLine():
                self._attempt(line.case)
            case CaseStart():
                self._start(line.case)
            case CaseRecord():
                self._end(line)
            case RunHeader():
                self._header(line)
            case RunResume():
                self._end_run(None)
            case RunEnd():
                self._end_run(line.exit_code)

    def _header(self, header: RunHeader) -> None:
        self._database.execute(
            "UPDATE runs SET started_at = ?, testbed = ?, preset = ?, simulated = ?, "
            "vsperf_version = ?, cases = ?, labels = ? WHERE run = ?",
            (
                header.started_at,
                header.testbed,
                header.preset,
                header.simulated,
                header.vsperf_version,
                len(header.cases),
                json.dumps(header.labels),
                self._run,
            ),
        )
        for position, case in enumerate(header.cases, start=1):
            self._attempts[case.key] = 0
            _insert(self._database, "cases", _case_values(self._run, position, case))

    def _attempt(self, key: str) -> int:
        if key not in self._attempts:
            raise StoreError(f"it holds the case {key}, which its header does not announce")
        return self._attempts[key]

    def _start(self, key: str) -> None:
        self._attempts[key] = self._attempt(key) + 1
        self._database.execute(
            "UPDATE cases SET attempt = ?, outcome = NULL, record = NULL WHERE run = ? AND key = ?",
            (self._attempts[key], self._run, key),
        )

    def _end(self, record: CaseRecord) -> None:
        self._attempt(record.case)
        self._database.execute(
            "UPDATE cases SET outcome = ?, record = ? WHERE run = ? AND key = ?",
            (record.outcome.value, LINE.dump_json(record).decode(), self._run, record.case),
        )

    def _end_run(self, exit_code: int | None) -> None:
        self._database.execute(
            "UPDATE runs SET exit_code = ? WHERE run = ?", (exit_code, self._run)
        )


def _case_values(run: str, position: int, case: PlannedCase) -> dict[str, Any]:
    asked = Asked(case)
    return {
        "run": run,
        "key": case.key,
        "position": position,
        "id": case.id,
        "label": case.label,
        "testcase": asked.name,
        "tags": json.dumps(asked.tags),
        "frame_size": asked.frame_bytes,
        "flows": asked.flows,
        "repeat": case.repeat,
        "attempt": 0,
        "place": place_of(case.spec),
    }


def _insert(database: sqlite3.Connection, table: str, values: dict[str, Any]) -> None:
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    database.execute(
        f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})",  # noqa: S608
        tuple(values.values()),
    )
