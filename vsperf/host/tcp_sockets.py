"""What sockets of TCP have received, as the kernel's socket diagnosis shows them."""

from __future__ import annotations

import socket
import struct

from vsperf.host.netlink import attributes, dump

SOCK_DIAG = 4
BY_FAMILY = 20
INFO = 2
"""The attribute with what TCP knows of a connection."""
OPEN = 1 << 1
"""State of a connection that is established."""
REQUEST = struct.Struct("=BBBxI48x")
FOUND = struct.Struct("=4xH66x")
"""Of a socket: the port of its own end, in the order of bytes of the network."""
RECEIVED = struct.Struct("=128xQ")


def received_bytes() -> dict[int, int]:
    """Return what connections of this thread's network have received, by their own port.

    Several at one port are added up. Raises OSError where the kernel does not tell.
    """
    found: dict[int, int] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        asked = REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (INFO - 1), OPEN)
        for body in dump(SOCK_DIAG, BY_FAMILY, asked):
            if (count := received_of(body)) is not None:
                port = socket.ntohs(FOUND.unpack_from(body)[0])
                found[port] = found.get(port, 0) + count
    return found


def received_of(body: bytes) -> int | None:
    """Return what a connection has received; None where its kernel does not count that."""
    told = dict(attributes(body[FOUND.size :])).get(INFO, b"")
    return None if len(told) < RECEIVED.size else int(RECEIVED.unpack_from(told)[0])
