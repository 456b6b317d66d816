"""An initial RAM disk of one program, which runs in place of an init: all that a guest needs."""

from __future__ import annotations

MAGIC = b"070701"
TRAILER = "TRAILER!!!"
PROGRAM_MODE = 0o100755
ALIGNED = 4


def initrd_of(program: bytes) -> bytes:
    """Return the archive (cpio, `newc`) with the program as /init."""
    return _entry("init", program, PROGRAM_MODE, 1) + _entry(TRAILER, b"", 0, 0)


def _entry(name: str, content: bytes, mode: int, number: int) -> bytes:
    named = name.encode() + b"\0"
    # inode, mode, user, group, links, time, size, two devices of two numbers, name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(named), 0)
    head = MAGIC + b"".join(b"%08X" % field for field in fields) + named
    return _padded(head) + _padded(content)


def _padded(text: bytes) -> bytes:
    return text + b"\0" * (-len(text) % ALIGNED)
