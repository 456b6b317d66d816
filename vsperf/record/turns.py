"""Turns: switches share their CPUs, one of them runs and receives frames, all others stand.

There are hundreds of turns in a round, so they are stored as columns, and a turn is made when
somebody looks at it. All that is said of a comparison is computed from them (`record/paired.py`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import repeat
from typing import Literal, Self

from pydantic import Field, model_validator

from vsperf.record.base import Record

NANOSECONDS = 1_000_000_000
Column = tuple[int, ...]
"""One number for each turn, in their order."""
End = Literal["complete", "stopped", "process-ended", "worker-lost"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn; `TurnColumns` says what its numbers are."""

    side: int
    began_ns: int
    ended_ns: int
    measured_ns: int
    sent_frames: int
    received_frames: int
    intended_frames: int | None
    refused_frames: int | None
    full_ns: int
    gaps_ns: int
    longest_gap_ns: int
    silence_ns: int
    latencies: int | None
    latency_sum_ns: int | None
    turn_sent_frames: int
    turn_received_frames: int
    elsewhere_frames: int
    continue_ns: int
    first_ns: int | None
    drain_ns: int
    drained: bool
    hold_ns: int


OPTIONAL = ("intended_frames", "refused_frames", "latencies", "latency_sum_ns")
"""Columns that are there for all turns or for none."""


class TurnColumns(Record):
    """Turns that were whole: columns of the same length."""

    side: Column
    began_ns: Column
    """When its processes were told to go on, since the begin of all turns."""
    ended_ns: Column
    """When they were held still, and all ports had been looked at."""
    measured_ns: Column
    """How long it was measured, gaps of the generator included. Of that time are:"""
    sent_frames: Column
    received_frames: Column
    """Frames that arrived intact, where they should and for the first time, whenever they left."""
    intended_frames: Column | None
    """Frames that were due; None where a direction is sent flat out."""
    refused_frames: Column | None
    """Of these, those that were not sent and were due while the port was full."""
    full_ns: Column
    """Time in which ports took no frames, of all directions together."""
    gaps_ns: Column
    """Time in which the generator did not run, in gaps of more than 10 µs."""
    longest_gap_ns: Column
    silence_ns: Column
    """In which nothing arrived for more than 500 µs on end; the gaps are left out."""
    latencies: Column | None
    """Frames whose latency is in the sum."""
    latency_sum_ns: Column | None
    turn_sent_frames: Column
    """Of the whole turn, with the guard and all that came before the switch was held still."""
    turn_received_frames: Column
    elsewhere_frames: Column
    """Frames of any kind that came in on ports of those that were held still."""
    continue_ns: Column
    """How long it took to tell the processes to go on."""
    first_ns: tuple[int | None, ...]
    """From there to the first arrival; None where there was none."""
    drain_ns: Column
    """For how long what was on its way was received, before the switch was held still."""
    drained: tuple[bool, ...]
    """Whether nothing came any more then."""
    hold_ns: Column
    """How long it took to tell the processes to stop."""

    @classmethod
    def of(cls, turns: Sequence[Turn]) -> Self:
        """Return the columns of these turns; what one of them has, all of them have."""
        columns = {name: tuple(getattr(turn, name) for turn in turns) for name in cls.model_fields}
        absent = (name for name in OPTIONAL if None in columns[name])
        return cls(**columns | dict.fromkeys(absent))

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        columns: list[Sequence[object] | None] = [
            getattr(self, name) for name in type(self).model_fields
        ]
        if {len(column) for column in columns if column is not None} != {len(self.side)}:
            raise ValueError("columns of turns have different lengths")
        return self

    def rows(self) -> Iterator[Turn]:
        """Make each turn."""
        names = (field.name for field in fields(Turn))
        columns = (getattr(self, name) for name in names)
        return map(Turn, *(repeat(None) if column is None else column for column in columns))


def _per_second(frames: int, time_ns: int) -> float:
    return frames * NANOSECONDS / max(1, time_ns)


class SideCounts(Record):
    """All that one side has counted, in all of its turns and what came at the very end."""

    directions: tuple[int, ...]
    sent_frames: int
    arrived_frames: int
    """Every arrival that says it is of one of its frames: all of those below, but for the last
    four."""
    received_frames: int
    """Intact, at the right port and for the first time. What else was sent is lost."""
    duplicate_frames: int
    """Copies, and frames so late that nobody can tell whether they are."""
    corrupted_frames: int
    misrouted_frames: int
    reordered_frames: int
    """Received, but after a later one of their flow."""
    wrong_size_frames: int
    foreign_frames: int
    """At its ports, of somebody else."""
    stale_frames: int
    """At its ports, of another trial."""
    unreadable_frames: int
    """At its ports, of the generator, and so damaged that nobody can say whose."""
    elsewhere_frames: int
    """Of any kind, at its ports while others had their turn."""
    latency_histogram: str | None = None
    """Of what is measured of all of its turns."""


class Turns(Record):
    """What turns found."""

    end: End
    ended_side: int | None = None
    """The side of which a process has ended, if that is why turns ended; and which it was."""
    ended_process: int | None = None
    settled: bool
    """Whether nothing came any more at the end of all."""
    ring_frames: int | None = None
    """Of each direction so many can wait for the generator while it does not run; None where nobody
    knows."""
    started_unix_ns: int
    elapsed_ns: int
    columns: TurnColumns
    sides: tuple[SideCounts, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Those that were whole, in order."""
        return tuple(self.columns.rows())


class Role(enum.StrEnum):
    """What the turns of a round are for."""

    CHECK = "path-check"
    """To see that each side forwards at all."""
    LOAD = "load"
    """To find out which load is too much for the fastest."""
    ANSWER = "answer"
    """To tell how the sides stand to each other."""


class Named(Record):
    """One of those that take turns."""

    letter: str
    """A is the first, A′ the same once more, B and what follows its rivals."""
    name: str


class Round(Record):
    """Turns that were made without a pause, all on the same deployments."""

    index: int = Field(ge=1)
    """Counts the rounds of a case."""
    role: Role
    started_at: str
    deployment: int = Field(ge=1)
    """Counts how often all switches and the generator were made anew."""
    sides: tuple[Named, ...]
    load_fps: int
    """Offered to the switch whose turn it is, per direction."""
    directions: int = Field(ge=1)
    turn_ns: int
    guard_ns: int
    """Before the measured part of each turn, so that caches are those of the switch again."""
    elapsed_ns: int
    """Of the whole round; of a model, simulated time."""
    turns: TurnColumns
    counts: tuple[SideCounts, ...] = ()
    """What each side counted in all of its turns; nothing of a model."""
    settled: bool = True
    """Whether nothing came any more at the end of all."""
    ring_frames: int | None = None
    """Of each direction so many can wait for the generator while it does not run; None where nobody
    knows."""

    def fps(self, turn: Turn) -> float:
        """Return what came through in a second of a turn, of all directions.

        The time in which the path was silent for the generator's sake does not count. In a gap a
        switch goes on until it has forwarded what its ring had, and filled that to the generator:
        up to a ring of frames is of the gap, and of a longer one the rest was silent. Of several
        only the longest is known, and the others count. So does time in which the switch itself
        brought nothing: nobody knows from a turn whose fault that was.
        """
        counted = _per_second(turn.received_frames, turn.measured_ns)
        waited = (self.ring_frames or 0) * self.directions
        if self.ring_frames is None or waited >= turn.received_frames:
            return counted
        # Where the ring outlasts the longest gap, and so all, the first is what was so, otherwise
        # the second; each is too low where the other is so.
        ran_ns = turn.measured_ns - turn.longest_gap_ns
        return max(counted, _per_second(turn.received_frames - waited, ran_ns))

    def busy_fps(self, turn: Turn) -> float:
        """Return the most that it can have been while both ran: neither gap nor silence counts."""
        ran_ns = turn.measured_ns - turn.gaps_ns - turn.silence_ns
        return _per_second(turn.received_frames, ran_ns)

    def offered_fps(self, turn: Turn) -> float:
        """Return what was offered of the load, of all directions: what was taken, or refused."""
        offered = turn.sent_frames + (turn.refused_frames or 0)
        if turn.intended_frames is None:
            return _per_second(offered, turn.measured_ns)
        share = min(1.0, offered / max(1, turn.intended_frames))
        return self.load_fps * self.directions * share

    @property
    def passes(self) -> tuple[tuple[Turn, ...], ...]:
        """The turns in groups in which each side has one; one that was cut off is left out."""
        count, every = len(self.sides), tuple(self.turns.rows())
        whole = len(every) // count * count
        return tuple(every[begin : begin + count] for begin in range(0, whole, count))

    def place_of(self, letter: str) -> int | None:
        """Return the place of a side among all; None where it takes no part."""
        return next((n for n, side in enumerate(self.sides) if side.letter == letter), None)
