"""A quick way to find stored runs: SQLite beside the run folders, and only ever a cache.

Whatever is wrong with the index file, the answer is the same: make it anew from the record files,
and where that cannot be done (a directory that is read-only, a full disk) in memory. Processes
take turns by a lock on the results directory, so no two change the file at a time.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from vsperf import trusted
from vsperf.errors import VsperfError
from vsperf.record.base import SCHEMA_VERSION
from vsperf.store.folders import RECORDS, resolve, run_folders
from vsperf.store.ingest import TABLES, Stamp, forget, ingest, stamps
from vsperf.store.locks import is_locked, lock
from vsperf.store.query import CaseEntry, Filter, RunEntry, find_cases, find_runs

__all__ = ["BrokenRun", "CaseEntry", "Filter", "Index", "RunEntry"]

INDEX = "index.sqlite"
LAYOUT = 1
"""Raised when the tables change; an index of another layout is made anew."""
USER_VERSION = LAYOUT * 1000 + SCHEMA_VERSION
LOCK_WAIT_S = 30.0
UNUSABLE = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_PERM,
)
"""Errors that a new file would meet as well."""
WRONG_LAYOUT = "the index was made by another version of vsperf"

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class BrokenRun:
    """A run folder that cannot be read."""

    folder: Path
    problem: str

    def __str__(self) -> str:
        return f"{self.folder.name}: {self.problem}"


class Index:
    """The index of one results directory; a context manager."""

    def __init__(self, results: Path, file: Path | None) -> None:
        self.results = results
        self.file: Path | None = file
        """Where the index is kept; None when it can only be held in memory."""
        self._database = _connect(file)

    @classmethod
    def open(cls, results: Path) -> Self:
        """Open the index of `results`; nothing is read until it is asked for."""
        file = results / INDEX if results.is_dir() and trusted.root_may_use(results) else None
        try:
            return cls(results, file)
        except sqlite3.Error:
            return cls(results, None)

    def refresh(self) -> tuple[BrokenRun, ...]:
        """Take in all runs that are new or have changed; return those that cannot be read."""
        return self._safely(self._refresh)

    def runs(self, wanted: Filter | None = None) -> tuple[RunEntry, ...]:
        """Return the runs that fit, newest first."""
        asked = wanted or Filter()

        def find() -> tuple[RunEntry, ...]:
            with self._turn(exclusive=False):
                return tuple(find_runs(self._database, self.results, asked))

        return self._safely(find)

    def cases(self, wanted: Filter | None = None) -> tuple[CaseEntry, ...]:
        """Return the cases that fit: newest run first, in planned order within a run."""
        asked = wanted or Filter()

        def find() -> tuple[CaseEntry, ...]:
            with self._turn(exclusive=False):
                return tuple(find_cases(self._database, asked))

        return self._safely(find)

    def resolve(self, text: str) -> Path:
        """Return the run folder that `text` means: a path, `latest`, or letters of its id."""
        return resolve(self.results, text)

    def close(self) -> None:
        """Close the index; what it holds stays in its file."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _refresh(self) -> tuple[BrokenRun, ...]:
        """Bring the index up to date. A run whose header is just being made is not broken."""
        folders = {folder.name: folder for folder in run_folders(self.results)}
        with self._turn(exclusive=False):
            current = self._has_tables() and not self._changes(folders)
        if not current:
            with self._turn(exclusive=True):
                self._update(folders)
        with self._turn(exclusive=False):
            rows = self._database.execute(
                "SELECT run, problem, size FROM runs WHERE problem IS NOT NULL ORDER BY run"
            ).fetchall()
        return tuple(
            BrokenRun(folders[run], problem)
            for run, problem, size in rows
            if run in folders and not (size == 0 and is_locked(folders[run] / RECORDS))
        )

    def _has_tables(self) -> bool:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, USER_VERSION):
            raise sqlite3.DatabaseError(WRONG_LAYOUT)
        return bool(version)

    def _changes(self, folders: dict[str, Path]) -> dict[str, Stamp | None]:
        """Return the runs whose file is not as it was read, with its stamp; None if it is gone."""
        known = stamps(self._database)
        found = {run: Stamp.of(folder) for run, folder in folders.items()}
        gone: dict[str, Stamp | None] = dict.fromkeys(known.keys() - found.keys())
        return gone | {run: stamp for run, stamp in found.items() if known.get(run) != stamp}

    def _update(self, folders: dict[str, Path]) -> None:
        """Write all changes in one transaction: a killed refresh leaves the index as it was."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            if not self._has_tables():
                for statement in TABLES.split(";"):
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA user_version = {USER_VERSION}")
            for run, stamp in self._changes(folders).items():
                if stamp is None:
                    forget(self._database, run)
                else:
                    ingest(self._database, folders[run], stamp)
            self._database.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _turn(self, *, exclusive: bool) -> Iterator[None]:
        """Hold the lock on the results directory; without a file there is nothing to share."""
        if self.file is None:
            yield
            return
        descriptor = os.open(self.results, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if not lock(descriptor, exclusive=exclusive, wait_s=LOCK_WAIT_S):
                raise _IndexBusy
            yield
        finally:
            os.close(descriptor)

    def _safely(self, action: Callable[[], Answer]) -> Answer:
        """Answer from the index as it is; if that fails from a new one; else from memory.

        What a damaged index holds can fail in any way. What fails in memory, too, is no damage.
        """
        try:
            return action()
        except VsperfError:
            raise
        except Exception as error:
            if self.file is None:
                raise
            usable = _primary_code(error) not in UNUSABLE
        if usable:
            with contextlib.suppress(Exception):
                self._start_anew()
                return action()
        self._replace(None)
        self._refresh()
        return action()

    def _start_anew(self) -> None:
        with self._turn(exclusive=True):
            for name in (INDEX, f"{INDEX}-journal"):
                (self.results / name).unlink(missing_ok=True)
        self._replace(self.file)
        self._refresh()

    def _replace(self, file: Path | None) -> None:
        self._database.close()
        self.file = file
        self._database = _connect(file)


class _IndexBusy(Exception):
    """Another process holds the results directory for longer than one should wait."""


def _connect(file: Path | None) -> sqlite3.Connection:
    database = sqlite3.connect(file or ":memory:", timeout=LOCK_WAIT_S, isolation_level=None)
    database.execute("PRAGMA temp_store = MEMORY")
    return database


def _primary_code(error: Exception) -> int:
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF
    refused = isinstance(error, OSError | _IndexBusy)
    return sqlite3.SQLITE_CANTOPEN if refused else sqlite3.SQLITE_CORRUPT
