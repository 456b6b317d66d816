"""Floods of datagrams as they would be recorded, with what kernels and the switch counted."""

from __future__ import annotations

from typing import Any

from exchanges import device, exchange, instance

from vsperf.records.datagrams import SocketCounts
from vsperf.records.exchange import Exchange
from vsperf.records.switch import PortCounters, SwitchCounters

SENT = 1_000_000


def sockets(place: str, **counted: int) -> SocketCounts:
    names = [name for name in SocketCounts.model_fields if name != "place"]
    return SocketCounts(place=place, **{**dict.fromkeys(names, 0), **counted})


def port(link: str, **drops: int) -> PortCounters:
    named = {name.replace("_", " "): count for name, count in drops.items()}
    return PortCounters(name=link, link=link, received_frames=0, sent_frames=0, drops=named)


def flood(
    lost: int, *kernels: SocketCounts, ports: tuple[PortCounters, ...] = (), **changed: Any
) -> Exchange:
    """A million datagrams, so many of which no server had."""
    sent = instance(
        sent_packets=SENT,
        lost_packets=lost,
        write_bytes=1400,
        congestion=None,
        repeated_segments=None,
        sent_bytes=SENT * 1400,
        received_bytes=(SENT - lost) * 1400,
    )
    known: dict[str, Any] = {
        "traffic": "udp-stream",
        "sockets": kernels,
        "switch": SwitchCounters(ports=ports),
        "devices": (device("phy0", 0), device("phy1", SENT * 1442, frames=SENT)),
    }
    return exchange(sent, **{**known, **changed})


def lossy(lost: int, **changed: Any) -> Exchange:
    """One of which a slow reader, a full ring of the switch, and nobody lost some."""
    full, known = lost * 3 // 10, lost * 6 // 10
    ends = (
        sockets("phy0", out_datagrams=SENT),
        sockets("phy1", in_datagrams=SENT - lost, in_errors=known, rcvbuf_errors=known),
    )
    return flood(lost, *ends, ports=(port("phy0", rx_socket_full=full),), **changed)
