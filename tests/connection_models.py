"""Connections through a device of known capacity, told by a generator that is both ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vsperf.config.traffic import TrialPolicy
from vsperf.engine.judge_connections import judged
from vsperf.errors import InvalidTrialError
from vsperf.methods.connection_search import ConcurrentConnections, ConnectionRate
from vsperf.methods.connections import ConnectionsAsked
from vsperf.methods.request_search import Goodput, PacketRate
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import (
    Asking,
    ClientAccounts,
    ConnectionCounts,
    ConnectionTrial,
    Flood,
    Segments,
    ServerAccounts,
    Times,
)
from vsperf.records.histogram import encode
from vsperf.search.base import Budget

POLICY = TrialPolicy.model_validate(
    {
        "warm_up": "0s", "learning": False, "settle": "0s", "drain": "10ms", "pause": "0s",
        "retries": 0, "offered_tolerance": "0.1%", "stretch_tolerance": "1%",
    }
)  # fmt: skip
NOTHING = dict.fromkeys(ClientAccounts.model_fields, 0)


def client(intended: int, launched: int, failed: int, most: int, cause: str) -> ClientAccounts:
    completed = launched - failed
    return ClientAccounts(
        **{
            **NOTHING,
            "intended": intended,
            "unsent": intended - launched,
            "launched": launched,
            "answered": completed,
            "completed": completed,
            cause: failed,
            "requests": completed,
            "responses": completed,
            "most_established": most,
        }
    ).balanced()


def server(accepted: int) -> ServerAccounts:
    nothing = dict.fromkeys(ServerAccounts.model_fields, 0)
    told = {"accepted": accepted, "closed": accepted, "requests": accepted, "responses": accepted}
    return ServerAccounts(**{**nothing, **told}).balanced()


SEGMENTS_EACH = (2, 1)
"""Of a request: itself and what acknowledges the response, by the client; the response."""


def asking(due: int, asked: int, waiting: int, seconds: float, busy_ppm: int) -> Asking:
    nothing = dict.fromkeys(Segments.model_fields, 0)
    by_client, by_server = (count * asked for count in SEGMENTS_EACH)
    client = {**nothing, "segments_sent": by_client, "segments_received": by_server}
    server = {**nothing, "segments_sent": by_server, "segments_received": by_client}
    return Asking(
        intended=due,
        unasked=due - asked - waiting,
        asked=asked,
        waiting=waiting,
        gone=0,
        replied=asked,
        asking_ns=int((due - 1) / due * seconds * NANOSECONDS),
        replying_ns=int(seconds * NANOSECONDS),
        elapsed_ns=int(seconds * NANOSECONDS),
        paused_ns=0,
        busy_ppm=busy_ppm,
        client=Segments(**client),
        server=Segments(**server),
    ).balanced()


def segments(connections: int) -> Segments:
    nothing = dict.fromkeys(Segments.model_fields, 0)
    return Segments(**{**nothing, "segments_sent": 5 * connections, "repeated": connections // 100})


@dataclass
class Device:
    """A device that takes so many connections a second, and holds so many at a time."""

    rate: int = 10**9
    room: int = 10**9
    generator: int = 10**9
    """Connections that the generator can begin in a second."""
    floods: float = 1.0
    """Share of a flood that the generator sends; half of that comes through."""
    requests: int = 10**9
    """Requests a second that it takes on open connections; others wait."""
    asks: int = 10**9
    """Requests a second that the generator can ask."""
    cause: str = "no_answer"
    busy_ppm: int = 300_000
    budget: Budget = field(default_factory=Budget)
    overhead_ns: int = 0
    switched: bool = True
    """Whether it is there at all, and not the generator's ports alone."""
    made: list[ConnectionTrial] = field(default_factory=list)
    change: Callable[[int], dict[str, Any]] = lambda index: {}
    """What is another way in a trial."""

    def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
        seconds = asked.connections / asked.rate_cps
        launched = min(asked.connections, int(self.generator * seconds))
        at_a_time = launched if asked.hold_ns else 1
        taken = min(launched, int(self.rate * seconds))
        taken = min(taken, self.room) if asked.hold_ns else taken
        counts = ConnectionCounts(
            settled=True,
            stopped_early=False,
            elapsed_ns=asked.lasting_ns,
            client=client(
                asked.connections, launched, launched - taken, min(at_a_time, taken), self.cause
            ),
            client_segments=segments(taken),
            times=Times(
                handshake=encode([100_000] * 99 + [900_000]),
                first_response=encode([300_000]),
                response=None,
            ),
            launching_ns=int((launched - 1) / asked.rate_cps * NANOSECONDS),
            completing_ns=asked.lasting_ns,
            server=server(taken),
            server_segments=segments(taken),
            slots=None,
            busy_ppm=self.busy_ppm,
            longest_gap_ns=0,
            paused_ns=0,
            missed_frames=0,
            asking=self._asking(asked),
            flood=self._flood(asked),
        )
        one = ConnectionTrial(
            index=len(self.made) + 1,
            retry_of=None,
            purpose=asked.purpose,
            started_at="",
            protocol=asked.protocol,
            rate_cps=asked.rate_cps,
            asked=asked.connections,
            hold_ns=asked.hold_ns,
            requests=asked.requests,
            request_bytes=asked.request_bytes,
            response_bytes=asked.response_bytes,
            request_rps=asked.request_rps,
            requests_due=asked.requests_due,
            flood_fps=asked.flood_fps,
            clients=16,
            servers=4,
            counts=counts.model_copy(update=self.change(len(self.made) + 1)),
            switch=None,
            threads=(),
            flags=(),
            error=None,
        )
        one = judged(one, POLICY)
        self.made.append(one)
        if not one.valid:
            raise InvalidTrialError(one.flags[0].value)
        return one

    def _flood(self, asked: ConnectionsAsked) -> Flood | None:
        if asked.flood_fps is None:
            return None
        sent = int(self.floods * asked.flood_fps * asked.lasting_ns / NANOSECONDS)
        answered = sent // 2 if asked.flood_answered else 0
        return Flood(sent=sent, arrived=sent // 2, answered=answered, refused=0)

    def _asking(self, asked: ConnectionsAsked) -> Asking | None:
        if asked.request_rps is None or asked.requests_due is None:
            return None
        seconds = asked.requests_due / asked.request_rps
        begun = min(asked.requests_due, int(self.asks * seconds))
        taken = min(begun, int(self.requests * seconds))
        return asking(asked.requests_due, taken, begun - taken, seconds, self.busy_ppm)


FEW = {"duration": "1s", "connections": 1_000, "min_rate": 2_000}


def packets(**settings: Any) -> PacketRate:
    return PacketRate.model_validate({"kind": "pps", **FEW, **settings})


def goodput(**settings: Any) -> Goodput:
    return Goodput.model_validate({"kind": "goodput", **FEW, **settings})


def rate(**settings: Any) -> ConnectionRate:
    return ConnectionRate.model_validate({"kind": "cps", "duration": "1s", **settings})


def held(**settings: Any) -> ConcurrentConnections:
    return ConcurrentConnections.model_validate({"kind": "cc", **settings})
