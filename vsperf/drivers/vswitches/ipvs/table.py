"""What the kernel tells of IPVS in a network: its service, its servers, and connections."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from vsperf.drivers.vswitches.hops import asked_in
from vsperf.errors import ComponentError

TABLE = Path("/proc/thread-self/net/ip_vs")
STATISTICS = Path("/proc/thread-self/net/ip_vs_stats")
SLAB = "ip_vs_conn"
_SIZE = re.compile(r"\(size=(\d+)\)")
_SERVICE = re.compile(r"^(?:TCP|UDP) +([0-9A-F]{8}):([0-9A-F]{4}) ", re.MULTILINE)
_SERVER = re.compile(
    r"^ +-> ([0-9A-F]{8}):([0-9A-F]{4}) +\w+ +-?\d+ +(\d+) +(\d+) *$", re.MULTILINE
)
_TOTALS = 2
"""The line with the counts, below two lines of headings."""


@dataclass(frozen=True, slots=True)
class Table:
    """The table of IPVS, as it stands."""

    size: int | None
    """Places in which connections are looked for; each may have many."""
    services: tuple[str, ...]
    servers: Mapping[str, int]
    """By address and port, the connections to it: those that are over and remembered, too."""

    def missing(self, service: str, servers: tuple[str, ...]) -> str | None:
        """Return which of these are not there; None where all are."""
        if service not in self.services:
            return f"its service {service} is gone"
        gone = [server for server in servers if server not in self.servers]
        return f"its server {gone[0]} is gone" if gone else None


def table(network: str) -> Table:
    """Return the table of a network."""
    return table_in(asked_in(network, "for the table of IPVS", TABLE.read_text))


def connections(network: str) -> int:
    """Return how many connections were shared out so far in a network."""
    return connections_in(asked_in(network, "what IPVS counts", STATISTICS.read_text))


def table_in(text: str) -> Table:
    """Return the table, of what the kernel tells."""
    size = _SIZE.search(text)
    return Table(
        size=int(size[1]) if size else None,
        services=tuple(_address(*found) for found in _SERVICE.findall(text)),
        servers={
            _address(ip, port): int(active) + int(inactive)
            for ip, port, active, inactive in _SERVER.findall(text)
        },
    )


def connections_in(text: str) -> int:
    """Return the connections that were shared out, of all that the kernel counts."""
    try:
        return int(text.splitlines()[_TOTALS].split()[0], 16)
    except (IndexError, ValueError) as error:
        raise ComponentError(
            "what IPVS counts cannot be read", why=f"{STATISTICS.name} says {text[:80]!r}"
        ) from error


def _address(ip: str, port: str) -> str:
    return f"{IPv4Address(int(ip, 16))}:{int(port, 16)}"
