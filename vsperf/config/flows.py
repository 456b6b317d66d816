"""Which flows a traffic profile means, by address: the same for whoever sends and whoever matches.

The addresses are those set aside for benchmarks. A link's host is the first of its share of
198.18.0.0/15, or of 2001:2::/48 with IPv6; flows differ by source host, and by destination host
where one field does not hold them all. They may differ by source MAC instead, or by UDP ports.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator
from dataclasses import dataclass

from vsperf.config.traffic import Destination, Layer3, TrafficProfile

BENCHMARKS: dict[Layer3, str] = {"ipv4": "198.18.0.0/15", "ipv6": "2001:2::/48"}
"""Networks set aside for benchmarks, by RFC 2544 and RFC 5180."""
NETWORK = int(ipaddress.IPv4Network(BENCHMARKS["ipv4"]).network_address)
NETWORK_V6 = int(ipaddress.IPv6Network(BENCHMARKS["ipv6"]).network_address)
NETWORK_BITS = 17
"""Bits of a host in that network."""
HOSTS = 65_534
"""Hosts of one half of the network; each of two links has a half."""
SOURCE_PORT = 49184
DESTINATION_PORT = 7
"""The echo service, as RFC 2544 has it."""
LAST_PORT = 65_535
TTL = 64
"""Hops that frames may still take when they are sent."""
MOST_FLOWS = 1 << 24


@dataclass(frozen=True, slots=True)
class Flow:
    """What tells one flow from another."""

    source_mac: str
    source_ip: str
    destination_ip: str
    source_port: int
    destination_port: int


def link_mac(number: int) -> str:
    """Return the MAC address of the generator's port on link `number`, counted from 0."""
    return f"02:{number:02x}:00:00:00:01"


def lane_mac(number: int, lane: int) -> str:
    """Return the address on link `number` to which frames of one of several parallel paths go."""
    return f"{link_mac(number)[:-2]}{lane + 1:02x}"


def group_mac(destination: Destination, number: int) -> str:
    """Return where frames for link `number` go to: its own address, or one of a group."""
    groups = {"broadcast": "ff:ff:ff:ff:ff:ff", "multicast": f"03{link_mac(number)[2:]}"}
    return groups.get(destination, link_mac(number))


def link_ip(number: int, layer3: Layer3 = "ipv4") -> str:
    """Return the host of link `number`: the bits of the number, mirrored, lead those of the host.

    So two links have a half of the network each, four have a quarter, and so on. With IPv6 each
    link has a network of its own.
    """
    return host_ip(number, 0, layer3)


def host_ip(number: int, host: int, layer3: Layer3 = "ipv4") -> str:
    """Return the address of one of the hosts behind link `number`, counted from 0."""
    if layer3 == "ipv6":
        return str(ipaddress.IPv6Address(NETWORK_V6 + (number << 64) + 1 + host))
    return str(ipaddress.IPv4Address(_host(number) + host))


def hosts(flows: int) -> tuple[int, int] | None:
    """Return how many source and destination hosts make so many flows; None if none do."""
    return _product(flows, HOSTS, HOSTS)


def counts(profile: TrafficProfile) -> tuple[int, int] | None:
    """Return how many values the first and the second field take that flows differ by.

    Each flow is sent equally often, so there are as many as the product; None if none makes it.
    """
    flows = int(profile.flows)
    if flows > MOST_FLOWS:
        return None
    match profile.vary:
        case "port":
            last = (LAST_PORT - SOURCE_PORT + 1, LAST_PORT - DESTINATION_PORT + 1)
            return _product(flows, *last)
        case "ip" if profile.layer3 == "ipv4":
            return hosts(flows)
    return flows, 1


def flows_between(profile: TrafficProfile, source: int, destination: int) -> Iterator[Flow]:
    """Yield the flows from one link to another, both by number; none if there cannot be so many."""
    found = counts(profile)
    if found is None:
        return
    layer3, vary = profile.layer3, profile.vary
    first_mac = int(link_mac(source).replace(":", ""), 16)
    for target in range(found[1]):
        there = host_ip(destination, target if vary == "ip" else 0, layer3)
        for origin in range(found[0]):
            yield Flow(
                _mac(first_mac + (origin if vary == "mac" else 0)),
                host_ip(source, origin if vary == "ip" else 0, layer3),
                there,
                SOURCE_PORT + (origin if vary == "port" else 0),
                DESTINATION_PORT + (target if vary == "port" else 0),
            )


def _product(number: int, most_first: int, most_second: int) -> tuple[int, int] | None:
    """Return a number as the product of two, the first one as large as may be."""
    first = max(
        factor
        for small in range(1, math.isqrt(number) + 1)
        if number % small == 0
        for factor in (small, number // small)
        if factor <= most_first
    )
    second = number // first
    return None if second > most_second else (first, second)


def _mac(number: int) -> str:
    return number.to_bytes(6).hex(":")


def _host(number: int) -> int:
    mirrored = sum(
        1 << (NETWORK_BITS - 1 - bit) for bit in range(NETWORK_BITS) if number >> bit & 1
    )
    return NETWORK + mirrored + 1
