"""Connections: who begins them and who is asked, at the ends of two links, and how. Pure.

Both ends have the addresses that the test traffic has there. A device that routes has one address
of its own in each of their networks, and what it takes for a service is an address of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.config.flows import link_ip, link_mac
from vsperf.config.traffic import TrafficProfile
from vsperf.config.tree import Section, find
from vsperf.errors import Problem

Protocol = Literal["tcp", "udp"]
"""What connections are made by. Of UDP one is a flow: a port of its own asks, and is answered."""

MOST_ADDRESSES = 256
"""Of an end."""
FIRST_PORT = 1024
PORTS_EACH = 65_536 - FIRST_PORT
"""Of an address that connections come from: all from the first one on. Each that is open has one of
them."""
NETWORK_BITS = 16
"""Of the network of each end."""
SERVICE_PORT = 80
LONGEST_FRAME = 1518
"""With a segment of 1460 bytes: none is longer, and none that is full is shorter."""
MOST_DATA = 1460
"""Bytes that a segment carries, or a datagram."""
MEANT = ("frame_size", "direction")
"""What of the traffic may be said: how long frames get at most, and that clients are at one end."""
_DEVICE = 0xFFFE
"""Last but one of a network: where routers often are."""
_SERVICE = 0xFF01


@dataclass(frozen=True, slots=True)
class End:
    """One end of the connections of a case."""

    link: str
    mac: str
    """Of all its addresses."""
    first_ip: IPv4Address
    addresses: int
    """From the first one on."""

    @property
    def ips(self) -> tuple[str, ...]:
        """Return all of its addresses."""
        return tuple(str(self.first_ip + number) for number in range(self.addresses))

    @property
    def device_ip(self) -> str:
        """The address that a device which routes has towards this end."""
        return str(self._at(_DEVICE))

    def device_ips(self, count: int) -> tuple[str, ...]:
        """Return so many of them, where a device needs several: its own is the last."""
        last = self._at(_DEVICE)
        return tuple(str(last - number) for number in reversed(range(count)))

    @property
    def service_ip(self) -> str:
        """The address that is called where a device shares connections out to servers."""
        return str(self._at(_SERVICE))

    def _at(self, host: int) -> IPv4Address:
        return IPv4Address(int(self.first_ip) >> NETWORK_BITS << NETWORK_BITS | host)


def protocol_of(case: CaseSpec) -> Protocol:
    """Return what the connections of a case are made by."""
    found: Protocol = getattr(case.search, "protocol", "tcp")
    return found


def clients_of(case: CaseSpec) -> End:
    """Return who begins connections: behind the first link."""
    return _end(case, 0, "clients")


def servers_of(case: CaseSpec) -> End:
    """Return who is asked: behind the last one."""
    return _end(case, len(case.topology.links) - 1, "servers")


def answering_of(case: CaseSpec) -> End:
    """Return who answers: the servers.

    Each of them as who was called, where a device passes frames on with the addresses they have.
    """
    servers = servers_of(case)
    if not getattr(case.vswitch, "direct", False):
        return servers
    return replace(servers, first_ip=IPv4Address(clients_of(case).service_ip), addresses=1)


def _end(case: CaseSpec, number: int, setting: str) -> End:
    addresses: int = getattr(case.search, setting, 1)
    first = IPv4Address(link_ip(number))
    return End(case.topology.links[number], link_mac(number), first, addresses)


def connection_problems(spec: CaseSpec, document: Section) -> list[Problem]:
    """Return settings of frames that no connection would follow, of a method that opens some."""
    return list(_unheard(spec, document)) if spec.has_connections else []


def _unheard(spec: CaseSpec, document: Section) -> Iterator[Problem]:
    method, traffic = spec.search.kind, spec.traffic
    for name, field in TrafficProfile.model_fields.items():
        if name not in MEANT and getattr(traffic, name) != field.default:
            yield _problem(
                document,
                name,
                f"`traffic.{name}` says nothing to connections",
                f"the method {method} sends no frames of its own: "
                f"{protocol_of(spec).upper()} over IPv4 makes them",
                f"leave traffic.{name} out",
            )
    if traffic.imix is None and traffic.frame_size.bytes != LONGEST_FRAME:
        yield _problem(
            document,
            "frame_size",
            f"`traffic.frame_size` is {traffic.frame_size}, and connections have frames of up to "
            f"{LONGEST_FRAME}B",
            f"the method {method} sends up to {MOST_DATA} bytes in each, whatever is said here",
            f"write {LONGEST_FRAME}, and say by search.request and search.response how much is "
            "sent",
        )
    if traffic.direction == "reverse":
        yield _problem(
            document,
            "direction",
            "`traffic.direction` is reverse, and clients are at the end of the first link",
            None,
            "write forward, or name the links the other way round",
        )


def _problem(document: Section, name: str, what: str, why: str | None, fix: str) -> Problem:
    node = find(document, f"traffic.{name}")
    return Problem(what, None if node is None else node.mark.location, why, fix)
