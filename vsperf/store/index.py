"""A quick way to find stored runs: SQLite beside the run folders, and only ever a cache.

The index lives in memory. Its file is an image that the next command begins with: read whole,
believed only if its checksum fits, and replaced whole where a record file holds something else.
SQLite itself opens no file, so whatever lies in the place of the index, or beside it, there is an
answer; and no process waits for another.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from vsperf import trusted
from vsperf.errors import VsperfError
from vsperf.record.base import SCHEMA_VERSION
from vsperf.store.folders import RECORDS, resolve, run_folders
from vsperf.store.ingest import TABLES, Stamp, forget, ingest, stamps
from vsperf.store.locks import is_locked
from vsperf.store.query import CaseEntry, Filter, RunEntry, find_cases, find_runs

__all__ = ["BrokenRun", "CaseEntry", "Filter", "Index", "RunEntry"]

INDEX = "index.sqlite"
SCRATCH = f".{INDEX}."
"""What the names begin with under which an index is written before it takes its place."""
LAYOUT = 5
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


class Index:
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
    """Return what is in a regular file; nothing of one that is too large."""
    with os.fdopen(os.open(file, os.O_RDONLY | trusted.SAFELY), "rb") as opened:
        status = os.fstat(opened.fileno())
        sound = stat.S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES
        return opened.read(MOST_BYTES) if sound else b""


def _checksum(image: bytes) -> bytes:
    """Return the checksum of an image, without the place where it stands."""
    before, after = image[: CHECKSUM.start], image[CHECKSUM.stop :]
    return zlib.crc32(after, zlib.crc32(before, SEED)).to_bytes(4)
