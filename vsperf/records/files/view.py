"""The one way in which readers see runs: one case at a time, whatever a run holds.

`open_run` looks through a record file once and notes where things lie. Its cases come in planned
order, also those that never began, each with its last attempt. Trials are read when somebody
looks at them, and only those of one case are held at a time: a reader that asks for records alone
never pays for trials. A line that is looked at is validated; one that is not looked at is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar, overload

from vsperf.errors import Location, StoreError
from vsperf.records.asked import Asked
from vsperf.records.connections import ConnectionTrial
from vsperf.records.exchange import Exchange
from vsperf.records.files import lines
from vsperf.records.files.folders import RECORDS, is_locked
from vsperf.records.files.reader import Order, RunState, contradiction, parse_lines, read_header
from vsperf.records.files.took import Took
from vsperf.records.host import Calibration, calibration_in, place_of, refuted
from vsperf.records.meaning import ETHERNET_SIZES
from vsperf.records.result import Compliance, Level, SearchResult, Standard, died_before
from vsperf.records.run import (
    CaseRecord,
    CaseStart,
    ConnectionsLine,
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
from vsperf.records.trial import Second, Trial
from vsperf.records.turns import Round, begun_anew

# Where in a record file the last attempt at each case lies, found without reading its trials.
#
# A run may hold more trials than memory should. So one look at the file notes places only, and what
# lies there is read when somebody asks for it.

BEGIN: Final = re.compile(
    rb'\s*\{\s*"type"\s*:\s*"(case-start|trial|second|round|exchange|connections|case)"\s*,\s*"case"\s*:\s*("(?:[^"\\]|\\.)*")'
)
"""How every line of a case begins that vsperf wrote; others are read whole to be told."""
OF_CASES: Final = frozenset(
    {"case-start", "trial", "second", "round", "exchange", "connections", "case"}
)
MOST_TRIAL_BYTES: Final = 160 << 20
"""Of the trials, rounds and exchanges of one case, each of which are held together: in memory they
are about seven times larger.

These are some 100,000 trials; the longest searches make some hundreds."""
HELD: Final = frozenset({"trial", "round", "exchange"})
MEASURED: Final = re.compile(rb'"outcome"\s*:\s*"(PASS|FAIL)"')
"""In the record of a case that has a number to show."""
BY_SIZE: Final = (Standard.RFC2544, Standard.RFC2889, Standard.RFC8219, Standard.RFC9004)
"""Standards that would have all frame sizes of Ethernet measured."""
Sisters = tuple[str, tuple[tuple[str, str], ...]]
"""Name of a testcase, and values of a point."""
L = TypeVar("L", bound=Line)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line lies."""

    number: int
    begin: int
    """Byte in the file."""
    end: int


@dataclass(slots=True)
class Span:
    """Where the last attempt at a case lies; attempts that it replaced are left out."""

    attempts: int = 0
    """How often the case was tried; 0 is not yet."""
    start: Place | None = None
    record: Place | None = None
    inside: list[Place] = field(default_factory=list)
    """Where its trials, seconds, rounds and exchanges lie: one stretch, unless lines of other cases
    lie between."""
    trials: int = 0
    held_bytes: int = 0
    """Of its trials, rounds and exchanges, as they lie in the file."""
    seconds: int = 0
    rounds: int = 0
    exchanges: int = 0
    connections: int = 0
    """Trials of connections."""
    abandoned: int = 0
    """Trials of the attempts that it replaced."""
    cap: Calibration | None = None
    """Of the generator, by which it went."""
    measured: bool = False
    """Whether it has a number to show."""

    def begin(self, start: Place | None) -> None:
        self.attempts += 1
        self.abandoned += self.trials
        self.start, self.record, self.inside = start, None, []
        self.trials = self.held_bytes = self.seconds = self.rounds = 0
        self.exchanges = self.connections = 0
        self.cap, self.measured = None, False

    def extend(self, place: Place) -> None:
        """Add a trial, second or round; it goes on with the last stretch if that ends there."""
        last = self.inside.pop() if self.inside and self.inside[-1].end == place.begin else place
        self.inside.append(Place(last.number, last.begin, place.end))


@dataclass(slots=True)
class RecordFile:
    """A record file of which is known what lies where."""

    path: Path
    header: RunHeader
    spans: dict[str, Span]
    """By key, in planned order."""
    resumes: list[RunResume] = field(default_factory=list)
    end: RunEnd | None = None
    torn: bool = False
    """Whether the last line was cut off; nothing of it is counted."""
    stretches: list[Place | None] = field(default_factory=lambda: [None])
    """Of the begin and each resumption the last line behind it that says when it was."""
    refuted: dict[str, str] = field(default_factory=dict)
    """By key, why the answer of a case does not stand: it went by a cap that others refute."""
    unmeasured: dict[Sisters, tuple[int, ...]] = field(default_factory=dict)
    """Of cases that differ in frame size alone, those of Ethernet that came to no number."""
    _held: tuple[str, tuple[Trial, ...]] | None = None
    """The trials of the case that was asked for last, and of no other."""

    @classmethod
    def scan(cls, folder: Path) -> RecordFile:
        """Look through the record file in `folder` once."""
        path = folder / RECORDS
        with lines.opened(path) as found:
            whole = iter(found)
            header = read_header(path, whole)
            file = cls(path, header, {case.key: Span() for case in header.cases})
            order = Order.of(path, header)
            for content in whole:
                end = found.whole_bytes
                file._add(Place(found.count, end - len(content) - 1, end), content, order)
            file.torn = bool(found.torn)
        places = {case.key: place_of(case.spec) for case in header.cases}
        spans = file.spans.items()
        file.refuted = refuted({key: (places[key], one.cap) for key, one in spans if one.cap})
        file.unmeasured = dict(file._sizes_without_a_number())
        return file

    def _sizes_without_a_number(self) -> Iterator[tuple[Sisters, tuple[int, ...]]]:
        planned: dict[Sisters, dict[int, bool]] = {}
        for case in self.header.cases:
            asked = Asked(case)
            if (size := asked.frame_bytes) in ETHERNET_SIZES:
                sizes = planned.setdefault(_sisters(case), {})
                told = self.spans[case.key].measured and case.key not in self.refuted
                sizes[size] = sizes.get(size, False) or told
        for sisters, sizes in planned.items():
            yield sisters, tuple(sorted(size for size, told in sizes.items() if not told))

    @property
    def took_s(self) -> float | None:
        """How long the run took so far."""
        took = Took.since(self.header.started_at)
        for number, last in enumerate(self.stretches):
            if number:
                took.resume(self.resumes[number - 1].resumed_at)
            match self._at(last):
                case CaseStart() as line:
                    took.seen = line.started_at
                case CaseRecord() | RunEnd() as line:
                    took.seen = line.finished_at
        return took.seconds

    def start_of(self, key: str) -> CaseStart | None:
        """Read how the last attempt at a case began."""
        return self._line(self.spans[key].start, CaseStart)

    def record_of(self, key: str) -> CaseRecord | None:
        """Read how the last attempt at a case ended."""
        return self._line(self.spans[key].record, CaseRecord)

    def trials_of(self, key: str) -> tuple[Trial, ...]:
        """Read the trials of the last attempt at a case."""
        if self._held is None or self._held[0] != key:
            self._refuse_many(key)
            self._held = None  # free them before others are read
            found = self._inside(key, "trial", TrialLine)
            self._held = key, tuple(line.trial for line in found)
        return self._held[1]

    def seconds_of(self, key: str) -> Iterator[Second]:
        """Read the seconds of the last attempt at a case, one after the other."""
        for line in self._inside(key, "second", SecondLine):
            yield line.second

    def rounds_of(self, key: str) -> Iterator[Round]:
        """Read the rounds of the last attempt at a case, one after the other."""
        self._refuse_many(key)
        for line in self._inside(key, "round", RoundLine):
            yield line.round

    def exchanges_of(self, key: str) -> Iterator[Exchange]:
        """Read the exchanges of the last attempt at a case, one after the other."""
        self._refuse_many(key)
        for line in self._inside(key, "exchange", ExchangeLine):
            yield line.exchange

    def connections_of(self, key: str) -> Iterator[ConnectionTrial]:
        """Read the trials of connections of the last attempt at a case, one after the other."""
        for line in self._inside(key, "connections", ConnectionsLine):
            yield line.trial

    def _refuse_many(self, key: str) -> None:
        span = self.spans[key]
        if span.held_bytes > MOST_TRIAL_BYTES:
            count = span.trials + span.rounds + span.exchanges
            raise StoreError(
                f"the trials of {key} are too many to be looked at",
                where=Location(str(self.path)),
                why=f"its {count:,} trials take {span.held_bytes >> 20:,} MB, and at most "
                f"{MOST_TRIAL_BYTES >> 20} MB of one case are held in memory",
                fix="`vsperf results RUN` and `vsperf compare` need no trials; each trial is a "
                "line of JSON in the file",
            )

    def _line(self, place: Place | None, kind: type[L]) -> L | None:
        line = self._at(place)
        return line if isinstance(line, kind) else None

    def _at(self, place: Place | None) -> Line | None:
        if place is None:
            return None
        with lines.opened(self.path) as found:
            content = found.between(place.begin, place.end)
            return next(parse_lines(self.path, content, place.number), None)

    def _inside(self, key: str, wanted: str, kind: type[L]) -> Iterator[L]:
        with lines.opened(self.path) as found:
            for place in self.spans[key].inside:
                between = found.between(place.begin, place.end)
                for number, content in enumerate(between, start=place.number):
                    if _begin_of(content) != (wanted, key):
                        continue
                    for line in parse_lines(self.path, [content], number):
                        if isinstance(line, kind):
                            yield line

    def _add(self, place: Place, content: bytes, order: Order) -> None:
        kind, key = _begin_of(content)
        if key is None:
            self._add_of_run(place, content)
            return
        running = order.see(place.number, kind, key)
        span = self.spans[key]
        if kind in ("case-start", "case"):
            self.stretches[-1] = place
        match kind:
            case "case-start":
                span.begin(place)
            case "case":
                if not running:
                    span.begin(None)
                span.record, span.cap = place, calibration_in(content)
                span.measured = MEASURED.search(content) is not None
            case _:
                span.extend(place)
                span.trials += kind == "trial"
                span.seconds += kind == "second"
                span.rounds += kind == "round"
                span.exchanges += kind == "exchange"
                span.connections += kind == "connections"
                span.held_bytes += len(content) if kind in HELD else 0

    def _add_of_run(self, place: Place, content: bytes) -> None:
        for line in parse_lines(self.path, [content], place.number):
            match line:
                case RunResume():
                    self.resumes.append(line)
                    self.stretches.append(None)
                    self.end = None
                case RunEnd():
                    self.stretches[-1] = place
                    self.end = line
                case _:
                    raise contradiction(self.path, place.number, "a second header")


def _begin_of(content: bytes) -> tuple[str, str | None]:
    """Return the type of a line and the case that it is of; None for a line of the run."""
    try:
        if begin := BEGIN.match(content):
            return begin[1].decode(), json.loads(begin[2])
        line = json.loads(content)
    except (ValueError, RecursionError):
        return "", None
    if not isinstance(line, dict):
        return "", None
    kind, key = str(line.get("type")), line.get("case")
    return kind, key if kind in OF_CASES and isinstance(key, str) else None


class StoredTrials(Sequence[Trial]):
    """The trials of a case, read when somebody looks at them; how many there are is known."""

    def __init__(self, file: RecordFile, key: str) -> None:
        self._file = file
        self._key = key

    def __len__(self) -> int:
        return self._file.spans[self._key].trials

    @overload
    def __getitem__(self, index: int) -> Trial: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Trial]: ...
    def __getitem__(self, index: int | slice) -> Trial | Sequence[Trial]:
        if isinstance(index, slice) and not len(self):
            return ()  # what a case has in place of trials may be more than memory
        return self._file.trials_of(self._key)[index]

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._file.trials_of(self._key)) if len(self) else iter(())

    def __repr__(self) -> str:
        return f"<{len(self)} trials of {self._key}>"


class StoredLines(Collection[T]):
    """Seconds, rounds or exchanges of a case: more than memory may hold, so each look reads."""

    def __init__(self, count: int, read: Callable[[], Iterator[T]]) -> None:
        self._count = count
        self._read = read

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return self._read() if self._count else iter(())

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)


@dataclass(frozen=True, slots=True)
class CaseView:
    """A planned case with its last attempt; a case that never began has neither start nor record.

    A plain tuple will do for `trials` and `seconds`.
    """

    folder: Path
    header: RunHeader
    planned: PlannedCase
    start: CaseStart | None = None
    """None for a case that never began, or was over before, such as a skipped one."""
    record: CaseRecord | None = None
    """None when it did not come to an end."""
    trials: Sequence[Trial] = ()
    """Of the last attempt. Of stored ones only those of one case are held at a time; going through
    another case's and back reads them again."""
    seconds: Collection[Second] = ()
    """Of long trials of the last attempt; of stored ones each look reads anew."""
    rounds: Collection[Round] = ()
    """In which switches took turns, of the last attempt; of stored ones each look reads anew."""
    exchanges: Collection[Exchange] = ()
    connections: Collection[ConnectionTrial] = ()
    """Of programs, of the last attempt; of stored ones each look reads anew."""
    attempt: int = 0
    """How often it was tried; 0 is not yet."""
    abandoned: int = 0
    """Trials of attempts that the last one replaced."""
    refuted: str = ""
    """Why it counts as not finished although it came to an end: it went by a cap of the generator
    that another case refutes, and has no record here."""

    @property
    def run(self) -> str:
        return self.header.run

    @property
    def key(self) -> str:
        """What tells the case from all others of its run."""
        return self.planned.key

    @property
    def label(self) -> str:
        """The case for people, such as phy2phy_tput-64B."""
        return self.planned.label

    @property
    def died(self) -> int:
        """How many of its trials, exchanges or rounds were made on what a part of died then.

        The case is measured once more then, and they say nothing of what was found.
        """
        if self.rounds:
            return begun_anew(self.rounds)
        if not (made := len(self.exchanges) or len(self.connections)):
            return died_before(self.trials)
        if self.record is None or self.record.result is None:
            return 0
        return max(0, made - self.record.trials)

    @property
    def standing_trials(self) -> Sequence[Trial]:
        """Those of its trials that were made behind these."""
        return self.trials[self.died :] if self.trials else ()

    @property
    def standing_exchanges(self) -> tuple[Exchange, ...]:
        """Those of its exchanges likewise."""
        return tuple(islice(self.exchanges, self.died, None)) if self.exchanges else ()

    @property
    def standing_connections(self) -> Iterator[ConnectionTrial]:
        """Those of its trials of connections likewise, one after the other."""
        return islice(self.connections, self.died, None) if self.connections else iter(())

    @property
    def standing_seconds(self) -> Iterator[Second]:
        """Seconds of the long trial that its answer is from; one that is repeated begins anew."""
        begin = last_ns = 0
        for place, second in enumerate(self.seconds):
            if second.sample.elapsed_ns <= last_ns:
                begin = place
            last_ns = second.sample.elapsed_ns
        return islice(self.seconds, begin, None)

    @property
    def asked(self) -> Asked:
        return Asked(self.planned)

    @property
    def testcase(self) -> str:
        """Name of its testcase, such as phy2phy_tput."""
        return self.asked.name

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None if it did not."""
        return self.record.outcome if self.record else None

    @property
    def result(self) -> SearchResult | None:
        """What was found; None if nothing was."""
        return self.record.result if self.record else None

    @property
    def over(self) -> bool:
        """Whether nothing is left to do for it; an aborted case is tried again on resume."""
        return self.record is not None and self.record.outcome is not Outcome.ABORTED

    @property
    def simulated(self) -> bool:
        """Whether its numbers come from a model."""
        return self.header.simulated

    @property
    def labels(self) -> Mapping[str, str]:
        """What the user called the run, such as a git revision."""
        return self.header.labels


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as far as it came, without its cases."""

    folder: Path
    header: RunHeader
    state: RunState
    end: RunEnd | None = None
    """None if the run, or its last resumption, did not come to its end."""
    resumes: tuple[RunResume, ...] = ()
    torn: bool = False
    """Whether the last line was cut off; nothing of it is counted."""
    file: RecordFile | None = None
    """None of a run that lies nowhere, such as one of a test: it has no cases to go through."""

    @property
    def run(self) -> str:
        return self.header.run

    @property
    def simulated(self) -> bool:
        """Whether its numbers come from a model."""
        return self.header.simulated

    @property
    def labels(self) -> Mapping[str, str]:
        """What the user called the run, such as a git revision."""
        return self.header.labels

    @property
    def took_s(self) -> float | None:
        """How long it took so far; None where its lines do not say."""
        return self.file.took_s if self.file is not None else None

    def cases(self) -> Iterator[CaseView]:
        """Yield its cases in planned order, those that never began too."""
        if self.file is not None:
            yield from (self._of(planned, self.file) for planned in self.header.cases)

    def case(self, planned: PlannedCase) -> CaseView:
        """Return one of the cases that its header announces."""
        if self.file is None:
            return CaseView(self.folder, self.header, planned)
        return self._of(planned, self.file)

    def unfinished(self) -> tuple[PlannedCase, ...]:
        """Return the planned cases that still have to be run, in planned order."""
        return tuple(case.planned for case in self.cases() if not case.over)

    def _of(self, planned: PlannedCase, file: RecordFile) -> CaseView:
        key = planned.key
        missing = file.unmeasured.get(_sisters(planned), ())
        return CaseView(
            folder=self.folder,
            header=self.header,
            planned=planned,
            start=file.start_of(key),
            record=None if key in file.refuted else _by_sizes(file.record_of(key), missing),
            trials=StoredTrials(file, key),
            seconds=StoredLines(file.spans[key].seconds, partial(file.seconds_of, key)),
            rounds=StoredLines(file.spans[key].rounds, partial(file.rounds_of, key)),
            exchanges=StoredLines(file.spans[key].exchanges, partial(file.exchanges_of, key)),
            connections=StoredLines(file.spans[key].connections, partial(file.connections_of, key)),
            attempt=file.spans[key].attempts,
            abandoned=file.spans[key].abandoned,
            refuted=file.refuted.get(key, ""),
        )


def _sisters(case: PlannedCase) -> Sisters:
    """Return what a case has in common with those that differ from it in frame size alone."""
    others = (one for one in case.point.items() if one[0] != "frame_size")
    return Asked(case).name, tuple(sorted(others))


def _by_sizes(record: CaseRecord | None, missing: Sequence[int]) -> CaseRecord | None:
    """Return a record that says which frame sizes were not measured in the end.

    A case is held against standards when it is over, by the sizes that are to be measured; whether
    they came to a number nobody knows by then.
    """
    if record is None or not missing:
        return record
    without = f"frame sizes without a number in this run: {', '.join(map(str, missing))}"

    def qualified(one: Compliance) -> Compliance:
        if one.standard not in BY_SIZE or one.level is Level.NOT:
            return one
        deviations = (*one.deviations, without)
        return one.model_copy(update={"level": Level.CONDITIONAL, "deviations": deviations})

    compliance = tuple(map(qualified, record.compliance))
    return record.model_copy(update={"compliance": compliance})


def open_run(folder: Path) -> RunView:
    """Look through the run in `folder`; a torn last line is tolerated."""
    being_written = is_locked(folder / RECORDS)
    file = RecordFile.scan(folder)
    ended = RunState.INTERRUPTED if file.end is None else RunState.FINISHED
    return RunView(
        folder=folder,
        header=file.header,
        state=RunState.RUNNING if being_written else ended,
        end=file.end,
        resumes=tuple(file.resumes),
        torn=file.torn,
        file=file,
    )


def views(folder: Path) -> Iterator[CaseView]:
    """Yield the cases of the run in `folder` in planned order, those that never began too."""
    yield from open_run(folder).cases()
