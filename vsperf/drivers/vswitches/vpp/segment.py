"""Reading VPP's statistics where VPP writes them: a segment of memory that it shares.

Nobody is asked, so no thread of VPP is disturbed. VPP marks the segment while it changes what is
where; whatever was read meanwhile is read again, until a deadline.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from vsperf.errors import ComponentError
from vsperf.waits import sleep

VERSION = 2
"""Of the segment's layout."""
HEAD = struct.Struct("<QQQQQ")
"""Version, where VPP has mapped the segment, how often its layout changed, whether it is changing
now, and where the directory is."""
ENTRY = struct.Struct("<I4xQ128s")
"""Type, value or place, name."""
POINTER = struct.Struct("<Q")
PAIR = struct.Struct("<II")
LENGTH = struct.Struct("<I")
LENGTH_BEFORE = 8
"""Bytes before a vector in which its length is."""
SCALAR, SIMPLE, COMBINED, NAMES, EMPTY, SYMLINK, GAUGE = 1, 2, 3, 4, 5, 6, 9
POLL_S = 0.001
PATIENCE_S = 2.0
Read = TypeVar("Read")


class SegmentError(ComponentError):
    """Statistics that cannot be read."""


class _ChangedError(Exception):
    """The layout changed while it was read."""


@dataclass
class Segment:
    """The statistics of one VPP."""

    memory: mmap.mmap
    directory: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Type and value of each entry, by name."""
    _entries: list[tuple[str, int, int]] = field(default_factory=list)
    _epoch: int = -1

    def read(self, what: Callable[[Segment], Read], patience_s: float = PATIENCE_S) -> Read:
        """Return what a function reads, all of it from one layout."""
        deadline = time.monotonic() + patience_s
        while True:
            try:
                return self._once(what)
            except (_ChangedError, struct.error, IndexError) as error:
                if time.monotonic() > deadline:
                    raise SegmentError(
                        f"the statistics of VPP did not come to rest within {patience_s:g} s",
                        why="its main thread may hang while it changes them",
                    ) from error
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def simple(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return a counter by thread and index; none where VPP has not begun to count."""
        value = self._of(name, SIMPLE)
        return tuple(self._numbers(at) for at in self._numbers(value))

    def combined(self, name: str) -> tuple[tuple[int, ...], ...]:
        """Return the frames, and not the bytes, of a counter of both, by thread and index."""
        value = self._of(name, COMBINED)
        return tuple(self._numbers(at, words=2)[::2] for at in self._numbers(value))

    def names(self, name: str) -> tuple[str, ...]:
        """Return texts by index; the empty text where there is none."""
        return tuple(self._text(at) for at in self._numbers(self._of(name, NAMES)))

    def number(self, name: str) -> int | None:
        """Return a single number, if it is there.

        It stands in the directory itself, of which only the layout is kept from one reading to the
        next; so it is read anew.
        """
        kind, _ = self.directory.get(name, (EMPTY, 0))
        if kind not in (SCALAR, GAUGE):
            return None
        start = self._place(HEAD.unpack_from(self.memory)[4])
        number = next(at for at, (known, _, _) in enumerate(self._entries) if known == name)
        return int(ENTRY.unpack_from(self.memory, start + number * ENTRY.size)[1])

    def errors(self) -> dict[str, int]:
        """Return what nodes count by node and reason, such as `ip4-input/ttl expired`.

        Each is a place in one vector per thread; those that are 0 are left out.
        """
        sums: dict[int, tuple[int, ...]] = {}
        found = {}
        for name, kind, value in self._entries:
            if kind != SYMLINK or not name.startswith("/err/"):
                continue
            vector, place = PAIR.unpack(POINTER.pack(value))
            if vector not in sums:
                sums[vector] = tuple(
                    map(sum, zip(*self.simple(self._entries[vector][0]), strict=True))
                )
            if count := sums[vector][place]:
                found[name.removeprefix("/err/")] = count
        return found

    def close(self) -> None:
        self.memory.close()

    def _once(self, what: Callable[[Segment], Read]) -> Read:
        epoch = self._at_rest()
        if epoch != self._epoch:
            self._entries = self._list()
            self.directory = {name: (kind, value) for name, kind, value in self._entries}
        found = what(self)
        if self._at_rest() != epoch:
            raise _ChangedError
        self._epoch = epoch
        return found

    def _at_rest(self) -> int:
        _, _, epoch, changing, _ = HEAD.unpack_from(self.memory)
        if changing:
            raise _ChangedError
        return int(epoch)

    def _list(self) -> list[tuple[str, int, int]]:
        start = self._place(HEAD.unpack_from(self.memory)[4])
        found = []
        for number in range(self._length(start)):
            kind, value, name = ENTRY.unpack_from(self.memory, start + number * ENTRY.size)
            found.append((name.partition(b"\0")[0].decode(errors="replace"), kind, value))
        return found

    def _of(self, name: str, kind: int) -> int:
        found, value = self.directory.get(name, (EMPTY, 0))
        return value if found == kind else 0

    def _numbers(self, pointer: int, words: int = 1) -> tuple[int, ...]:
        """Return a vector of 64-bit numbers; `words` of them make an element."""
        if not pointer:
            return ()
        start = self._place(pointer)
        return struct.unpack_from(f"<{self._length(start) * words}Q", self.memory, start)

    def _text(self, pointer: int) -> str:
        if not pointer:
            return ""
        start = self._place(pointer)
        data = self.memory[start : start + self._length(start)]
        return data.rstrip(b"\0").decode(errors="replace")

    def _length(self, start: int) -> int:
        length = LENGTH.unpack_from(self.memory, start - LENGTH_BEFORE)[0]
        if start + length > len(self.memory):
            raise _ChangedError
        return int(length)

    def _place(self, pointer: int) -> int:
        place = pointer - HEAD.unpack_from(self.memory)[1]
        if not LENGTH_BEFORE <= place < len(self.memory):
            raise _ChangedError
        return int(place)


def mapped(path: Path, patience_s: float = PATIENCE_S) -> Segment:
    """Ask for the segment at a socket and map it; whoever does closes it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC) as asking:
        asking.settimeout(patience_s)
        try:
            asking.connect(str(path))
            _, descriptors, _, _ = socket.recv_fds(asking, 1, 1)
        except OSError as error:
            why = error.strerror or str(error)
            raise SegmentError("the statistics of VPP cannot be reached", why=why) from error
    if not descriptors:
        raise SegmentError(
            "VPP does not share its statistics",
            why="its plugin for them is not loaded, or its configuration turns them off",
            fix="leave `statseg` as vsperf writes it into the start-up configuration",
        )
    try:
        size = os.fstat(descriptors[0]).st_size
        memory = mmap.mmap(descriptors[0], size, mmap.MAP_SHARED, mmap.PROT_READ)
    except (OSError, ValueError) as error:
        raise SegmentError("the statistics of VPP cannot be mapped", why=str(error)) from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    found = HEAD.unpack_from(memory)[0]
    if found != VERSION:
        memory.close()
        raise SegmentError(
            f"the statistics of this VPP have layout {found}",
            why=f"layout {VERSION} is the one that is known",
            fix="measure a version of VPP that the page on VPP names as tried",
        )
    return Segment(memory)
