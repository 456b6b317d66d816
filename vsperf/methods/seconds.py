"""Hours of seconds, in memory that does not grow: parts of the time, and the greatest losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vsperf.record.second import Second

PARTS = 12
"""The time is told in so many equal parts."""


@dataclass
class Part:
    """A part of the time."""

    until_ns: int
    seconds: int = 0
    lost: int = 0
    kept_ns: int = 0
    """For which polling threads were kept from running."""
    _latencies: int = 0
    _latency_ns: int = 0
    _tail_ns: int = 0
    _frames: int = 0
    _cycles: int = 0
    _counts: bool = False

    def add(self, second: Second, lost: int) -> None:
        """Add a second to the part."""
        self.seconds += 1
        self.lost += lost
        self.kept_ns += _kept_ns(second)
        found = [way.latency for way in second.sample.directions if way.latency is not None]
        if found:
            self._latencies += 1
            self._latency_ns += max(one.p50_ns for one in found)
            self._tail_ns += max(one.p99_ns for one in found)
        for pmd in second.switch.pmds if second.switch is not None else ():
            self._frames += pmd.frames
            self._cycles += pmd.busy_cycles
            self._counts = self._counts or pmd.busy_cycles + pmd.idle_cycles > 0

    @property
    def latency_ns(self) -> float | None:
        """Mean of the seconds' medians, worse direction."""
        return self._latency_ns / self._latencies if self._latencies else None

    @property
    def tail_ns(self) -> float | None:
        """Mean of the seconds' 99th percentiles, worse direction."""
        return self._tail_ns / self._latencies if self._latencies else None

    @property
    def cycles(self) -> float | None:
        """Busy cycles of the switch for a frame."""
        return self._cycles / self._frames if self._frames and self._counts else None


@dataclass
class Stretch:
    """Seconds in a row in which frames were lost."""

    begin_ns: int
    end_ns: int
    lost: int
    kept_ns: int


@dataclass
class Hours:
    """What is kept of all seconds."""

    duration_ns: int
    most_events: int
    parts: list[Part] = field(default_factory=list)
    seconds: int = 0
    events_seen: int = 0
    _kept: list[Stretch] = field(default_factory=list)
    _current: Stretch | None = None
    _lost: int = 0
    """Before the second that comes next."""
    _until_ns: int = 0

    def __post_init__(self) -> None:
        whole = self.duration_ns
        self.parts = [Part(whole * number // PARTS) for number in range(1, PARTS + 1)]

    def add(self, second: Second) -> None:
        """Add a second: its loss is what is missing more than at the end of the one before.

        All directions are added up: what one is given back must not hide behind another's loss.
        """
        at_ns, so_far = second.sample.elapsed_ns, _lost(second)
        lost, self._lost = so_far - self._lost, so_far
        begin_ns, self._until_ns = self._until_ns, at_ns
        part = next((part for part in self.parts if at_ns <= part.until_ns), self.parts[-1])
        part.add(second, max(0, lost))
        self.seconds += 1
        if lost <= 0:
            self._current = None
            self._take_back(-lost)
        elif self._current is None:
            self._current = Stretch(begin_ns, at_ns, lost, _kept_ns(second))
            self.events_seen += 1
            self._keep(self._current)
        else:
            self._current.end_ns = at_ns
            self._current.lost += lost
            self._current.kept_ns += _kept_ns(second)

    def settle(self, lost: int) -> None:
        """Take back what was missing in the last second, and was not when all was counted."""
        self._take_back(max(0, self._lost - lost))

    def _take_back(self, frames: int) -> None:
        """Take back what a full port had refused for the moment, and took after all."""
        stretches: Sequence[Stretch | Part] = self._kept
        for holders in (stretches, self.parts):
            left = frames
            for one in reversed(holders):
                taken = min(left, one.lost)
                one.lost, left = one.lost - taken, left - taken
        unlost = [one for one in self._kept if not one.lost]
        self.events_seen -= len(unlost)
        self._kept = [one for one in self._kept if one.lost]

    @property
    def events(self) -> list[Stretch]:
        """The greatest losses, the greatest first."""
        return sorted(self._kept, key=lambda one: -one.lost)[: self.most_events]

    def _keep(self, stretch: Stretch) -> None:
        """Keep a stretch; the least of many are let go, but for the one that may still grow."""
        if len(self._kept) >= 2 * self.most_events:
            self._kept = self.events
        self._kept.append(stretch)


def _lost(second: Second) -> int:
    """Return what is missing so far, all directions; frames on their way are not.

    What a full port refuses is missing until it is sent after all.
    """
    return sum(
        (way.lost_frames or 0) + (way.refused_frames or 0) for way in second.sample.directions
    )


def _kept_ns(second: Second) -> int:
    return sum(thread.kept_ns for thread in second.threads)
