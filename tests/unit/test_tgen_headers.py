"""Captured frames become headers, and are told apart by the part of the stream that sent them."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsperf.errors import ComponentError
from vsperf.record.headers import Headers
from vsperf.record.trial import Direction, TrialCounts
from vsperf.trafficgens.tgen.headers import frames_in, read
from vsperf.trafficgens.tgen.look import KEPT, Look
from vsperf.trafficgens.tgen.traffic import Way

TARGET, SOURCE = bytes.fromhex("020100000001"), bytes.fromhex("020000000001")
MACS = {"destination_mac": "02:01:00:00:00:01", "source_mac": "02:00:00:00:00:01"}
V4 = (bytes([198, 18, 0, 1]), bytes([198, 19, 0, 1]))
V6 = (
    bytes.fromhex("20010002000000000000000000000001"),
    bytes.fromhex("20010002000000010000000000000001"),
)
PORTS = struct.pack(">HHHH", 49184, 7, 26, 0)


def mark(part: int, magic: int = 0x7654) -> bytes:
    return struct.pack("<HBB14x", magic, 1, part)


def ipv4(payload: bytes, protocol: int = 17, tos: int = 0, ttl: int = 64) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, tos, 20 + len(payload), 0, 0, ttl, protocol, 0)
    return head + V4[0] + V4[1] + payload


def ipv6(payload: bytes, protocol: int = 17, traffic_class: int = 0, hops: int = 64) -> bytes:
    first = 6 << 28 | traffic_class << 20
    return struct.pack(">IHBB", first, len(payload), protocol, hops) + V6[0] + V6[1] + payload


def frame(*layers: bytes) -> bytes:
    return (TARGET + SOURCE + b"".join(layers)).ljust(60, b"\0")


def known(**values: Any) -> dict[str, Any]:
    return Headers(**MACS, **values).model_dump(exclude_defaults=True)


UDP4 = {"layer3": "ipv4", "source_ip": "198.18.0.1", "destination_ip": "198.19.0.1",
        "source_port": 49184, "destination_port": 7}  # fmt: skip
UDP6 = {**UDP4, "layer3": "ipv6", "source_ip": "2001:2::1", "destination_ip": "2001:2:0:1::1"}
IP4, IP6, MPLS = b"\x08\x00", b"\x86\xdd", b"\x88\x47"


@pytest.mark.parametrize(
    ("layers", "values"),
    [
        ((IP4, ipv4(PORTS + mark(3))), {**UDP4, "dscp": 0, "ttl": 64}),
        ((IP4, ipv4(PORTS + mark(3), tos=46 << 2 | 3, ttl=17)), {**UDP4, "dscp": 46, "ttl": 17}),
        (
            (b"\x81\x00\xe0\x64", IP4, ipv4(PORTS + mark(3))),
            {**UDP4, "vlans": (100,), "dscp": 0, "ttl": 64},
        ),
        (
            (b"\x88\xa8\x00\x05\x81\x00\x0f\xfe", IP6, ipv6(PORTS + mark(3), traffic_class=40)),
            {**UDP6, "vlans": (5, 4094), "dscp": 10, "ttl": 64},
        ),
        (
            (MPLS, struct.pack(">II", 16 << 12 | 64, 17 << 12 | 0x100), ipv4(PORTS + mark(3))),
            {**UDP4, "mpls": (16, 17), "dscp": 0, "ttl": 64},
        ),
        (
            (MPLS, struct.pack(">I", 18 << 12 | 0x100), ipv6(PORTS + mark(3), hops=63)),
            {**UDP6, "mpls": (18,), "dscp": 0, "ttl": 63},
        ),
        (
            (IP4, ipv4(bytes(30) + mark(3), protocol=47)),
            {**UDP4, "dscp": 0, "ttl": 64, "source_port": None, "destination_port": None},
        ),
    ],
    ids=["plain", "class of service", "vlan", "qinq, ipv6", "mpls", "mpls, ipv6", "gre"],
)
def test_headers_are_read_as_they_stand(layers: tuple[bytes, ...], values: dict[str, Any]) -> None:
    seen = read(frame(*layers))
    assert seen is not None
    assert seen.part == 3
    assert seen.headers.model_dump(exclude_defaults=True) == known(
        **{name: value for name, value in values.items() if value is not None}
    )


def test_a_frame_without_ip_is_nobodys() -> None:
    seen = read(frame(b"\x08\x06", bytes(40)))
    assert seen is not None
    assert (seen.headers.layer3, seen.part) == (None, None)


def test_a_frame_without_the_mark_is_nobodys() -> None:
    seen = read(frame(IP4, ipv4(PORTS + mark(3, magic=0x7655))))
    assert seen is not None
    assert seen.part is None


@given(st.binary(max_size=120))
def test_no_frame_is_too_strange_to_read(content: bytes) -> None:
    read(content)
    read(TARGET + SOURCE + b"\x81\x00" + content)
    read(TARGET + SOURCE + MPLS + content)


def pcap(*frames: bytes) -> bytes:
    head = struct.pack("=IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 9216, 1)
    return head + b"".join(struct.pack("=IIII", 0, 0, len(one), len(one)) + one for one in frames)


def test_a_capture_is_read_frame_by_frame() -> None:
    frames = (frame(IP4, ipv4(PORTS + mark(0))), frame(IP4, bytes(100)))
    assert tuple(frames_in(pcap(*frames))) == frames
    assert tuple(frames_in(pcap())) == ()
    with pytest.raises(ComponentError, match="no pcap file"):
        tuple(frames_in(b"nothing"))


class Asked:
    """Stands for a tgen that writes down what a test gives it."""

    def __init__(self, captures: dict[int, bytes]) -> None:
        self.captures = captures

    def ask(self, verb: str, **values: Any) -> dict[str, Any]:
        assert verb == "capture"
        Path(values["path"]).write_bytes(self.captures[values["port"]])
        return {}


def test_what_a_port_sent_itself_did_not_arrive_there(tmp_path: Path) -> None:
    """Two directions by two workers each: parts 0 and 1 go to port 1, parts 2 and 3 to port 0."""
    ways = (Way("phy0 to phy1", 0, 1), Way("phy1 to phy0", 1, 0))
    there = [frame(IP4, ipv4(PORTS + mark(part), ttl=10 + part)) for part in (2, 0, 3, 1, 0, 1, 0)]
    back = [frame(IP4, ipv4(PORTS + mark(part), ttl=10 + part)) for part in (1, 0)]
    tgen: Any = Asked({1: pcap(*there), 0: pcap(*back)})
    look = Look(tgen, ways, 2, tmp_path)
    look.arm()
    counted = tuple(
        Direction(name=way.name, intended_frames=9, sent_frames=9, received_frames=9)
        for way in ways
    )
    counts = TrialCounts(directions=counted, sending_ns=1, elapsed_ns=1, settled=True)
    first, second = look.added_to(counts).directions
    assert [headers.ttl for headers in first.first_headers] == [10, 11, 10, 11]
    assert len(first.first_headers) == KEPT
    assert second.first_headers == ()
    assert list(tmp_path.iterdir()) == []
