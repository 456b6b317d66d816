"""Requests and responses of programs through the switch: how many a second, how long each takes.

A client waits for each response before it asks again, so the rate of one instance is that of round
trips: what a switch adds to them is what it costs. On a connection of its own each transaction
takes two of them and the work of opening it, which is what services feel that call each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vsperf.methods.exchanges import ExchangeAsked
from vsperf.methods.workload import RATE, TOTAL, Workload, conditions, median_figure
from vsperf.quantities.unit import Unit
from vsperf.records.exchange import Exchange, Traffic
from vsperf.records.result import Figure

MEAN, TAIL = "mean_round_trip", "p99_round_trip"
IN_TURNS = "each from when it was sent, as none is due while another one waits"
Message = Annotated[int, Field(ge=1, le=1_000_000)]


class _InTurns(Workload):
    """A client of each instance waits for a response before it asks again."""

    counted: ClassVar[str] = "transactions that were completed"

    request: Message = 1
    """Bytes of a request."""
    response: Message = 1
    """Bytes of a response."""

    def metrics(self) -> Mapping[str, Unit]:
        times = dict.fromkeys((MEAN, TAIL), Unit.NANOSECONDS)
        rates = dict.fromkeys((RATE, TOTAL), Unit.PER_SECOND)
        return {**rates, **times, **self.cost_metrics()}

    @property
    def each(self) -> ExchangeAsked:
        return replace(super().each, request_bytes=self.request, response_bytes=self.response)

    def beside(self, made: Sequence[Exchange], middle: Exchange) -> Iterator[Figure]:
        """Yield how long transactions took; percentiles of several instances cannot be merged."""
        at, times = conditions(middle), [one.round_trips for one in made]
        means = [_mean(one) for one in made]
        about = f"from a request to its response, by all transactions, {IN_TURNS}"
        yield median_figure(MEAN, Unit.NANOSECONDS, means, at, about)
        tails = [max((one.p99_ns for one in found), default=None) for found in times]
        about = f"99 of 100 took no longer, in the instance where that was longest, {IN_TURNS}"
        yield median_figure(TAIL, Unit.NANOSECONDS, tails, at, about)


class Transactions(_InTurns):
    """How many requests are answered in a second, one after the other in each instance."""

    summary: ClassVar[str] = "requests and responses of programs, each instance in turns"

    kind: Literal["rr"]
    protocol: Literal["tcp", "udp"] = "tcp"
    """TCP, or datagrams of UDP."""

    @property
    def traffic(self) -> Traffic:
        return "tcp-rr" if self.protocol == "tcp" else "udp-rr"


class Connections(_InTurns):
    """How many connections are opened, asked once, answered and closed in a second."""

    summary: ClassVar[str] = "requests and responses of programs, each on a connection of its own"

    kind: Literal["crr"]

    @property
    def traffic(self) -> Traffic:
        return "tcp-crr"


def _mean(one: Exchange) -> float | None:
    """Return the mean over all transactions; None where an instance does not tell."""
    told = [
        (instance.transactions, instance.round_trips.mean_ns)
        for instance in one.instances
        if instance.transactions and instance.round_trips is not None
    ]
    if not told or len(told) < len(one.instances):
        return None
    return sum(count * mean for count, mean in told) / sum(count for count, _ in told)
