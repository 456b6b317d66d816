"""The lines of a run's record file, in the order in which they are written.

`records.jsonl` is the truth of a run: a header, then for each case a start line, its trials and
its result, then an end line. A case that was interrupted has a start line and no result; when the
run is resumed it starts anew with another start line, and the earlier trials stay where they are.
"""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter

from vsperf.config.point import point_label
from vsperf.errors import UsageError
from vsperf.records.base import SCHEMA_VERSION, Record
from vsperf.records.connections import ConnectionTrial
from vsperf.records.exchange import Exchange
from vsperf.records.flags import Flag
from vsperf.records.host import Conditions
from vsperf.records.result import Compliance, ExactRatio, Limit, SearchResult
from vsperf.records.trial import Second, Trial
from vsperf.records.turns import Round
from vsperf.trust.printable import as_label

# What a plan leaves open until a deployment has a folder and a name.
#
# In a plan's texts a placeholder stands between marks that no path, argument or setting can hold,
# as the kernel ends them there. So nothing that a user writes is ever taken for one. People and
# records are shown its word.

MARK = "\0"


class Placeholder(enum.Enum):
    """What is filled in when a deployment is made; f-strings take it as it is."""

    RUN = "RUN"
    """The deployment's folder."""
    NAME = "NAME"
    """Its name, as DPDK's file prefix."""
    TAP = "TAP"
    """A short name, as network devices of the kernel have room for no other."""

    def __str__(self) -> str:
        return f"{MARK}{self.value}{MARK}"


MARKED = re.compile(f"{MARK}({'|'.join(one.value for one in Placeholder)}){MARK}")


def fill_in(text: str, known: Mapping[Placeholder, str]) -> str:
    """Return a text of a plan with its placeholders filled in."""
    return MARKED.sub(lambda found: known[Placeholder(found[1])], text)


def shown(text: str) -> str:
    """Return a text of a plan for people, with the words of its placeholders."""
    return MARKED.sub(lambda found: found[1], text)


Shown = Annotated[str, BeforeValidator(lambda text: shown(text) if type(text) is str else text)]
"""A text that is there to be read, and never filled in."""
Open = Annotated[str, PlainSerializer(shown, return_type=str)]
"""A text that is filled in when it is used, and written down with words."""


# The plan: everything a deployment will do, in order, as a value to print and to store.


OF_THE_KERNEL = ("tap", "packet")
"""Kinds of endpoints that are devices of the kernel, in whatever network."""


class Endpoint(Record):
    """Where a switch port can be reached by the generator."""

    link: str
    """Name of the testbed link."""
    kind: str
    """What has to be spoken there, such as `sim` or `vhost-user`."""
    address: Open
    """Socket, PCI address or model; of a device of the kernel `network/device`."""

    @property
    def located(self) -> tuple[str, str]:
        """Of a device of the kernel, the network that it is in and its name.

        It is in that of the host where the network has no name.
        """
        network, _, device = self.address.rpartition("/")
        return network, device


class Wire(Record):
    """What a NIC of a VNF is plugged into."""

    vnf: str
    """Such as vm1."""
    nic: int
    """Number of the NIC within its VNF, from 0."""
    kind: str
    """What has to be spoken there: with `vhost-user-client` the other side calls and the VNF
    listens, with `vhost-user` the other way round."""
    address: Open
    """Socket or device."""
    mac: str
    """Address of the NIC."""
    peer_mac: str
    """Where frames that leave by the NIC go to."""


class Step(Record):
    """One thing that will be done."""

    component: str
    """Who does it, such as `vswitch` or `generator`."""
    action: Shown
    """What is done, for people."""
    argv: tuple[Shown, ...] | None = None
    """The command line, if it is one."""
    lines: tuple[Shown, ...] = ()
    """What is written: the lines of a file, flow rules, settings of a database."""


class Placement(Record):
    """Which CPUs do what."""

    cpus: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """By role, such as `pmd`, `generator` or `switch main`."""
    nodes: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """Memory nodes of these CPUs, by role; a role that is not named here is on node 0."""
    notes: tuple[str, ...] = ()
    """What a reader must know: roles that share a CPU or a core, memory of another node."""

    def of(self, role: str) -> tuple[int, ...]:
        """Return the CPUs of a role; empty if it has none."""
        return self.cpus.get(role, ())


class Plan(Record):
    """All steps, in order."""

    steps: tuple[Step, ...]
    endpoints: tuple[Endpoint, ...]
    wires: tuple[Wire, ...] = ()
    """The NICs of all VNFs."""
    directions: tuple[tuple[str, str], ...]
    """Ways of the test traffic: (link it enters by, link it leaves by)."""
    placement: Placement = Placement()
    hugepage_bytes: dict[int, int] = Field(default_factory=dict)
    """Memory in hugepages that all parts together take, by memory node."""
    notes: tuple[str, ...] = ()
    """What a reader of the result must know about the deployment."""


# Labels: what a user calls a run, such as the git revision of the switch that it measured.

NAME: Final = r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$"
MOST_CHARACTERS: Final = 200
"""Of a value."""
EXAMPLE: Final = "write it like --label revision=4f2c1ab"

LabelName = Annotated[str, Field(pattern=NAME)]


def parse_labels(texts: Iterable[str]) -> dict[str, str]:
    """Return labels written as `key=value`, by name; each name stands once."""
    found: dict[str, str] = {}
    for text in texts:
        name, value = parse_label(text)
        if name in found:
            raise UsageError(
                f"the label {name!r} is given twice",
                why=f"it cannot be both {found[name]!r} and {value!r}",
                fix="give each label once",
            )
        found[name] = value
    return dict(sorted(found.items()))


def parse_label(text: str) -> tuple[str, str]:
    """Return the name and the value of one label; what stands around them is no part of them."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise UsageError(f"the label {text!r} has no value", fix=EXAMPLE)
    if not re.fullmatch(NAME, name):
        raise UsageError(
            f"{name!r} cannot be the name of a label",
            why="a name begins with a letter and has at most 63 letters, digits and . _ -",
            fix=EXAMPLE,
        )
    if not value:
        raise UsageError(
            f"the label {name!r} has no value",
            why="an empty one could not be told from none",
            fix=f"leave --label {name}= out, or say what it is",
        )
    if len(value) > MOST_CHARACTERS or not value.isprintable():
        raise UsageError(
            f"the label {name!r} has a value that cannot be kept",
            why=f"a value has at most {MOST_CHARACTERS} characters, all of them printable",
            fix=EXAMPLE,
        )
    return name, value


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels in one line for people."""
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))


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
            part = as_label(f"-{point_label(name, value)}")
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

    @property
    def command_line(self) -> str:
        """The command that began it, as a shell takes it."""
        words = self.argv if self.argv[:1] == ("vsperf",) else ("vsperf", *self.argv)
        return shlex.join(words)


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


class ExchangeLine(Record):
    """One exchange of a case in which programs exchange data."""

    type: Literal["exchange"] = "exchange"
    case: str
    exchange: Exchange


class ConnectionsLine(Record):
    """One trial of a case in which connections are opened."""

    type: Literal["connections"] = "connections"
    case: str
    trial: ConnectionTrial


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
    conditions: Conditions | None = None
    """None for a case that came to no result."""
    trials: int
    measured_ns: int
    """Sum of the time that its trials took; of a model, simulated time."""
    clean_share: ExactRatio | None = None
    """Of the time of sending, what is clean; of programs, what others left of the CPU of which they
    had most. None where nobody knows of any."""
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
    RunHeader
    | CaseStart
    | TrialLine
    | SecondLine
    | RoundLine
    | ExchangeLine
    | ConnectionsLine
    | CaseRecord
    | RunResume
    | RunEnd,
    Field(discriminator="type"),
]
LINE: TypeAdapter[Line] = TypeAdapter(Line)
"""Reads and writes any line."""
