"""Connections: who begins them and who is asked, at the ends of two links. Pure.

Both ends have the addresses that the test traffic has there. A device that routes has one address
of its own in each of their networks, and what it takes for a service is an address of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

from vsperf.config.case import CaseSpec
from vsperf.config.flows import link_ip, link_mac

MOST_ADDRESSES = 256
"""Of an end."""
NETWORK_BITS = 16
"""Of the network of each end."""
SERVICE_PORT = 80
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

    @property
    def service_ip(self) -> str:
        """The address that is called where a device shares connections out to servers."""
        return str(self._at(_SERVICE))

    def _at(self, host: int) -> IPv4Address:
        return IPv4Address(int(self.first_ip) >> NETWORK_BITS << NETWORK_BITS | host)


def clients_of(case: CaseSpec) -> End:
    """Return who begins connections: behind the first link."""
    return _end(case, 0, "clients")


def servers_of(case: CaseSpec) -> End:
    """Return who is asked: behind the last one."""
    return _end(case, len(case.topology.links) - 1, "servers")


def _end(case: CaseSpec, number: int, setting: str) -> End:
    addresses: int = getattr(case.search, setting, 1)
    first = IPv4Address(link_ip(number))
    return End(case.topology.links[number], link_mac(number), first, addresses)
