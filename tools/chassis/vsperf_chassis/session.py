"""A trial by a chassis: the same for all of them, over what each dialect can say.

A chassis sends an exact number of frames at a rate, on its own clock, and counts them. Others may
use it, too, and its answers come over a network. So what it says is held against what it said
before: counters that fall, that do not rest or were not cleared are an error, and never a number.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from vsperf.config.traffic import TrialPolicy
from vsperf.drivers.generators.base import OnSample, TrialRequest
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import Direction, RateStep, TrialCounts
from vsperf.waits import sleep
from vsperf_chassis.streams import Stream

LOOK_S = 0.2
"""Between two looks at a chassis that sends; they cost the machine under test nothing."""
LATE_S = 5.0
"""Patience with a chassis that says it still sends."""
UNSEEN_S = 1.0
"""Sending for longer by so much is not seen, beside the time that a chassis takes to say so."""
SETTLE_S = 3.0
"""Patience with counters that move after the drain, beside some of their own time."""


@dataclass(frozen=True, slots=True)
class Shot:
    """What one stream is to send."""

    frames: int
    load_fps: int


@dataclass(frozen=True, slots=True)
class Counted:
    """What a chassis says of one stream since its counters were cleared."""

    sent: int
    received: int
    corrupted: int | None = None
    reordered: int | None = None
    duplicates: int | None = None

    def fell_since(self, before: Counted) -> bool:
        """Whether a counter is lower than it was."""
        return self.sent < before.sent or self.received < before.received


class Chassis(Protocol):
    """One vendor's dialect; whatever goes wrong is a `ComponentError`."""

    rest_s: ClassVar[float]
    """Counters that do not move for so long are at rest; longer than they take to be read anew."""

    def reserve(self) -> None:
        """Take the ports, under the name of the connection; none that somebody else has."""

    def release(self) -> None:
        """Let go of the ports that were taken; return when the chassis has said that it did."""

    def load(self, streams: tuple[Stream, ...]) -> None:
        """Build the streams, on ports that are reserved."""

    def arm(self, shots: tuple[Shot, ...]) -> None:
        """Say how many frames each stream sends, how fast."""

    def clear(self) -> None:
        """Set all counters to zero."""

    def start(self) -> None:
        """Send, on all ports at once."""

    def stop(self) -> None:
        """Send no more."""

    def sending(self) -> bool:
        """Whether any port still sends."""

    def read(self) -> tuple[Counted, ...]:
        """Return what each stream has come to."""

    def lost_to(self) -> str | None:
        """Return who has a port of ours by now; None while we have all."""

    def facts(self) -> dict[str, Any]:
        """Return versions and serial numbers, for the record."""


def unseen_s(rest_s: float) -> float:
    """Return for how much too long a chassis can send before that is seen."""
    return UNSEEN_S + 2 * rest_s


@dataclass
class ChassisSession:
    """A chassis whose ports are reserved and whose streams are built."""

    who: str
    chassis: Chassis
    streams: tuple[Stream, ...]
    policy: TrialPolicy
    broken: str | None = None
    """Why it cannot be used any more."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        if self.broken is not None:
            raise ComponentError(f"{self.who} is no longer connected", why=self.broken)
        self._check(request)
        began = time.monotonic_ns()
        step = RateStep(request.load_fps, request.duration_ns)
        shared = tuple(step.shared(stream.share) for stream in self.streams)
        shots = tuple(Shot(one.frames, one.load_fps) for one in shared)
        self._prepare(shots)
        try:
            sending_ns, last = self._send(request.duration_ns)
        except BaseException:
            self._stop()
            raise
        counted, settled = self._rest(last)
        if (owner := self.chassis.lost_to()) is not None:
            raise ComponentError(
                f"{self.who} lost a port in the middle of a trial to {owner}",
                why="whoever takes a reserved port by force ends what is measured on it",
                fix="agree with them on who has it when, and run again",
            )
        self._require_all_sent(shots, counted)
        sleep(self.policy.pause.ns / NANOSECONDS)
        return TrialCounts(
            directions=tuple(
                Direction(
                    name=stream.name,
                    intended_frames=shot.frames,
                    sent_frames=one.sent,
                    received_frames=one.received,
                    corrupted_frames=one.corrupted,
                    reordered_frames=one.reordered,
                    duplicate_frames=one.duplicates,
                )
                for stream, shot, one in zip(self.streams, shots, counted, strict=True)
            ),
            sending_ns=sending_ns,
            elapsed_ns=time.monotonic_ns() - began,
            settled=settled,
        )

    def failure(self) -> str | None:
        return self.broken

    def facts(self) -> dict[str, Any]:
        return {**self.chassis.facts(), "ports": sorted({one.sender for one in self.streams})}

    def close(self) -> None:
        """Let nobody make another trial."""
        self.broken = self.broken or "the session has ended"

    @property
    def _patience_s(self) -> float:
        """For how long counters may differ from what they should be: some of their own time."""
        return SETTLE_S + 2 * self.chassis.rest_s

    def _check(self, request: TrialRequest) -> None:
        request.require_frames()
        if request.steps or request.latency or request.latency_ranges:
            raise ComponentError(f"{self.who} makes plain trials, without steps or latencies")

    def _prepare(self, shots: tuple[Shot, ...]) -> None:
        self.chassis.arm(shots)
        self.chassis.clear()
        deadline = time.monotonic() + self._patience_s
        while left := [one for one in self._read() if one.sent or one.received]:
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"{self.who} does not clear its counters",
                    why=f"one of them still stands at {max(left[0].sent, left[0].received)}",
                )
            sleep(self.chassis.rest_s)  # they are read anew meanwhile

    def _send(self, duration_ns: int) -> tuple[int | None, tuple[Counted, ...]]:
        """Start, wait and look until all is sent; return for how long at least, if that is long.

        How long exactly a chassis does not tell. That it went on for too long is seen, once that
        is more than it may take to say so.
        """
        lag_s = 2 * self.chassis.rest_s
        allowed_ns = self.policy.allowed_late_ns(duration_ns)
        allowed_ns += round(unseen_s(self.chassis.rest_s) * NANOSECONDS)
        last = self._read()
        self.chassis.start()
        began, seen_ns = time.monotonic_ns(), 0
        while True:
            waited_ns = time.monotonic_ns() - began
            sleep(min(LOOK_S, max(0.01, (duration_ns - waited_ns) / NANOSECONDS)))
            last = self._look(last)
            waited_ns = time.monotonic_ns() - began
            if not self.chassis.sending() and waited_ns >= duration_ns:
                break
            if waited_ns > duration_ns:
                seen_ns = waited_ns
            if waited_ns > duration_ns + (LATE_S + lag_s) * NANOSECONDS:
                raise ComponentError(
                    f"{self.who} still sends {LATE_S + lag_s:g} s after it should have sent all",
                    why="it is slower than it was told to be, or does not notice its own end",
                )
        too_long = seen_ns > duration_ns + allowed_ns
        return (seen_ns if too_long else None), last

    def _rest(self, last: tuple[Counted, ...]) -> tuple[tuple[Counted, ...], bool]:
        """Wait for frames on their way; return the counters, and whether they came to rest."""
        sleep(self.policy.drain.ns / NANOSECONDS)
        deadline, last = time.monotonic() + self._patience_s, self._look(last)
        while True:
            sleep(self.chassis.rest_s)  # between two looks at a condition
            now = self._look(last)
            if now == last or time.monotonic() > deadline:
                return now, now == last
            last = now

    def _require_all_sent(self, shots: tuple[Shot, ...], counted: tuple[Counted, ...]) -> None:
        """Refuse counts of a chassis that has ended and says that it did not send all."""
        for stream, shot, one in zip(self.streams, shots, counted, strict=True):
            if one.sent < shot.frames:
                raise ComponentError(
                    f"counters of {self.who} say that {one.sent} of {shot.frames} frames were "
                    f"sent, of {stream.name}, and it sends no more",
                    why="somebody else has stopped it or cleared them, or it was started anew",
                )

    def _look(self, before: tuple[Counted, ...]) -> tuple[Counted, ...]:
        """Return the counters; raise where one fell."""
        now = self._read()
        for stream, then, one in zip(self.streams, before, now, strict=True):
            if one.fell_since(then):
                raise ComponentError(
                    f"counters of {self.who} fell in the middle of a trial, of {stream.name}",
                    why="somebody else has cleared them, or the chassis was started anew",
                    fix="let nobody else use these ports while they measure, and run again",
                )
        return now

    def _read(self) -> tuple[Counted, ...]:
        found = self.chassis.read()
        if len(found) != len(self.streams):
            raise ComponentError(
                f"{self.who} counts {len(found)} streams, and it was given {len(self.streams)}"
            )
        if (least := min(min(one.sent, one.received) for one in found)) < 0:
            raise ComponentError(
                f"{self.who} says {least} where it counts frames", why="it cannot count them"
            )
        return found

    def _stop(self) -> None:
        """Have it send no more; where it does not even do that, it is of no more use."""
        try:
            self.chassis.stop()
        except ComponentError as error:
            self.broken = str(error)
