"""What a traffic generator driver offers: single trials, never a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import End
from vsperf.errors import ComponentError
from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.connections import ConnectionCounts
from vsperf.records.flags import Flag
from vsperf.records.host import Calibration, Stalls
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.trial import Event, RateStep, Sample, TrialCounts
from vsperf.records.turns import Turns

LESS_EXACT = {
    Ability.PACED: Flag.UNPACED,
    Ability.OWN_COUNTS: Flag.COUNTED_BY_SWITCH,
    Ability.NUMBERED: Flag.UNCHECKED,
    Ability.EVERY_LATENCY: Flag.LATENCY_SAMPLED,
}
"""What is a reservation where it is lacking, and no reason to refuse a case."""


def reservations(can: Capabilities, *, latency: bool) -> tuple[Flag, ...]:
    """Return what is to be said against each trial of a generator; `latency`: it was measured."""
    return tuple(
        flag
        for ability, flag in LESS_EXACT.items()
        if not can.can(ability) and (latency or flag is not Flag.LATENCY_SAMPLED)
    )


def less_exact(kind: str, can: Capabilities) -> Iterator[str]:
    """Yield the same for people who plan a case."""
    for flag in reservations(can, latency=can.can(Ability.LATENCY)):
        yield f"generator {kind}, {flag}: {flag.gist[0].lower()}{flag.gist[1:]}"


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """One trial as the engine asks for it."""

    load_fps: int
    """Per direction."""
    duration_ns: int
    latency: bool = False
    """Whether a latency histogram is wanted."""
    steps: tuple[RateStep, ...] = ()
    """Loads that follow each other without a pause, in place of one: see `of_steps`."""
    latency_after_ns: int = 0
    """Only frames that leave from this moment of the trial on count for the histogram, and the
    first of them is told by itself (RFC 2544, section 26.2)."""
    latency_ranges: tuple[tuple[int, int], ...] = ()
    """Up to four ranges of frames of each direction, first and last, counted from 0; each has a
    histogram of its own. Frame s is the (s // F)-th of its flow where F flows take turns."""
    event: Event | None = None
    """What is done to a switch that is a model, and when; of a real one it is not known before."""
    headers: bool = False
    """Whether the headers of the first frames that arrive are wanted."""

    @classmethod
    def of_steps(cls, *steps: RateStep, latency: bool = False) -> Self:
        """Return a trial of several loads; the first one stands for it where there can be one."""
        duration_ns = sum(step.duration_ns for step in steps)
        return cls(steps[0].load_fps, duration_ns, latency, steps)

    @property
    def parts(self) -> tuple[RateStep, ...]:
        """The steps, or the one load."""
        return self.steps or (RateStep(self.load_fps, self.duration_ns),)

    @property
    def frames(self) -> int:
        """What is to be sent per direction."""
        return sum(step.frames for step in self.parts)

    def require_frames(self) -> None:
        """Raise `ComponentError` where there is nothing to send."""
        if any(min(step.load_fps, step.duration_ns, step.frames) <= 0 for step in self.parts):
            raise ComponentError(
                f"a trial of {self.load_fps} fps for {self.duration_ns} ns has no frames",
                why="load and duration must be above zero",
            )


OnSample = Callable[[Sample], None]
"""Told about once a second, while frames are sent, how a trial is going."""


@dataclass(frozen=True, slots=True)
class HostJitter:
    """What the machine does to the CPUs in use while no frame is sent."""

    stalls: tuple[Stalls, ...] = ()
    """How long it keeps each of them from running."""
    round_trip_ns: int | None = None
    """How far the CPU of the generator is from the switch's; None if there are no two."""


class GeneratorSession(Protocol):
    """A generator that is connected and ready."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        """Send, stop, drain until the counters rest, read them; raises `ComponentError`.

        What `on_sample` raises ends the session: frames are still being sent.
        """

    def failure(self) -> str | None:
        """Return why the generator no longer works, or None while it does."""

    def facts(self) -> dict[str, Any]:
        """Return versions and what was negotiated on its ports, for the record."""


@runtime_checkable
class KnowsDistances(Protocol):
    """A session that knows how far CPUs of this machine are from each other."""

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        """Return how long a cache line takes from one CPU to another and back.

        None where there is no such way, as in most models.
        """


@runtime_checkable
class KnowsMoreLater(Protocol):
    """A session that has facts which only its trials can tell; not every one has."""

    def late_facts(self) -> dict[str, Any]:
        """Return those of `facts` that trials have changed, without asking anybody."""


@runtime_checkable
class HasOwnTime(Protocol):
    """A session whose time is not that of this machine: nobody has to wait for it to pass."""

    def let_pass(self, ns: int) -> None:
        """Let so much time pass in which nothing is sent."""


@dataclass(frozen=True, slots=True)
class TurnsRequest:
    """A round of turns, as the engine asks for it."""

    order: tuple[int, ...]
    """Whose turn it is, by the place of its side; the one before is held still, and this goes on.
    """
    load_fps: int
    """Offered to the switch whose turn it is, per direction."""
    turn_ns: int
    """For how long frames are counted."""
    guard_ns: int
    """For how long frames are sent before that."""
    silent_ns: int = 50_000
    """A switch that was stopped is through when nothing came from it for so long."""
    latency: bool = False
    """Whether each turn is to tell how long frames were on their way."""
    rings: bool = False
    """Whether the rings of a switch that is held still are filled meanwhile, and it is measured how
    fast it empties them; one that need not be held is offered the load."""

    @property
    def length_ns(self) -> int:
        return len(self.order) * (self.turn_ns + self.guard_ns)


@dataclass(frozen=True, slots=True)
class TurnSide:
    """A switch that takes turns, as the generator sees it."""

    endpoints: tuple[Endpoint, ...]
    processes: tuple[int, ...] = ()
    """By number: what is stopped while others have their turn, and goes on for its own; none of a
    switch that stands still when nothing is sent to it, such as a model."""


class TurnsSession(Protocol):
    """A generator that is connected to all switches of a comparison."""

    def take_turns(self, request: TurnsRequest) -> Turns:
        """Have each switch go on in its turn, and hold all others still; raises `ComponentError`.

        All of them go on again when it returns, whatever happened.
        """

    def failure(self) -> str | None:
        """Return why the generator no longer works, or None while it does."""

    def facts(self) -> dict[str, Any]:
        """Return versions and what was negotiated on its ports, for the record."""


@runtime_checkable
class TakesTurns(Protocol):
    """A driver whose generator can send to several switches in turns (`Ability.TURNS`)."""

    def start_turns(
        self,
        case: CaseSpec,
        sides: tuple[TurnSide, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> AbstractContextManager[TurnsSession]:
        """Connect to the endpoints of all sides; leaving the context lets go of them."""

    def plan_turns(
        self,
        case: CaseSpec,
        sides: tuple[tuple[Endpoint, ...], ...],
        placement: Placement,
    ) -> tuple[Step, ...]:
        """Say what `start_turns` will do; touches nothing."""


@dataclass(frozen=True, slots=True)
class ConnectionEnd:
    """Where connections begin, or where they are answered."""

    end: End
    next_hop: str
    """MAC address that frames from here are sent to."""


@dataclass(frozen=True, slots=True)
class ConnectionEnds:
    """Who opens connections, who answers them, and whom the former call."""

    client: ConnectionEnd
    server: ConnectionEnd
    called_ip: str
    """Whom clients call: the first server, or what stands for all of them."""
    called: int
    """So many addresses from that one on, in turns."""


@dataclass(frozen=True, slots=True)
class ConnectionsRequest:
    """Connections as the engine asks for them."""

    asked: ConnectionsAsked
    ends: ConnectionEnds


@runtime_checkable
class ConnectsSession(Protocol):
    """A session that opens connections and answers them (`Ability.CONNECTIONS`, or `UDP_FLOWS`).

    Its clients go on behind the ports of the trial before: what is between may still know those.
    Those of who cannot begin anew in each trial; its page says so.
    """

    def connect(self, request: ConnectionsRequest) -> ConnectionCounts:
        """Open connections, wait for the end of each, and say what became of them."""


def no_frames(what: str, fix: str) -> ComponentError:
    """Return the error of who opens connections, and is asked for frames."""
    return ComponentError(what, why="it opens connections", fix=fix)


class TrafficGenerator(Protocol):
    """Drives one kind of generator."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]

    def capabilities(self, case: CaseSpec) -> Capabilities:
        """Return what it can do and tell as a case sets it up; touches nothing.

        A case that needs more is refused before `plan` is asked.
        """

    def needs(self, case: CaseSpec) -> Needs:
        """Return what the generator asks of the machine; touches nothing."""

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        """Say what `start` will do; touches nothing."""

    def calibrate(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Calibration | None:
        """Return what the generator does on such ports without a switch; None where that is known.

        Runs before the switch does, on the CPUs of both.
        """

    def jitter(self, case: CaseSpec, placement: Placement, workspace: Workspace) -> HostJitter:
        """Return what the machine does to busy CPUs; runs before the switch does."""

    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> AbstractContextManager[GeneratorSession]:
        """Connect to the endpoints; leaving the context lets go of them."""


class Unmeasured(TrafficGenerator):
    """A generator of which nobody measures beforehand what it or the machine can do."""

    def calibrate(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Calibration | None:
        return None

    def jitter(self, case: CaseSpec, placement: Placement, workspace: Workspace) -> HostJitter:
        return HostJitter()
