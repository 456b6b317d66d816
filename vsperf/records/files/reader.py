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
from vsperf.records.exchange import Exchange
from vsperf.records.files import lines
from vsperf.records.files.folders import RECORDS, is_locked
from vsperf.records.run import (
    LINE,
    CaseRecord,
    CaseStart,
    ExchangeLine,
    Line,
    Outcome,
    PlannedCase,
    RoundLine,
    RunEnd,
    RunHeader,
    RunResume,
    SecondLine,
    TrialLine,
)
from vsperf.records.trial import Trial
from vsperf.records.turns import Round
from vsperf.trust.plain_json import refuse_wild_numbers


class RunState(enum.StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    """A process is writing it."""
    FINISHED = "finished"
    """It came to its end, whatever the outcome."""
    INTERRUPTED = "interrupted"
    """It stopped without an end; it can be resumed."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a case."""

    start: CaseStart | None
    """None for a case that was over before it began, such as a skipped one."""
    trials: tuple[Trial, ...]
    record: CaseRecord | None
    """None when the attempt was interrupted."""
    seconds: int = 0
    """How many seconds of long trials are recorded; `store.view` reads them."""
    rounds: tuple[Round, ...] = ()
    """In which switches took turns."""
    exchanges: tuple[Exchange, ...] = ()
    """Of programs."""


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A planned case and all that is recorded of it."""

    planned: PlannedCase
    attempts: tuple[Attempt, ...]

    @property
    def record(self) -> CaseRecord | None:
        """How the last attempt ended; None if it did not, or if there was none."""
        return self.attempts[-1].record if self.attempts else None

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Trials of the last attempt."""
        return self.attempts[-1].trials if self.attempts else ()

    @property
    def rounds(self) -> tuple[Round, ...]:
        """Rounds of the last attempt."""
        return self.attempts[-1].rounds if self.attempts else ()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Exchanges of the last attempt."""
        return self.attempts[-1].exchanges if self.attempts else ()

    @property
    def attempt(self) -> int:
        """Number of the last attempt; 0 where there was none."""
        start = self.attempts[-1].start if self.attempts else None
        return 0 if start is None else start.attempt

    @property
    def abandoned(self) -> tuple[Attempt, ...]:
        """Attempts that another one replaced."""
        return self.attempts[:-1]

    @property
    def over(self) -> bool:
        """Whether nothing is left to do for it; an aborted case is tried again on resume."""
        return self.record is not None and self.record.outcome is not Outcome.ABORTED


@dataclass(frozen=True, slots=True)
class StoredRun:
    """All that a run folder holds."""

    folder: Path
    header: RunHeader
    cases: tuple[StoredCase, ...]
    """In planned order."""
    resumes: tuple[RunResume, ...]
    end: RunEnd | None
    """None if the run, or its last resumption, did not come to its end."""
    torn: bool
    """Whether the last line was cut off; nothing of it is counted."""
    being_written: bool

    @property
    def run(self) -> str:
        """The run's id."""
        return self.header.run

    @property
    def state(self) -> RunState:
        """Where the run stands."""
        if self.being_written:
            return RunState.RUNNING
        return RunState.INTERRUPTED if self.end is None else RunState.FINISHED

    def unfinished(self) -> tuple[PlannedCase, ...]:
        """Return the planned cases that still have to be run, in planned order."""
        return tuple(case.planned for case in self.cases if not case.over)

    def case(self, key: str) -> StoredCase | None:
        """Return the case of that key, if it was planned."""
        return next((case for case in self.cases if case.planned.key == key), None)


def read_run(folder: Path) -> StoredRun:
    """Read all of the run in `folder`; a torn last line is tolerated, a bad one before it is not.

    All that was ever recorded is held at once, which a record of others may be too large for:
    commands look at runs by `store.view`.
    """
    path = folder / RECORDS
    being_written = is_locked(path)
    with lines.opened(path) as found:
        whole = iter(found)
        header = read_header(path, whole)
        order = Order.of(path, header)
        collector = _Collector(order, {case.key: [] for case in header.cases})
        parsed = parse_lines(path, whole, first=2)
        for number, line in enumerate(parsed, start=2):
            collector.add(number, line)
    return StoredRun(
        folder=folder,
        header=header,
        cases=tuple(
            StoredCase(case, tuple(attempt.frozen() for attempt in collector.attempts[case.key]))
            for case in header.cases
        ),
        resumes=tuple(collector.resumes),
        end=collector.end,
        torn=bool(found.torn),
        being_written=being_written,
    )


def check_run(folder: Path) -> None:
    """Read every line of a run and their order, as `read_run` does, and hold none of them."""
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
class _OpenAttempt:
    start: CaseStart | None
    trials: list[Trial] = field(default_factory=list)
    record: CaseRecord | None = None
    seconds: int = 0
    rounds: list[Round] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)

    def frozen(self) -> Attempt:
        return Attempt(
            self.start,
            tuple(self.trials),
            self.record,
            self.seconds,
            tuple(self.rounds),
            tuple(self.exchanges),
        )


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


@dataclass(slots=True)
class _Collector:
    """Sorts lines to their cases."""

    order: Order
    attempts: dict[str, list[_OpenAttempt]]
    resumes: list[RunResume] = field(default_factory=list)
    end: RunEnd | None = None

    def add(self, number: int, line: Line) -> None:
        match line:
            case RunResume():
                self.resumes.append(line)
                self.end = None
            case RunEnd():
                self.end = line
            case RunHeader():
                raise contradiction(self.order.path, number, "a second header")
            case _:
                running = self.order.see(number, line.type, line.case)
                self._add_of_case(line, self.attempts[line.case], running)

    @staticmethod
    def _add_of_case(
        line: CaseStart | TrialLine | SecondLine | RoundLine | ExchangeLine | CaseRecord,
        attempts: list[_OpenAttempt],
        running: bool,
    ) -> None:
        match line:
            case CaseStart():
                attempts.append(_OpenAttempt(line))
            case TrialLine():
                attempts[-1].trials.append(line.trial)
            case SecondLine():  # there may be many, and they stay on disk
                attempts[-1].seconds += 1
            case RoundLine():
                attempts[-1].rounds.append(line.round)
            case ExchangeLine():
                attempts[-1].exchanges.append(line.exchange)
            case CaseRecord():
                if not running:
                    attempts.append(_OpenAttempt(None))
                attempts[-1].record = line


def contradiction(path: Path, number: int, what: str) -> StoreError:
    """Return the error for an order of lines that no run can have written."""
    return StoreError(
        "the records contradict each other",
        where=Location(str(path), number),
        why=f"the line holds {what}",
        fix="restore the file from a copy; vsperf itself never changes a written line",
    )
