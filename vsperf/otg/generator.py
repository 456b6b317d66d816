"""tgen as the model sees it: configured, started, stopped, and asked for its counters.

Requests come one at a time. A trial of tgen goes on between them; its events are read whenever the
next request talks to tgen, so nothing of this takes a thread while frames are sent.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from vsperf.otg.config import Config, Place, read_config
from vsperf.otg.counters import FlowCounts, PortCounts, final, on_the_way, port_counts
from vsperf.otg.document import Document, RefusedError
from vsperf.otg.flows import Flow
from vsperf.trafficgens.tgen.client import TgenError
from vsperf.trafficgens.tgen.process import Tgen
from vsperf.waits import sleep

IDLE = "idle"
"""Said by tgen of a stop when there is nothing to stop."""
NANOSECONDS = 1_000_000_000
QUIET_NS = 100_000_000
DRAIN_NS = 2 * NANOSECONDS
ENDING_S = DRAIN_NS / NANOSECONDS + 10
"""Patience with the end of a trial."""
POLL_S = 0.01
CONFLICT = 409
UPDATED = ("rate", "size")
UNCHANGED = ("tx_rx", "packet", "duration", "metrics")


@dataclass
class Sending:
    """Flows that are being sent together."""

    flows: tuple[Flow, ...]
    began: float
    """By the clock of this process."""


@dataclass
class Generator:
    """One tgen, and what it was told."""

    tgen: Tgen
    places: Mapping[str, Place]
    """Its ports, by their locations."""
    folder: Path
    """For files of frames; nobody else's."""
    burst: int = 32
    config: Config = field(default_factory=Config)
    _sending: Sending | None = None
    _result: Mapping[str, Any] | None = None
    """Of the trial that has just ended."""
    _counts: dict[str, FlowCounts] = field(default_factory=dict)
    """By the names of flows: all that were ever started, as far as they came."""
    _foreign: dict[int, PortCounts] = field(default_factory=dict)
    """What ports counted beside flows in the last trial."""

    def __post_init__(self) -> None:
        self.tgen.listen(self._hear)

    def configure(self, content: object) -> tuple[str, ...]:
        """Take a configuration in place of the one before; return warnings."""
        self.stop()
        config = read_config(content, self.places, self.folder)
        if config.flows:
            self._streams(config.flows)
        self.config = config
        self._counts.clear()
        self._foreign.clear()
        return config.warnings

    def update(self, content: object) -> tuple[str, ...]:
        """Take other rates or sizes of flows that do not send."""
        document = Document(content)
        document.root.only("choice", "flows")
        changes = document.root.node("flows")
        names = changes.texts("property_names")
        for name in names:
            if name not in UPDATED:
                changes.refuse(f"{name!r} is not supported, only rate, size", "property_names")
        merged = dict(self.config.content)
        flows = [dict(flow) for flow in merged.get("flows", ())]
        by_name = {flow["name"]: flow for flow in flows}
        for change in changes.nodes("flows"):
            name = change.text("name")
            for key in UNCHANGED:
                change.get(key)  # may be said again, and is not what is updated
            if (flow := by_name.get(name)) is None:
                change.refuse(f"there is no flow {name!r}", "name")
                continue
            for key in UPDATED:
                said = change.get(key)
                if key in names and said is not None:
                    flow[key] = said
        document.finish()
        if self._running() is not None:
            raise RefusedError(["flows: stop the traffic first"], CONFLICT)
        return self.configure({**merged, "flows": flows})

    def start(self, names: Sequence[str]) -> None:
        """Begin to send flows, all where none is named; their counters begin at zero."""
        if self._running() is not None:
            raise RefusedError(
                ["traffic.flow_transmit: flows are being sent; stop them first"], CONFLICT
            )
        flows = self._named(names)
        if not flows:
            raise RefusedError(["traffic.flow_transmit: no flow is configured"])
        self._streams(flows)
        for flow in flows:
            self._counts.pop(flow.name, None)
        self._foreign.clear()
        self.tgen.ask("trial", **_trial(flows, self.burst), wait=False)
        self._result = None
        self._sending = Sending(flows, time.monotonic())

    def stop(self, names: Sequence[str] = ()) -> None:
        """Stop sending, and wait until counters are final."""
        running = self._running()
        named = {flow.name for flow in self._named(names)}
        if running is None:
            return
        kept = [flow.name for flow in running.flows if flow.name not in named]
        if kept:
            raise RefusedError(
                [
                    "traffic.flow_transmit.flow_names: flows that were started together stop "
                    f"together, and {', '.join(kept)} would go on"
                ],
                CONFLICT,
            )
        try:
            self.tgen.ask("stop")
        except TgenError as refused:
            if refused.code != IDLE:  # else it ended by itself a moment ago
                raise
        deadline = time.monotonic() + ENDING_S
        while self._running() is not None:
            if time.monotonic() > deadline:
                raise RefusedError([f"tgen did not stop within {ENDING_S:g} s"], 500)
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def counts(self) -> dict[str, FlowCounts]:
        """Return the counters of all flows."""
        self._running()
        return {flow.name: self._counts.get(flow.name, FlowCounts()) for flow in self.config.flows}

    def port_counts(self) -> dict[str, PortCounts]:
        """Return the counters of all ports, by their names."""
        counts = self.counts()
        numbers = {
            name: self.places[location].number for name, location in self.config.ports.items()
        }
        return port_counts(self.config.flows, counts, numbers, self._foreign)

    def links(self) -> dict[str, bool]:
        """Return by port whether its link is up."""
        up = {int(port["port"]): bool(port["link_up"]) for port in self.tgen.ask("ports")["ports"]}
        return {
            name: up[self.places[location].number] for name, location in self.config.ports.items()
        }

    def sending(self, port: str) -> bool:
        """Whether a port sends."""
        return self._sending is not None and any(
            flow.transmit == port for flow in self._sending.flows
        )

    def _named(self, names: Sequence[str]) -> tuple[Flow, ...]:
        known = {flow.name for flow in self.config.flows}
        if missing := [name for name in names if name not in known]:
            raise RefusedError(
                [f"traffic.flow_transmit.flow_names: there is no flow {missing[0]!r}"]
            )
        return tuple(flow for flow in self.config.flows if not names or flow.name in names)

    def _streams(self, flows: Sequence[Flow]) -> None:
        """Have tgen take the streams; what it refuses is told with the flow's name."""
        try:
            self.tgen.ask("configure", streams=[dict(flow.stream) for flow in flows])
        except TgenError as error:
            raise RefusedError([_blamed(error, flows)]) from error

    def _running(self) -> Sending | None:
        """Return what is being sent, once the news are heard; None when nothing is."""
        sending = self._sending
        if sending is None:
            return None
        live = self.tgen.ask("live")  # hears of the end, too
        if self._result is not None:
            self._end(sending, self._result)
            return None
        if live["state"] == "idle":
            self._sending = None
            raise RefusedError(["tgen did not finish what was sent; counters are not known"], 500)
        if "streams" in live:
            for flow, stream in zip(sending.flows, live["streams"], strict=True):
                before = self._counts.get(flow.name)
                self._counts[flow.name] = on_the_way(flow, stream, live["elapsed_ns"], before)
        return sending

    def _end(self, sending: Sending, result: Mapping[str, Any]) -> None:
        self._sending = None
        for flow, stream in zip(sending.flows, result["streams"], strict=True):
            self._counts[flow.name] = final(flow, stream)
        self._foreign = {
            int(port["port"]): PortCounts(frames_rx=port.get("foreign", 0))
            for port in result["ports"]
        }

    def _hear(self, event: Mapping[str, Any]) -> None:
        if event.get("event") == "trial-done":
            self._result = event["result"]


def _trial(flows: Sequence[Flow], burst: int) -> dict[str, Any]:
    """Return the parameters of a trial that sends flows together."""
    found: dict[str, Any] = {
        "rate_fps": [_number(flow.rate_fps) for flow in flows],
        "frames": [flow.frames for flow in flows],
        "burst": burst,
        "latency": any(flow.latency for flow in flows),
        "quiet_ns": QUIET_NS,
        "drain_ns": DRAIN_NS,
    }
    ends = [flow.seconds for flow in flows]
    if all(end is not None for end in ends):
        found["duration_ns"] = int(max(end or 0 for end in ends) * NANOSECONDS)
    return found


def _number(rate: Fraction) -> int | float:
    return rate.numerator if rate.denominator == 1 else float(rate)


def _blamed(error: TgenError, flows: Sequence[Flow]) -> str:
    """Return what tgen said against a stream, as words on a flow."""
    place, _, rest = (error.path or "").partition("]")
    number = place.removeprefix("streams[")
    if number.isdigit() and int(number) < len(flows):
        return f"flow {flows[int(number)].name!r}{rest}: {error}"
    return str(error)
