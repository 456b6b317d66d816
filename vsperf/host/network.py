"""What the network interfaces of this machine are used for: addresses, routes, this ssh session."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from vsperf.host.files import Roots
from vsperf.host.netlink import attributes, dump

SESSION = "SSH_CONNECTION"
"""Client, its port, server, its port; set by sshd."""
LONGEST_ANCESTRY = 64
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


@dataclass(frozen=True, slots=True)
class Network:
    """Interfaces by name, and what depends on each."""

    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default_routes: frozenset[str] = frozenset()
    session: frozenset[str] = frozenset()
    """Interfaces that the ssh session goes through."""
    above: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What each is directly part of, such as a bond."""

    @classmethod
    def read(cls, roots: Roots, environment: Mapping[str, str] = os.environ) -> Network:
        addresses = interface_addresses()
        return cls(
            addresses,
            default_routes(roots),
            _session(addresses, session_connection(roots, environment)),
            _above(roots.sys / "class" / "net"),
        )

    def uppers(self, name: str) -> tuple[str, ...]:
        """Return everything that an interface is part of, at any height."""
        found: list[str] = []
        waiting = list(self.above.get(name, ()))
        while waiting:
            upper = waiting.pop(0)
            if upper not in found:
                found.append(upper)
                waiting += self.above.get(upper, ())
        return tuple(found)


def session_connection(roots: Roots, environment: Mapping[str, str]) -> str | None:
    """Return the ends of the ssh session that this process belongs to.

    sudo takes the variable away, so the processes that started this one are asked too.
    """
    if value := environment.get(SESSION):
        return value
    wanted = f"{SESSION}=".encode()
    folder = roots.proc / "self"
    for _ in range(LONGEST_ANCESTRY):
        parent = _parent(folder)
        if parent is None or parent <= 0:
            return None
        folder = roots.proc / str(parent)
        with suppress(OSError):
            for item in (folder / "environ").read_bytes().split(b"\0"):
                if item.startswith(wanted):
                    return item[len(wanted) :].decode(errors="replace")
    return None


def _parent(folder: Path) -> int | None:
    try:
        columns = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return int(columns[1])
    except (OSError, ValueError, IndexError):
        return None


def _session(addresses: Mapping[str, tuple[str, ...]], connection: str | None) -> frozenset[str]:
    """Return the interfaces of the session: that of its address, and that of the way back."""
    words = (connection or "").split()
    if len(words) < 3:
        return frozenset()
    own = {words[2], address_towards(words[0])}
    return frozenset(name for name, held in addresses.items() if own & set(held))


def _above(folder: Path) -> dict[str, tuple[str, ...]]:
    found = {}
    for interface in folder.glob("*"):
        names = {path.name.removeprefix("upper_") for path in interface.glob("upper_*")}
        with suppress(OSError):
            names.add((interface / "master").readlink().name)
        if names:
            found[interface.name] = tuple(sorted(names))
    return found
