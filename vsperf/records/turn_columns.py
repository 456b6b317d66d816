"""Turns as columns: what each counted, and which directions brought nothing in them.

There are hundreds of turns in a round, so they are stored as columns, and a turn is made when
somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby, repeat
from typing import Self

from pydantic import model_validator

from vsperf.records.base import Record

Column = tuple[int, ...]
"""One number for each turn, in their order."""
SEVERAL = 20
"""One part in so many of the turns of a side are several."""
SEVERAL_FILLINGS = 10
"""One part in so many of the times that rings were emptied in a turn are."""
Parts = tuple[tuple[int, ...], ...]
"""Several numbers for each turn, in their order: one of each direction, or of each slot."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn; `TurnColumns` says what its numbers are."""

    side: int
    began_ns: int
    ended_ns: int
    measured_ns: int
    sent_frames: int
    received_frames: int
    slots_ns: tuple[int, ...] | None
    received_by_slot: tuple[int, ...] | None
    intended_frames: int | None
    refused_frames: int | None
    full_ns: int
    gaps_ns: int
    longest_gap_ns: int
    behind_ns: int | None
    silence_ns: int
    fillings: int | None
    fillings_behind: int | None
    fillings_short: int | None
    latencies: int | None
    latency_sum_ns: int | None
    latency_p50_ns: int | None
    latency_p99_ns: int | None
    turn_sent_frames: int
    turn_received_frames: int
    sent_by_direction: tuple[int, ...] | None
    received_by_direction: tuple[int, ...] | None
    elsewhere_frames: int
    missed_frames: int | None
    continue_ns: int
    first_ns: int | None
    drain_ns: int
    drained: bool
    hold_ns: int

    @property
    def was_behind(self) -> bool:
        """Whether a switch emptied rings faster than the generator could receive, several times."""
        return (self.fillings_behind or 0) * SEVERAL_FILLINGS > (self.fillings or 0)

    @property
    def was_short(self) -> bool:
        """Whether several times too little of what rings held came back to say anything."""
        return (self.fillings_short or 0) * SEVERAL_FILLINGS > (self.fillings or 0)


OPTIONAL = (
    "intended_frames",
    "refused_frames",
    "slots_ns",
    "received_by_slot",
    "behind_ns",
    "fillings",
    "fillings_behind",
    "fillings_short",
    "latencies",
    "latency_sum_ns",
    "sent_by_direction",
    "received_by_direction",
    "missed_frames",
)
"""Columns that are there for all turns or for none."""
PERCENTILES = ("latency_p50_ns", "latency_p99_ns")
"""Those of latencies, of which a turn without a frame has none."""


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
    slots_ns: Parts | None = None
    """How long its slots were, short ones at its begin; None where nobody knows what came when."""
    received_by_slot: Parts | None = None
    """Which of the frames that arrived did so in which slot."""
    intended_frames: Column | None
    """Frames that were due; None where a direction is sent flat out."""
    refused_frames: Column | None
    """Of these, those that were not sent and were due while the port was full."""
    full_ns: Column
    """Time in which ports took no frames, of all directions together."""
    gaps_ns: Column
    """Time in which the generator did not run, in gaps of more than 10 µs."""
    longest_gap_ns: Column
    behind_ns: Column | None = None
    """Time in which half a ring or more waited to be received, of all ports together; None where
    nobody knows."""
    silence_ns: Column
    """In which nothing arrived for more than 500 µs on end; the gaps are left out."""
    fillings: Column | None = None
    """How often rings were filled while the switch stood, and emptied by it: that is what is then
    measured, but for the begin and the end of each. 0 of a switch to which frames were sent all the
    time; None where they were to all."""
    fillings_behind: Column | None = None
    """Of these, those in which the generator could not receive as fast."""
    fillings_short: Column | None = None
    """And those that say nothing: less than a quarter came back, or less was there than before."""
    latencies: Column | None
    """Frames whose latency is in the sum."""
    latency_sum_ns: Column | None
    latency_p50_ns: tuple[int | None, ...] | None = None
    """What half of these latencies do not exceed; None of a turn in which no frame arrived."""
    latency_p99_ns: tuple[int | None, ...] | None = None
    """What 99 of 100 of them do not exceed."""
    turn_sent_frames: Column
    """Of the whole turn, with the guard and all that came before the switch was held still."""
    turn_received_frames: Column
    sent_by_direction: Parts | None = None
    """The same of each direction, in the order of the round's; None where nobody knows."""
    received_by_direction: Parts | None = None
    elsewhere_frames: Column
    """Frames of any kind that came in on ports of those that were held still."""
    missed_frames: Column | None = None
    """Frames of the whole turn that the generator had no room for; None where nobody knows."""
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
        absent = [name for name in OPTIONAL if None in columns[name]]
        absent += [name for name in PERCENTILES if not any(columns[name])]
        return cls(**columns | dict.fromkeys(absent))

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        columns: list[Sequence[object] | None] = [
            getattr(self, name) for name in type(self).model_fields
        ]
        if {len(column) for column in columns if column is not None} != {len(self.side)}:
            raise ValueError("columns of turns have different lengths")
        return self

    @model_validator(mode="after")
    def _parts_add_up(self) -> Self:
        for what, whole, parts in (
            ("directions", self.turn_sent_frames, self.sent_by_direction),
            ("directions", self.turn_received_frames, self.received_by_direction),
            ("slots", self.received_frames, self.received_by_slot),
        ):
            if parts is None:
                continue
            if len(set(map(len, parts))) > 1:
                raise ValueError(f"turns have different numbers of {what}")
            if whole != tuple(map(sum, parts)):
                raise ValueError(f"{what} of a turn do not add up to what all of them counted")
        if [*map(len, self.slots_ns or ())] != [*map(len, self.received_by_slot or ())]:
            raise ValueError("of slots there are times and frames, or neither")
        return self

    @property
    def directions(self) -> int | None:
        """Of so many it is known what each of them counted; None where it is of none."""
        known = self.received_by_direction or self.sent_by_direction
        return len(known[0]) if known else None

    def rows(self) -> Iterator[Turn]:
        names = (field.name for field in fields(Turn))
        columns = (getattr(self, name) for name in names)
        return map(Turn, *(repeat(None) if column is None else column for column in columns))


DEAD_TURNS = 3
"""So many turns of a side on end without a frame in one direction are no chance."""
LEAST_FRAMES = 32
"""Of a direction in which turns bring fewer in the mean, nobody can tell."""


@dataclass(frozen=True, slots=True)
class DeadDirection:
    """Nothing came through a side in one direction, while something did in another."""

    side: int
    number: int
    """Which direction, from 0."""
    first: int
    """Of the side's own turns that count, from 1."""
    turns: int
    """For how many on end."""


def dead_directions(columns: TurnColumns, begin: int = 0) -> tuple[DeadDirection, ...]:
    """Return the longest time for which each direction was dead, if it was, from a turn on.

    A side through which nothing comes at all may be kept from running by the machine, as all of
    them may be. What brings something in one direction runs.
    """
    told = columns.received_by_direction
    if told is None or not any(0 in one for one in told[begin:]):
        return ()
    sides, found = columns.side[begin:], told[begin:]
    return tuple(
        max(times, key=lambda one: one.turns)
        for number in range(len(found[0]))
        if sum(one[number] for one in found) >= LEAST_FRAMES * len(found)
        for side in sorted(set(sides))
        if (times := tuple(_dead_times(sides, found, side, number)))
    )


def _dead_times(
    sides: Sequence[int], found: Parts, side: int, number: int
) -> Iterator[DeadDirection]:
    own = [one for whose, one in zip(sides, found, strict=True) if whose == side]
    first = 1
    for dead, group in groupby(own, lambda one: one[number] == 0 and any(one)):
        turns = len(list(group))
        if dead and turns >= DEAD_TURNS:
            yield DeadDirection(side, number, first, turns)
        first += turns
