"""What a driver of a collector offers.

A light one looks around every trial; a heavy one gets trials of its own after the result is there,
at the load that was found, so that nothing is judged by a trial that it disturbed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.errors import UsageError
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import Duration
from vsperf.records.files.series import SeriesFile
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.series import Quantity, Sample
from vsperf.records.trial import Trial

COMPONENT = "collector"
"""Who makes the steps of collectors in a plan."""
OWN = Duration(5_000_000_000)
LEAST_NS = 1_000_000_000
Trials = Annotated[int, Field(ge=1, le=20)]


class OwnTrialsSpec(DriverSpec):
    """Settings of a collector that has trials of its own."""

    duration: Duration = OWN
    """Length of a trial of its own."""
    trials: Trials = 1
    """How many trials it has for itself."""


def own_trials_ns(settings: DriverSpec) -> tuple[int, ...]:
    """Return how long each trial is that a heavy collector has for itself; one unless it says."""
    if not isinstance(settings, OwnTrialsSpec):
        return (OWN.ns,)
    return (max(LEAST_NS, settings.duration.ns),) * settings.trials


def own_trials_text(settings: DriverSpec) -> str:
    """Say in words how many these are."""
    count = len(own_trials_ns(settings))
    return f"{count} trials of its own" if count > 1 else "a trial of its own"


@dataclass(frozen=True, slots=True)
class Parts:
    """What runs, and can be asked by those collectors that know how."""

    switch: object | None
    vnfs: object | None
    generator: object
    entries: tuple[Endpoint, ...] = ()
    """Where the frames of each direction leave the generator."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a collector sits: beside what it looks at."""

    name: str
    """Its name in the case."""
    case: CaseSpec
    placement: Placement
    workspace: Workspace
    parts: Parts
    file: SeriesFile


class RunningCollector(Protocol):
    """A collector at work. Whatever it raises ends it, and never the case."""

    def begin(self, trial: int) -> None:
        """Look before a trial."""

    def end(self, trial: int) -> None:
        """Look after it; what was seen is in the file then."""


class Collector(Protocol):
    """Collects one kind of series."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]

    def heavy(self, settings: DriverSpec) -> bool:
        """Whether it needs trials of its own."""
        return False

    def disturbs(self, settings: DriverSpec) -> str:
        """Say what it costs those that are measured."""

    def quantities(self, settings: DriverSpec) -> tuple[Quantity, ...]:
        """Return what it collects."""

    def plan(self, settings: DriverSpec, name: str, placement: Placement) -> tuple[Step, ...]:
        """Say what it will do; touches nothing."""

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        """Raise for what is missing, or does not fit the case; asked before anything starts."""

    def facts(self, settings: DriverSpec) -> dict[str, Any]:
        """Return what explains the values, such as versions; for the head of the file."""
        return {}

    def start(self, settings: DriverSpec, seat: Seat) -> AbstractContextManager[RunningCollector]:
        """Begin to collect; leaving the context ends it, with all that it started."""


@runtime_checkable
class AtPorts(Protocol):
    """A collector that looks at the ports of the generator, and not at any port."""

    def fits(self, case: CaseSpec, entries: tuple[Endpoint, ...]) -> None:
        """Raise where it would see nothing; asked when the case is planned."""


@runtime_checkable
class Hearing(Protocol):
    """A running heavy collector that holds what it saw against its trial."""

    def hear(self, trial: Trial) -> None:
        """Be told what the generator counted, after the end of the trial."""


@dataclass
class Asking:
    """Asks a part that runs before each trial and after it; nothing runs beside the trial."""

    seat: Seat
    ask: Callable[[int], tuple[Sample, ...]]
    """Returns what the part says now, as samples of the trial with that index."""

    def begin(self, trial: int) -> None:
        self._look(trial)

    def end(self, trial: int) -> None:
        self._look(trial)

    def _look(self, trial: int) -> None:
        self.seat.file.append(*self.ask(trial))


def refuse(kind: str, why: str, fix: str) -> UsageError:
    """Return the error for a collector that the case has nothing for."""
    return UsageError(f"the collector {kind} has nothing to collect here", why=why, fix=fix)


@runtime_checkable
class Inside(Protocol):
    """A switch, or VNFs, that say more of themselves than the record of a trial holds."""

    def insides(self) -> dict[str, dict[str, int]]:
        """Return what it counts now: by what it is about, and by name."""
