"""Initial RAM disks of a few programs, as archives (cpio, `newc`) that a kernel unpacks."""

from __future__ import annotations

import stat
from collections.abc import Mapping

MAGIC = b"070701"
TRAILER = "TRAILER!!!"
PROGRAM_MODE = stat.S_IFREG | 0o755
FOLDER_MODE = stat.S_IFDIR | 0o755
ALIGNED = 4


def initrd_of(programs: Mapping[str, bytes]) -> bytes:
    """Return the archive with programs by their places, and the folders that these are in."""
    folders = sorted({folder for place in programs for folder in _folders(place)})
    entries = [(name, b"", FOLDER_MODE) for name in folders]
    entries += [(place, content, PROGRAM_MODE) for place, content in programs.items()]
    archive = b"".join(_entry(*one, number) for number, one in enumerate(entries, 1))
    return archive + _entry(TRAILER, b"", 0, 0)


def joined(first: bytes, second: bytes) -> bytes:
    """Return two archives as one disk: a kernel unpacks both, compressed or not."""
    return _padded(first) + second


def _folders(place: str) -> tuple[str, ...]:
    parts = place.split("/")[:-1]
    return tuple("/".join(parts[: count + 1]) for count in range(len(parts)))


def _entry(name: str, content: bytes, mode: int, number: int) -> bytes:
    named = name.encode() + b"\0"
    # inode, mode, user, group, links, time, size, two devices of two numbers, name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(named), 0)
    head = MAGIC + b"".join(b"%08X" % field for field in fields) + named
    return _padded(head) + _padded(content)


def _padded(text: bytes) -> bytes:
    return text + b"\0" * (-len(text) % ALIGNED)
