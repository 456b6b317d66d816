"""A look at frames that arrive: tgen writes the first ones down, and their headers are read."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.traffic import TrafficDirection
from vsperf.errors import ComponentError
from vsperf.records.trial import Direction, Headers, TrialCounts

FRAMES = 32
"""Captured of each port, each way."""
KEPT = 4
"""Whose headers are told, of each direction."""
FILE_HEAD, FRAME_HEAD = struct.Struct("=IHHiIII"), struct.Struct("=IIII")
NANOSECOND_PCAP = 0xA1B23C4D
TAGS = (0x8100, 0x88A8)
MPLS, IPV4, IPV6 = 0x8847, 0x0800, 0x86DD
LAST_LABEL = 0x100
WITH_PORTS = (6, 17)
"""TCP and UDP."""
MARK = struct.Struct("<HBB14x")
MAGIC = 0x7654


@dataclass(frozen=True, slots=True)
class Seen:
    """A frame in a capture."""

    headers: Headers
    part: int | None
    """Which part of which stream tgen says it is, counted over all streams; None if it is none."""


def frames_in(content: bytes) -> Iterator[bytes]:
    """Yield the frames of a capture file as tgen writes it."""
    if len(content) < FILE_HEAD.size or FILE_HEAD.unpack_from(content)[0] != NANOSECOND_PCAP:
        raise ComponentError("tgen's capture is no pcap file with nanoseconds")
    at = FILE_HEAD.size
    while at < len(content):
        *_, captured, _ = FRAME_HEAD.unpack_from(content, at)
        at += FRAME_HEAD.size
        yield content[at : at + captured]
        at += captured


def read(frame: bytes) -> Seen | None:
    """Return what stands in a frame; None where it ends before its headers do."""
    try:
        return _read(frame)
    except (struct.error, IndexError, ValueError):
        return None


def _read(frame: bytes) -> Seen:
    macs = {"destination_mac": frame[0:6].hex(":"), "source_mac": frame[6:12].hex(":")}
    vlans, mpls = [], []
    at, kind = 14, _word(frame, 12)
    while kind in TAGS:
        vlans.append(_word(frame, at) & 0x0FFF)
        at, kind = at + 4, _word(frame, at + 2)
    while kind == MPLS:
        (label,) = struct.unpack_from(">I", frame, at)
        mpls.append(label >> 12)
        at += 4
        if label & LAST_LABEL:
            kind = IPV6 if frame[at] >> 4 == 6 else IPV4
    below = {**macs, "vlans": tuple(vlans), "mpls": tuple(mpls)}
    if kind not in (IPV4, IPV6):
        return Seen(Headers.model_validate(below), None)
    above, end = _ip(frame, at, is_ipv6=kind == IPV6)
    return Seen(Headers.model_validate({**below, **above}), _part(frame, end))


def _ip(frame: bytes, at: int, *, is_ipv6: bool) -> tuple[dict[str, object], int]:
    """Return the fields of IP and of the ports behind it, and where the datagram ends."""
    if is_ipv6:
        first, length, protocol, ttl = struct.unpack_from(">IHBB", frame, at)
        traffic_class, source, behind = first >> 20 & 0xFF, slice(at + 8, at + 24), at + 40
        end = behind + length
    else:
        traffic_class, length = frame[at + 1], _word(frame, at + 2)
        ttl, protocol = frame[at + 8], frame[at + 9]
        source, behind = slice(at + 12, at + 16), at + 4 * (frame[at] & 0x0F)
        end = at + length
    target = slice(source.stop, 2 * source.stop - source.start)
    ports = struct.unpack_from(">HH", frame, behind) if protocol in WITH_PORTS else (None, None)
    return {
        "layer3": "ipv6" if is_ipv6 else "ipv4",
        "source_ip": str(ipaddress.ip_address(frame[source])),
        "destination_ip": str(ipaddress.ip_address(frame[target])),
        "dscp": traffic_class >> 2,
        "ttl": ttl,
        "source_port": ports[0],
        "destination_port": ports[1],
    }, end


def _part(frame: bytes, end: int) -> int | None:
    """Read the mark at the end of a datagram."""
    if end > len(frame) or end < MARK.size:
        return None
    magic, _, part = MARK.unpack_from(frame, end - MARK.size)
    return part if magic == MAGIC else None


def _word(frame: bytes, at: int) -> int:
    return int(struct.unpack_from(">H", frame, at)[0])


@dataclass(frozen=True, slots=True)
class Look:
    """Captures of the ports where frames arrive."""

    tgen: Tgen
    ways: tuple[TrafficDirection, ...]
    senders: int
    """Workers of each direction; the frames of each of them are marked as a part of their own."""
    folder: Path

    def arm(self) -> None:
        """Have the first frames of the next trial written down."""
        for port in {way.receive for way in self.ways}:
            self.tgen.ask("capture", port=port, path=str(self._file(port)), frames=FRAMES)

    def added_to(self, counts: TrialCounts) -> TrialCounts:
        """Return the counts of that trial with what was seen, and forget the frames."""
        arrived = {port: self._arrived(port) for port in {way.receive for way in self.ways}}
        directions = tuple(
            _with(direction, [head for part, head in arrived[way.receive] if part in parts])
            for way, direction, parts in zip(
                self.ways, counts.directions, self._parts(), strict=True
            )
        )
        return counts.model_copy(update={"directions": directions})

    def _parts(self) -> list[range]:
        """Return the marks of each direction: tgen counts the parts of all streams in a row."""
        return [
            range(number * self.senders, (number + 1) * self.senders)
            for number in range(len(self.ways))
        ]

    def _arrived(self, port: int) -> list[tuple[int | None, Headers]]:
        """Return whose frames a port has seen; those that it sent itself are of other parts."""
        file = self._file(port)
        with ComponentError.if_refused(f"{file.name} cannot be read"):
            content = file.read_bytes()
            file.unlink()
        seen = (read(frame) for frame in frames_in(content))
        return [(one.part, one.headers) for one in seen if one is not None]

    def _file(self, port: int) -> Path:
        return self.folder / f"port-{port}.pcap"


def _with(direction: Direction, headers: list[Headers]) -> Direction:
    return direction.model_copy(update={"first_headers": tuple(headers[:KEPT])})
