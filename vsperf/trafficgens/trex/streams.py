"""Streams as TRex is told of them: a burst of so many frames, at a rate, with headers. Pure."""

from __future__ import annotations

import base64
import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vsperf.record.load import RateStep
from vsperf.spec.case import CaseSpec
from vsperf.spec.flows import link_ip, link_mac
from vsperf.spec.wiring import load_share
from vsperf.trafficgens.streams import ETHERNET, FCS, TAG, Field, fields_of, header_of
from vsperf.units import NANOSECONDS

MICROSECONDS = 1_000_000
ARP = 0x0806
LEAST_BYTES = 64
ANNOUNCEMENTS = 3
ANNOUNCEMENTS_FPS = 1000.0
SHARE_OF_LATENCY = 10
"""At most one frame in so many is of the latency stream."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Frames of one stream in one trial."""

    frames: int
    fps: Fraction
    starts_ns: Fraction
    """Since the trial began."""
    size: int
    """With FCS."""
    latency: bool = False


@dataclass(frozen=True, slots=True)
class Way:
    """One direction."""

    enters: str
    leaves: str
    sender: int
    """Number of the port that sends."""
    receiver: int
    share: Fraction
    """Of the load."""

    @property
    def name(self) -> str:
        """Such as `phy0 to phy1`."""
        return f"{self.enters} to {self.leaves}"


def ways_of(
    case: CaseSpec, directions: tuple[tuple[str, str], ...], ports: dict[str, int]
) -> tuple[Way, ...]:
    """Return the directions of a case between numbered ports."""
    return tuple(
        Way(*way, ports[way[0]], ports[way[1]], load_share(case.topology, case.traffic, way))
        for way in directions
    )


def bursts_of(case: CaseSpec, step: RateStep, latency_fps: int | None) -> tuple[Burst, ...]:
    """Return the bursts of a direction, which together are exactly the frames of a load.

    Each place in a mix is a stream of its own, later than the one before by a frame: so sizes
    follow each other as they are written. Frames of the latency stream are part of the load.
    """
    sizes = case.traffic.imix.sizes if case.traffic.imix else (case.traffic.frame_size.bytes,)
    if latency_fps is None:
        return tuple(_taking_turns(step.frames, Fraction(step.load_fps), sizes))
    sampled_fps = min(Fraction(latency_fps), Fraction(step.load_fps, SHARE_OF_LATENCY))
    sampled = max(1, int(step.frames * sampled_fps / step.load_fps))
    rest = Fraction(step.load_fps) - sampled_fps
    others = tuple(_taking_turns(step.frames - sampled, rest, sizes))
    return (*others, Burst(sampled, sampled_fps, Fraction(0), sizes[0], latency=True))


def _taking_turns(frames: int, fps: Fraction, sizes: tuple[int, ...]) -> Iterator[Burst]:
    turns = len(sizes)
    for place, size in enumerate(sizes):
        count = (frames - place + turns - 1) // turns
        if count > 0:
            yield Burst(count, fps / turns, place * NANOSECONDS / fps, size)


def stream_of(case: CaseSpec, way: Way, burst: Burst, group: int) -> dict[str, Any]:
    """Return a stream as the server takes it; `group` is what its frames are counted under."""
    header = header_of(case, (way.enters, way.leaves), burst.size)
    packet = header.ljust(burst.size - FCS, b"\0")
    fields = () if burst.latency else fields_of(case.traffic, header)
    pinned = {"core_id": 0} if len(fields) > 1 else {}  # else cores would count up each by itself
    after_us = float(burst.starts_ns) / (NANOSECONDS / MICROSECONDS)
    return _burst(packet, burst.frames, float(burst.fps), after_us) | {
        **pinned,
        "vm": {"instructions": list(_instructions(fields, ip=ETHERNET + TAG * _tags(case)))},
        "flow_stats": {
            "enabled": True,
            "stream_id": group,
            "rule_type": "latency" if burst.latency else "stats",
        },
    }


def announcement_of(case: CaseSpec, link: str) -> dict[str, Any]:
    """Return a stream by which the port of a link says who is there: ARP, to everybody.

    A switch learns from it where frames for that link go to; counted by streams it is not.
    """
    number = case.topology.links.index(link)
    mac = bytes.fromhex(link_mac(number).replace(":", ""))
    address = ipaddress.IPv4Address(link_ip(number)).packed
    tagged = header_of(case, (link, link), LEAST_BYTES + TAG * _tags(case))
    ethernet = b"\xff" * 6 + mac + tagged[12 : ETHERNET - 2 + TAG * _tags(case)]
    request = struct.pack("!HHHBBH", ARP, 1, 0x0800, 6, 4, 1) + mac + address
    packet = (ethernet + request + bytes(6) + address).ljust(LEAST_BYTES - FCS, b"\0")
    return _burst(packet, ANNOUNCEMENTS, ANNOUNCEMENTS_FPS, 0.0) | {
        "vm": {"instructions": []},
        "flow_stats": {"enabled": False},
    }


def _burst(packet: bytes, frames: int, fps: float, after_us: float) -> dict[str, Any]:
    """Return what streams of any kind have."""
    rate = {"type": "pps", "value": fps}
    return {
        "enabled": True,
        "self_start": True,
        "flags": 0,
        "action_count": 0,
        "next_stream_id": -1,
        "isg": after_us,
        "packet": {"binary": base64.b64encode(packet).decode(), "meta": ""},
        "mode": {"type": "single_burst", "total_pkts": frames, "rate": rate},
    }


def _instructions(fields: tuple[Field, ...], ip: int) -> Iterator[dict[str, Any]]:
    """Yield what makes flows differ: the second field goes on when the first begins anew."""
    for number, field in enumerate(fields):
        follower = fields[number + 1].name if number + 1 < len(fields) else ""
        yield {
            "type": "flow_var",
            "name": field.name,
            "size": 2,
            "op": "inc",
            "init_value": field.first,
            "min_value": field.first,
            "max_value": field.first + field.count - 1,
            "step": 1,
            **({"next_var": follower} if follower else {}),
            **({"split_to_cores": False} if len(fields) > 1 else {}),
        }
    for field in fields:
        yield {
            "type": "write_flow_var",
            "name": field.name,
            "pkt_offset": field.offset,
            "add_value": 0,
            "is_big_endian": True,
        }
    if any(field.name.endswith(" ip") for field in fields):
        yield {"type": "fix_checksum_ipv4", "pkt_offset": ip}


def _tags(case: CaseSpec) -> int:
    return len(case.traffic.vlans)
