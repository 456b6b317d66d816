# vsperf-wires/vsperf_wires/generator.py
"""A generator on sockets: numbered frames, sent and counted by vsperf's own process."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.flows import link_mac
from vsperf.drivers.generators.base import OnSample, TrialRequest, Unmeasured
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.settings import own_settings
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.wants import Want
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import NANOSECONDS, Duration
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.trial import Direction, TrialCounts
from vsperf.stop import raise_if_stopped
from vsperf_wires import relay
from vsperf_wires.switch import PORT

ABILITIES = frozenset(
    {
        *(Ability.PACED, Ability.EXACT, Ability.BRIEF),
        *(Ability.PER_DIRECTION, Ability.OWN_COUNTS, Ability.NUMBERED, Ability.TIMED),
    }
)
"""What it can do and tell; a case that needs more is refused, so nothing is claimed in vain."""
EXPERIMENTAL = b"\x88\xb5"
"""An EtherType that IEEE leaves to experiments."""
MARK = struct.Struct("!4sIBQ")
SIGN = b"VSPW"
HEADER_BYTES = 14
FCS_BYTES = 4
BURST = 32
REST_NS = 500_000_000
"""When nothing came for so long, nothing is on its way any more: on a shared machine, who carries
frames may not run for half as long."""


class NumberedSpec(DriverSpec):
    """Settings of the generator."""

    kind: Literal["numbered"]
    grace: Duration = Duration(100_000_000)
    """How much longer it may send what it could not send in time."""


@dataclass
class TrafficDirection:
    """One direction of a trial, as it is counted."""

    name: str
    number: int
    head: bytes
    padding: bytes
    enters: socket.socket
    leaves: socket.socket
    sent: int = 0
    received: int = 0
    duplicates: int = 0
    foreign: int = 0
    seen: bytearray = field(default_factory=bytearray)
    sent_ns: list[int] = field(default_factory=list)
    """When the first frame left, and when the last one did."""

    def send(self, trial: int, due: int) -> None:
        """Send what is due, as far as there is room."""
        for number in range(self.sent, min(due, self.sent + BURST)):
            mark = MARK.pack(SIGN, trial, self.number, number)
            try:
                self.enters.send(self.head + mark + self.padding)
            except BlockingIOError:
                return
            self.sent += 1
            self.sent_ns[1:] = [time.monotonic_ns()]

    def receive(self, trial: int) -> bool:
        """Take what has arrived; say whether there was anything."""
        for taken in range(BURST):
            try:
                frame = self.leaves.recv(relay.LONGEST)
            except BlockingIOError:
                return taken > 0
            if not frame:
                raise ComponentError(f"{self.name}: the switch has closed its port")
            self.count(frame, trial)
        return True

    def count(self, frame: bytes, trial: int) -> None:
        """Count a frame: of this trial, seen before, or of somebody else."""
        marked = frame[HEADER_BYTES : HEADER_BYTES + MARK.size]
        found = MARK.unpack(marked) if len(marked) == MARK.size else ()
        if found[:3] != (SIGN, trial, self.number) or found[3] >= len(self.seen):
            self.foreign += 1
            return
        self.received += 1
        self.duplicates += self.seen[found[3]]
        self.seen[found[3]] = 1


@dataclass
class NumberedSession:
    """A generator that has called at the ports."""

    ends: dict[str, socket.socket]
    links: tuple[str, ...]
    directions: tuple[tuple[str, str], ...]
    frame_bytes: int
    grace_ns: int
    closed: bool = False
    trials: int = 0

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        if self.closed:
            raise ComponentError("the generator has left its ports")
        request.require_frames()
        if request.latency or request.latency_ranges or request.steps:
            raise ComponentError("numbered frames tell no latency, and have one load at a time")
        self.trials += 1
        ways = [self._way(number, way, request) for number, way in enumerate(self.directions)]
        asked = time.monotonic_ns()
        for way in ways:
            way.send(self.trials, 1)
        began = time.monotonic_ns()  # the others are due by when the first one left
        longest_ns = request.duration_ns + self.grace_ns
        while any(way.sent < request.frames for way in ways):
            raise_if_stopped()
            if (now := time.monotonic_ns() - began) > longest_ns:
                break
            due = min(request.frames, 1 + now * request.load_fps // NANOSECONDS)
            for way in ways:
                way.send(self.trials, due)
                way.receive(self.trials)
        self._drain(ways)
        elapsed = time.monotonic_ns() - asked
        times = [moment for way in ways for moment in way.sent_ns]
        return TrialCounts(
            directions=tuple(counted(way, request.frames) for way in ways),
            sending_ns=max(times) - min(times) if times else None,
            elapsed_ns=elapsed,
            settled=True,
        )

    def _way(self, number: int, way: tuple[str, str], request: TrialRequest) -> TrafficDirection:
        enters, leaves = way
        macs = (link_mac(self.links.index(link)) for link in (leaves, enters))
        head = b"".join(bytes.fromhex(mac.replace(":", "")) for mac in macs) + EXPERIMENTAL
        padding = bytes(max(0, self.frame_bytes - FCS_BYTES - len(head) - MARK.size))
        return TrafficDirection(
            name=f"{enters} to {leaves}",
            number=number,
            head=head,
            padding=padding,
            enters=self.ends[enters],
            leaves=self.ends[leaves],
            seen=bytearray(request.frames),
        )

    def _drain(self, ways: Sequence[TrafficDirection]) -> None:
        """Take what is still on its way, until all is there or nothing comes any more."""
        last = time.monotonic_ns()
        while any(way.received < way.sent for way in ways):
            raise_if_stopped()
            moved = [way.receive(self.trials) for way in ways]
            if any(moved):
                last = time.monotonic_ns()
            elif time.monotonic_ns() - last > REST_NS:
                return

    def failure(self) -> str | None:
        return "the generator has left its ports" if self.closed else None

    def facts(self) -> dict[str, Any]:
        return {"python": "frames of vsperf's own process"}


class NumberedFrames(Unmeasured):
    """Sends as fast as Python does, and knows each frame again."""

    kind: ClassVar[str] = "numbered"
    summary: ClassVar[str] = "numbered frames on sockets, sent and counted by vsperf itself"
    Spec: ClassVar[type[DriverSpec]] = NumberedSpec
    wants: ClassVar[frozenset[Want]] = frozenset({Want.QUIET_CPUS})

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return Capabilities(ABILITIES, flows=1)

    def needs(self, case: CaseSpec) -> Needs:
        return Needs()

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        check(case, endpoints)
        links = " and ".join(endpoint.link for endpoint in endpoints)
        return (Step(component="generator", action=f"call at {links}, and send numbered frames"),)

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[NumberedSession]:
        spec = check(case, endpoints)
        check_directions("the generator", {one.link for one in endpoints}, directions)
        with ExitStack() as stack:
            ends = {
                one.link: stack.enter_context(closing(called(workspace.fill(one.address))))
                for one in endpoints
            }
            size = case.traffic.frame_size.bytes
            links = case.topology.links
            session = NumberedSession(ends, links, directions, size, spec.grace.ns)
            try:
                yield session
            finally:
                session.closed = True


def called(path: str) -> socket.socket:
    try:
        return relay.called(path)
    except OSError as error:
        raise ComponentError(f"nobody answers at {path}", why=str(error)) from error


def check(case: CaseSpec, endpoints: tuple[Endpoint, ...]) -> NumberedSpec:
    """Return the settings; refuse those of others, and ports at which others speak."""
    spec = own_settings(case.generator, NumberedSpec, "numbered frames", "generator.kind=numbered")
    for endpoint in endpoints:
        if endpoint.kind != PORT:
            raise UsageError(
                f"numbered frames go to sockets, and {endpoint.link} is a {endpoint.kind} port",
                fix="--vswitch relay",
            )
    return spec


def counted(way: TrafficDirection, intended: int) -> Direction:
    return Direction(
        name=way.name,
        intended_frames=intended,
        sent_frames=way.sent,
        received_frames=way.received,
        duplicate_frames=way.duplicates,
        foreign_frames=way.foreign,
    )
