"""Reads a run folder back. Reading never changes anything and does not need the run to be over."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from vsperf.errors import Location, StoreError
from vsperf.records.base import SCHEMA_VERSION
from vsperf.records.files import lines
from vsperf.records.files.folders import RECORDS
from vsperf.records.run import LINE, Line, RunEnd, RunHeader, RunResume
from vsperf.trust.plain_json import refuse_wild_numbers


class RunState(enum.StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    """A process is writing it."""
    FINISHED = "finished"
    """It came to its end, whatever the outcome."""
    INTERRUPTED = "interrupted"
    """It stopped without an end; it can be resumed."""


def check_run(folder: Path) -> None:
    """Read every line of a run and their order, and hold none of them."""
    path = folder / RECORDS
    with lines.opened(path) as found:
        whole = iter(found)
        header = read_header(path, whole)
        order = Order.of(path, header)
        for number, line in enumerate(parse_lines(path, whole, first=2), start=2):
            match line:
                case RunHeader():
                    raise contradiction(path, number, "a second header")
                case RunResume() | RunEnd():
                    pass
                case _:
                    order.see(number, line.type, line.case)


def read_header(path: Path, whole: Iterator[bytes]) -> RunHeader:
    """Take the header off the lines of a file."""
    first = next(whole, None)
    if first is None:
        raise StoreError(
            f"{path.parent.name} holds no measurement",
            where=Location(str(path), 1),
            why="the run was killed before its header was written",
            fix=f"the folder can be deleted: {path.parent}",
        )
    refuse_other_versions(path, first)
    header = next(parse_lines(path, [first]))
    if not isinstance(header, RunHeader):
        raise StoreError("the first line is not a header", where=Location(str(path), 1))
    return header


def header_of(folder: Path) -> RunHeader:
    """Return the header of the run in a folder, and read no more of it."""
    path = folder / RECORDS
    with lines.opened(path) as opened:
        return read_header(path, iter(opened))


def refuse_other_versions(path: Path, first_line: bytes) -> None:
    """Refuse a file that does not begin with a header, or whose records are of another version."""
    where = Location(str(path), 1)
    try:
        header = json.loads(first_line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("type") != "run":
        raise StoreError(
            "the record file does not begin with the header of a run",
            where=where,
            why="its first line was damaged, or the file is something else",
        )
    version = header.get("schema_version")
    if not isinstance(version, int) or isinstance(version, bool):
        raise StoreError("the header does not say which version it is written in", where=where)
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the run was recorded by a newer vsperf (records version {version})",
            where=where,
            why=f"this vsperf reads version {SCHEMA_VERSION} and would misread it",
            fix="upgrade vsperf: to the one that wrote it, or a later one",
        )
    if version < SCHEMA_VERSION:
        raise StoreError(f"records version {version} never existed", where=where)


def parse_lines(path: Path, whole: Iterable[bytes], first: int = 1) -> Iterator[Line]:
    """Parse lines of a file; `first` is the number of the first of them."""
    for number, content in enumerate(whole, start=first):
        try:
            refuse_wild_numbers(content)
            yield LINE.validate_json(content, strict=True)
        except (ValidationError, ValueError, RecursionError) as error:
            raise StoreError(
                "a record cannot be read",
                where=Location(str(path), number),
                why=why_unreadable(error),
                fix="restore the file from a copy; vsperf itself never changes a written line",
            ) from error


def why_unreadable(error: Exception) -> str:
    """Say in a line what is wrong with one that cannot be read."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


@dataclass(slots=True)
class Order:
    """Refuses an order of lines that no run can have written."""

    path: Path
    cases: frozenset[str]
    """Keys that the header announces."""
    running: set[str] = field(default_factory=set)
    """Cases that were begun and have not ended."""

    @classmethod
    def of(cls, path: Path, header: RunHeader) -> Order:
        """Return that of a file which has this header."""
        return cls(path, frozenset(case.key for case in header.cases))

    def see(self, number: int, kind: str, key: str) -> bool:
        """Take in a line of a case; return whether it belongs to an attempt that is open."""
        if key not in self.cases:
            what = f"the case {key}, which the header does not announce"
            raise contradiction(self.path, number, what)
        running = key in self.running
        match kind:
            case "case-start":
                self.running.add(key)
            case "case":
                self.running.discard(key)
            case _ if not running:
                what = f"a {kind} of {key}, which is not running"
                raise contradiction(self.path, number, what)
        return running


def contradiction(path: Path, number: int, what: str) -> StoreError:
    """Return the error for an order of lines that no run can have written."""
    return StoreError(
        "the records contradict each other",
        where=Location(str(path), number),
        why=f"the line holds {what}",
        fix="restore the file from a copy; vsperf itself never changes a written line",
    )
