"""When frames pass a device of the kernel: it stamps each, and keeps the stamps till they are read.

A packet socket gets a ring of slots into which the kernel writes the time of each frame, and
nothing of the frame. Whoever sends the frame does that on the way; nobody else runs meanwhile.
"""

from __future__ import annotations

import ctypes
import mmap
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vsperf.host.netns import within
from vsperf.quantities.units import NANOSECONDS

SOL_PACKET = 263
RX_RING, STATISTICS, VERSION, TIMESTAMP = 5, 6, 10, 17
"""Options of packet sockets."""
V2, BY_SOFTWARE = 1, 1 << 4
SO_ATTACH_FILTER, SO_TIMESTAMPNS = 26, 35
"""With the latter the kernel stamps frames when a device hands them over, and not later."""
EVERYTHING = 0x0003
SLOT = 64
"""Bytes of a slot: the least in which the kernel's header has room."""
WORDS = SLOT // 4
AT_SECONDS, AT_REST = 4, 5
"""Which words of a slot hold the time: whole seconds, and the nanoseconds beyond them."""
BLOCK = 1 << 18
LOAD_BYTE, EQUAL, ANY_BIT, RETURN = 0x30, 0x15, 0x45, 0x06
PACKET_TYPE = 0xFFFFF004
"""Where a filter finds which way a frame goes, in place of a byte of it."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """The times of the frames that passed, and of how many there is none."""

    times_ns: list[int]
    """Since 1970, UTC, in order."""
    missed: int
    """Frames that there was no room for, or that came too fast."""


@dataclass
class Stamping:
    """A socket that keeps the times of frames for one station, from `begin` on."""

    device: str
    socket: socket.socket
    ring: mmap.mmap

    def begin(self) -> None:
        """Keep the times of frames from now on."""
        self.socket.bind((self.device, EVERYTHING))

    def read(self) -> Stamps:
        """Return the times of all frames since then; to be asked once, when no more come."""
        passed, missed = struct.unpack("=II", self.socket.getsockopt(SOL_PACKET, STATISTICS, 8))
        with memoryview(self.ring) as content, content.cast("I") as words:
            end = WORDS * (passed - missed)
            seconds = words[AT_SECONDS:end:WORDS].tolist()
            rest = words[AT_REST:end:WORDS].tolist()
        times = [NANOSECONDS * one + ns for one, ns in zip(seconds, rest, strict=True)]
        times.sort()  # those of several CPUs may have met
        return Stamps(times, missed)


@contextmanager
def stamping(device: str, network: str, *, sent: bool, frames: int) -> Iterator[Stamping]:
    """Give a socket with room for the times of so many frames that are for one station.

    With `sent` they are those that are sent on the device, otherwise those that come in by it.
    Frames for everybody are not among them, such as those by which switches learn. The network is
    a namespace by name; without a name it is that of the host. Raises OSError.
    """
    blocks = -(-frames * SLOT // BLOCK)
    made = within(network, _socket) if network else _socket()
    with made:
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        _filter(made, sent=sent)
        made.setsockopt(SOL_PACKET, VERSION, V2)
        made.setsockopt(SOL_PACKET, TIMESTAMP, BY_SOFTWARE)
        room = struct.pack("=IIII", BLOCK, blocks, SLOT, blocks * BLOCK // SLOT)
        made.setsockopt(SOL_PACKET, RX_RING, room)
        with mmap.mmap(made.fileno(), blocks * BLOCK) as ring:
            yield Stamping(device, made, ring)


def _socket() -> socket.socket:
    """Make a socket that gets nothing yet."""
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)


def _filter(one: socket.socket, *, sent: bool) -> None:
    """Let frames pass that go this way and are for one station, by a program of the kernel's."""
    lines = (
        (LOAD_BYTE, 0, 0, PACKET_TYPE),
        (EQUAL, *((0, 3) if sent else (3, 0)), socket.PACKET_OUTGOING),
        (LOAD_BYTE, 0, 0, 0),
        (ANY_BIT, 1, 0, 1),  # of the first byte of the destination: a group, or everybody
        (RETURN, 0, 0, 1),
        (RETURN, 0, 0, 0),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    pointed = struct.pack("HP", len(lines), ctypes.addressof(program))
    one.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pointed)
