"""A quick way to find stored runs: SQLite beside the run folders, and only ever a cache.

The index lives in memory. Its file is an image that the next command begins with: read whole,
believed only if its checksum fits, and replaced whole where a record file holds something else.
SQLite itself opens no file, so whatever lies in the place of the index, or beside it, there is an
answer; and no process waits for another.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import zlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Self, TypeVar

from vsperf.errors import Problem, StoreError, VsperfError
from vsperf.records.asked import Asked
from vsperf.records.base import SCHEMA_VERSION
from vsperf.records.files import lines
from vsperf.records.files.folders import RECORDS, is_locked, resolve, run_folders
from vsperf.records.files.query import CaseEntry, Filter, RunEntry, find_cases, find_runs
from vsperf.records.files.reader import parse_lines, refuse_other_versions
from vsperf.records.files.took import Took
from vsperf.records.host import calibration_in, place_of, refuted
from vsperf.records.run import (
    LINE,
    CaseRecord,
    CaseStart,
    ConnectionsLine,
    ExchangeLine,
    Line,
    PlannedCase,
    RoundLine,
    RunEnd,
    RunHeader,
    RunResume,
    SecondLine,
    TrialLine,
)
from vsperf.trust import trusted

# Takes a run's record file into the index: all of it, or what was appended since last time.

TABLES = """
CREATE TABLE runs (
    run TEXT PRIMARY KEY, inode INTEGER, size INTEGER, mtime_ns INTEGER,
    read_bytes INTEGER, read_lines INTEGER, read_crc INTEGER, problem TEXT,
    started_at TEXT, testbed TEXT, preset TEXT, simulated INTEGER, vsperf_version TEXT,
    cases INTEGER, exit_code INTEGER, labels TEXT,
    begun TEXT, seen TEXT, before_s REAL, took_s REAL
) WITHOUT ROWID;
CREATE TABLE cases (
    run TEXT, key TEXT, position INTEGER, id TEXT, label TEXT, testcase TEXT, tags TEXT,
    frame_size INTEGER, flows INTEGER, repeat INTEGER, attempt INTEGER,
    outcome TEXT, record TEXT, place TEXT, refuted TEXT,
    PRIMARY KEY (run, key)
) WITHOUT ROWID;
"""
"""An attempt of 0 is none yet. What is refuted counts as not finished: by a cap of the generator
that was found in the same place. `begun`, `seen` and `before_s` are a run's `Took`, for lines that
are still to come, and `took_s` is what it says."""


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
        known = database.execute(
            "SELECT begun, seen, before_s FROM runs WHERE run = ? AND begun IS NOT NULL", (run,)
        ).fetchone()
        self._took = Took(*known) if known else None

    def add(self, parsed: Iterable[Line]) -> None:
        """Add lines in the order in which they stand in the file."""
        for line in parsed:
            self._add(line)
        if (took := self._took) is not None:
            self._database.execute(
                "UPDATE runs SET begun = ?, seen = ?, before_s = ?, took_s = ? WHERE run = ?",
                (took.begun, took.seen, took.before_s, took.seconds, self._run),
            )

    def _add(self, line: Line) -> None:
        match line:
            case TrialLine() | SecondLine() | RoundLine() | ExchangeLine() | ConnectionsLine():
                self._attempt(line.case)
            case CaseStart():
                self._start(line.case)
                self._seen(line.started_at)
            case CaseRecord():
                self._end(line)
                self._seen(line.finished_at)
            case RunHeader():
                self._header(line)
            case RunResume():
                self._end_run(None)
                self._resume(line.resumed_at)
            case RunEnd():
                self._end_run(line.exit_code)
                self._seen(line.finished_at)

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
        self._took = Took.since(header.started_at)
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

    def _seen(self, moment: str) -> None:
        if self._took is not None:
            self._took.seen = moment

    def _resume(self, moment: str) -> None:
        if self._took is not None:
            self._took.resume(moment)

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


__all__ = ["BrokenRun", "CaseEntry", "Filter", "Index", "RunEntry"]

INDEX = "index.sqlite"
SCRATCH = f".{INDEX}."
"""What the names begin with under which an index is written before it takes its place."""
LAYOUT = 7
"""Raised when the tables change; an index of another layout is made anew."""
SEED = LAYOUT * 1000 + SCHEMA_VERSION
"""What the checksum begins with: that of another version of vsperf does not fit."""
CHECKSUM = slice(68, 72)
"""Where it stands: SQLite leaves these bytes of an image, the `application_id`, to applications."""
MOST_BYTES = 256 << 20
"""Of an image; a thousand cases take a megabyte."""
CAN_BE_KEPT = hasattr(sqlite3.Connection, "serialize")
"""SQLite can be built without."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class BrokenRun:
    """A run folder that cannot be read."""

    folder: Path
    problem: str

    def __str__(self) -> str:
        return f"{self.folder.name}: {self.problem}"


class Index(AbstractContextManager["Index"]):
    """The index of one results directory; a context manager."""

    def __init__(self, results: Path, file: Path | None) -> None:
        self.results = results
        self.file = file
        """Where the index is kept, if it can be; None when it is only held in memory."""
        self._database = _empty()
        self._found = False
        """Whether it began with what was in the file."""

    @classmethod
    def open(cls, results: Path) -> Self:
        """Open the index of `results`; no records are read until it is asked for."""
        kept = CAN_BE_KEPT and results.is_dir() and trusted.root_may_use(results)
        index = cls(results, results.resolve() / INDEX if kept else None)
        index._load()
        return index

    def refresh(self) -> tuple[BrokenRun, ...]:
        """Take in all runs that are new or have changed; return those that cannot be read."""
        return self._safely(self._refresh)

    def runs(self, wanted: Filter | None = None) -> tuple[RunEntry, ...]:
        """Return the runs that fit, newest first."""
        asked = wanted or Filter()
        return self._safely(lambda: tuple(find_runs(self._database, self.results, asked)))

    def cases(self, wanted: Filter | None = None) -> tuple[CaseEntry, ...]:
        """Return the cases that fit: newest run first, in planned order within a run."""
        asked = wanted or Filter()
        return self._safely(lambda: tuple(find_cases(self._database, asked)))

    def resolve(self, text: str) -> Path:
        """Return the run folder that `text` means: a path, `latest`, or letters of its id."""
        return resolve(self.results, text)

    def close(self) -> None:
        """Close the index; what it holds stays in its file."""
        self._database.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refresh(self) -> tuple[BrokenRun, ...]:
        """Bring the index up to date. A run whose header is just being made is not broken."""
        folders = {folder.name: folder for folder in run_folders(self.results)}
        if changes := self._changes(folders):
            self._database.execute("BEGIN")
            with self._database:
                for run, stamp in changes.items():
                    if stamp is None:
                        forget(self._database, run)
                    else:
                        ingest(self._database, folders[run], stamp)
            self._save()
        rows = self._database.execute(
            "SELECT run, problem, size FROM runs WHERE problem IS NOT NULL ORDER BY run"
        ).fetchall()
        return tuple(
            BrokenRun(folders[run], problem)
            for run, problem, size in rows
            if run in folders and not (size == 0 and is_locked(folders[run] / RECORDS))
        )

    def _changes(self, folders: dict[str, Path]) -> dict[str, Stamp | None]:
        """Return the runs whose file is not as it was read, with its stamp; None if it is gone."""
        known = stamps(self._database)
        found = {run: Stamp.of(folder) for run, folder in folders.items()}
        gone: dict[str, Stamp | None] = dict.fromkeys(known.keys() - found.keys())
        return gone | {run: stamp for run, stamp in found.items() if known.get(run) != stamp}

    def _load(self) -> None:
        """Begin with what is in the file, if it is as a vsperf of this version wrote it."""
        with suppress(OSError, sqlite3.Error):
            image = b"" if self.file is None else _content_of(self.file)
            if image[CHECKSUM] == _checksum(image):
                self._database.deserialize(image)
                self._found = True

    def _save(self) -> None:
        """Put the index into the place of its file: whole, or not at all."""
        if self.file is None:
            return
        image = self._database.serialize()
        image = image[: CHECKSUM.start] + _checksum(image) + image[CHECKSUM.stop :]
        with suppress(OSError):
            trusted.replace_plain(self.file, image, SCRATCH)

    def _safely(self, action: Callable[[], Answer]) -> Answer:
        """Answer from what the file held; if that fails, from the records.

        Whoever may write to the directory may also have made an image whose checksum fits.
        """
        try:
            return action()
        except VsperfError:
            raise
        except Exception:
            if not self._found:
                raise
        self._database.close()
        self._database, self._found = _empty(), False
        self._refresh()
        return action()


def _empty() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute("PRAGMA temp_store = MEMORY")
    database.executescript(TABLES)
    return database


def _content_of(file: Path) -> bytes:
    """Return what is in a regular file; nothing of one that is too large, or another user's.

    In a folder of several users anybody could make one whose checksum fits.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | trusted.SAFELY), "rb") as opened:
        status = os.fstat(opened.fileno())
        sound = stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES
        own = status.st_uid in trusted.own_users()
        return opened.read(MOST_BYTES) if sound and own else b""


def _checksum(image: bytes) -> bytes:
    """Return the checksum of an image, without the place where it stands."""
    before, after = image[: CHECKSUM.start], image[CHECKSUM.stop :]
    return zlib.crc32(after, zlib.crc32(before, SEED)).to_bytes(4)
