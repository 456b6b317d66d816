"""What a method asks that has programs exchange data between places, and of whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from vsperf.records.exchange import Exchange, Traffic
from vsperf.records.result import SearchResult
from vsperf.search.base import Budget


@dataclass(frozen=True, slots=True)
class ExchangeAsked:
    """One exchange, as a method asks for it; each direction of the case has all instances."""

    traffic: Traffic
    instances: int
    """Of each direction."""
    duration_ns: int
    """Of the window in which all of them run."""
    warm_up_ns: int = 0
    """Before it, in which each of them runs already."""
    write_bytes: int | None = None
    """What a client writes at once, and of datagrams their payload; None for what it takes."""
    buffer_bytes: int | None = None
    """Of the socket at both ends; None for what the kernel gives."""
    request_bytes: int = 1
    response_bytes: int = 1
    """Of transactions."""
    connections: int = 1
    """Of each instance."""
    rate: int | None = None
    """Requests a second of each instance, by a clock; None for as fast as answers come."""
    workers: int = 1
    """Of each server, each with a CPU as far as there are some."""
    interval_ns: int | None = None
    """Between two packets of an echo, by a clock."""
    beside: ExchangeAsked | None = None
    """What another program exchanges at the same time, and as long."""

    @property
    def sending_ns(self) -> int:
        """How long each client sends."""
        return self.warm_up_ns + self.duration_ns


@runtime_checkable
class PlacesBench(Protocol):
    """What a method may do that has places: have programs exchange data between them."""

    @property
    def budget(self) -> Budget:
        """The time there is."""

    def exchange(self, asked: ExchangeAsked) -> Exchange:
        """Have programs exchange data, again until that can be believed; it is judged by then."""


@runtime_checkable
class Exchanges(Protocol):
    """A method that has programs exchange data; its cases have places."""

    @property
    def traffic(self) -> Traffic:
        """What programs exchange."""

    @property
    def each(self) -> ExchangeAsked:
        """What each exchange is asked for."""

    @property
    def offloads(self) -> str:
        """Whether devices of places leave checksums and segments to each other: on, or off."""

    def play(self, bench: PlacesBench) -> SearchResult:
        """Ask for exchanges until there is an answer, or the time is over."""
