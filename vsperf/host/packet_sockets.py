"""Packet sockets of a program, as the kernel's socket diagnosis shows them.

A packet socket takes frames from a device of the kernel. While it is full, the kernel drops them
and counts that for the socket; the device counts them as received, and so does who asks it.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from vsperf.host.files import Roots
from vsperf.host.netlink import attributes, dump

SOCK_DIAG = 4
BY_FAMILY = 20
ASKED = struct.Struct("=BBHIIII")
FOUND = struct.Struct("=BBHIII")
NUMBER = struct.Struct("=I")
SHOW_DEVICE, SHOW_MEMORY = 0x1, 0x10
DEVICE, MEMORY = 0, 6
"""Attributes of an answer: one begins with the device's number, one holds what memory is used."""
DROPS = 8
"""Place of the frames that were dropped among the numbers on memory."""
OWN_SOCKET = re.compile(r"socket:\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class PacketSocket:
    """One packet socket."""

    inode: int
    device: int
    """Number of the device that it is bound to; 0 for all."""
    drops: int
    """Frames that it had no room for, since it was opened."""


def drops_of(pid: int, roots: Roots | None = None) -> dict[str, int]:
    """Return by device the frames that the packet sockets of a program had no room for.

    Nothing where the kernel does not tell, or the program has ended.
    """
    own = _inodes(pid, roots or Roots())
    found: dict[str, int] = {}
    with suppress(OSError):
        for one in packet_sockets():
            if one.inode in own and one.device:
                name = socket.if_indextoname(one.device)
                found[name] = found.get(name, 0) + one.drops
    return found


def packet_sockets() -> Iterator[PacketSocket]:
    """Yield the packet sockets of this network; raises OSError where the kernel does not tell."""
    asked = ASKED.pack(socket.AF_PACKET, 0, 0, 0, SHOW_DEVICE | SHOW_MEMORY, 0, 0)
    for body in dump(SOCK_DIAG, BY_FAMILY, asked):
        if (one := read_socket(body)) is not None:
            yield one


def read_socket(body: bytes) -> PacketSocket | None:
    """Return what a message says of a socket; None where it lacks what is asked for."""
    inode = FOUND.unpack_from(body)[3]
    told = dict(attributes(body[FOUND.size :]))
    device, memory = told.get(DEVICE, b""), told.get(MEMORY, b"")
    if len(device) < NUMBER.size or len(memory) < (DROPS + 1) * NUMBER.size:
        return None
    drops = NUMBER.unpack_from(memory, DROPS * NUMBER.size)[0]
    return PacketSocket(inode, NUMBER.unpack_from(device)[0], drops)


def _inodes(pid: int, roots: Roots) -> frozenset[int]:
    """Return the sockets that a program has open."""
    found = set()
    with suppress(OSError):
        for entry in (roots.proc / str(pid) / "fd").iterdir():
            with suppress(OSError):
                if match := OWN_SOCKET.fullmatch(str(entry.readlink())):
                    found.add(int(match[1]))
    return frozenset(found)
