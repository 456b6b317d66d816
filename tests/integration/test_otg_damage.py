"""`vsperf otg serve` and a device on the way that damages payloads."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from cable import fixture_cables
from otg_documents import config, flow, packet
from otg_servers import ask, otg_server, sent

pytestmark = pytest.mark.machine
__all__ = ["fixture_cables"]

ETH_P_ALL = 3
DOWNWARDS = {"choice": "decrement", "decrement": {"start": 9, "step": 2, "count": 3}}
IN_A_FILE = packet(udp={"src_port": DOWNWARDS})
"""Headers that tgen cannot make by itself."""


@contextmanager
def flipping(enters: str, leaves: str, place: int) -> Iterator[None]:
    """Have a bridge that flips all bits of a byte of each frame."""
    over = threading.Event()
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as reading,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as writing,
    ):
        reading.bind((enters, ETH_P_ALL))
        reading.settimeout(0.1)
        writing.bind((leaves, 0))

        def carry() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    frame, (_, _, kind, *_) = reading.recvfrom(2048)
                    if kind != socket.PACKET_OUTGOING:
                        flipped = frame[place] ^ 0xFF
                        writing.send(frame[:place] + bytes([flipped]) + frame[place + 1 :])

        thread = threading.Thread(target=carry)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    ("headers", "whole", "arrive"),
    [(packet(), True, 0), (IN_A_FILE, True, 0), (packet(), False, 100)],
    ids=["made by tgen", "in a file", "not looked at"],
)
def test_a_frame_whose_payload_was_damaged_on_its_way_is_not_intact(
    headers: list[dict[str, Any]], whole: bool, arrive: int, cables: None
) -> None:
    ports = [f"p{n + 1}=net_af_packet{n},iface=vscable{n}g" for n in range(2)]
    in_the_middle = 60
    with (
        flipping("vscable0s", "vscable1s", in_the_middle),
        otg_server(ports, whole=whole) as server,
    ):
        assert ask(server.url, "POST", "/config", config(flow(packet=headers)))[0] == 200
        (one,) = sent(server.url)
    assert (one["frames_tx"], one["frames_rx"]) == ("100", str(arrive))
    assert one["bytes_rx"] == str(arrive * 128)
    assert one["loss"] == 100 - arrive
