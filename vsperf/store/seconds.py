"""The seconds of long trials, one after the other: there may be more than memory should hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vsperf.record.second import Second
from vsperf.store.spans import RecordFile


def seconds_of(folder: Path, case: str) -> Iterator[Second]:
    """Yield what is recorded of the last attempt at a case, also of one that was cut short."""
    file = RecordFile.scan(folder)
    if case in file.spans:
        yield from file.seconds_of(case)
