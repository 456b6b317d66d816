"""Connections: how tgen is asked for them, and its answer, typed and held against itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from vsperf.config.connections import FIRST_PORT, PORTS_EACH, SERVICE_PORT
from vsperf.drivers.generators.base import ConnectionsRequest
from vsperf.drivers.generators.tgen.client import longest_ns
from vsperf.drivers.generators.tgen.messages import asked_ns
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.base import Record
from vsperf.records.connections import (
    Asking,
    ClientAccounts,
    ConnectionCounts,
    ConnectionSlots,
    Flood,
    Segments,
    ServerAccounts,
    Times,
    Unbalanced,
)

Part = TypeVar("Part", bound=Record)
VERB = "connections"
SLACK_S = 10.0
OPENING_TIMES, OPENING_NS = 4, 10 * NANOSECONDS
"""For so many times as long as it should take, and some time more, connections may be opened where
it is about those that are open."""
MOST_IDLE_NS = 24 * 3600 * NANOSECONDS
"""For which tgen's server waits for a request at most."""
MOST_AT_ONCE = 1 << 22
"""Connections that tgen has room for."""


@dataclass(frozen=True, slots=True)
class ClientEnd:
    """Who begins connections; what is None is left to tgen."""

    port: int = 0
    source_mac: str | None = None
    destination_mac: str | None = None
    ip: str | None = None
    addresses: int | None = None
    first_port: int | None = None
    port_count: int | None = None
    begin_port: int | None = None
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
    service_port: int | None = None
    connections: int | None = None


@dataclass(frozen=True, slots=True)
class ByClock:
    """Requests that do not wait for those before."""

    rate_rps: int
    duration_ns: int
    requests: int | None = None
    """So many; None: what is due in the duration."""


@dataclass(frozen=True, slots=True)
class SynFlood:
    """SYNs of nobody; where they come from is left to tgen."""

    rate_fps: int
    answered: bool = False


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
    protocol: str = "tcp"
    """What they are made by: `tcp`, or `udp`."""
    content: str | None = None
    """What messages are: `http`, or `bytes`; None: the former over TCP, the latter over UDP."""
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
    asking: ByClock | None = None
    """Requests by a clock, when all connections are open."""
    flood: SynFlood | None = None

    def message(self) -> dict[str, Any]:
        found = {key: value for key, value in asdict(self).items() if value is not None}
        for name in ("client", "server", "asking", "flood"):
            if name in found:
                found[name] = {k: v for k, v in found[name].items() if v is not None}
        # A server with less patience would end connections that are held as they should be.
        idle_ns = min(MOST_IDLE_NS, self.drain_ns + self.patience_ns + self.begin_ns)
        return found | {"drain_ns": self.drain_ns, "idle_ns": idle_ns}

    @property
    def drain_ns(self) -> int:
        """How long a connection may take that began last."""
        each_ns = (self.repeat_ns << self.attempts) + self.patience_ns
        return (self.requests + 2) * each_ns + self.hold_ns + (self.requests - 1) * self.pause_ns

    @property
    def begin_ns(self) -> int:
        """For how long something is begun: by a clock, connections are opened, asked and closed."""
        begin_ns = self.duration_ns
        if begin_ns is None:
            begin_ns = (self.connections or 0) * NANOSECONDS // (self.rate_cps or 1)
        if self.asking is None:
            return begin_ns
        return 2 * begin_ns + self.asking.duration_ns + self.drain_ns

    def patience_s(self) -> float:
        return (longest_ns(self.begin_ns) + self.drain_ns) / NANOSECONDS + SLACK_S


def make_connections(tgen: Tgen, asked: Connections) -> tuple[ConnectionCounts, dict[str, Any]]:
    """Have tgen make connections; its answer as it is comes second."""
    if VERB not in tgen.hello["verbs"]:
        raise ComponentError(
            "this tgen makes no connections",
            why="it was built from other sources than this vsperf",
            fix="build it anew: `make setup`",
        )
    result = tgen.ask(VERB, asked.patience_s(), **asked.message())
    return made_of(result), result


def asked_of(
    request: ConnectionsRequest,
    ports: Mapping[str, int],
    grace_ns: int = 0,
    begin_port: int = FIRST_PORT,
) -> Connections:
    """Return connections of a case as tgen is asked for them, its ports being numbered by link.

    By `grace_ns` they may all begin later, before they have not begun in time. Clients' ports
    begin with `begin_port`.
    """
    asked, ends = request.asked, request.ends
    client, server = ends.client, ends.server
    duration_ns = max(1, asked.duration_ns) + grace_ns
    both = Connections(
        client=ClientEnd(
            port=ports[client.end.link],
            source_mac=client.end.mac,
            destination_mac=client.next_hop,
            ip=str(client.end.first_ip),
            addresses=client.end.addresses,
            port_count=_ports_each(asked.connections, client.end.addresses),
            begin_port=begin_port,
            target_ip=ends.called_ip,
            targets=ends.called,
            target_port=SERVICE_PORT,
        ),
        server=ServerEnd(
            port=ports[server.end.link],
            source_mac=server.end.mac,
            destination_mac=server.next_hop,
            ip=str(server.end.first_ip),
            addresses=server.end.addresses,
            service_port=SERVICE_PORT,
        ),
        duration_ns=duration_ns,
        rate_cps=asked.rate_cps,
        connections=asked.connections,
        protocol=asked.protocol,
        request_bytes=asked.request_bytes,
        response_bytes=asked.response_bytes,
        requests=asked.requests,
        hold_ns=asked.hold_ns,
        attempts=asked.attempts,
        repeat_ns=asked.repeat_ns,
        patience_ns=asked.patience_ns,
    )
    if asked.flood_fps is not None:
        both = replace(both, flood=SynFlood(asked.flood_fps, asked.flood_answered))
    both = replace(both, slot_ns=asked_ns(asked.lasting_ns) or None)
    if asked.request_rps is not None:
        by_clock = ByClock(asked.request_rps, asked.asking_ns + grace_ns, asked.requests_due)
        both = replace(both, asking=by_clock)
    if asked.is_of_open_ones:
        # How long they take to open says nothing of them.
        both = replace(both, duration_ns=OPENING_TIMES * duration_ns + OPENING_NS)
    return both


def _ports_each(connections: int, addresses: int) -> int:
    """Return how many ports each address of the client takes: one for each connection, or all.

    A port that was used before may still be known to a device that keeps tables.
    """
    return max(1, min(PORTS_EACH, -(-connections // addresses), MOST_AT_ONCE // addresses))


def port_behind(asked: Connections, made: ConnectionCounts | None) -> int:
    """Return the port with which the next trial begins: behind those of this one, and round.

    What was not launched has taken none; who does not tell may have taken all.
    """
    client = asked.client
    assert client is not None and client.port_count is not None
    taken, begin = client.port_count, client.begin_port or FIRST_PORT
    if made is not None and made.client is not None:
        taken = min(taken, -(-made.client.launched // (client.addresses or 1)))
    return FIRST_PORT + (begin - FIRST_PORT + taken) % PORTS_EACH


def made_of(result: Mapping[str, Any]) -> ConnectionCounts:
    """Return what an answer tells; one whose accounts do not add up is none."""
    try:
        client, server = result.get("client"), result.get("server")
        workers = result["workers"]
        return ConnectionCounts(
            settled=result["settled"],
            stopped_early=result["stopped_early"],
            elapsed_ns=result["elapsed_ns"],
            client=_part(ClientAccounts, client).balanced() if client else None,
            client_segments=_part(Segments, client) if client else None,
            times=_times(client) if client else None,
            launching_ns=client.get("launching_ns") if client else None,
            completing_ns=client.get("completing_ns") if client else None,
            server=_part(ServerAccounts, server).balanced() if server else None,
            server_segments=_part(Segments, server) if server else None,
            slots=_slots(result["slots"]) if "slots" in result else None,
            busy_ppm=max(worker.get("busy_ppm", 0) for worker in workers),
            longest_gap_ns=max(worker.get("longest_gap_ns", 0) for worker in workers),
            paused_ns=max(worker["paused_ns"] for worker in workers),
            missed_frames=sum(port.get("missed", 0) for port in result["ports"]),
            begin_port=client.get("begin_port") if client else None,
            flood=_flood(result["flood"], server) if "flood" in result else None,
            asking=_asking(client["asking"]) if client and "asking" in client else None,
        )
    except KeyError as error:
        raise ComponentError(f"tgen's connections have no {error}") from error
    except Unbalanced as error:
        raise ComponentError(f"tgen tells of {error}") from error
    except (ValidationError, TypeError) as error:
        raise ComponentError("tgen's connections cannot be read", why=str(error)) from error


def _part(kind: type[Part], found: Mapping[str, int]) -> Part:
    """Return the counters of a record that an answer has among others."""
    return kind(**{name: found[name] for name in kind.model_fields})


def _flood(found: Mapping[str, int], server: Mapping[str, Any] | None) -> Flood:
    return Flood(**found, arrived=server["flooded"] if server else 0)


def _asking(found: Mapping[str, Any]) -> Asking:
    ends = {name: _part(Segments, found[name]) for name in ("client", "server")}
    return Asking(**{**found, **ends}).balanced()


def _times(client: Mapping[str, Any]) -> Times:
    return Times(**{name: client[name].get("hdr") for name in Times.model_fields})


def _slots(found: Mapping[str, Any]) -> ConnectionSlots:
    lanes = [lane for lane in ConnectionSlots.model_fields if lane != "width_ns"]
    columns = {lane: tuple(found[lane]) for lane in lanes if lane in found}
    return ConnectionSlots(width_ns=found["slot_ns"], **columns)
