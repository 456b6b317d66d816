"""tgen by hand: a few ports, streams between them, one request; no case, no switch, no record."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from vsperf.config.traffic import Directions
from vsperf.drivers.generators.dpdk_ports import device_port
from vsperf.drivers.generators.tgen.client import Answer, Event, longest_ns
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.process import Tgen, running
from vsperf.drivers.generators.tgen.traffic import TrafficDirection, flows_of
from vsperf.errors import ComponentError, RecordingError
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import NANOSECONDS
from vsperf.trust.named_files import written_together

DRAIN_NS = 2 * NANOSECONDS
OWN = 0o600
"""Rights on a capture: what frames carry is for nobody else, whatever the mask."""
QUIET_NS = 500_000_000
"""As long as a trial of a case drains by default: whoever forwards may not run for a while."""
LINGER_NS = 100_000_000
SLACK_S = 15.0


@dataclass(frozen=True, slots=True)
class Stream:
    """What each stream looks like; all streams look alike."""

    size: int = 64
    flows: int = 1
    more: Mapping[str, Any] = field(default_factory=dict)
    """More keys of tgen's streams, such as vlans; they override the others."""

    def on(self, way: TrafficDirection) -> dict[str, Any]:
        found: dict[str, Any] = {"transmit_port": way.transmit, "receive_port": way.receive}
        if not {"sizes", "genome", "replay"} & set(self.more):
            found["size"] = self.size
        if vary := flows_of(self.flows):
            found["flows"] = {"vary": vary}
        return found | dict(self.more)


@dataclass(frozen=True, slots=True)
class Sending:
    """How a trial is sent."""

    verb: ClassVar[str] = "trial"

    rate_fps: str | None = None
    """Per stream, as a decimal with at most three digits after the point; None for flat out."""
    duration_ns: int | None = None
    frames: int | None = None
    """Per stream; without a duration, exactly so many."""
    burst: int = 32
    latency: bool = True
    variation: bool = False
    rhythm: str = "even"
    """`file` for the distances of the frames in a file that is replayed."""
    in_flight: int = 0
    """At most so many frames of a stream are on their way; 0 for no bound."""
    respond: bool = False
    """Answer devices that ask where the addresses of the streams are."""
    quiet_ns: int = QUIET_NS
    """Frames on their way are waited for until none has come for so long."""
    linger_ns: int = LINGER_NS
    """The same where every frame is back."""

    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "burst": self.burst,
            "latency": self.latency,
            "variation": self.variation,
            "rhythm": self.rhythm,
            "in_flight": self.in_flight,
            "drain_ns": self._drain_ns,
            "quiet_ns": self.quiet_ns,
            "linger_ns": min(self.linger_ns, self.quiet_ns),
        }
        if self.rate_fps is not None:
            found["rate_fps"] = _number(self.rate_fps)
        if self.duration_ns is not None:
            found["duration_ns"] = self.duration_ns
        if self.frames is not None:
            found["frames"] = self.frames
        return found

    def patience_s(self) -> float:
        sending_ns = self.duration_ns
        if sending_ns is None and self.rate_fps is not None:
            sending_ns = int((self.frames or 0) / float(self.rate_fps) * NANOSECONDS)
        sending_ns = longest_ns(sending_ns or 600 * NANOSECONDS)
        return (sending_ns + self._drain_ns) / NANOSECONDS + SLACK_S

    @property
    def _drain_ns(self) -> int:
        return DRAIN_NS + 2 * self.quiet_ns


@dataclass(frozen=True, slots=True)
class Bursts:
    """Frames back to back, a gap after each burst."""

    verb: ClassVar[str] = "burst"
    frames: int
    """Of each burst of each stream."""
    bursts: int = 1
    gap_ns: int = 0
    rate_fps: str | None = None
    """Within a burst; None for back to back."""
    timeout_ns: int = 60 * NANOSECONDS
    """For sending, beside the gaps."""

    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = {"frames": self.frames, "timeout_ns": self._sending_ns()}
        if self.bursts > 1:
            found |= {"bursts": self.bursts, "gap_ns": self.gap_ns}
        if self.rate_fps is not None:
            found["rate_fps"] = _number(self.rate_fps)
        return found

    def patience_s(self) -> float:
        return (longest_ns(self._sending_ns()) + DRAIN_NS) / NANOSECONDS + SLACK_S

    def _sending_ns(self) -> int:
        sending_ns = self.timeout_ns + (self.bursts - 1) * self.gap_ns
        if self.rate_fps is not None:
            sending_ns += int(self.bursts * self.frames / float(self.rate_fps) * NANOSECONDS)
        return sending_ns


def _number(rate_fps: str) -> int | float:
    whole, _, part = rate_fps.partition(".")
    return float(rate_fps) if part else int(whole)


@contextmanager
def at_hand(
    devices: Sequence[str], options: Options, workspace: Workspace | None = None
) -> Iterator[Tgen]:
    """Start a tgen with these devices, in this order; in a workspace of its own, if need be."""
    ports = [device_port(device) for device in devices]
    with running(ports, options, workspace) as tgen:
        yield tgen


def directions_between(ports: int, direction: Directions) -> tuple[TrafficDirection, ...]:
    """Return the ways between pairs of ports; a port without partner gets its own frames back."""
    found = []
    for first in range(0, ports - 1, 2):
        if direction in ("both", "forward"):
            found.append(TrafficDirection(f"{first} to {first + 1}", first, first + 1))
        if direction in ("both", "reverse"):
            found.append(TrafficDirection(f"{first + 1} to {first}", first + 1, first))
    if ports % 2:
        found.append(TrafficDirection(f"{ports - 1} to itself", ports - 1, ports - 1))
    return tuple(found)


def trial(
    tgen: Tgen,
    ways: Sequence[TrafficDirection],
    stream: Stream,
    sending: Sending | Bursts,
    on_event: Event,
) -> Answer:
    """Configure, send, and return tgen's result; `on_event` hears the statistics of each second."""
    tgen.ask("configure", streams=[stream.on(way) for way in ways])
    if isinstance(sending, Sending) and sending.respond:
        tgen.ask("respond")
    tgen.listen(on_event)
    return tgen.ask(sending.verb, sending.patience_s(), **sending.message())


def capture(
    tgen: Tgen,
    ways: Sequence[TrafficDirection],
    stream: Stream,
    frames: int,
    files: Mapping[int, Path],
) -> Answer:
    """Send a few frames slowly, and have those of each port written to its file.

    tgen writes into its own folder: by the time that it is done, a way that was looked at before
    could lead elsewhere, and what is called so could be another file's second name.
    """
    own = {port: tgen.control.parent / f"seen-{port}.pcap" for port in files}
    try:
        with (
            RecordingError.if_refused(
                f"{', '.join(map(str, files.values()))} cannot be written",
                fix="choose another place for the capture",
            ),
            written_together([*files.values()], OWN) as named,
        ):
            result = _captured(tgen, ways, stream, frames, own)
            for path, file in zip(own.values(), named, strict=True):
                with path.open("rb") as seen:
                    shutil.copyfileobj(seen, file)
    finally:
        for path in own.values():
            path.unlink(missing_ok=True)
    return result


def _captured(
    tgen: Tgen,
    ways: Sequence[TrafficDirection],
    stream: Stream,
    frames: int,
    files: Mapping[int, Path],
) -> Answer:
    """Send the frames, and have tgen write these files."""
    tgen.ask("configure", streams=[stream.on(way) for way in ways])
    for port, path in files.items():
        tgen.ask("capture", port=port, path=str(path), frames=2 * frames)
    sending = Sending(rate_fps="1000", frames=frames, burst=1)
    result = tgen.ask("trial", sending.patience_s(), **sending.message())
    if failure := result.get("capture_error"):
        raise ComponentError("the capture is not complete", why=str(failure.get("message")))
    return result


def roundtrips(tgen: Tgen, cpus: tuple[int, int], times: int) -> list[Answer]:
    """Return, once per measurement, how long a cache line took between two CPUs and back."""
    return [tgen.ask("roundtrip", cpus=list(cpus)) for _ in range(times)]


def stalls(tgen: Tgen, duration_ns: int, threshold_ns: int) -> Answer:
    """Let the workers spin without traffic, and return how long they were kept from it."""
    patience_s = duration_ns / NANOSECONDS + SLACK_S
    return tgen.ask("stalls", patience_s, duration_ns=duration_ns, threshold_ns=threshold_ns)
