"""Methods that have the generator open connections: what they ask, and what may be said to all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, runtime_checkable
from typing import Protocol as Interface

from pydantic import Field

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.connections import MOST_ADDRESSES, MOST_DATA, Protocol
from vsperf.config.counted import Counted
from vsperf.config.method import Contradiction
from vsperf.config.topology import Topology
from vsperf.methods.base import Method
from vsperf.quantities.units import NANOSECONDS, FrameSize, LinkSpeed
from vsperf.records.connections import ConnectionTrial
from vsperf.records.histogram import merged_percentiles_ns
from vsperf.records.result import Compliance, SearchResult
from vsperf.records.trial import Purpose
from vsperf.search.base import Budget


@dataclass(frozen=True, slots=True)
class ConnectionsAsked:
    """One trial, as a method asks for it."""

    rate_cps: int
    """Connections that begin in a second, at equal distances."""
    connections: int
    """That begin in all."""
    protocol: Protocol = "tcp"
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
    flood_fps: int | None = None
    """SYNs of nobody that are sent in a second beside them."""
    flood_answered: bool = False
    """Whether servers answer these, so that a device holds connections that are half open."""
    purpose: Purpose = Purpose.SEARCH
    event: str | None = None
    """What is done to the switch meanwhile, when a part of the duration has passed."""

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
    def is_of_open_ones(self) -> bool:
        """Whether it is about connections that are open, and not about how fast they are opened."""
        return self.hold_ns > 0 or self.request_rps is not None

    @property
    def lasting_ns(self) -> int:
        """How long all takes if nothing fails: the last one is held as long as the others.

        Those that ask by a clock are closed as fast as they were opened.
        """
        if self.asking_ns:
            return 2 * self.duration_ns + self.asking_ns
        return self.duration_ns + self.hold_ns


@runtime_checkable
class ConnectionsBench(Interface):
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
class OpensConnections(Interface):
    """A method that has connections opened; its cases have clients and servers."""

    def checking(self) -> ConnectionsAsked:
        """Return a few like those that will be asked for, to see that any come through."""

    def play(self, bench: ConnectionsBench) -> SearchResult:
        """Ask for trials until there is an answer, or the time is over."""


Count = Annotated[int, Field(ge=1, le=4_194_304), Counted]
Bytes = Annotated[int, Field(ge=4, le=65_536)]
LEAST_OF_HTTP = {"request": 48, "response": 78}
"""Less than these is no message of HTTP with its head."""
CHECKED = 20
"""Connections by which it is seen that any come through."""
CHECKED_CPS = 200
CHECKED_NS = 500_000_000
"""Until their segments are sent again: a dead path is told in seconds."""


class ConnectionMethod(Method):
    """Has connections opened from clients to servers."""

    CONNECTIONS: ClassVar[bool] = True

    clients: Annotated[int, Field(ge=1, le=MOST_ADDRESSES)] = 16
    """Addresses that connections come from, in turns."""
    servers: Annotated[int, Field(ge=1, le=MOST_ADDRESSES)] = 4
    """Addresses that answer; a device that shares connections out has them behind it."""
    request: Bytes = 100
    """Bytes of a request: of HTTP/1.1 with its headers, 48 at least, or of a datagram."""
    response: Bytes = 1024
    """Bytes of a response, likewise; of HTTP 78 at least."""

    @property
    def made_by(self) -> Protocol:
        """What connections are made by."""
        return "tcp"

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return that it is asked for connections, and for no frames."""
        by_udp = self.made_by == "udp"
        return frozenset({Ability.UDP_FLOWS if by_udp else Ability.CONNECTIONS})

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield that there are no messages as short, or as long."""
        yield from super().contradictions(size, link)
        for name, least in LEAST_OF_HTTP.items():
            bytes_each = getattr(self, name)
            if self.made_by == "tcp" and bytes_each < least:
                yield Contradiction(
                    name,
                    f"is {bytes_each}, and a {name} of HTTP has {least} bytes at least",
                    "its head alone is as long",
                    f"--set search.{name}={least}",
                )
            elif self.made_by == "udp" and bytes_each > MOST_DATA:
                yield Contradiction(
                    name,
                    f"is {bytes_each:,}, and a datagram carries {MOST_DATA:,} bytes at most",
                    f"over UDP a {name} is one datagram, in one frame",
                    f"--set search.{name}={MOST_DATA}",
                )

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        """Yield that there are not two ends."""
        if len(topology.links) != 2:
            yield Contradiction(
                "kind",
                f"is {self.kind}, and topology {topology.name} has {len(topology.links)} links",
                "clients are at the end of one link, and servers at that of another",
                "--set topology=p2p",
            )

    @property
    def between(self) -> str:
        """From how many addresses to how many."""
        return f"from {_addresses(self.clients)} to {_addresses(self.servers)}"

    def checking(self) -> ConnectionsAsked:
        """Return a few connections like those that are asked for."""
        return ConnectionsAsked(
            rate_cps=CHECKED_CPS,
            connections=CHECKED,
            protocol=self.made_by,
            request_bytes=self.request,
            response_bytes=self.response,
            repeat_ns=CHECKED_NS,
            patience_ns=4 * CHECKED_NS,
            purpose=Purpose.PATH_CHECK,
        )

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        """No standard of frames says how connections are counted."""
        return ()


def due_in(duration_ns: int, rate: int) -> int:
    """Return how many are due at a rate until a time is over, the last one included.

    One fewer would make a trial a part of its distance shorter than it was asked for. Searches take
    that for a short one, which decides no load, and would ask for it again and again.
    """
    return -(-rate * duration_ns // NANOSECONDS)


def paid(bench: ConnectionsBench, asked: ConnectionsAsked) -> ConnectionTrial:
    """Open connections once, and have the time of it paid."""
    bench.budget.require(asked.lasting_ns + bench.overhead_ns)
    one = bench.connect(asked)
    bench.budget.spend(one.elapsed_ns)
    return one


def tail_ns(there: Sequence[ConnectionTrial], name: str) -> float | None:
    """Return what 99 of 100 times of a kind did not exceed; None where none was counted."""
    told = [
        getattr(one.counts.times, name)
        for one in there
        if one.counts is not None and one.counts.times is not None
    ]
    found = merged_percentiles_ns(told, [99.0])
    return None if found is None else found[99.0]


def _addresses(count: int) -> str:
    return "1 address" if count == 1 else f"{count} addresses"
