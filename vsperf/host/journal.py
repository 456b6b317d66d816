"""The journal of a deployment: what has to be undone, on disk before it is done.

One JSON line per undo that was promised, and one per promise that was kept. A line that a kill cut
off was never acted upon, so a reader may leave it out.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vsperf.host.undo import UNDO, AnyUndo

NAME = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class Entry:
    """An undo that is still to be carried out."""

    number: int
    undo: AnyUndo | None
    """None when it cannot be read, as when another version of vsperf wrote it."""
    line: str


class Journal:
    """Appends to a journal; a second one on the same file goes on where the first one ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        present = _lines(path)
        self._number = max((item["number"] for item in present), default=0)
        self._descriptor = os.open(
            path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode=0o600
        )
        if present or os.fstat(self._descriptor).st_size:
            os.write(self._descriptor, b"\n")  # ends a line that was cut off

    def planned(self, undo: AnyUndo) -> int:
        """Write down how to undo what comes next; returns the number for `undone`."""
        self._number += 1
        self._append({"number": self._number, "undo": undo.model_dump(mode="json")})
        return self._number

    def undone(self, number: int) -> None:
        """Write down that nothing is left to undo."""
        self._append({"number": number, "undone": True})

    def close(self) -> None:
        """Close the file; writing ends here."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, item: dict[str, object]) -> None:
        os.write(self._descriptor, json.dumps(item).encode() + b"\n")
        os.fsync(self._descriptor)


def pending(path: Path) -> tuple[Entry, ...]:
    """Return what is still to be undone, in the order in which to do it: the last one first."""
    promised: dict[int, Entry] = {}
    for item in _lines(path):
        number = item["number"]
        if item.get("undone"):
            promised.pop(number, None)
        else:
            promised[number] = _entry(number, item.get("undo"))
    return tuple(promised[number] for number in sorted(promised, reverse=True))


def _entry(number: int, undo: object) -> Entry:
    line = json.dumps(undo)
    try:
        return Entry(number, UNDO.validate_python(undo), line)
    except ValidationError:
        return Entry(number, None, line)


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the whole lines; what was cut off by a kill is left out."""
    found = []
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return []
    for line in text.splitlines():
        try:
            item = json.loads(line)
        except ValueError:
            continue
        if isinstance(item, dict) and isinstance(item.get("number"), int):
            found.append(item)
    return found
