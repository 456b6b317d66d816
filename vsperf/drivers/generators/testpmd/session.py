"""Trials by testpmd: as fast as it can, or a handful of frames; counted by ports, after a drain."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vsperf.config.traffic import TrialPolicy
from vsperf.dpdk.console import Console, Forwarded
from vsperf.dpdk.running import RunningTestpmd
from vsperf.drivers.generators.base import OnSample, TrialRequest
from vsperf.drivers.generators.testpmd.plan import FCS, Part
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import Direction, TrialCounts
from vsperf.waits import sleep

HANDFUL = 512
"""Frames that it sends at once, in one burst, and not more; testpmd takes no longer one."""
REST_S = 0.02
"""Counters that do not move for so long are at rest."""
SETTLE_S = 2.0
"""Patience with counters after the drain."""
HANDFUL_S = 5.0

Ports = dict[str, dict[str, int]]
"""What the port of each link counts, by DPDK's names."""


@dataclass
class Running:
    """One testpmd of the generator that runs."""

    part: Part
    testpmd: RunningTestpmd
    console: Console

    def look(self) -> None:
        """Raise when it has ended."""
        if self.testpmd.program.poll() is not None:
            raise self.testpmd.obituary("in the middle of a trial")

    def counted(self) -> Ports:
        """Return what its ports count."""
        return dict(zip(self.part.links, self.testpmd.statistics(), strict=True))

    def stop(self) -> dict[str, Forwarded]:
        """Stop; return what the port of each link did since the start."""
        told = self.console.stop(self.look)
        return {self.part.links[number]: did for number, did in told.items()}


@dataclass
class TestpmdSession:
    """A testpmd, or two, whose ports are up."""

    __test__ = False  # its name looks like that of tests

    running: tuple[Running, ...]
    ways: tuple[tuple[str, str], ...]
    policy: TrialPolicy
    mode: str
    size: int
    """Of a frame with FCS."""
    burst: int
    closed: bool = False
    receiving: bool = field(default=False, init=False)
    """Whether those that only receive do so by now."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        if self.closed:
            raise ComponentError("testpmd is no longer connected")
        _check(request)
        began = time.monotonic_ns()
        self._receive()
        before = self._counted()
        if request.frames <= HANDFUL:
            refused, sending_ns = self._send_handful(request.frames, before)
        else:
            refused, sending_ns = self._send(request.duration_ns)
        settled = self._drain()
        after = self._counted()
        self._check_size(before, after)
        sleep(self.policy.pause.ns / NANOSECONDS)
        return TrialCounts(
            directions=tuple(
                self._direction(way, request, before, after, refused) for way in self.ways
            ),
            sending_ns=sending_ns,
            elapsed_ns=time.monotonic_ns() - began,
            settled=settled,
        )

    def failure(self) -> str | None:
        if self.closed:
            return "testpmd is no longer connected"
        found = (one.testpmd.failure() or one.testpmd.silence() for one in self.running)
        return next((why for why in found if why is not None), None)

    def facts(self) -> dict[str, Any]:
        for one in self.running:
            one.testpmd.waiting_for(())  # what was negotiated is known now
        return {
            "dpdk": self.running[0].testpmd.dpdk,
            "mode": self.mode,
            "paced": False,
            "counts": "by ports",
            "argv": [list(one.testpmd.program.argv) for one in self.running],
            "ports": [
                {"place": link, **port}
                for one in self.running
                for link, port in zip(one.part.links, one.testpmd.ports, strict=False)
            ],
        }

    @property
    def _senders(self) -> tuple[Running, ...]:
        return tuple(one for one in self.running if one.part.sends)

    def _receive(self) -> None:
        """Have those receive that do nothing else."""
        if not self.receiving:
            for one in self.running:
                if not one.part.sends:
                    one.console.say("set fwd rxonly", "start")
            self.receiving = True

    def _counted(self) -> Ports:
        return {link: port for one in self.running for link, port in one.counted().items()}

    def _send(self, duration_ns: int) -> tuple[dict[str, Forwarded], int]:
        """Send as fast as it goes for a while; return what was refused, and for how long it was.

        The time is that from the word to start to the word to stop; it heeds both equally soon.
        """
        length = self.size if self.mode == "flowgen" else self.size - FCS
        told: dict[str, Forwarded] = {}
        began = time.monotonic_ns()
        for one in self._senders:
            one.console.say(
                f"set fwd {self.mode}", f"set txpkts {length}", f"set burst {self.burst}", "start"
            )
        sleep(duration_ns / NANOSECONDS)  # this is what is measured
        sending_ns = time.monotonic_ns() - began
        for one in self._senders:
            told |= one.stop()
        return told, sending_ns

    def _send_handful(self, frames: int, before: Ports) -> tuple[dict[str, Forwarded], int]:
        """Send a few frames at once, exactly as many; who sent them goes on to receive.

        That is faster than any load, and the time says so.
        """
        senders = {way[0] for way in self.ways}
        began = time.monotonic_ns()
        for one in self._senders:
            mode = "rxonly" if one.part.receives else "io"
            one.console.say(
                f"set fwd {mode}",
                f"set txpkts {self.size - FCS}",
                f"set burst {frames}",
                "start tx_first 1",
            )
        deadline = time.monotonic() + HANDFUL_S
        while time.monotonic() < deadline:
            now = self._counted()
            if all(_grown(now, before, link, "opackets") >= frames for link in senders):
                break
        sending_ns = time.monotonic_ns() - began
        sleep(self.policy.drain.ns / NANOSECONDS)
        for one in self._senders:
            one.stop()
        return {}, sending_ns

    def _drain(self) -> bool:
        """Receive what is still on its way until the counters rest; say whether they came to it."""
        both = [one for one in self._senders if one.part.receives]
        for one in both:
            one.console.say("set fwd rxonly", "start")
        sleep(self.policy.drain.ns / NANOSECONDS)
        deadline, settled = time.monotonic() + SETTLE_S, False
        last = self._counted()
        while not settled and time.monotonic() < deadline:
            sleep(REST_S)  # between two looks at a condition, never instead of one
            now = self._counted()
            settled, last = now == last, now
        for one in both:
            one.stop()
        return settled

    def _direction(
        self,
        way: tuple[str, str],
        request: TrialRequest,
        before: Ports,
        after: Ports,
        told: Mapping[str, Forwarded],
    ) -> Direction:
        enters, leaves = way
        sent = _grown(after, before, enters, "opackets")
        unsent = max(0, request.frames - sent)
        refused = min(told[enters].refused, unsent) if enters in told else None
        return Direction(
            name=f"{enters} to {leaves}",
            intended_frames=request.frames,
            sent_frames=sent,
            received_frames=_grown(after, before, leaves, "ipackets"),
            refused_frames=refused,
            unmarked_frames=sent,
        )

    def _check_size(self, before: Ports, after: Ports) -> None:
        """See that frames had the size that was asked for, where the port counts bytes."""
        for enters, _ in self.ways:
            frames = _grown(after, before, enters, "opackets")
            size, counted = self.size - FCS, _grown(after, before, enters, "obytes")
            if counted not in (0, frames * size):
                raise ComponentError(
                    f"testpmd sent {frames} frames of {counted / max(1, frames):g} B at {enters}, "
                    f"and they should have {size} B without FCS",
                    why="another version of DPDK takes its settings otherwise",
                )


def _grown(after: Ports, before: Ports, link: str, counter: str) -> int:
    """Return how far a counter came; a negative number where it was reset, which is told."""
    return int(after[link][counter]) - int(before[link][counter])


def _check(request: TrialRequest) -> None:
    request.require_frames()
    if request.steps or request.latency or request.latency_ranges:
        raise ComponentError(
            "testpmd makes no trials with steps, nor with latencies",
            why="it is unpaced, and stamps no frame",
            fix="--set generator.kind=tgen",
        )
