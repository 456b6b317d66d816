"""The lines of a record file: which are whole, and what is left of one that was cut off."""

from __future__ import annotations

import errno
import json
import stat
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import Location, StoreError


@dataclass(frozen=True, slots=True)
class Lines:
    """The content of a record file, without newlines."""

    whole: tuple[bytes, ...]
    torn: bytes
    """A last line that was never finished, as it lies in the file; empty if there is none."""

    @property
    def whole_bytes(self) -> int:
        """Where the last whole line ends in the file, newline included."""
        return sum(len(line) + 1 for line in self.whole)


def split(content: bytes) -> Lines:
    """Split `content`; only its last line can be torn.

    A line counts as whole once its newline is written. Power loss can also leave a last line of
    junk that happens to end in a newline, so the last one must be JSON as well.
    """
    *whole, rest = content.split(b"\n")
    if not rest and whole and not _is_json(whole[-1]):
        rest = whole.pop() + b"\n"
    return Lines(tuple(whole), rest)


def read(path: Path) -> Lines:
    """Read and split a record file."""
    return split(content_of(path))


def content_of(path: Path) -> bytes:
    """Return what lies in a record file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise StoreError(
            f"{path.parent} holds no run",
            why=f"it has no {path.name}",
            fix="`vsperf results` lists the runs that can be shown",
        ) from error
    except OSError as error:
        raise StoreError(
            f"the records of {path.parent.name} cannot be read",
            where=Location(str(path)),
            why=error.strerror,
        ) from error


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
