"""Streams of programs through the switch: how many bits a second arrive, as an application has it.

A stream of TCP finds its own rate, and one of datagrams is sent as fast as the sender can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from vsperf.methods.exchanges import ExchangeAsked
from vsperf.methods.workload import RATE, TOTAL, Workload, conditions, median_figure, slower
from vsperf.quantities.byte_units import ByteSize
from vsperf.quantities.human import human_share
from vsperf.quantities.unit import Unit
from vsperf.records.exchange import Exchange, Traffic
from vsperf.records.result import Figure, Limit
from vsperf.search.exchange_verdict import limited_in_repeats

DATAGRAMS, ALL_DATAGRAMS = "datagrams", "total_datagrams"
SENT, LOST, REPEATED = "sent", "lost", "repeated_segments"
LOSERS = (Limit.DUT, Limit.SERVER, Limit.HOST, Limit.UNCOUNTED)
"""Where these limit a rate, most of what is missing was lost there. A switch is not blamed for what
a program was too slow to read."""


class Streams(Workload):
    """Programs send data one way, as fast as TCP or the sender lets them."""

    counted: ClassVar[str] = "data that arrived"

    protocol: Literal["tcp", "udp"] = "tcp"
    """TCP, or datagrams of UDP."""
    write: ByteSize | None = None
    """What a client writes at once; with `udp` the payload of each datagram. What the program takes
    when not given, which is in the record."""
    buffer: ByteSize | None = None
    """Of the sockets at both ends; what the kernel gives when not given."""

    @model_validator(mode="after")
    def _datagrams_are_of_some_size(self) -> Self:
        if self.protocol == "udp" and self.write is not None and self.write.bytes > 65_507:
            raise ValueError("a datagram holds 65,507 bytes at most: `write` is its payload")
        return self

    @property
    def traffic(self) -> Traffic:
        return "tcp-stream" if self.protocol == "tcp" else "udp-stream"

    @property
    def each(self) -> ExchangeAsked:
        return replace(
            super().each,
            write_bytes=None if self.write is None else self.write.bytes,
            buffer_bytes=None if self.buffer is None else self.buffer.bytes,
        )


class Stream(Streams):
    """How much data programs get through the switch in a second."""

    summary: ClassVar[str] = "data that programs send through the switch, over TCP or UDP"

    kind: Literal["stream"]

    def metrics(self) -> Mapping[str, Unit]:
        rates = dict.fromkeys((RATE, TOTAL), Unit.BPS)
        if self.protocol == "tcp":
            return {**rates, REPEATED: Unit.COUNT, **self.cost_metrics()}
        counts = dict.fromkeys((DATAGRAMS, ALL_DATAGRAMS), Unit.PER_SECOND)
        return {**rates, **counts, SENT: Unit.BPS, LOST: Unit.RATIO, **self.cost_metrics()}

    def beside(self, made: Sequence[Exchange], middle: Exchange) -> Iterator[Figure]:
        """Yield what TCP sent again; of datagrams what was sent, and what no server had."""
        at = conditions(middle)
        if self.protocol == "tcp":
            again = [one.repeated_segments for one in made]
            yield median_figure(REPEATED, Unit.COUNT, again, at, "segments that were sent again")
            return
        yield from self._datagrams(made, middle)
        sent = [_least([one.sent_bps(way) for way in one.directions]) for one in made]
        about = f"data that clients sent, {slower(middle)}"
        yield median_figure(SENT, Unit.BPS, sent, at, about)
        ratios = [None if one.loss_ratio is None else float(one.loss_ratio) for one in made]
        about = f"datagrams that no server had{_unread(middle)}"
        limit, _ = limited_in_repeats(made, middle)
        lost = median_figure(LOST, Unit.RATIO, ratios, at, about)
        yield lost.model_copy(update={"limit": limit if limit in LOSERS else None})

    def _datagrams(self, made: Sequence[Exchange], middle: Exchange) -> Iterator[Figure]:
        """Yield how many datagrams arrived in a second: what a rate of small ones is about."""
        at, (limit, _) = conditions(middle), limited_in_repeats(made, middle)
        several = len(middle.directions) > 1
        each = f"of {(middle.datagram_bits or 0) // 8} bytes that arrived"
        together = f"in all {len(middle.directions)} directions together"
        for name, rates, where in (
            (DATAGRAMS, [one.worst_rate for one in made], slower(middle)),
            *([(ALL_DATAGRAMS, [one.total_rate for one in made], together)] if several else []),
        ):
            counts = [
                rate // one.datagram_bits if rate is not None and one.datagram_bits else None
                for rate, one in zip(rates, made, strict=True)
            ]
            found = median_figure(name, Unit.PER_SECOND, counts, at, f"datagrams {each}, {where}")
            yield found.model_copy(update={"limit": None if limit is Limit.UNKNOWN else limit})


def _unread(one: Exchange) -> str:
    """Say which part of the loss is the reader's, whose device had the frames."""
    lost = sum(instance.lost_packets or 0 for instance in one.instances)
    if one.unread_packets is None or not lost:
        return ""
    share = human_share(round(one.unread_packets / lost, 3))
    return f"; {share} of them came to the device of the place, and their reader was too slow"


def _least(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None
