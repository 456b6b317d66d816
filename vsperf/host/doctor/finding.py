"""What a check is, what it is told about, and what it answers."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from vsperf.config.base import DriverSpec
from vsperf.errors import Problem
from vsperf.host.activity import Activity
from vsperf.host.doctor.wants import Want
from vsperf.host.files import Roots
from vsperf.plugins import Plugins

Settings = TypeVar("Settings", bound=DriverSpec)


class Status(enum.StrEnum):
    """How a check ended."""

    OK = "ok"
    ABSENT = "absent"
    """It is not there, and only some testcases miss it."""
    UNKNOWN = "unknown"
    """It cannot be told; that is never the same as all being well."""
    WARNING = "warning"
    """Runs work; numbers may suffer."""
    FAILURE = "failure"
    """A run would not work."""


class Group(enum.StrEnum):
    """What a check is about."""

    INSTALLATION = "installation"
    RIGHTS = "rights"
    PROCESSORS = "processors"
    MEMORY = "memory"
    DEVICES = "devices"
    PROGRAMS = "programs"
    CLOCK = "clock"
    OTHERS = "others on this machine"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a check found."""

    status: Status
    evidence: str
    fix: str | None = None
    """A command where there is one."""
    proviso: str | None = None
    """Of a part that can be used whatever the status: in which way only."""


@dataclass(frozen=True, slots=True)
class Host:
    """What checks look at."""

    roots: Roots = field(default_factory=Roots)
    usable: frozenset[int] = field(default_factory=lambda: frozenset(os.sched_getaffinity(0)))
    """CPUs that this process may use."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    results: Path = Path("results")
    plugins: Plugins = field(default_factory=lambda: Plugins(()))
    before: Activity | None = None
    """What the machine was doing when the examination began."""
    chosen: tuple[DriverSpec, ...] = ()
    """Settings of drivers as somebody wants to use them; of others those that are usual."""

    def settings(self, kind: type[Settings]) -> Settings | None:
        """Return what was chosen for a driver; None where nothing was."""
        return next((one for one in self.chosen if isinstance(one, kind)), None)


@dataclass(frozen=True, slots=True)
class Check:
    """A named question."""

    name: str
    group: Group
    ask: Callable[[Host], Answer]
    wants: frozenset[Want] = frozenset()
    """What it is about: a run one of whose drivers wants that asks before it starts."""
    before_runs: bool = False
    """Of a check that a driver brings: a run with that driver asks before it starts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A check with its answer."""

    name: str
    group: Group
    status: Status
    evidence: str
    fix: str | None = None
    proviso: str | None = None


def ok(evidence: str) -> Answer:
    """Answer that all is well."""
    return Answer(Status.OK, evidence)


AS_ROOT = 'sudo "$(command -v vsperf)" doctor'
"""What mends that only root can try: by its bare name sudo finds no program of a `.venv`."""


def absent(evidence: str, fix: str | None = None) -> Answer:
    """Answer that something is not there that only some testcases need."""
    return Answer(Status.ABSENT, evidence, fix)


def unknown(reason: str) -> Answer:
    """Answer that it cannot be told, and why."""
    return Answer(Status.UNKNOWN, f"cannot be told: {reason}")


def missing(problem: Problem, *, wanted: bool) -> Answer:
    """Answer that a part is not there: a failure where somebody wants that very one."""
    evidence = f"{problem.what}: {problem.why}" if problem.why else problem.what
    return (failure if wanted else absent)(evidence, problem.fix)


def warning(evidence: str, fix: str | None = None) -> Answer:
    """Answer that numbers may suffer."""
    return Answer(Status.WARNING, evidence, fix)


def failure(evidence: str, fix: str | None = None) -> Answer:
    """Answer that a run would not work."""
    return Answer(Status.FAILURE, evidence, fix)


def listed(cpus: frozenset[int]) -> str:
    """Return CPUs as the kernel writes them: 0,2-3."""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(f"{part[0]}" if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
