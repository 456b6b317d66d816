"""A case's traffic as a configuration of the model. Pure."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from vsperf.config.flows import (
    DESTINATION_PORT,
    HOSTS,
    LAST_PORT,
    SOURCE_PORT,
    TTL,
    counts,
    group_mac,
    host_ip,
    link_mac,
)
from vsperf.config.traffic import TrafficProfile
from vsperf.errors import ComponentError, UsageError
from vsperf.records.trial import RateStep

TPID, SERVICE_TPID = 0x8100, 0x88A8
MOST_FRAMES = (1 << 32) - 1
"""The model counts the frames of a flow in 32 bits."""
FIELDS = {"mac": ("src", "dst"), "ip": ("src", "dst"), "port": ("src_port", "dst_port")}


@dataclass(frozen=True, slots=True)
class TrafficDirection:
    """One direction: a flow of the model."""

    name: str
    source: int
    """Number of the link that its frames enter by."""
    target: int
    sender: str
    """Name of the port that sends; ports are called as links are."""
    receiver: str
    share: Fraction = Fraction(1)
    """What it is offered of the load."""


def most_flows(profile: TrafficProfile) -> int | None:
    """Return how many flows one field can tell apart: in the model, fields change in step."""
    if profile.vary == "port":
        return LAST_PORT - SOURCE_PORT + 1
    return HOSTS if profile.vary == "ip" and profile.layer3 == "ipv4" else None


def config(
    profile: TrafficProfile,
    ways: Sequence[TrafficDirection],
    locations: Mapping[str, str],
    step: RateStep,
) -> dict[str, Any]:
    """Return the configuration that sends one trial: exact numbers of frames at a rate."""
    return {
        "ports": [{"name": name, "location": place} for name, place in locations.items()],
        "flows": [_flow(profile, way, step.shared(way.share)) for way in ways],
    }


def _flow(profile: TrafficProfile, way: TrafficDirection, step: RateStep) -> dict[str, Any]:
    if not 0 < step.frames <= MOST_FRAMES:
        raise ComponentError(
            f"the OTG model cannot say a trial of {step.frames} frames",
            why=f"a flow has 1 to {MOST_FRAMES} frames",
            fix="longer trials" if not step.frames else "shorter trials",
        )
    return {
        "name": way.name,
        "tx_rx": {"choice": "port", "port": {"tx_name": way.sender, "rx_names": [way.receiver]}},
        "packet": packet(profile, way),
        "size": {"choice": "fixed", "fixed": profile.frame_size.bytes},
        "rate": {"choice": "pps", "pps": step.load_fps},
        "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": step.frames}},
        "metrics": {"enable": True},
    }


def packet(profile: TrafficProfile, way: TrafficDirection) -> list[dict[str, Any]]:
    """Return the headers of a direction's frames."""
    first, second = _counts(profile)
    varied = dict(zip(FIELDS[profile.vary], (first, second), strict=True))

    def field(layer: str, key: str, value: str | int) -> dict[str, Any]:
        count = varied[key] if layer == profile.vary and key in varied else 1
        if count == 1:
            return {"choice": "value", "value": value}
        counter = {"start": value, "step": _step(layer, profile), "count": count}
        return {"choice": "increment", "increment": counter}

    target_mac = group_mac(profile.destination, way.target)
    ethernet = {
        "src": field("mac", "src", link_mac(way.source)),
        "dst": field("mac", "dst", target_mac),
    }
    hops = "time_to_live" if profile.layer3 == "ipv4" else "hop_limit"
    network = {
        "src": field("ip", "src", host_ip(way.source, 0, profile.layer3)),
        "dst": field("ip", "dst", host_ip(way.target, 0, profile.layer3)),
        hops: {"choice": "value", "value": TTL},
    }
    transport = {
        "src_port": field("port", "src_port", SOURCE_PORT),
        "dst_port": field("port", "dst_port", DESTINATION_PORT),
    }
    return [
        {"choice": "ethernet", "ethernet": ethernet},
        *({"choice": "vlan", "vlan": tag} for tag in _tags(profile.vlans)),
        {"choice": profile.layer3, profile.layer3: network},
        {"choice": "udp", "udp": transport},
    ]


def _counts(profile: TrafficProfile) -> tuple[int, int]:
    """Return how many values the two fields take that change in step."""
    found = counts(profile)
    if found is None or math.gcd(*found) > 1:
        most = most_flows(profile)
        raise UsageError(
            f"the OTG model cannot say exactly {profile.flows} flows that differ by {profile.vary}",
            why="fields change in step with each other, so only one of them tells flows apart",
            fix=f"--set traffic.flows={most}" if most else "fewer flows",
        )
    return found


def _step(layer: str, profile: TrafficProfile) -> str | int:
    if layer == "port":
        return 1
    if layer == "mac":
        return "00:00:00:00:00:01"
    family = ipaddress.IPv4Address if profile.layer3 == "ipv4" else ipaddress.IPv6Address
    return str(family(1))


def _tags(vlans: Sequence[int]) -> list[dict[str, Any]]:
    types = (SERVICE_TPID, TPID) if len(vlans) > 1 else (TPID,)
    return [
        {"id": {"choice": "value", "value": number}, "tpid": {"choice": "value", "value": tpid}}
        for number, tpid in zip(vlans, types, strict=False)
    ]
