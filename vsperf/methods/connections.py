"""What a method asks that has the generator open connections through the switch, and of whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import ConnectionTrial
from vsperf.records.result import SearchResult
from vsperf.records.trial import Purpose
from vsperf.search.base import Budget


@dataclass(frozen=True, slots=True)
class ConnectionsAsked:
    """One trial, as a method asks for it."""

    rate_cps: int
    """Connections that begin in a second, at equal distances."""
    connections: int
    """That begin in all."""
    hold_ns: int = 0
    """For which each stays open once it has had its response."""
    requests: int = 1
    """On each connection, one after the other."""
    request_bytes: int = 64
    response_bytes: int = 64
    attempts: int = 3
    """To send something before the connection has failed."""
    repeat_ns: int = 1_000_000_000
    """Between the first two of them; each time it is twice as long."""
    patience_ns: int = 5_000_000_000
    """For what the other end has to say once it has heard everything."""
    request_rps: int | None = None
    """Requests a second by a clock, when all connections are open; None: each asks when it may."""
    requests_due: int | None = None
    """By the clock."""
    purpose: Purpose = Purpose.SEARCH

    @property
    def duration_ns(self) -> int:
        """For how long they are to begin."""
        return self.connections * NANOSECONDS // self.rate_cps

    @property
    def asking_ns(self) -> int:
        """For how long requests are due by a clock."""
        return (
            0
            if not self.request_rps
            else (self.requests_due or 0) * NANOSECONDS // self.request_rps
        )

    @property
    def lasting_ns(self) -> int:
        """How long all takes if nothing fails: they are closed as fast as they were opened."""
        return self.duration_ns if not self.asking_ns else 2 * self.duration_ns + self.asking_ns


@runtime_checkable
class ConnectionsBench(Protocol):
    """What a method may do that opens connections. Each trial has been judged before it is seen."""

    @property
    def budget(self) -> Budget:
        """The time there is."""

    @property
    def overhead_ns(self) -> int:
        """What a trial is expected to take beyond its duration."""

    def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
        """Open connections, again until that can be believed; who asks for it has it paid."""


@runtime_checkable
class OpensConnections(Protocol):
    """A method that has connections opened; its cases have clients and servers."""

    def checking(self) -> ConnectionsAsked:
        """Return a few like those that will be asked for, to see that any come through."""

    def play(self, bench: ConnectionsBench) -> SearchResult:
        """Ask for trials until there is an answer, or the time is over."""
