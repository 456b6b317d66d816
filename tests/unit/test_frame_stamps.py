"""The kernel's times of frames: each one for one station, either way, as far as there is room."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable

import pytest

from vsperf.host.frame_stamps import Stamps, stamping
from vsperf.host.netns import apart

pytestmark = pytest.mark.needs("root", "namespaces")

ONE, EVERYBODY = bytes.fromhex("020000000002"), bytes.fromhex("ffffffffffff")
IPV4 = 0x0800
ROOM = 4096
"""Slots of the smallest ring."""


def send(count: int, station: bytes = ONE) -> None:
    """Send frames, each once the one before has come in: a busy kernel does that later.

    Who asks for one kind of frames is given them after those who ask for all.
    """
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as back,
    ):
        sender.bind(("lo", 0))
        back.bind(("lo", IPV4))
        for _ in range(count):
            sender.send(station + bytes(6) + IPV4.to_bytes(2) + bytes(46))
            back.recv(64)


def seen(action: Callable[[], None], *, sent: bool) -> Stamps:
    """Return what is seen on a device that leads back to itself, where nobody else is."""

    def look() -> Stamps:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        send(5)  # before anybody looks
        with stamping("lo", "", sent=sent, frames=1) as one:
            one.begin()
            action()
            return one.read()

    return apart(look)


@pytest.mark.parametrize("sent", [True, False])
def test_each_frame_for_one_station_has_a_time(sent: bool) -> None:
    def both() -> None:
        send(200)
        send(50, EVERYBODY)

    began = time.time_ns()
    found = seen(both, sent=sent)
    assert (len(found.times_ns), found.missed) == (200, 0)
    assert found.times_ns == sorted(found.times_ns)
    assert began <= found.times_ns[0] <= found.times_ns[-1] <= time.time_ns()


def test_where_there_is_no_room_the_first_ones_are_kept_and_the_others_counted() -> None:
    found = seen(lambda: send(ROOM + 904), sent=True)
    assert (len(found.times_ns), found.missed) == (ROOM, 904)


def test_a_device_that_is_not_there_is_an_error() -> None:
    with (
        pytest.raises(OSError, match="No such device"),
        stamping("vsp-nobody", "", sent=True, frames=1) as one,
    ):
        one.begin()
