"""Counters as the model has them, from what tgen counts. What is not known is None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vsperf.otg.flows import Flow

NANOSECONDS = 1_000_000_000
SPAN_NS = 500_000_000
"""Least time that a rate of now is taken over."""


@dataclass(frozen=True, slots=True)
class FlowCounts:
    """Of one flow, since it was started."""

    sending: bool = False
    frames_tx: int = 0
    frames_rx: int = 0
    """Intact ones at the port that should receive them; one that came twice counts twice."""
    lost: int | None = None
    bytes_tx: int = 0
    """With FCS, like all bytes here."""
    bytes_rx: int = 0
    tx_fps: float = 0
    rx_fps: float = 0
    latency_ns: tuple[float, float, float] | None = None
    """Minimum, mean, maximum."""
    arrived: Mapping[int, int] | None = None
    """Frames by the number of the port where they came in; None while they are on the way."""
    since: tuple[int, int, int] = (0, 0, 0)
    """A moment of the trial, and what was sent and received by then: what rates begin at."""


@dataclass(frozen=True, slots=True)
class PortCounts:
    """Of one port."""

    frames_tx: int = 0
    frames_rx: int = 0
    """Of all flows, and those of others."""
    bytes_tx: int = 0
    bytes_rx: int | None = 0
    """None where frames came whose length nobody counted."""
    tx_fps: float = 0
    rx_fps: float = 0


def on_the_way(
    flow: Flow, stream: Mapping[str, Any], elapsed_ns: int, before: FlowCounts | None
) -> FlowCounts:
    """Return the counters of a flow in mid-trial; never less than they were."""
    earlier = before or FlowCounts()
    sent = max(earlier.frames_tx, stream["sent"])
    received = max(earlier.frames_rx, stream["received"])
    moment, sent_then, received_then = earlier.since
    span_ns = elapsed_ns - moment
    tx_fps, rx_fps = earlier.tx_fps, earlier.rx_fps
    since = earlier.since
    if span_ns >= SPAN_NS or (moment == 0 and span_ns > 0):
        tx_fps = (sent - sent_then) * NANOSECONDS / span_ns
        rx_fps = (received - received_then) * NANOSECONDS / span_ns
    if span_ns >= SPAN_NS:
        since = (elapsed_ns, sent, received)
    return FlowCounts(
        sending=True,
        frames_tx=sent,
        frames_rx=received,
        lost=stream.get("lost"),
        bytes_tx=sent * flow.size,
        bytes_rx=received * flow.size,
        tx_fps=tx_fps,
        rx_fps=rx_fps,
        since=since,
    )


def final(flow: Flow, stream: Mapping[str, Any]) -> FlowCounts:
    """Return the counters of a flow whose trial is over."""
    latency = stream.get("latency", {}) if flow.latency else {}
    found = None
    if latency.get("count"):
        found = (float(latency["min_ns"]), float(latency["mean_ns"]), float(latency["max_ns"]))
    return FlowCounts(
        frames_tx=stream["sent"],
        frames_rx=stream["received"] - stream["misrouted"] - stream["corrupted"],
        lost=stream["lost"],
        bytes_tx=stream["sent_bytes"],
        bytes_rx=stream["received_bytes"],
        latency_ns=found,
        arrived={int(port): count for port, count in stream["arrived"].items()},
    )


def port_counts(
    flows: Iterable[Flow],
    counts: Mapping[str, FlowCounts],
    numbers: Mapping[str, int],
    beside: Mapping[int, PortCounts],
) -> dict[str, PortCounts]:
    """Return the counters of ports: the sums of flows, and what came in beside them."""
    listed = list(flows)
    return {name: _port(name, number, listed, counts, beside) for name, number in numbers.items()}


def _port(
    name: str,
    number: int,
    flows: list[Flow],
    counts: Mapping[str, FlowCounts],
    beside: Mapping[int, PortCounts],
) -> PortCounts:
    sent = [counts[flow.name] for flow in flows if flow.transmit == name]
    coming = [counts[flow.name] for flow in flows if flow.receive == name]
    foreign = beside.get(number, PortCounts()).frames_rx
    strays = sum(
        (counts[flow.name].arrived or {}).get(number, 0) for flow in flows if flow.receive != name
    )
    return PortCounts(
        frames_tx=sum(one.frames_tx for one in sent),
        frames_rx=sum(one.frames_rx for one in coming) + strays + foreign,
        bytes_tx=sum(one.bytes_tx for one in sent),
        bytes_rx=None if strays or foreign else sum(one.bytes_rx for one in coming),
        tx_fps=sum(one.tx_fps for one in sent),
        rx_fps=sum(one.rx_fps for one in coming),
    )
