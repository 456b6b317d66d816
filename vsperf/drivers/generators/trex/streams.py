"""Streams as TRex is told of them: a burst of so many frames, at a rate, with headers. Pure."""

from __future__ import annotations

import base64
import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.config.flows import link_ip, link_mac
from vsperf.config.traffic import TrafficProfile
from vsperf.config.wiring import load_share
from vsperf.drivers.generators.streams import (
    ETHERNET,
    FCS,
    MOST_VALUES,
    TAG,
    Field,
    fields_of,
    header_of,
)
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import RateStep

MICROSECONDS = 1_000_000
ARP = 0x0806
WORD = 2
"""Bytes of what is counted up or down."""
LEAST_BYTES, ROOMY_BYTES = 64, 128
"""Of frames: an announcement, and what any headers have room in."""
ANNOUNCEMENTS = 3
ANNOUNCEMENTS_FPS = Fraction(1000)
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
class TrafficDirection:
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


def traffic_directions(
    case: CaseSpec, directions: tuple[tuple[str, str], ...], ports: dict[str, int]
) -> tuple[TrafficDirection, ...]:
    """Return the directions of a case between numbered ports."""
    return tuple(
        TrafficDirection(
            *way, ports[way[0]], ports[way[1]], load_share(case.topology, case.traffic, way)
        )
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


def stream_of(case: CaseSpec, way: TrafficDirection, burst: Burst, group: int) -> dict[str, Any]:
    """Return a stream as the server takes it; `group` is what its frames are counted under."""
    header = header_of(case, (way.enters, way.leaves), burst.size)
    fields = () if burst.latency else fields_of(case.traffic, header)
    weights = counterweights(case.traffic, fields, len(header))
    packet = header + b"".join(weight.first.to_bytes(WORD) for weight in weights)
    if case.traffic.layer3 == "ipv6" and burst.latency:
        packet = packet[:-2] + b"\0\0"  # when it leaves is written into it, and nobody sums that up
    alone = len(fields) > 1 or bool(weights)  # else cores would count up each by itself
    pinned = {"core_id": 0} if alone else {}
    after_us = float(burst.starts_ns) / (NANOSECONDS / MICROSECONDS)
    steps = [*_counting(fields, alone=alone), *_counting(weights, alone=alone, op="dec")]
    steps += map(_written, (*fields, *weights))
    if case.traffic.layer3 == "ipv4" and any(field.name.endswith(" ip") for field in fields):
        steps.append({"type": "fix_checksum_ipv4", "pkt_offset": ETHERNET + TAG * _tags(case)})
    return _burst(packet.ljust(burst.size - FCS, b"\0"), burst.frames, burst.fps, after_us) | {
        **pinned,
        "vm": {"instructions": steps},
        "flow_stats": {
            "enabled": True,
            "stream_id": group,
            "rule_type": "latency" if burst.latency else "stats",
        },
    }


def check_flows(case: CaseSpec) -> None:
    """Refuse flows that cannot be counted up, from whatever link they come."""
    for link in case.topology.links:
        fields_of(case.traffic, header_of(case, (link, link), case.longest_bytes))


def counterweights(
    traffic: TrafficProfile, fields: tuple[Field, ...], after: int
) -> tuple[Field, ...]:
    """Return a word of the payload for each field, counted down as that is counted up.

    So the checksum of UDP stays right, which with IPv6 there has to be, and which TRex computes
    for NICs only. All ones, with which each begins, are a zero in such a sum.
    """
    if traffic.layer3 != "ipv6" or traffic.vary == "mac":
        return ()
    return tuple(
        Field(f"against {field.name}", after + WORD * place, MOST_VALUES, field.count, field.every)
        for place, field in enumerate(fields)
    )


def announcement_of(case: CaseSpec, link: str) -> dict[str, Any]:
    """Return a stream by which the port of a link says who is there: ARP, to everybody.

    A switch learns from it where frames for that link go to; counted by streams it is not.
    """
    number = case.topology.links.index(link)
    mac = bytes.fromhex(link_mac(number).replace(":", ""))
    address = ipaddress.IPv4Address(link_ip(number)).packed
    tagged = header_of(case, (link, link), ROOMY_BYTES)
    ethernet = b"\xff" * 6 + mac + tagged[12 : ETHERNET - 2 + TAG * _tags(case)]
    request = struct.pack("!HHHBBH", ARP, 1, 0x0800, 6, 4, 1) + mac + address
    packet = (ethernet + request + bytes(6) + address).ljust(LEAST_BYTES - FCS, b"\0")
    return _burst(packet, ANNOUNCEMENTS, ANNOUNCEMENTS_FPS, 0.0) | {
        "vm": {"instructions": []},
        "flow_stats": {"enabled": False},
    }


def _burst(packet: bytes, frames: int, fps: Fraction, after_us: float) -> dict[str, Any]:
    rate = {"type": "pps", "value": float(fps)}
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


def _counting(
    fields: tuple[Field, ...], *, alone: bool, op: str = "inc"
) -> Iterator[dict[str, Any]]:
    """Yield what makes flows differ: the second field goes on when the first begins anew."""
    for number, field in enumerate(fields):
        follower = fields[number + 1].name if number + 1 < len(fields) else ""
        ends = (field.first, field.first + (1 if op == "inc" else -1) * (field.count - 1))
        yield {
            "type": "flow_var",
            "name": field.name,
            "size": WORD,
            "op": op,
            "init_value": field.first,
            "min_value": min(ends),
            "max_value": max(ends),
            "step": 1,
            **({"next_var": follower} if follower else {}),
            **({"split_to_cores": False} if alone else {}),
        }


def _written(field: Field) -> dict[str, Any]:
    return {
        "type": "write_flow_var",
        "name": field.name,
        "pkt_offset": field.offset,
        "add_value": 0,
        "is_big_endian": True,
    }


def _tags(case: CaseSpec) -> int:
    return len(case.traffic.vlans)
