"""What stood in the headers of a frame that arrived: the proof of what became of it."""

from __future__ import annotations

from typing import Literal

from vsperf.record.base import Record


class Headers(Record):
    """The outer headers of one frame, as they were when it arrived."""

    source_mac: str
    destination_mac: str
    vlans: tuple[int, ...] = ()
    """Ids of the VLAN tags, outermost first."""
    mpls: tuple[int, ...] = ()
    """MPLS labels, outermost first."""
    layer3: Literal["ipv4", "ipv6"] | None = None
    """None of a frame without IP; what follows is then unknown."""
    source_ip: str | None = None
    destination_ip: str | None = None
    dscp: int | None = None
    ttl: int | None = None
    """TTL, or hop limit."""
    source_port: int | None = None
    """Of UDP or TCP; None where there is neither, as in GRE."""
    destination_port: int | None = None
