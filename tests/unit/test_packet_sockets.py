"""What the kernel tells of packet sockets is read as it is written, and of programs as they are."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable

import pytest

from vsperf.host.netlink import messages
from vsperf.host.packet_sockets import PacketSocket, drops_of, packet_sockets, read_socket

ALL = 0x0003


def attribute(kind: int, *numbers: int) -> bytes:
    content = b"".join(struct.pack("=I", number) for number in numbers)
    return struct.pack("=HH", 4 + len(content), kind) + content


def test_a_message_says_the_device_and_the_drops_of_a_socket() -> None:
    body = struct.pack("=BBHIII", socket.AF_PACKET, 3, ALL, 4711, 0, 0)
    body += attribute(0, 7, 0, 0, 0, 0, 1) + attribute(5, 0) + attribute(6, *range(8), 99)
    assert read_socket(body) == PacketSocket(inode=4711, device=7, drops=99)


def test_what_a_message_lacks_is_missing_and_not_0() -> None:
    body = struct.pack("=BBHIII", socket.AF_PACKET, 3, ALL, 4711, 0, 0)
    assert read_socket(body) is None
    assert read_socket(body + attribute(0, 7)) is None
    assert read_socket(body + attribute(0, 7) + attribute(6, *range(8))) is None
    assert read_socket(body + b"\0\0\0\0") is None


def test_messages_that_are_damaged_are_not_read() -> None:
    whole = struct.pack("=IHHII", 20, 3, 0, 0, 0) + b"\0\0\0\0"
    assert [kind for kind, _ in messages(whole * 2)] == [3, 3]
    assert list(messages(whole[:10])) == []
    with pytest.raises(OSError, match="damaged"):
        list(messages(b"\0" * 64))


def test_an_own_socket_is_found_with_what_it_dropped(require: Callable[[str], None]) -> None:
    require("root")
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL)) as own:
        own.bind(("lo", ALL))
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        inode = os.fstat(own.fileno()).st_ino
        assert inode in [one.inode for one in packet_sockets()]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(100):
                sender.sendto(b"x" * 1000, ("127.0.0.1", 9))
        (found,) = (one for one in packet_sockets() if one.inode == inode)
        assert found.drops > 0
        assert drops_of(os.getpid())["lo"] == found.drops
    assert drops_of(2**22 + 1) == {}
