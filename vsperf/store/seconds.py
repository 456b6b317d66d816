"""The seconds of long trials, one after the other: there may be more than memory should hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vsperf.record.run import CaseStart, SecondLine
from vsperf.record.second import Second
from vsperf.store import lines
from vsperf.store.folders import RECORDS
from vsperf.store.reader import header_version, parse_lines


def seconds_of(folder: Path, case: str) -> Iterator[Second]:
    """Yield what is recorded of the last attempt at a case, also of one that was cut short."""
    last = sum(isinstance(line, CaseStart) for line in _lines(folder, case))
    attempt = 0
    for line in _lines(folder, case):
        if isinstance(line, CaseStart):
            attempt += 1
        elif attempt == last:
            yield line.second


def _lines(folder: Path, case: str) -> Iterator[CaseStart | SecondLine]:
    path = folder / RECORDS
    with lines.opened(path) as found:
        whole = iter(found)
        header = next(whole, None)
        if header is None:
            return
        for line in parse_lines(path, whole, header_version(path, header), first=2):
            if isinstance(line, CaseStart | SecondLine) and line.case == case:
                yield line
