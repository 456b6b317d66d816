"""Which flows a traffic profile means, by address: the same for whoever sends and whoever matches.

The addresses are those set aside for benchmarks. A link's host is the first of its share of
198.18.0.0/15; flows differ by source host, and by destination host where one field does not hold
them all.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator
from dataclasses import dataclass

from vsperf.spec.traffic import TrafficProfile

BENCHMARK = "198.18.0.0/15"
NETWORK = int(ipaddress.IPv4Network(BENCHMARK).network_address)
NETWORK_BITS = 17
"""Bits of a host in that network."""
HOSTS = 65_534
"""Hosts of one half of the network; each of two links has a half."""
SOURCE_PORT = 49184
DESTINATION_PORT = 7
"""The echo service, as RFC 2544 has it."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What tells one flow from another."""

    source_ip: str
    destination_ip: str


def link_mac(number: int) -> str:
    """Return the MAC address of the generator's port on link `number`, counted from 0."""
    return f"02:{number:02x}:00:00:00:01"


def lane_mac(number: int, lane: int) -> str:
    """Return the address on link `number` to which frames of one of several parallel paths go."""
    return f"{link_mac(number)[:-2]}{lane + 1:02x}"


def link_ip(number: int) -> str:
    """Return the host of link `number`: the bits of the number, mirrored, lead those of the host.

    So two links have a half of the network each, four have a quarter, and so on.
    """
    return str(ipaddress.IPv4Address(_host(number)))


def lane_ip(number: int, lane: int) -> str:
    """Return the host of link `number` to which frames of one of several parallel paths go."""
    return str(ipaddress.IPv4Address(_host(number) + lane))


def hosts(flows: int) -> tuple[int, int] | None:
    """Return how many source and destination hosts make so many flows; None if none do."""
    sources = max(
        factor
        for small in range(1, math.isqrt(flows) + 1)
        if flows % small == 0
        for factor in (small, flows // small)
        if factor <= HOSTS
    )
    destinations = flows // sources
    return None if destinations > HOSTS else (sources, destinations)


def flows_between(profile: TrafficProfile, source: int, destination: int) -> Iterator[Flow]:
    """Yield the flows from one link to another, both by number; none if there cannot be so many."""
    counts = hosts(int(profile.flows))
    if counts is None:
        return
    first, second = _host(source), _host(destination)
    for target in range(counts[1]):
        there = str(ipaddress.IPv4Address(second + target))
        for origin in range(counts[0]):
            yield Flow(str(ipaddress.IPv4Address(first + origin)), there)


def _host(number: int) -> int:
    mirrored = sum(
        1 << (NETWORK_BITS - 1 - bit) for bit in range(NETWORK_BITS) if number >> bit & 1
    )
    return NETWORK + mirrored + 1
