"""Addresses of network interfaces, asked of the kernel by netlink; routes, from its files."""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterator, Mapping

from vsperf.host.files import Roots
from vsperf.host.netlink import attributes, dump

GET_ADDRESSES = 22
ADDRESS, LOCAL = 1, 2
MESSAGE = struct.Struct("=BBBBI")
DEFAULT_V4 = "00000000"
DEFAULT_V6 = "0" * 32
REJECT = 0x200
"""Flag of a route that says there is no way."""


def interface_addresses() -> Mapping[str, tuple[str, ...]]:
    """Return the IP addresses of each interface of this network namespace.

    Link-local addresses of IPv6 are left out: every interface that is up gives itself one.
    """
    found: dict[str, list[str]] = {}
    asked = MESSAGE.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
    for payload in dump(socket.NETLINK_ROUTE, GET_ADDRESSES, asked):
        _, _, _, _, index = MESSAGE.unpack_from(payload)
        values = dict(attributes(payload[MESSAGE.size :]))
        raw = values.get(LOCAL) or values.get(ADDRESS)
        address = ipaddress.ip_address(raw) if raw else None
        if address is not None and not (address.version == 6 and address.is_link_local):
            found.setdefault(socket.if_indextoname(index), []).append(str(address))
    return {name: tuple(addresses) for name, addresses in found.items()}


def default_routes(roots: Roots) -> frozenset[str]:
    """Return the interfaces that a default route leads through."""
    found = set()
    for columns in _rows(roots, "route"):
        if len(columns) > 7 and columns[1] == columns[7] == DEFAULT_V4:
            found.add(columns[0])
    for columns in _rows(roots, "ipv6_route"):
        leads = len(columns) > 9 and not int(columns[8], 16) & REJECT
        if leads and columns[0] == DEFAULT_V6 and columns[1] == "00":
            found.add(columns[9])
    return frozenset(found)


def address_towards(peer: str) -> str | None:
    """Return the own address from which packets to `peer` would go; none is sent."""
    try:
        family = socket.AF_INET6 if ":" in peer else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((peer, 9))
            return str(asking.getsockname()[0])
    except OSError:
        return None


def _rows(roots: Roots, table: str) -> Iterator[list[str]]:
    try:
        lines = (roots.proc / "net" / table).read_text().splitlines()
    except OSError:
        return
    for line in lines:
        yield line.split()
