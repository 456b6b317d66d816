"""Trials by TRex: exact bursts, started together, stopped on time, counted by streams at rest.

How long it sent TRex does not tell. So it is stopped when its time is over, by this machine's
clock: what it has not sent by then it never sends. Where it is too slow it would send all of it,
only later, and a search would take that for the load.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import OnSample, TrialRequest
from vsperf.drivers.generators.trex.server import Counted, StatelessServer
from vsperf.drivers.generators.trex.streams import (
    Burst,
    TrafficDirection,
    announcement_of,
    bursts_of,
    stream_of,
)
from vsperf.errors import ComponentError
from vsperf.quantities.human import human_ns
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.histogram import of_microseconds, summary
from vsperf.records.trial import Direction, GeneratorActivity, RateStep, TrialCounts
from vsperf.waits import sleep

AHEAD_S = 0.1
"""How far ahead a moment to start at has to lie, as the server wants it."""
PER_PORT_S = 0.02
"""More for each port that has to be told of it."""
EVENT_NS = 50_000_000
"""How late the server may tell that a port has sent all."""
EARLY = 0.9
"""Who has sent all after this share of the time was too fast."""
LOOK_S = 0.01
REST_S = 0.05
"""Counters that do not move for so long are at rest; the server reads its own that often."""
SETTLE_S = 3.0
TEACH_S = 2.0
FIRST_GROUP = 1
LAST_GROUP = 1 << 30


@dataclass(frozen=True, slots=True)
class Laden:
    """One stream of a trial."""

    way: TrafficDirection
    burst: Burst
    group: int
    """What its frames are counted under; no other trial of the session has the same."""


@dataclass
class TrexSession:
    """A server whose ports are ours."""

    server: StatelessServer
    case: CaseSpec
    ways: tuple[TrafficDirection, ...]
    latency_fps: int
    group: int = FIRST_GROUP
    ended: bool = False
    longest_ns: int = 0
    """No frame of the trial can have been on its way for longer."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        if self.ended:
            raise ComponentError("TRex is no longer connected", why="the session has ended")
        self._check(request)
        began = time.monotonic_ns()
        if self.case.trial.learning:
            self._teach()
        laden = self._load(request)
        groups = [one.group for one in laden]
        before = self.server.read(groups)
        try:
            sending_ns = self._send(request, laden)
        except BaseException:
            self._halt()
            raise
        after, settled = self._rest(before, groups, laden)
        self.longest_ns = time.monotonic_ns() - began
        directions = tuple(self._direction(way, request, laden, before, after) for way in self.ways)
        if settled:  # else they were read at different moments
            for way in self.ways:
                _agree(way, laden, before, after)
        self.server.load({})  # only who still has the ports can do that
        sleep(self.case.trial.pause.ns / NANOSECONDS)
        return TrialCounts(
            directions=directions,
            sending_ns=sending_ns,
            elapsed_ns=time.monotonic_ns() - began,
            settled=settled,
            generator=GeneratorActivity(
                missed_frames=sum(
                    _at_port(before, after, port, "ierrors")
                    for port in {way.receiver for way in self.ways}
                )
            ),
        )

    def failure(self) -> str | None:
        return "the session has ended" if self.ended else self.server.client.broken

    def facts(self) -> dict[str, Any]:
        known = {int(port["index"]): port for port in self.server.system.get("ports", ())}
        return {
            "version": self.server.version.get("version"),
            "counts": "by streams",
            "latency": f"sampled, {self.latency_fps} fps at most",
            "workers": self.server.system.get("dp_core_count"),
            "ports": [
                {"port": port, "driver": known[port].get("driver")} for port in self.server.ports
            ],
        }

    def _check(self, request: TrialRequest) -> None:
        request.require_frames()
        if request.steps or request.latency_ranges or request.latency_after_ns:
            raise ComponentError(
                "TRex makes plain trials, without steps or latencies by frame",
                fix="--set generator.kind=tgen",
            )
        if request.latency and self.case.traffic.imix is not None:
            raise ComponentError(
                "TRex measures no latency of a mix of sizes",
                why="frames of the stream that is sampled have one size",
                fix="--set latency.loads=[], or --set generator.kind=tgen",
            )

    def _teach(self) -> None:
        """Have each port that receives say who is there, and wait for the switch to settle."""
        where = {way.receiver: way.leaves for way in self.ways}
        self.server.load({port: [announcement_of(self.case, where[port])] for port in where})
        self.server.finished()
        self.server.start(sorted(where))
        waiting, deadline = set(where), time.monotonic() + TEACH_S
        while waiting := waiting - self.server.finished():
            if time.monotonic() > deadline:
                self._halt()
                raise ComponentError("TRex does not send its learning frames")
            sleep(LOOK_S)  # between two looks at a condition, never instead of one
        sleep(self.case.trial.settle.ns / NANOSECONDS)

    def _load(self, request: TrialRequest) -> tuple[Laden, ...]:
        """Build the streams of a trial, with groups that were never used."""
        found: list[Laden] = []
        step = RateStep(request.load_fps, request.duration_ns)
        sampled = self.latency_fps if request.latency else None
        for way in self.ways:
            for burst in bursts_of(self.case, step.shared(way.share), sampled):
                found.append(Laden(way, burst, self.group))
                self.group = FIRST_GROUP if self.group == LAST_GROUP else self.group + 1
        streams: dict[int, list[dict[str, Any]]] = {}
        for one in found:
            made = stream_of(self.case, one.way, one.burst, one.group)
            streams.setdefault(one.way.sender, []).append(made)
        self.server.load(streams)
        return tuple(found)

    def _send(self, request: TrialRequest, laden: tuple[Laden, ...]) -> int | None:
        """Start, wait, and stop what is not done in time; return how long it took if too short."""
        waiting = {way.sender for way in self.ways}
        ahead_s = AHEAD_S + PER_PORT_S * (1 + len(waiting))
        self.server.finished()
        at_ns = time.monotonic_ns() + int(ahead_s * NANOSECONDS)
        self.server.start(sorted(waiting), self.server.now() + ahead_s)
        allowed_ns = self.case.trial.allowed_late_ns(request.duration_ns) + EVENT_NS
        deadline_ns = at_ns + request.duration_ns + allowed_ns
        fewest = min(one.burst.frames for one in laden)
        due_ns = request.duration_ns * (fewest - 1) // fewest
        _sleep_until(at_ns + int(due_ns * EARLY) - EVENT_NS)
        waiting -= self.server.finished()
        if not waiting and due_ns > EVENT_NS:
            return max(1, time.monotonic_ns() - at_ns)
        _sleep_until(at_ns + request.duration_ns)  # this is what is measured
        while waiting := waiting - self.server.finished():
            if time.monotonic_ns() > deadline_ns:
                self.server.stop(sorted(waiting))
                break
            sleep(LOOK_S)
        return None

    def _rest(
        self, before: Counted, groups: list[int], laden: tuple[Laden, ...]
    ) -> tuple[Counted, bool]:
        """Wait for frames on their way; return the counters, and whether they came to rest.

        Where every frame is back, only copies of them could still come: those have a linger.
        """
        trial = self.case.trial
        last, until_ns = self._look(before, groups), time.monotonic_ns() + trial.drain.ns
        back = False
        while True:
            if not back and (back := _all_back(laden, before, last)):
                until_ns = min(until_ns, time.monotonic_ns() + trial.shortest_drain.ns)
            sleep(REST_S)  # between two looks at a condition, never instead of one
            now, late_ns = self._look(last, groups), time.monotonic_ns() - until_ns
            if now == last and late_ns >= 0:
                return now, True
            if late_ns > SETTLE_S * NANOSECONDS:
                return now, False
            last = now

    def _look(self, before: Counted, groups: list[int]) -> Counted:
        now = self.server.read(groups)
        if now.fell_since(before):
            raise ComponentError(
                "counters of TRex fell in the middle of a trial",
                why="somebody else has cleared them, or the server was started anew",
                fix="let nobody else use this server while it measures, and run again",
            )
        return now

    def _direction(
        self,
        way: TrafficDirection,
        request: TrialRequest,
        laden: tuple[Laden, ...],
        before: Counted,
        after: Counted,
    ) -> Direction:
        own = tuple(one for one in laden if one.way == way)
        here = _arrived(way.receiver, laden, before, after)
        at_port = _at_port(before, after, way.receiver, "ipackets")
        sampled = [one.group for one in own if one.burst.latency]
        return Direction(
            name=way.name,
            intended_frames=RateStep(request.load_fps, request.duration_ns)
            .shared(way.share)
            .frames,
            sent_frames=sum(_grown(before, after, one.group, way.sender, "sent") for one in own),
            received_frames=_arrived(way.receiver, own, before, after),
            foreign_frames=at_port - here if at_port >= here else None,
            latency_histogram=self._latencies(way, sampled[0], after) if sampled else None,
        )

    def _latencies(self, way: TrafficDirection, group: int, after: Counted) -> str | None:
        """Return the histogram of a stream [ns]; raise where it holds what cannot be."""
        histogram = of_microseconds(self.server.histogram(group))
        arrived = after.groups[group].received[way.receiver]
        found = summary(histogram)
        if found is not None and found.count > arrived:
            raise ComponentError(
                f"TRex tells {found.count} latencies of {arrived} frames that arrived, {way.name}",
                why="they are not those of this trial",
            )
        if found is not None and found.maximum_ns > self.longest_ns:
            raise ComponentError(
                f"TRex tells a latency of {human_ns(found.maximum_ns)}, {way.name}",
                why=f"the trial itself took {human_ns(self.longest_ns)}",
            )
        return histogram

    def _halt(self) -> None:
        """Have it send no more, after a trial that failed."""
        try:
            self.server.stop(self.server.ports)
        except ComponentError:
            return


def _agree(
    way: TrafficDirection, laden: tuple[Laden, ...], before: Counted, after: Counted
) -> None:
    """Raise where a port counted fewer frames than streams on it."""
    sent = sum(
        _grown(before, after, one.group, way.sender, "sent")
        for one in laden
        if one.way.sender == way.sender
    )
    arrived = _arrived(way.receiver, laden, before, after)
    at_sender = _at_port(before, after, way.sender, "opackets")
    at_receiver = _at_port(before, after, way.receiver, "ipackets")
    if at_sender < sent or at_receiver < arrived:
        raise ComponentError(
            f"counters of TRex contradict each other, {way.name}",
            why=f"streams sent {sent} frames and the port {at_sender}; of streams {arrived} "
            f"arrived, and at the port {at_receiver}",
        )


def _all_back(laden: tuple[Laden, ...], before: Counted, now: Counted) -> bool:
    """Whether of each stream as many frames arrived as were sent."""
    return all(
        _grown(before, now, one.group, one.way.sender, "sent")
        == _grown(before, now, one.group, one.way.receiver, "received")
        for one in laden
    )


def _arrived(port: int, laden: tuple[Laden, ...], before: Counted, after: Counted) -> int:
    return sum(_grown(before, after, one.group, port, "received") for one in laden)


def _at_port(before: Counted, after: Counted, port: int, counter: str) -> int:
    return after.ports[port][counter] - before.ports[port][counter]


def _grown(before: Counted, after: Counted, group: int, port: int, what: str) -> int:
    now, then = (getattr(one.groups[group], what)[port] for one in (after, before))
    return int(now) - int(then)


def _sleep_until(moment_ns: int) -> None:
    sleep(max(0, moment_ns - time.monotonic_ns()) / NANOSECONDS)
