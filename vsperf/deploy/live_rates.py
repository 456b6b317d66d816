"""What arrives while programs run, once a second, for whoever watches; no result rests on it.

Devices of places count whatever a program is. What single instances receive the kernel tells of
connections of TCP that stay open; of datagrams, and of connections that are soon closed, it does
not. Nobody looks towards the end, where it is to be seen at once that a client has ended.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vsperf.deploy.places import Places
from vsperf.drivers.programs.base import DATA_PORTS
from vsperf.errors import ComponentError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.progress import RateSeen
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Traffic

EACH_NS = NANOSECONDS
"""From one look to the next."""
Tell = Callable[[tuple[RateSeen, ...]], None]
STAYS_OPEN: frozenset[Traffic] = frozenset({"tcp-stream", "tcp-rr", "http-rr", "http-open"})
"""What comes over connections of TCP that stay open. Beside all else there may be one at the same
port, too, by which client and server agree; what comes by that is none of the data."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An instance, as far as its server can be looked at."""

    name: str
    place: str
    """Of the server; of its client where it has no device."""
    port: int
    """At which client and server met."""
    stays_open: bool
    """Whether the kernel tells what came to it."""
    request_bytes: int | None
    """Of each request, where one connection has all of them; None of a stream."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What was counted by a moment."""

    at_ns: int
    bits: Mapping[str, int]
    """That came to devices, by place."""
    frames: Mapping[str, int]
    received: Mapping[Seen, int]
    """Bytes, by instance; those are left out of which nobody knows."""


@dataclass
class LiveRates:
    """Looks once a second, until an exchange is nearly over."""

    places: Places
    instances: Sequence[Seen]
    tell: Tell | None
    """None where nobody watches."""
    due_ns: int
    """When to look first."""
    until_ns: int
    """From when on nobody looks any more."""
    last: _Look | None = field(default=None, init=False)

    def left_s(self, now_ns: int) -> float:
        """Return how long there is to wait for the next look."""
        over = self.tell is None or max(now_ns, self.due_ns) >= self.until_ns
        return math.inf if over else max(0, self.due_ns - now_ns) / NANOSECONDS

    def attend(self) -> None:
        """Look if it is time, and tell what came since the last look."""
        now_ns = time.monotonic_ns()
        if self.tell is None or not self.due_ns <= now_ns < self.until_ns:
            return
        self.due_ns = now_ns + EACH_NS
        try:
            look = self._look(now_ns)
        except (ComponentError, OSError):  # whoever needs these counts will say so
            self.due_ns = self.until_ns
            return
        if self.last is not None:
            self.tell(tuple(_rates(self.last, look)))
        self.last = look

    def _look(self, at_ns: int) -> _Look:
        bits: dict[str, int] = {}
        frames: dict[str, int] = {}
        received: dict[Seen, int] = {}
        for name in dict.fromkeys(one.place for one in self.instances):
            place = self.places.by_link[name]
            if (counted := place.counts()) is None:
                continue
            bits[name], frames[name] = 8 * counted.received_bytes, counted.received_frames
            told = [one for one in self.instances if one.place == name and one.stays_open]
            by_port = place.received() if told else {}
            received |= {
                one: by_port.get(one.port, 0) + by_port.get(one.port + DATA_PORTS, 0)
                for one in told
                if one.port in by_port
            }
        return _Look(at_ns, bits, frames, received)


def seen_of(name: str, place: str, port: int, asked: ExchangeAsked) -> Seen:
    """Return how an instance is looked at."""
    in_turns, stays_open = asked.traffic == "tcp-rr", asked.traffic in STAYS_OPEN
    return Seen(name, place, port, stays_open, asked.request_bytes if in_turns else None)


def _rates(before: _Look, after: _Look) -> Iterator[RateSeen]:
    """Yield what came to each device, then to each instance of which it is known."""
    passed_ns = after.at_ns - before.at_ns

    def per_second(count: int) -> int:
        return count * NANOSECONDS // passed_ns

    for place, bits in after.bits.items():
        frames = per_second(after.frames[place] - before.frames[place])
        yield RateSeen(f"at {place}", per_second(bits - before.bits[place]), Unit.BPS, frames)
    for one, count in after.received.items():
        if one in before.received:
            came = per_second(count - before.received[one])
            if one.request_bytes is None:
                yield RateSeen(one.name, 8 * came, Unit.BPS)
            else:
                yield RateSeen(one.name, came // one.request_bytes, Unit.PER_SECOND)
