"""A segment of statistics as VPP lays it out, written by a test."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence

BASE = 0x7F00_0000_0000
"""Where a VPP would have mapped it."""
SIZE = 1 << 20


class WrittenSegment:
    """Memory with a header, a directory, and whatever entries point to."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, SIZE)
        self._end = 4096
        self._entries: list[bytes] = []
        self.header()

    def header(self, *, version: int = 2, epoch: int = 1, changing: int = 0) -> None:
        """Write the header, with the directory as it is now."""
        directory = self._vector(len(self._entries), b"".join(self._entries))
        struct.pack_into("<QQQQQ", self.memory, 0, version, BASE, epoch, changing, directory)

    def simple(self, name: str, threads: Sequence[Sequence[int]]) -> int:
        """Add a counter by thread and index; return its number in the directory."""
        return self._add(2, name, self._threads(threads, words=1))

    def combined(self, name: str, threads: Sequence[Sequence[tuple[int, int]]]) -> int:
        """Add a counter of frames and bytes."""
        flat = [[number for pair in thread for number in pair] for thread in threads]
        return self._add(3, name, self._threads(flat, words=2))

    def names(self, name: str, texts: Sequence[str | None]) -> int:
        """Add texts; None has no text at all."""
        places = [
            0 if text is None else self._vector(len(text) + 1, text.encode() + b"\0")
            for text in texts
        ]
        return self._add(
            4, name, self._vector(len(places), struct.pack(f"<{len(places)}Q", *places))
        )

    def number(self, name: str, value: int) -> int:
        """Add a single number."""
        return self._add(1, name, value)

    def change_number(self, entry: int, value: int) -> None:
        """Change a single number where it stands, as VPP does while it runs."""
        directory = struct.unpack_from("<Q", self.memory, 32)[0] - BASE
        struct.pack_into("<Q", self.memory, directory + entry * 144 + 8, value)

    def symlink(self, name: str, entry: int, place: int) -> int:
        """Add a name for one place in a counter."""
        (value,) = struct.unpack("<Q", struct.pack("<II", entry, place))
        return self._add(6, name, value)

    def _add(self, kind: int, name: str, value: int) -> int:
        self._entries.append(struct.pack("<I4xQ128s", kind, value, name.encode()))
        self.header()
        return len(self._entries) - 1

    def _threads(self, threads: Sequence[Sequence[int]], words: int) -> int:
        places = [
            self._vector(len(one) // words, struct.pack(f"<{len(one)}Q", *one)) for one in threads
        ]
        return self._vector(len(places), struct.pack(f"<{len(places)}Q", *places))

    def _vector(self, length: int, data: bytes) -> int:
        """Write a vector and return where VPP would say that it is."""
        start = self._end + 8
        struct.pack_into("<I4x", self.memory, self._end, length)
        self.memory[start : start + len(data)] = data
        self._end = start + (len(data) + 63) // 64 * 64
        return BASE + start
