"""`command`: the user's own program, or a file that another one writes, such as collectd or pcm."""

from __future__ import annotations

import csv
import json
import math
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.collectors.base import COMPONENT, OwnTrialsSpec, RunningCollector, Seat
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.process import Managed, managed
from vsperf.records.run import Placement, Step
from vsperf.records.series import Nature, Quantity, Sample, Value
from vsperf.trust import own_python
from vsperf.trust.plain_json import LEAST, MOST
from vsperf.trust.printable import printable
from vsperf.trust.programs import whole

STAMP = Path(__file__).with_name("stamp.py")
Word = Annotated[str, Field(min_length=1, max_length=4096)]
LONGEST_NAME = 128


class CommandSpec(OwnTrialsSpec):
    """Settings of `command`; one of `argv` and `file` is given, and a heavy one has own trials."""

    kind: Literal["command"]
    argv: tuple[Word, ...] = ()
    """The program and its arguments; what it writes to its output is taken, line by line."""
    file: Word | None = None
    """A file that another program adds lines to, such as what collectd or pcm exports."""
    format: Literal["json", "csv"] = "json"
    """What a line is: an object of JSON, or values by the names of a first line."""
    units: dict[str, str] = Field({})
    """Units of values, by their names."""
    counters: tuple[str, ...] = ()
    """Names of values that grow, of which only differences mean something."""
    heavy: bool = False
    """Whether it disturbs so much that it needs trials of its own."""

    @model_validator(mode="after")
    def _one_source(self) -> CommandSpec:
        if bool(self.argv) is bool(self.file):
            raise ValueError("give either `argv`, a program, or `file`, which another one writes")
        return self


@dataclass
class Lines:
    """From lines to values."""

    format: str
    head: list[str] = field(default_factory=list)

    def values(self, line: str) -> dict[str, Value]:
        """Return the numbers of a line, by name; what is no number is left out."""
        if self.format == "json":
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                return {}
            return _numbers(found) if isinstance(found, dict) else {}
        row = next(csv.reader([line]), [])
        if not self.head:
            self.head = [name.strip() for name in row]
            return {}
        return _numbers(dict(zip(self.head, row, strict=False)))


def _numbers(found: Mapping[str, object]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, value in found.items():
        number = _number(value)
        if number is not None:
            values[printable(name)[:LONGEST_NAME]] = number
    return values


def _number(value: object) -> Value | None:
    """Return a number that a reader of series takes: others make the whole file unreadable."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return _counted(int(value)) if not isinstance(value, float) else _finite(value)
    except ValueError:
        try:
            return _finite(float(value))
        except ValueError:
            return None


def _counted(value: int) -> int | None:
    return value if LEAST <= value <= MOST else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass
class Following:
    """The lines of a program, as they come."""

    seat: Seat
    program: Managed
    lines: Lines
    _began_ns: int = 0
    _read: int = 0

    def begin(self, trial: int) -> None:
        """Note when the trial begins; what comes before belongs to none."""
        self._alive()
        self._began_ns = time.time_ns()

    def end(self, trial: int) -> None:
        """Keep what came since."""
        with self.program.log.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                self._keep(trial, line)
        self._alive()

    def _keep(self, trial: int, line: bytes) -> None:
        try:
            stamped = json.loads(line)
            at_ns, text = _number(stamped["at_ns"]), str(stamped["line"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return  # what it writes to its error output is no line of values
        if not isinstance(at_ns, int):
            return
        values = self.lines.values(text)  # also of those before: the first is a head
        if values and at_ns >= self._began_ns:
            sample = Sample(trial=trial, at_ns=at_ns, of=self.seat.name, values=values)
            self.seat.file.append(sample)

    def _alive(self) -> None:
        if self.program.poll() is not None:
            raise ComponentError(f"{self.program.name} {self.program.obituary()}")


class Command:
    """Keeps what a program of the user writes, beside the records."""

    kind: ClassVar[str] = "command"
    summary: ClassVar[str] = "a program of yours, or a file that collectd or pcm writes"
    Spec: ClassVar[type[DriverSpec]] = CommandSpec

    def heavy(self, settings: DriverSpec) -> bool:
        return _settings(settings).heavy

    def disturbs(self, settings: DriverSpec) -> str:
        weight = "heavy" if _settings(settings).heavy else "light"
        return f"{weight}: so its user says; it runs on vsperf's own CPU"

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        own = _settings(settings)
        named = dict.fromkeys((*own.units, *own.counters))
        found = tuple(
            Quantity(
                name=name,
                unit=own.units.get(name, "?"),
                nature=Nature.COUNTER if name in own.counters else Nature.GAUGE,
            )
            for name in named
        )
        return (*found, Quantity(name="*", unit="?", nature=Nature.GAUGE, meaning="as it says"))

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        own = _settings(settings)
        action = f"{name}: follow {own.file or own.argv[0]}"
        return (Step(component=COMPONENT, action=action, argv=_command(own)),)

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        own = _settings(settings)
        if own.argv and shutil.which(own.argv[0]) is None:
            raise NotReadyError(
                f"the program of a collector is missing: {own.argv[0]}",
                why="it is not in PATH, or may not be run",
                fix="install it, give its path, or --set collect=none",
            )
        if own.file is not None and not Path(own.file).is_file():
            raise NotReadyError(
                f"the file of a collector is missing: {own.file}",
                why="nobody has written it yet",
                fix="start what writes it before the run, or --set collect=none",
            )

    def facts(self, settings: DriverSpec) -> dict[str, Any]:
        own = _settings(settings)
        return {"program": shutil.which(own.argv[0])} if own.argv else {}

    @contextmanager
    def start(self, settings: DriverSpec, seat: Seat) -> Iterator[RunningCollector]:
        own, name = _settings(settings), f"collect-{seat.name}"
        with managed(
            _command(own), name=name, workspace=seat.workspace, folder=Path.cwd()
        ) as program:
            seat.workspace.parts.pop(name, None)  # the case goes on without it
            yield Following(seat, program, Lines(own.format))


def _settings(settings: DriverSpec) -> CommandSpec:
    assert isinstance(settings, CommandSpec)
    return settings


def _command(own: CommandSpec) -> tuple[str, ...]:
    source = (whole(own.file),) if own.file is not None else ("--", *own.argv)
    return own_python.script(STAMP, *source)
