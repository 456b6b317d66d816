"""What sockets of TCP have received, as the kernel counts, asked of it by netlink (`sock_diag`)."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Iterator

SOCK_DIAG = 4
"""Protocol of netlink."""
ASK, ERROR, DONE = 20, 2, 3
"""Types of messages; one about a socket has that by which it was asked for."""
ASKED_FOR_ALL = 0x301
INFO = 2
"""The attribute with what TCP knows of a connection."""
OPEN = 1 << 1
"""State of a connection that is established."""
HEADER = struct.Struct("=IHHII")
REQUEST = struct.Struct("=BBBxI48x")
FOUND = struct.Struct("=4xH66x")
"""Of a socket: the port of its own end, in the order of bytes of the network."""
ATTRIBUTE = struct.Struct("=HH")
RECEIVED = struct.Struct("=128xQ")
LONGEST = 1 << 17
PATIENCE_S = 1.0


def received_bytes() -> dict[int, int]:
    """Return what connections of this thread's network have received, by their own port.

    Several at one port are added up. Raises OSError where the kernel does not tell.
    """
    found: dict[int, int] = {}
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as netlink:
        netlink.settimeout(PATIENCE_S)
        for family in (socket.AF_INET, socket.AF_INET6):
            request = REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (INFO - 1), OPEN)
            header = HEADER.pack(HEADER.size + len(request), ASK, ASKED_FOR_ALL, 0, 0)
            netlink.sendto(header + request, (0, 0))
            for port, count in _connections(netlink):
                found[port] = found.get(port, 0) + count
    return found


def _connections(netlink: socket.socket) -> Iterator[tuple[int, int]]:
    """Yield the port of each connection, and how many bytes it has received."""
    while True:
        answer = netlink.recv(LONGEST)
        for kind, body in _messages(answer):
            if kind == DONE:
                return
            if kind == ERROR:
                number = -struct.unpack_from("=i", body)[0]
                raise OSError(number, os.strerror(number))
            count = _received(body)
            if count is not None:
                yield socket.ntohs(FOUND.unpack_from(body)[0]), count


def _messages(answer: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place + HEADER.size <= len(answer):
        length, kind, *_ = HEADER.unpack_from(answer, place)
        if length < HEADER.size:
            raise OSError(errno.EBADMSG, os.strerror(errno.EBADMSG))
        yield kind, answer[place + HEADER.size : place + length]
        place += -(-length // 4) * 4


def _received(body: bytes) -> int | None:
    """Return what a connection has received; None where its kernel does not count that."""
    place = FOUND.size
    while place + ATTRIBUTE.size <= len(body):
        length, kind = ATTRIBUTE.unpack_from(body, place)
        if length < ATTRIBUTE.size:
            break
        if kind == INFO and length >= ATTRIBUTE.size + RECEIVED.size:
            count: int = RECEIVED.unpack_from(body, place + ATTRIBUTE.size)[0]
            return count
        place += -(-length // 4) * 4
    return None
