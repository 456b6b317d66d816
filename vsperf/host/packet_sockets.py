"""Packet sockets of a program, as the kernel's socket diagnosis shows them.

A packet socket takes frames from a device of the kernel. While it is full, the kernel drops them
and counts that for the socket; the device counts them as received, and so does who asks it.

Of a socket that has a ring the kernel tells that count to nobody but who holds the socket, and
begins it anew. So it is asked by a copy of the socket (`Rings`); a program that asks, too, as those
of later versions of DPDK may, has counted what is missing here.
"""

from __future__ import annotations

import ctypes
import os
import re
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from vsperf.host.files import Roots
from vsperf.host.netlink import attributes, dump
from vsperf.host.netns import within

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
SOL_PACKET, STATISTICS = 263, 6
COUNTED = struct.Struct("=II")
"""Frames that a socket took or had no room for since it was asked last, and the latter alone."""
PIDFD_GETFD = 438
"""Number of the system call that copies a descriptor of another process, on every machine."""
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


@dataclass
class Rings:
    """What the rings of a program's packet sockets had no room for, since somebody first asked."""

    network: str = ""
    """By name, in which they are; that of the host without one."""
    _drops: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def drops_of(self, pid: int, roots: Roots | None = None) -> dict[str, int]:
        """Return these frames by device, of all programs that were asked so far together.

        Nothing of a device where the kernel does not tell, or may not.
        """
        own = _inodes(pid, roots or Roots())
        with self._lock:
            with suppress(OSError), _process(pid) as process:
                ask = partial(self._ask, process, own)
                if self.network:
                    within(self.network, ask)
                else:
                    ask()
            return dict(self._drops)

    def _ask(self, process: int, own: Mapping[int, int]) -> None:
        for one in packet_sockets():
            if one.device and one.inode in own:
                self._add(one.device, process, own[one.inode])

    def _add(self, device: int, process: int, descriptor: int) -> None:
        with suppress(OSError):  # it was closed meanwhile, or may not be copied
            name = socket.if_indextoname(device)
            drops = _drops_since(process, descriptor)
            self._drops[name] = self._drops.get(name, 0) + drops


@contextmanager
def _process(pid: int) -> Iterator[int]:
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _drops_since(process: int, descriptor: int) -> int:
    """Return what a packet socket had no room for since it was asked last; raises OSError."""
    library = ctypes.CDLL(None, use_errno=True)
    copy = library.syscall(PIDFD_GETFD, process, descriptor, 0)
    if copy < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0, copy) as one:
        answer = one.getsockopt(SOL_PACKET, STATISTICS, COUNTED.size)
    return int(COUNTED.unpack(answer)[1])


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


def _inodes(pid: int, roots: Roots) -> Mapping[int, int]:
    """Return the sockets that a program has open, each with its descriptor."""
    found = {}
    with suppress(OSError):
        for entry in (roots.proc / str(pid) / "fd").iterdir():
            with suppress(OSError):
                if match := OWN_SOCKET.fullmatch(str(entry.readlink())):
                    found[int(match[1])] = int(entry.name)
    return found
