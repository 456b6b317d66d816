"""What a traffic generator driver offers: single trials, never a search."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.record.host import Calibration, Stalls
from vsperf.record.plan import Endpoint, Placement, Step
from vsperf.record.trial import TrialCounts
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """One trial as the engine asks for it."""

    load_fps: int
    """Per direction."""
    duration_ns: int
    latency: bool = False
    """Whether a latency histogram is wanted."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What the machine does to the CPUs in use while no frame is sent."""

    stalls: tuple[Stalls, ...] = ()
    """How long it keeps each of them from running."""
    round_trip_ns: int | None = None
    """How far the CPU of the generator is from the switch's; None if there are no two."""


class GeneratorSession(Protocol):
    """A generator that is connected and ready."""

    def run(self, request: TrialRequest) -> TrialCounts:
        """Send, stop, drain until the counters rest, read them; raises `ComponentError`."""
        ...

    def failure(self) -> str | None:
        """Return why the generator no longer works, or None while it does."""
        ...

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        """Return how long a cache line takes from one CPU to another and back; None in a model."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return versions and what was negotiated on its ports, for the record."""
        ...


class TrafficGenerator(Protocol):
    """Drives one kind of generator."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]

    def needs(self, case: CaseSpec) -> Needs:
        """Return what the generator asks of the machine; touches nothing."""
        ...

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        """Say what `start` will do; touches nothing."""
        ...

    def calibrate(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Calibration | None:
        """Return what the generator does on such ports without a switch; None where that is known.

        Runs before the switch does, on the CPUs of both.
        """
        ...

    def noise(self, case: CaseSpec, placement: Placement, workspace: Workspace) -> Noise:
        """Return what the machine does to busy CPUs; runs before the switch does."""
        ...

    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> AbstractContextManager[GeneratorSession]:
        """Connect to the endpoints; leaving the context lets go of them."""
        ...
