"""The journal of a deployment: what has to be undone, on disk before it is done.

One JSON line per undo that was promised, and one per promise that was kept. A line that a kill cut
off is the last one, and was never acted upon; so it counts for nothing. Any other line that cannot
be read may have been a promise: that is told, and never passed over.
"""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vsperf.host.undo import UNDO, AnyUndo
from vsperf.trust import trusted

NAME = "journal.jsonl"
OWN = __name__.partition(".")[0]
LONG = 1 << 20
"""Bytes of a journal, most of which speak of what is undone by then."""
SHOWN = 80
"""Characters of a line that cannot be read."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An undo that is still to be carried out, or a line that may be one."""

    number: int
    undo: AnyUndo | None
    """None when it cannot be read, as when another version of vsperf wrote it, or a driver of
    another package, whose undos are not known here."""
    text: str
    """What carrying it out does, or why it cannot be carried out, for people."""


class Journal:
    """Appends to a journal; a second one on the same file goes on where the first one ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with trusted.opened(path.parent) as folder:
            self._descriptor = folder.open(path.name, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            content = folder.read(path.name)
        whole = _whole(content)
        if len(whole) < len(content):
            os.ftruncate(self._descriptor, len(whole))
        elif content and not content.endswith(b"\n"):
            os.write(self._descriptor, b"\n")
        self._number = 0
        self._promised: dict[int, bytes] = {}
        """Lines of what is still to be undone."""
        self._damaged = False
        for line in whole.splitlines():
            self._take_note(line)

    def planned(self, undo: AnyUndo, number: int | None = None) -> int:
        """Write down how to undo what comes next; returns the number for `undone`.

        With the number of an undo that was promised, this one takes its place.
        """
        if number is None:
            number = self._number = self._number + 1
        item: dict[str, object] = {"number": number, "undo": undo.model_dump(mode="json")}
        if (package := type(undo).__module__.partition(".")[0]) != OWN:
            item["package"] = package
        self._append(item)
        return number

    def undone(self, number: int) -> None:
        """Write down that nothing is left to undo."""
        self._append({"number": number, "undone": True})
        if os.fstat(self._descriptor).st_size > max(LONG, 2 * len(self._rest())):
            with suppress(OSError):  # a full folder: it stays as it is
                self._shorten()

    def close(self) -> None:
        """Close the file; writing ends here."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, item: dict[str, object]) -> None:
        """Write a line, whole or not at all."""
        line, size = json.dumps(item).encode() + b"\n", os.fstat(self._descriptor).st_size
        try:
            if os.write(self._descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise
        self._take_note(line[:-1])

    def _take_note(self, line: bytes) -> None:
        item = _item(line)
        if item is None:
            self._damaged |= bool(line.strip())
            return
        number = item["number"]
        self._number = max(self._number, number)
        if item.get("undone"):
            self._promised.pop(number, None)
        else:
            self._promised[number] = line

    def _rest(self) -> bytes:
        return b"".join(line + b"\n" for line in self._promised.values())

    def _shorten(self) -> None:
        """Leave out what was undone: exchanges can start programs by the thousand.

        A journal that is too large is not read any more, and nothing of it would ever be undone.
        """
        if self._damaged:
            return
        scratch, rest = f"{self.path.name}.new", self._rest()
        with trusted.opened(self.path.parent) as folder:
            folder.remove(scratch)
            descriptor = folder.open(scratch, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
            try:
                if os.write(descriptor, rest) < len(rest):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
                there = folder.descriptor
                os.rename(scratch, self.path.name, src_dir_fd=there, dst_dir_fd=there)
            except OSError:
                os.close(descriptor)
                folder.remove(scratch)
                raise
        os.close(self._descriptor)
        self._descriptor = descriptor


def pending(path: Path) -> tuple[Entry, ...]:
    """Return what is still to be undone, in the order in which to do it: the last one first.

    What cannot be read comes at the end, without an undo.
    """
    try:
        content = trusted.read(path)
    except FileNotFoundError:
        return ()
    except OSError as error:
        return (Entry(0, None, f"the journal cannot be read: {error.strerror or error}"),)
    promised: dict[int, Entry] = {}
    damaged = []
    for count, line in enumerate(_whole(content).splitlines(), start=1):
        item = _item(line)
        if item is None:
            if line.strip():
                shown = ascii(line[:SHOWN].decode(errors="replace"))
                damaged.append(Entry(0, None, f"line {count} of {path} is damaged: {shown}"))
        elif item.get("undone"):
            promised.pop(item["number"], None)
        else:
            promised[item["number"]] = _entry(item)
    return (*(promised[number] for number in sorted(promised, reverse=True)), *damaged)


def _entry(item: dict[str, Any]) -> Entry:
    number, undo = item["number"], item.get("undo")
    try:
        known = UNDO.validate_python(undo)
    except ValidationError:
        shown, package = json.dumps(undo)[:SHOWN], item.get("package")
        if isinstance(package, str) and package.isidentifier():
            why = f"only the package {package[:SHOWN]}, whose driver promised it, can undo {shown}"
        else:
            why = f"this version of vsperf does not know how to undo {shown}"
        return Entry(number, None, why)
    return Entry(number, known, known.text)


def _whole(content: bytes) -> bytes:
    """Return the lines without a last one that was cut off, unless only its end is missing."""
    end = content.rfind(b"\n") + 1
    return content if _item(content[end:]) else content[:end]


def _item(line: bytes) -> dict[str, Any] | None:
    """Return what a line says; None if that cannot be read."""
    try:
        item = json.loads(line)
        json.dumps(item)  # nested too deep to be told
    except (ValueError, RecursionError):
        return None
    return item if isinstance(item, dict) and type(item.get("number")) is int else None
