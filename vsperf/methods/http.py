"""Requests of HTTP through the switch: how many are answered in a second, how long each takes.

Without a clock a client asks again as soon as it has its answer, so while the path stands still it
asks for nothing, and how long answers took is not what clients feel who come by themselves. By a
clock a request is due whatever became of the others, and takes as long as from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.counted import Counted
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.methods.workload import RATE, TOTAL, Workload, conditions, median_figure
from vsperf.quantities.byte_units import ByteSize
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Exchange, RoundTrips, Traffic
from vsperf.records.result import Figure

HALF, TAIL = "p50_from_due", "p99_from_due"
OWN_HALF, OWN_TAIL = "p50_from_sent", "p99_from_sent"
FAILED, WAITING = "failed_requests", "waiting_requests"
CLOSED = (
    "from when they were sent, in a closed loop: how long answers took, and not what clients feel "
    "that do not wait for each other"
)
MOST_BYTES = 16 * 2**20
MOST_OF_EACH = 100
"""Requests a second of a connection, by a clock: who sends them looks at its own every 10 ms."""
MOST_REQUESTS = 2_000_000
"""Of an instance by a clock: each of them is a line of a log."""
MOST_TOGETHER = 4 * MOST_REQUESTS
"""Of all instances of a direction: their logs are in memory together."""


class Http(Workload):
    """How many requests of HTTP are answered in a second, and how long that takes."""

    summary: ClassVar[str] = "requests of HTTP through the switch, as answers come or by a clock"
    counted: ClassVar[str] = "requests that were answered"

    kind: Literal["http"]
    connections: Annotated[int, Field(ge=1, le=10_000), Counted] = 16
    """Of each instance, at the same time."""
    object: ByteSize = ByteSize(128)
    """Body of each answer."""
    rate: Annotated[int, Field(ge=1, le=1_000_000), Counted] | None = None
    """Requests a second of each instance, by a clock; as fast as answers come when not given."""
    keepalive: Literal["on", "off"] = "on"
    """Whether connections are kept; else each request has a new one."""
    workers: Annotated[int, Field(ge=1, le=256)] = 1
    """Processes of each server, which share `server_cpus` in turns."""

    @model_validator(mode="after")
    def _can_be_asked_for(self) -> Self:
        if self.object.bytes > MOST_BYTES:
            raise ValueError(f"`object` is {self.object}, and 16MiB are the most")
        if self.rate is None:
            return self
        if self.keepalive == "off":
            raise ValueError(
                "`rate` with `keepalive: off`: no program keeps to a clock where each request has "
                "a connection of its own; leave one of both out"
            )
        if self.rate > MOST_OF_EACH * self.connections:
            least = -(-self.rate // MOST_OF_EACH)
            raise ValueError(
                f"`rate` is {self.rate:,}, and {self.connections} connections send at most "
                f"{MOST_OF_EACH} requests a second each by a clock: `connections` is to be "
                f"{least:,} or more"
            )
        sent = self.rate * (self.duration.ns + self.warm_up.ns) // NANOSECONDS
        if sent > MOST_REQUESTS:
            raise ValueError(
                f"`rate` and `duration` come to {sent:,} requests, and {MOST_REQUESTS:,} of an "
                "instance are the most whose times are kept"
            )
        if sent * self.instances > MOST_TOGETHER:
            raise ValueError(
                f"`rate`, `duration` and `instances` come to {sent * self.instances:,} requests, "
                f"and {MOST_TOGETHER:,} are the most whose times are kept"
            )
        return self

    @property
    def traffic(self) -> Traffic:
        if self.rate is not None:
            return "http-open"
        return "http-rr" if self.keepalive == "on" else "http-crr"

    def metrics(self) -> Mapping[str, Unit]:
        own = dict.fromkeys((OWN_HALF, OWN_TAIL), Unit.NANOSECONDS)
        rates = dict.fromkeys((RATE, TOTAL), Unit.PER_SECOND)
        if self.rate is None:
            return {**rates, **own, FAILED: Unit.COUNT, **self.cost_metrics()}
        due = dict.fromkeys((HALF, TAIL), Unit.NANOSECONDS)
        counts = dict.fromkeys((FAILED, WAITING), Unit.COUNT)
        return {**rates, **due, **own, **counts, **self.cost_metrics()}

    @property
    def each(self) -> ExchangeAsked:
        return replace(
            super().each,
            response_bytes=self.object.bytes,
            connections=self.connections,
            rate=self.rate,
            workers=self.workers,
        )

    def beside(self, made: Sequence[Exchange], middle: Exchange) -> Iterator[Figure]:
        """Yield how long answers took, from when they were due if there is a clock; what failed."""
        at, by_clock = conditions(middle), self.rate is not None
        if by_clock:
            told = [[instance.from_due for instance in one.instances] for one in made]
            since = "from when they were due by the clock"
            if middle.unanswered_requests:
                since += ", at least: some still waited in the end, and count with that"
            yield from _times(HALF, TAIL, told, at, since)
        about = "from when the client came to send them" if by_clock else CLOSED
        told = [[instance.round_trips for instance in one.instances] for one in made]
        yield from _times(OWN_HALF, OWN_TAIL, told, at, about)
        failed = [one.failed_requests for one in made]
        about = "requests with another status than 2xx, broken connections and time-outs"
        yield median_figure(FAILED, Unit.COUNT, failed, at, about)
        if by_clock:
            waiting = [one.unanswered_requests for one in made]
            about = "requests that were due and not answered when the time was over"
            yield median_figure(WAITING, Unit.COUNT, waiting, at, about)


def _times(
    half: str, tail: str, told: Sequence[Sequence[RoundTrips | None]], at: str, since: str
) -> Iterator[Figure]:
    """Yield two percentiles, of the instance where each is longest."""
    for name, share, field in ((half, "half", "p50_ns"), (tail, "99 of 100", "p99_ns")):
        found = [
            None if None in each else max(getattr(one, field) for one in each) for each in told
        ]
        about = f"{share} of the requests took no longer, {since}; of the slowest instance"
        yield median_figure(name, Unit.NANOSECONDS, found, at, about)
