"""A device that is a hop of its own, with tgen as its clients and its servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from connection_cases import opened_through
from switch_cases import deployed

from vsperf.config.connections import SERVICE_PORT, End, answering_of, clients_of
from vsperf.drivers.generators.tgen.connections import (
    ClientEnd,
    Connections,
    ServerEnd,
    make_connections,
)
from vsperf.drivers.generators.tgen.driver import TgenSession
from vsperf.drivers.vswitches.base import Routes
from vsperf.records.connections import ConnectionCounts

SECOND_NS = 1_000_000_000
CLIENTS, SERVERS = 4, 3
CONNECTIONS = 200

Device = TypeVar("Device")


@dataclass
class Between(Generic[Device]):
    """A device with tgen at both of its ports."""

    device: Device
    session: TgenSession
    clients: End
    servers: End
    shares_out: bool

    @property
    def hops(self) -> Mapping[str, str]:
        """Whom each end sends to: the device where it says so, or else the other end."""
        if isinstance(self.device, Routes):
            return self.device.next_hops()
        return {self.clients.link: self.servers.mac, self.servers.link: self.clients.mac}

    def calls(self) -> Connections:
        """Return connections from all clients to all servers, or to whom they call for them."""
        hops = self.hops
        way = self.session.ways[0]  # from the clients to the servers
        called = self.clients.service_ip if self.shares_out else str(self.servers.first_ip)
        client = ClientEnd(
            port=way.transmit,
            source_mac=self.clients.mac,
            destination_mac=hops[self.clients.link],
            ip=str(self.clients.first_ip),
            addresses=self.clients.addresses,
            target_ip=called,
            targets=1 if self.shares_out else self.servers.addresses,
            target_port=SERVICE_PORT,
        )
        server = ServerEnd(
            port=way.receive,
            source_mac=self.servers.mac,
            destination_mac=hops[self.servers.link],
            ip=str(self.servers.first_ip),
            addresses=self.servers.addresses,
            service_port=SERVICE_PORT,
        )
        return Connections(
            client,
            server,
            rate_cps=500,
            connections=CONNECTIONS,
            repeat_ns=5 * SECOND_NS,
            patience_ns=20 * SECOND_NS,
        )

    def made(self, asked: Connections) -> ConnectionCounts:
        return make_connections(self.session.tgen, asked)[0]


@contextmanager
def between(kind: str, device: type[Device], **settings: Any) -> Iterator[Between[Device]]:
    """Deploy a device, and tgen at both of its ports."""
    case = opened_through(kind, clients=CLIENTS, servers=SERVERS, real=True, **settings)
    shares_out: bool = getattr(case.vswitch, "shares_out", False)
    with deployed(case) as (running, _):
        assert isinstance(running.switch, device)
        assert isinstance(running.generator, TgenSession)
        yield Between(
            running.switch, running.generator, clients_of(case), answering_of(case), shares_out
        )


def completed(made: ConnectionCounts) -> int:
    """Return how many connections came to their end in order, of those that both ends tell of."""
    assert made.client is not None
    assert made.server is not None
    assert made.client.completed <= made.server.accepted
    return made.client.completed


def briefly(asked: Connections) -> Connections:
    """Return a few of the same, of which each is given up soon when nobody answers."""
    return replace(asked, connections=20, attempts=1, repeat_ns=SECOND_NS // 5)


def inwards(asked: Connections) -> Connections:
    """Return the same the other way round: who is behind the last link begins connections."""
    client, server = asked.client, asked.server
    assert client is not None and server is not None
    return replace(
        asked,
        client=replace(
            client,
            port=server.port,
            source_mac=server.source_mac,
            destination_mac=server.destination_mac,
            ip=server.ip,
            addresses=server.addresses,
            target_ip=client.ip,
            targets=client.addresses,
        ),
        server=replace(
            server,
            port=client.port,
            source_mac=client.source_mac,
            destination_mac=client.destination_mac,
            ip=client.ip,
            addresses=client.addresses,
        ),
    )
