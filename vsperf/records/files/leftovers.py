"""What a killed vsperf leaves in a results folder that is no measurement."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from vsperf.records.files.baselines import FOLDER as BASELINES
from vsperf.records.files.baselines import SUFFIX
from vsperf.records.files.folders import FILE as REFUSED
from vsperf.records.files.folders import LATEST, RECORDS, is_locked, run_folders
from vsperf.records.files.index import SCRATCH
from vsperf.trust import trusted

SETTLED_S = 60.0
"""A run that starts has a folder before it has a header; within this time it is left alone, and so
is a baseline that is being set."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that can be removed without losing a measurement."""

    path: Path
    what: str

    def remove(self) -> None:
        """Remove it; raises OSError where that cannot be done, as with what has been measured."""
        name = self.path.name
        with trusted.reached(self.path.parent) as results, suppress(FileNotFoundError):
            if not stat.S_ISDIR(os.lstat(name, dir_fd=results).st_mode):
                return os.unlink(name, dir_fd=results)
            flags = os.O_RDONLY | os.O_DIRECTORY | trusted.SAFELY
            folder = os.open(name, flags, dir_fd=results)
            try:
                _remove_records(folder)
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=results)


def _remove_records(folder: int) -> None:
    """Remove records that hold no measurement, by the folder that is open."""
    with suppress(FileNotFoundError):
        file = os.open(RECORDS, os.O_RDONLY | trusted.SAFELY, dir_fd=folder)
        with os.fdopen(file, "rb") as records:
            if _holds_a_header(records):
                raise FileExistsError(errno.ENOTEMPTY, "something was measured", RECORDS)
        os.unlink(RECORDS, dir_fd=folder)


def leftovers(results: Path) -> tuple[Leftover, ...]:
    """Return what can be removed from `results`; runs with a measurement are never among it.

    Raises `DistrustedError` where others have put a link in the way: what is behind it is not
    these results.
    """
    try:
        with trusted.reached(results):
            pass
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return (*_scratch(results), *_links(results), *_stillborn(results))


def _scratch(results: Path) -> Iterator[Leftover]:
    """Yield files that never took their place; one that is being written is made again."""
    for begin, what in ((SCRATCH, "index"), (f"{REFUSED}.", "note of a run that was refused")):
        for path in sorted(results.glob(f"{begin}*")):
            if path.is_symlink() or not path.is_dir():
                yield Leftover(path, f"half-made {what}")
    with suppress(OSError), trusted.reached(results / BASELINES):
        for path in sorted((results / BASELINES).glob(f".*{SUFFIX}.*")):
            if path.is_file() and _age_s(path) >= SETTLED_S:
                yield Leftover(path, "half-made baseline")


def _links(results: Path) -> Iterator[Leftover]:
    for path in sorted(results.glob(f".{LATEST}-*")):
        if path.is_symlink():
            yield Leftover(path, "half-made link")
    link = results / LATEST
    if link.is_symlink() and not link.exists():
        yield Leftover(link, "link to a run that is gone")


def _stillborn(results: Path) -> Iterator[Leftover]:
    """Yield folders of runs that were killed before their first line was whole."""
    for folder in run_folders(results):
        with suppress(OSError):  # one that cannot be looked at stays, and no other for its sake
            if _is_stillborn(folder):
                yield Leftover(folder, "run that was killed before it measured anything")


def _is_stillborn(folder: Path) -> bool:
    records = folder / RECORDS
    inside = {path.name for path in folder.iterdir()}
    regular = records.is_file() and not records.is_symlink()
    if inside - {RECORDS} or (RECORDS in inside and not regular):
        return False
    if _age_s(folder) < SETTLED_S or (regular and is_locked(records)):
        return False
    if not regular:
        return True
    with os.fdopen(trusted.open_plain(records, os.O_RDONLY), "rb") as file:
        return not _holds_a_header(file)


def _holds_a_header(records: BinaryIO) -> bool:
    """Whether a first line is whole; one that is longer than what is looked at may be."""
    begun = records.readline(trusted.MOST_BYTES)
    return begun.endswith(b"\n") or len(begun) == trusted.MOST_BYTES


def _age_s(path: Path) -> float:
    """Return how long ago a file was written to, or something in a folder made or removed."""
    return time.time() - path.stat().st_mtime
