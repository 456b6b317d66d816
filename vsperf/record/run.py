"""The lines of a run's record file, in the order in which they are written.

`records.jsonl` is the truth of a run: a header, then for each case a start line, its trials and
its result, then an end line. A case that was interrupted has a start line and no result; when the
run is resumed it starts anew with another start line, and the earlier trials stay where they are.
"""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from vsperf.printable import as_label
from vsperf.record.base import SCHEMA_VERSION, Record
from vsperf.record.flags import Flag
from vsperf.record.host import Surroundings
from vsperf.record.labels import LabelName
from vsperf.record.limit import Limit
from vsperf.record.plan import Plan
from vsperf.record.result import Compliance, SearchResult
from vsperf.record.second import Second
from vsperf.record.trial import Trial
from vsperf.record.turns import Round


class Outcome(enum.StrEnum):
    """How a case ended."""

    PASS = "PASS"
    FAIL = "FAIL"
    """A criterion was missed."""
    INVALID = "INVALID"
    """It ran, but the number cannot be trusted."""
    ERROR = "ERROR"
    """A component failed."""
    SKIP = "SKIP"
    """It was not run, for the reason given."""
    ABORTED = "ABORTED"
    """It was interrupted."""


class PlannedCase(Record):
    """A case as the header of its run announces it."""

    key: str
    """Unique within the run: the case's id, and which repetition."""
    id: str
    label: str
    point: dict[str, str]
    """The expanded values that tell this case from its sisters, such as frame_size: 64B."""
    repeat: int
    spec: dict[str, Any]
    """The resolved specification."""
    origins: dict[str, str]
    """Dotted path of a value → where it was written."""

    def driver(self, section: str) -> str | None:
        """Return what its driver of a section is called: as in a list of several, or its kind."""
        found = self.spec.get(section)
        kind = found.get("kind") if isinstance(found, dict) else None
        return self.point.get(section) or (kind if isinstance(kind, str) else None)

    def label_without(self, section: str) -> str:
        """Return its label without the driver of a section, which its counterparts do not have."""
        left, kept = self.label, ""
        for name, value in reversed(self.point.items()):
            part = as_label(f"-{value}flows" if name == "flows" else f"-{value}")
            if left.endswith(part) and name != "frame_size":
                left = left.removesuffix(part)
                kept = kept if name == section else part + kept
        return left + kept


class RunHeader(Record):
    """The first line: what will be done, by which software, on which machine."""

    type: Literal["run"] = "run"
    schema_version: int = SCHEMA_VERSION
    run: str
    started_at: str
    simulated: bool
    """True where the numbers come from a model."""
    testbed: str
    preset: str
    labels: dict[LabelName, str] = Field(default_factory=dict)
    """What the user called the run, such as the revision of the switch: `--label key=value`."""
    argv: tuple[str, ...]
    vsperf_version: str
    environment: dict[str, Any]
    """Facts on the machine and the software, as found before the run."""
    cases: tuple[PlannedCase, ...]


class CaseStart(Record):
    """A case begins; what was recorded for it before is an abandoned attempt."""

    type: Literal["case-start"] = "case-start"
    case: str
    attempt: int
    started_at: str
    plan: Plan


class TrialLine(Record):
    """One trial of a case."""

    type: Literal["trial"] = "trial"
    case: str
    trial: Trial


class SecondLine(Record):
    """About a second of a long trial, written while it goes on."""

    type: Literal["second"] = "second"
    case: str
    second: Second


class RoundLine(Record):
    """One round of a case in which switches take turns."""

    type: Literal["round"] = "round"
    case: str
    round: Round


class Check(Record):
    """One criterion, judged."""

    criterion: str
    met: bool | None
    """None when the measurement cannot tell."""
    found: str


class CaseRecord(Record):
    """A case is over."""

    type: Literal["case"] = "case"
    case: str
    outcome: Outcome
    reason: str
    """Why it is not PASS; empty if it is."""
    result: SearchResult | None
    limit: Limit | None
    """What limited the first goal."""
    flags: tuple[Flag, ...]
    checks: tuple[Check, ...]
    compliance: tuple[Compliance, ...]
    warnings: tuple[str, ...]
    surroundings: Surroundings | None = None
    """None for a case that came to no result."""
    trials: int
    measured_ns: int
    """Sum of the time that its trials took; of a model, simulated time."""
    finished_at: str


class RunResume(Record):
    """An interrupted run goes on."""

    type: Literal["resume"] = "resume"
    resumed_at: str
    argv: tuple[str, ...]


class RunEnd(Record):
    """The last line of a run that came to its end."""

    type: Literal["run-end"] = "run-end"
    finished_at: str
    exit_code: int


Line = Annotated[
    RunHeader | CaseStart | TrialLine | SecondLine | RoundLine | CaseRecord | RunResume | RunEnd,
    Field(discriminator="type"),
]
LINE: TypeAdapter[Line] = TypeAdapter(Line)
"""Reads and writes any line."""
