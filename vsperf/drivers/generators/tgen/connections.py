"""TCP connections: how tgen is asked for them, and its answer, typed and held against itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from vsperf.drivers.generators.tgen.client import longest_ns
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.errors import ComponentError

NANOSECONDS = 1_000_000_000
VERB = "connections"
SLACK_S = 10.0
UNANSWERED = ("refused", "no_answer", "misanswered", "given_up")
"""What becomes of a connection whose SYN nobody answered as it should be."""
UNFULFILLED = ("reset", "no_response", "wrong_payload", "not_closed", "unfinished")
"""What becomes of one that was established, and did not come to its end in order."""


@dataclass(frozen=True, slots=True)
class ClientEnd:
    """Who begins connections; what is None is left to tgen."""

    port: int = 0
    source_mac: str | None = None
    destination_mac: str | None = None
    ip: str | None = None
    addresses: int | None = None
    tcp_port: int | None = None
    tcp_ports: int | None = None
    target_ip: str | None = None
    targets: int | None = None
    target_port: int | None = None


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """Who is asked; what is None is left to tgen."""

    port: int = 1
    source_mac: str | None = None
    destination_mac: str | None = None
    ip: str | None = None
    addresses: int | None = None
    tcp_port: int | None = None
    connections: int | None = None


@dataclass(frozen=True, slots=True)
class Connections:
    """Connections as tgen is asked for them."""

    client: ClientEnd | None
    server: ServerEnd | None
    duration_ns: int | None = None
    """For which they are begun, or a server serves; None: until all have begun."""
    rate_cps: int | None = None
    """Connections a second; None where there is no client."""
    connections: int | None = None
    """So many; None: what is due in the duration."""
    content: str = "http"
    """What messages are: `http`, or `bytes`."""
    request_bytes: int = 100
    response_bytes: int = 1024
    requests: int = 1
    """Of each connection."""
    pause_ns: int = 0
    """From a response to the next request."""
    hold_ns: int = 0
    """From the last response to the FIN."""
    attempts: int = 3
    """To send something before it is given up."""
    repeat_ns: int = NANOSECONDS
    """Between the first two; each time it is twice as long."""
    patience_ns: int = 5 * NANOSECONDS
    """For what the other end has to say when it has heard everything."""
    slot_ns: int | None = None

    def message(self) -> dict[str, Any]:
        """Return the parameters of `connections`."""
        found = {key: value for key, value in asdict(self).items() if value is not None}
        for name in ("client", "server"):
            if name in found:
                found[name] = {k: v for k, v in found[name].items() if v is not None}
        return found | {"drain_ns": self.drain_ns}

    @property
    def drain_ns(self) -> int:
        """How long a connection may take that began last."""
        each_ns = (self.repeat_ns << self.attempts) + self.patience_ns
        return (self.requests + 2) * each_ns + self.hold_ns + (self.requests - 1) * self.pause_ns

    def patience_s(self) -> float:
        """Return how long the answer may take."""
        begin_ns = self.duration_ns
        if begin_ns is None:
            begin_ns = (self.connections or 0) * NANOSECONDS // (self.rate_cps or 1)
        return (longest_ns(begin_ns) + self.drain_ns) / NANOSECONDS + SLACK_S


@dataclass(frozen=True, slots=True)
class Segments:
    """What an end counts of TCP segments."""

    segments_sent: int
    segments_received: int
    damaged: int
    """By a checksum or a length."""
    stray: int
    """Of no connection."""
    repeated: int
    """Sent again, since nobody acknowledged them."""
    disordered: int
    no_room: int

    @classmethod
    def of(cls, found: Mapping[str, int]) -> Self:
        return cls(**_integers(cls, found))


@dataclass(frozen=True, slots=True)
class ClientAccounts:
    """What became of each connection that was due."""

    intended: int
    unsent: int
    launched: int
    answered: int
    completed: int
    refused: int
    no_answer: int
    misanswered: int
    """Whoever answered its SYN had another address or port than who was asked."""
    given_up: int
    reset: int
    no_response: int
    wrong_payload: int
    not_closed: int
    unfinished: int
    repeated_syns: int
    misanswers: int
    requests: int
    responses: int
    response_bytes: int
    most_established: int
    no_port: int

    @classmethod
    def of(cls, found: Mapping[str, int]) -> Self:
        accounts = cls(**_integers(cls, found))
        accounts.check()
        return accounts

    def check(self) -> None:
        """Refuse accounts that do not add up: each connection has one outcome."""
        unanswered = sum(getattr(self, name) for name in UNANSWERED)
        unfulfilled = sum(getattr(self, name) for name in UNFULFILLED)
        _same("connections that were due", self.intended, self.launched + self.unsent)
        _same("SYNs that were sent", self.launched, self.answered + unanswered)
        _same("SYNs that were answered", self.answered, self.completed + unfulfilled)

    @property
    def failed(self) -> dict[str, int]:
        """How many did not come to their end in order, by cause."""
        counted = {name: getattr(self, name) for name in (*UNANSWERED, *UNFULFILLED)}
        return {name: count for name, count in counted.items() if count}


@dataclass(frozen=True, slots=True)
class ServerAccounts:
    """What became of each connection that was accepted."""

    accepted: int
    full: int
    established: int
    closed: int
    half_open: int
    reset: int
    wrong_payload: int
    not_heard: int
    idle: int
    not_closed: int
    left: int
    requests: int
    responses: int
    request_bytes: int
    most_connections: int

    @classmethod
    def of(cls, found: Mapping[str, int]) -> Self:
        accounts = cls(**_integers(cls, found))
        ended = ("closed", "half_open", "reset", "wrong_payload", "not_heard", "idle")
        counted = sum(getattr(accounts, name) for name in (*ended, "not_closed", "left"))
        _same("connections that were accepted", accounts.accepted, counted)
        return accounts


@dataclass(frozen=True, slots=True)
class Times:
    """Histograms in HdrHistogram's encoding; None where nothing was counted."""

    handshake: str | None
    """From when a SYN was due to its answer."""
    first_response: str | None
    """From when a SYN was due to the end of the first response."""
    response: str | None
    """From a request to the end of its response."""


@dataclass(frozen=True, slots=True)
class ConnectionSlots:
    """The same by slots of time, of which each connection is in the one in which it was due."""

    width_ns: int
    launched: tuple[int, ...]
    answered: tuple[int, ...]
    completed: tuple[int, ...]
    established: tuple[int, ...]
    """At the end of each slot."""
    away_ns: tuple[int, ...]
    """For which the generator's CPU did not run it."""


@dataclass(frozen=True, slots=True)
class Made:
    """Connections that were made, and what tgen knows of itself meanwhile."""

    settled: bool
    stopped_early: bool
    elapsed_ns: int
    client: ClientAccounts | None
    client_segments: Segments | None
    times: Times | None
    launching_ns: int | None
    """From the begin to when the last SYN left for the first time."""
    completing_ns: int | None
    """From the begin to the end of the last connection that was completed."""
    server: ServerAccounts | None
    server_segments: Segments | None
    slots: ConnectionSlots | None
    busy_ppm: int
    longest_gap_ns: int
    paused_ns: int
    missed_frames: int
    """Which the devices of the ports say that they dropped."""


def make_connections(tgen: Tgen, asked: Connections) -> tuple[Made, dict[str, Any]]:
    """Have tgen make connections; its answer as it is comes second."""
    if VERB not in tgen.hello["verbs"]:
        raise ComponentError(
            "this tgen makes no connections",
            why="it was built from other sources than this vsperf",
        )
    result = tgen.ask(VERB, asked.patience_s(), **asked.message())
    return made_of(result), result


def made_of(result: Mapping[str, Any]) -> Made:
    """Return what an answer tells; one whose accounts do not add up is none."""
    try:
        client, server = result.get("client"), result.get("server")
        workers = result["workers"]
        return Made(
            settled=result["settled"],
            stopped_early=result["stopped_early"],
            elapsed_ns=result["elapsed_ns"],
            client=ClientAccounts.of(client) if client else None,
            client_segments=Segments.of(client) if client else None,
            times=_times(client) if client else None,
            launching_ns=client.get("launching_ns") if client else None,
            completing_ns=client.get("completing_ns") if client else None,
            server=ServerAccounts.of(server) if server else None,
            server_segments=Segments.of(server) if server else None,
            slots=_slots(result["slots"]) if "slots" in result else None,
            busy_ppm=max(worker.get("busy_ppm", 0) for worker in workers),
            longest_gap_ns=max(worker.get("longest_gap_ns", 0) for worker in workers),
            paused_ns=max(worker["paused_ns"] for worker in workers),
            missed_frames=sum(port.get("missed", 0) for port in result["ports"]),
        )
    except KeyError as error:
        raise ComponentError(f"tgen's connections have no {error}") from error


def _integers(kind: Any, found: Mapping[str, int]) -> dict[str, int]:
    return {field.name: found[field.name] for field in fields(kind)}


def _same(what: str, told: int, counted: int) -> None:
    if told != counted:
        raise ComponentError(
            f"tgen tells of {told} {what}, and what became of them adds up to {counted}"
        )


def _times(client: Mapping[str, Any]) -> Times:
    return Times(*(client[field.name].get("hdr") for field in fields(Times)))


def _slots(found: Mapping[str, Any]) -> ConnectionSlots:
    lanes = ("launched", "answered", "completed", "established", "away_ns")
    return ConnectionSlots(found["slot_ns"], *(tuple(found[lane]) for lane in lanes))
