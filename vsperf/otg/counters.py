"""Counters as the model has them, from what tgen counts. What is not known is None."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vsperf.otg.flows import Flow
from vsperf.quantities.units import NANOSECONDS

QUIET_NS = 100_000_000
"""For how long nothing may come of a flow that has stopped."""
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
    quiet_since_ns: int | None = None
    """The moment at which all was sent, and counters were first seen as they are now."""


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
    tx_bytes: float = 0
    """Per second, as the other one."""
    rx_bytes: float = 0


def on_the_way(
    flow: Flow, stream: Mapping[str, Any], elapsed_ns: int, before: FlowCounts | None
) -> FlowCounts:
    """Return the counters of a flow in mid-trial.

    One that has nothing left to send has stopped when no frame of it has come for a while: flows
    that were started with it may go on for ever.
    """
    earlier = before or FlowCounts(sending=True)
    sent, received = stream["sent"], _intact(stream)
    if stream["sends"]:  # the parts of a sum are read one after the other
        received = max(received, earlier.frames_rx)
    counted = (sent, received)
    quiet_since_ns = None
    if not stream["sends"]:
        same = counted == (earlier.frames_tx, earlier.frames_rx)
        quiet_since_ns = earlier.quiet_since_ns if same else None
        quiet_since_ns = elapsed_ns if quiet_since_ns is None else quiet_since_ns
    sending = quiet_since_ns is None or elapsed_ns - quiet_since_ns < QUIET_NS
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
        sending=sending,
        frames_tx=sent,
        frames_rx=received,
        lost=stream.get("lost") if sending else sent - stream["distinct"],
        bytes_tx=sent * flow.size,
        bytes_rx=_intact_bytes(stream),
        tx_fps=tx_fps if sending else 0,
        rx_fps=rx_fps if sending else 0,
        since=since,
        quiet_since_ns=quiet_since_ns,
    )


def final(flow: Flow, stream: Mapping[str, Any]) -> FlowCounts:
    """Return the counters of a flow whose trial is over."""
    latency = stream.get("latency", {}) if flow.latency else {}
    found = None
    if latency.get("count"):
        found = (float(latency["min_ns"]), float(latency["mean_ns"]), float(latency["max_ns"]))
    return FlowCounts(
        frames_tx=stream["sent"],
        frames_rx=_intact(stream),
        lost=stream["lost"],
        bytes_tx=stream["sent_bytes"],
        bytes_rx=_intact_bytes(stream),
        latency_ns=found,
        arrived={int(port): count for port, count in stream["arrived"].items()},
    )


def _intact(stream: Mapping[str, Any]) -> int:
    """Return how many frames came undamaged to the port that should receive them."""
    return int(stream["received"] - stream["misrouted"] - stream["corrupted"])


def _intact_bytes(stream: Mapping[str, Any]) -> int:
    """Return the bytes of the same frames."""
    return int(stream["received_bytes"] - stream["misrouted_bytes"] - stream["corrupted_bytes"])


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
        tx_bytes=sum(
            counts[flow.name].tx_fps * flow.size for flow in flows if flow.transmit == name
        ),
        rx_bytes=sum(
            counts[flow.name].rx_fps * flow.size for flow in flows if flow.receive == name
        ),
    )
