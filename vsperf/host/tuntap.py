"""Taps as the kernel makes them: network devices whose other end a program holds.

A tap stays when no program holds it, so a VNF may come and go behind it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vsperf.host.files import Roots, integer
from vsperf.waits import sleep

DEVICE = Path("/dev/net/tun")
LONGEST_NAME = 15
"""Bytes of the name of a network device."""
FREED_S = 5.0
"""Time for the kernel to take a tap from a program that has just ended, on a busy machine, too."""
POLL_S = 0.01
TUNSETIFF = 0x400454CA
TUNSETPERSIST = 0x400454CB
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
SIOCSIFMTU = 0x8922
IFF_UP = 0x0001
IFF_NOARP = 0x0080
IFF_TAP = 0x0002
IFF_MULTI_QUEUE = 0x0100
IFF_NO_PI = 0x1000
IFF_VNET_HDR = 0x4000
IFF_TUN_EXCL = 0x8000
FLAGS = struct.Struct("16sH22x")
NUMBER = struct.Struct("16si20x")


def make_tap(name: str, *, mtu: int, several_queues: bool, label: str) -> None:
    """Make a tap that is up, and silent: no addresses, no ARP, no IPv6, nothing offloaded.

    Raises OSError, also where one is called so already. `label` says to people whose it is.
    """
    kind = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | (IFF_MULTI_QUEUE if several_queues else 0)
    with _held(name, kind | IFF_TUN_EXCL) as descriptor:
        with suppress(OSError):  # a kernel without IPv6 has no such file
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1\n")
        with suppress(OSError):  # a help for people, and no more
            Path(f"/sys/class/net/{name}/ifalias").write_text(label)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asking:
            fcntl.ioctl(asking, SIOCSIFMTU, NUMBER.pack(name.encode(), mtu))
            answer = fcntl.ioctl(asking, SIOCGIFFLAGS, FLAGS.pack(name.encode(), 0))
            flags = FLAGS.unpack(answer)[1] | IFF_UP | IFF_NOARP
            fcntl.ioctl(asking, SIOCSIFFLAGS, FLAGS.pack(name.encode(), flags))
        fcntl.ioctl(descriptor, TUNSETPERSIST, 1)


def remove_tap(name: str, patience_s: float = FREED_S) -> None:
    """Remove a tap, if it is there; raises OSError where a program still holds it."""
    deadline = time.monotonic() + patience_s
    while is_there(name):
        try:
            return _remove(name)
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
        sleep(POLL_S)  # between two looks at a condition, never instead of one


def is_there(name: str) -> bool:
    """Whether a network device is called so."""
    try:
        socket.if_nametoindex(name)
    except OSError:
        return False
    return True


def is_held(name: str, queues: int = 1, roots: Roots | None = None) -> bool:
    """Whether a program holds so many queues of a tap that is up."""
    folder = (roots or Roots()).sys / "class" / "net" / name
    held = len([*(folder / "queues").glob("tx-*")])
    return integer(folder / "carrier") == 1 and held >= queues


def refused_frames(name: str, roots: Roots | None = None) -> int | None:
    """Return how many frames a tap had no room for since it was made; None if it is not there."""
    folder = (roots or Roots()).sys / "class" / "net" / name
    return integer(folder / "statistics" / "tx_dropped")


def _remove(name: str) -> None:
    """Hold it as its kind demands, and let go of it for good."""
    try:
        with _held(name, IFF_TAP | IFF_NO_PI) as descriptor:
            fcntl.ioctl(descriptor, TUNSETPERSIST, 0)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        with _held(name, IFF_TAP | IFF_NO_PI | IFF_MULTI_QUEUE) as descriptor:
            fcntl.ioctl(descriptor, TUNSETPERSIST, 0)


@contextmanager
def _held(name: str, flags: int) -> Iterator[int]:
    """Hold the other end of a tap, which is made if there is none."""
    if len(name.encode()) > LONGEST_NAME:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), name)
    descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, TUNSETIFF, FLAGS.pack(name.encode(), flags))
        yield descriptor
    finally:
        os.close(descriptor)
