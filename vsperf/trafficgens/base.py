"""What a traffic generator driver offers: single trials, never a search."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, Protocol

from vsperf.record.plan import Endpoint, Step
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


class GeneratorSession(Protocol):
    """A generator that is connected and ready."""

    def run(self, request: TrialRequest) -> TrialCounts:
        """Send, stop, drain until the counters rest, read them; raises `ComponentError`."""
        ...


class TrafficGenerator(Protocol):
    """Drives one kind of generator."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]

    def plan(self, case: CaseSpec, endpoints: tuple[Endpoint, ...]) -> tuple[Step, ...]:
        """Say what `start` will do; touches nothing."""
        ...

    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
    ) -> AbstractContextManager[GeneratorSession]:
        """Connect to the endpoints; leaving the context lets go of them."""
        ...
