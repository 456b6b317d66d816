"""Archives in the kernel's `newc` format, as bytes that depend on nothing but their content."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MAGIC = b"070701"
END = "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, folder, link or device node. All belong to root and are of 1970."""

    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def file(content: bytes, *, executable: bool = False) -> Entry:
    """Return a regular file."""
    return Entry(stat.S_IFREG | (0o755 if executable else 0o644), content)


def link(target: str) -> Entry:
    """Return a symbolic link."""
    return Entry(stat.S_IFLNK | 0o777, target.encode())


def folder() -> Entry:
    """Return a folder."""
    return Entry(stat.S_IFDIR | 0o755)


def character_device(major: int, minor: int) -> Entry:
    """Return a node for a character device that only root may open."""
    return Entry(stat.S_IFCHR | 0o600, device=(major, minor))


def archive(entries: Mapping[str, Entry]) -> bytes:
    """Return the archive: names in order, and the folders that they are in before them."""
    every = {name: folder() for path in entries for name in _parents(path)} | dict(entries)
    records = [_record(number, name, every[name]) for number, name in enumerate(sorted(every), 1)]
    return b"".join([*records, _record(0, END, Entry(0))])


def _parents(path: str) -> Iterable[str]:
    parts = path.split("/")[:-1]
    return ("/".join(parts[: count + 1]) for count in range(len(parts)))


def _record(number: int, name: str, entry: Entry) -> bytes:
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    # Inode, mode, user, group, links, time, size, device of the file, device that it is, name
    # with its zero, checksum.
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.content), 0, 0, *entry.device)
    numbers = (*fields, len(name.encode()) + 1, 0)
    header = MAGIC + b"".join(b"%08X" % field for field in numbers)
    return _padded(header + name.encode() + b"\0") + _padded(entry.content)


def _padded(part: bytes) -> bytes:
    return part + b"\0" * (-len(part) % 4)
