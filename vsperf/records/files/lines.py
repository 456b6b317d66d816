"""The lines of a record file: which are whole, and what is left of one that was cut off.

They are read one at a time, so that a file which is no record file, and too large for the memory
of this machine, is refused where that shows.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from vsperf.errors import Location, StoreError
from vsperf.stop import raise_if_stopped
from vsperf.trust import trusted

MOST_BYTES = 64 << 20
"""Of one line; the longest are headers, with some kilobytes for each case."""
PIECE_BYTES = 1 << 20
LINES_A_LOOK = 64
"""Between two looks at whether vsperf is to stop, some milliseconds."""


class Lines:
    """The whole lines of an open record file, without newlines; can be gone through once.

    A line counts as whole once its newline is written. Power loss can also leave a last line of
    junk that happens to end in a newline, so the last one must be JSON as well.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.count = 0
        """Whole lines so far."""
        self.whole_bytes = 0
        """Where the last one of them ends in the file, newline included."""
        self.crc = 0
        """Checksum of the file up to there."""
        self.torn = b""
        """A last line that was never finished, as it lies in the file; known at the end."""
        self._file = file
        self._read = 0

    def skip(self, count: int, whole_bytes: int, crc: int) -> bool:
        """Begin behind lines that are known, if the file still begins with them."""
        found, left = 0, whole_bytes
        while left and (piece := self._file.read(min(left, PIECE_BYTES))):
            found, left = zlib.crc32(piece, found), left - len(piece)
        if left or found != crc:
            self._file.seek(0)
            return False
        self.count, self.whole_bytes, self.crc = count, whole_bytes, crc
        return True

    def between(self, begin: int, end: int) -> Iterator[bytes]:
        """Yield the lines between two places that are known to be ends of whole lines."""
        self._file.seek(begin)
        while begin < end and (line := self._next()):
            begin += len(line)
            yield line[:-1]

    def __iter__(self) -> Iterator[bytes]:
        line = self._next()
        while line:
            after = self._next()
            if not after and not (line.endswith(b"\n") and _is_json(line)):
                self.torn = line
                return
            self.count += 1
            self.whole_bytes += len(line)
            self.crc = zlib.crc32(line, self.crc)
            yield line[:-1]
            line = after

    def _next(self) -> bytes:
        self._read += 1
        if self._read % LINES_A_LOOK == 0:
            raise_if_stopped()
        line = self._file.readline(MOST_BYTES + 1)
        if len(line) > MOST_BYTES:
            raise StoreError(
                f"the records of {self.path.parent.name} cannot be read",
                where=Location(str(self.path)),
                why=f"there is a line of more than {MOST_BYTES >> 20} MB behind line {self.count}, "
                "and vsperf writes none of that length",
                fix="restore the file from a copy; if it is no record file, remove it",
            )
        return line


@contextmanager
def opened(path: Path) -> Iterator[Lines]:
    """Open a record file to read it, whoever owns it: no link, and nothing that makes one wait."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | trusted.SAFELY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            yield Lines(path, file)
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
            why="it is a link" if error.errno == errno.ELOOP else error.strerror,
        ) from error


def read(path: Path) -> Lines:
    """Go through a record file to its end."""
    with opened(path) as found:
        for _ in found:
            pass
    return found


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def escaped(value: Any) -> Any:
    """Return a value with all that is no text in it escaped, as it stands in records."""
    if isinstance(value, str) and type(value) is str:
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {escaped(key): escaped(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(escaped(item) for item in value)
    return value
