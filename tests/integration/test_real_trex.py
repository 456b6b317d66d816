"""A real TRex: what it says, how exactly it counts, and what it leaves behind."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

import pytest
from cable import fixture_cables
from conftest import Require
from places import started_generator
from simulated_cases import WAYS
from trex_cases import ends, trex_case
from trex_conversation import GOLDEN, TRAFFIC, listening, recorded, talk

from vsperf.drivers.generators.base import TrialRequest
from vsperf.drivers.generators.streams import UDP_NUMBER
from vsperf.drivers.generators.trex.driver import TrexGenerator

pytestmark = pytest.mark.machine
__all__ = ["fixture_cables"]
ANEW = "VSPERF_RECORD_TREX"
"""Set, the recorded conversation is replaced by the one with the server of this test."""


@pytest.fixture(autouse=True)
def _needs_trex(require: Require, cables: None) -> Iterator[None]:
    require("trex")
    yield


def test_the_recorded_conversation_is_what_a_real_server_says() -> None:
    case = trex_case(traffic=TRAFFIC)
    with (
        listening() as conversation,
        started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["both"]) as session,
    ):
        talk(session)
    if os.environ.get(ANEW):
        conversation.write(GOLDEN)
    kept = recorded()
    assert conversation.questions == kept.questions
    known, found = kept.forms(), conversation.forms()
    assert set(found) == set(known)
    for method in ("get_version", "api_sync_v2", "get_port_stats", "ping"):
        assert found[method] == known[method]


@pytest.mark.parametrize(
    "traffic",
    [
        {"imix": "7a4d1g", "frame_size": None},
        {"flows": 100_000, "vary": "ip"},
        {"flows": 1000, "vary": "port", "vlans": [5, 6], "frame_size": "72B"},
        {"flows": 1000, "vary": "mac", "destination": "broadcast"},
        {"flows": 1000, "layer3": "ipv6", "vlans": [5], "frame_size": "88B"},
    ],
    ids=["mix", "ip", "port", "mac", "ipv6"],
)
def test_frames_of_all_kinds_are_as_many_as_were_asked_for(traffic: dict[str, object]) -> None:
    case = trex_case(traffic=traffic)
    request = TrialRequest(load_fps=3_000, duration_ns=500_000_000)
    with started_generator(TrexGenerator(), case, ends("vscable0"), WAYS["both"]) as session:
        for way in session.run(request).directions:
            assert way.sent_frames == way.received_frames == way.intended_frames == 1_500
            assert way.foreign_frames == 0


def test_each_flow_of_ipv6_has_a_checksum_that_is_right() -> None:
    """Also of those that the server counts up, with nobody there to compute it for them."""
    traffic = {"flows": 300, "vary": "ip", "layer3": "ipv6", "frame_size": "84B"}
    everything = 0x0003
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as wire,
        started_generator(
            TrexGenerator(), trex_case(traffic=traffic), ends("vscable0"), WAYS["forward"]
        ) as session,
    ):
        wire.bind(("vscable0g", everything))
        wire.setblocking(False)
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        session.run(TrialRequest(load_fps=1_000, duration_ns=300_000_000))
        frames = list(iter(lambda: _waiting(wire), b""))
    ours = [frame for frame in frames if frame[12:14] == b"\x86\xdd" and frame[20] == UDP_NUMBER]
    assert len({frame[22:54] for frame in ours}) == 300
    assert {_sum_of_udp(frame) for frame in ours} == {0xFFFF}


def _waiting(wire: socket.socket) -> bytes:
    with suppress(BlockingIOError):
        return wire.recv(2048)
    return b""


def _sum_of_udp(frame: bytes) -> int:
    """Add up the words of addresses, length, protocol and datagram; all ones if it is right."""
    length = int.from_bytes(frame[18:20])
    whole = frame[22:54] + length.to_bytes(4) + UDP_NUMBER.to_bytes(4) + frame[54 : 54 + length]
    total: int = sum(struct.unpack(f"!{len(whole) // 2}H", whole))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_learning_frames_are_taken_and_not_counted() -> None:
    case = trex_case()
    taught = case.trial.model_copy(update={"learning": True})
    with started_generator(
        TrexGenerator(), case.model_copy(update={"trial": taught}), ends("vscable0"), WAYS["both"]
    ) as session:
        for way in session.run(TrialRequest(1_000, 200_000_000)).directions:
            assert way.sent_frames == way.received_frames == 200
            assert way.foreign_frames == 0


def test_what_its_own_ports_had_no_room_for_it_counts() -> None:
    """On a cable nobody else can lose a frame; so the account closes, whatever was lost."""
    with started_generator(TrexGenerator(), trex_case(), ends("vscable0"), WAYS["both"]) as session:
        counts = session.run(TrialRequest(load_fps=300_000, duration_ns=300_000_000))
    missing = sum(way.sent_frames - way.received_frames for way in counts.directions)
    assert counts.generator is not None
    assert counts.generator.missed_frames == missing
