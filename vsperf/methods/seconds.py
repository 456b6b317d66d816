"""Hours of seconds, in memory that does not grow: parts of the time, and the greatest losses.

Two kinds of frames are missing while a trial runs: those that are lost, since later ones arrived,
and those that a full port has not taken so far, which a generator catches up with if it can. Each
kind has an account of its own, or one would hide behind the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import Second

PARTS = 12
"""The time is told in so many equal parts."""
LOST, REFUSED = range(2)
"""The accounts of missing frames."""
HELD_UP_NS = 1_000_000
"""What was due in so much time is on its way to the port at any moment, and refused by nobody."""


@dataclass
class Part:
    """A part of the time."""

    until_ns: int
    seconds: int = 0
    missing: list[int] = field(default_factory=lambda: [0, 0])
    kept_ns: int = 0
    """For which polling threads were kept from running."""
    _latencies: int = 0
    _latency_ns: int = 0
    _tail_ns: int = 0
    _frames: int = 0
    _cycles: int = 0
    _counts: bool = False

    @property
    def lost(self) -> int:
        """Frames that are missing from this part on, of both kinds."""
        return sum(self.missing)

    def add(self, second: Second, news: Sequence[int]) -> None:
        """Add a second to the part, and what is missing since then."""
        self.seconds += 1
        self.missing = [old + new for old, new in zip(self.missing, news, strict=True)]
        self.kept_ns += _kept_ns(second)
        found = [way.latency for way in second.sample.directions if way.latency is not None]
        if found:
            self._latencies += 1
            self._latency_ns += max(one.p50_ns for one in found)
            self._tail_ns += max(one.p99_ns for one in found)
        for pmd in second.switch.pmds if second.switch is not None else ():
            if pmd.busy_cycles is None or pmd.idle_cycles is None:
                continue
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
    missing: list[int] = field(default_factory=lambda: [0, 0])
    kept_ns: int = 0

    @property
    def lost(self) -> int:
        """Frames that are missing since then, of both kinds."""
        return sum(self.missing)

    def grow(self, until_ns: int, news: Sequence[int], kept_ns: int) -> None:
        """Add a second."""
        self.end_ns = until_ns
        self.missing = [old + new for old, new in zip(self.missing, news, strict=True)]
        self.kept_ns += kept_ns


@dataclass
class Hours:
    """What is kept of all seconds."""

    duration_ns: int
    most_events: int
    load_fps: int = 0
    """Of each direction."""
    parts: list[Part] = field(default_factory=list)
    seconds: int = 0
    events_seen: int = 0
    _kept: list[Stretch] = field(default_factory=list)
    _current: Stretch | None = None
    _missing: tuple[int, ...] = (0, 0)
    """Before the second that comes next, by account."""
    _until_ns: int = 0

    def __post_init__(self) -> None:
        whole = self.duration_ns
        self.parts = [Part(whole * number // PARTS) for number in range(1, PARTS + 1)]

    def add(self, second: Second) -> None:
        """Add a second: its loss is what is missing more than at the end of the one before."""
        at_ns, so_far = second.sample.elapsed_ns, self._missing_by(second)
        grown = [now - then for now, then in zip(so_far, self._missing, strict=True)]
        news = [max(0, frames) for frames in grown]
        begin_ns, self._until_ns, self._missing = self._until_ns, at_ns, so_far
        for account, frames in enumerate(grown):
            self._take_back(account, -frames)
        part = next((part for part in self.parts if at_ns <= part.until_ns), self.parts[-1])
        part.add(second, news)
        self.seconds += 1
        if not any(news):
            self._current = None
            return
        if self._current is None:
            self._current = Stretch(begin_ns, at_ns)
            self.events_seen += 1
            self._keep(self._current)
        self._current.grow(at_ns, news, _kept_ns(second))

    def settle(self, lost: int) -> None:
        """Take back what was refused in the last second, and was not missing when all was counted.

        `lost` is what is missing then, all directions.
        """
        left = max(0, lost - self._missing[LOST])
        self._take_back(REFUSED, self._missing[REFUSED] - left)

    def _missing_by(self, second: Second) -> tuple[int, ...]:
        """Return what is missing so far by account, all directions."""
        held_up = self.load_fps * HELD_UP_NS // NANOSECONDS
        ways = second.sample.directions
        return (
            sum(way.lost_frames or 0 for way in ways),
            sum(max(0, (way.refused_frames or 0) - held_up) for way in ways),
        )

    def _take_back(self, account: int, frames: int) -> None:
        """Take back what was missing for a while, from the latest on."""
        stretches: Sequence[Stretch | Part] = self._kept
        for holders in (stretches, self.parts):
            left = max(0, frames)
            for one in reversed(holders):
                taken = min(left, one.missing[account])
                one.missing[account] -= taken
                left -= taken
        unlost = [one for one in self._kept if not one.lost]
        self.events_seen -= len(unlost)
        self._kept = [one for one in self._kept if one.lost]
        if self._current is not None and not self._current.lost:
            self._current = None

    @property
    def events(self) -> list[Stretch]:
        """The greatest losses, the greatest first."""
        return sorted(self._kept, key=lambda one: -one.lost)[: self.most_events]

    def _keep(self, stretch: Stretch) -> None:
        """Keep a stretch; the least of many are let go, but for the one that may still grow."""
        if len(self._kept) >= 2 * self.most_events:
            self._kept = sorted(self.events, key=lambda one: one.begin_ns)
        self._kept.append(stretch)


def _kept_ns(second: Second) -> int:
    return sum(thread.kept_ns for thread in second.threads)
