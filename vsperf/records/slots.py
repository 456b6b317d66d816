"""A trial in slots of time: what was lost of what left in each, and who stood still meanwhile.

Only slots in which something happened are stored, each with its neighbours. In all others nothing
was lost or refused, and nobody stood still. On a restless machine a trial has hundreds of them, so
they are stored as columns, and a slot is made when somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Self

from pydantic import Field, model_validator

from vsperf.records.base import Record

NEIGHBOURS = 1
"""How many slots on each side of one in which something happened are stored with it."""

Frames = tuple[int, ...]
"""One number for each direction of the trial, in their order."""
Column = tuple[int, ...]
"""One number for each slot that is stored, in their order."""


def even_share(total: int, index: int, count: int) -> int:
    """Return what falls into one of `count` slots of frames that are spread evenly over them."""
    return total * (index + 1) // count - total * index // count


@dataclass(frozen=True, slots=True)
class Slot:
    """One slot of time, by the frames that left in it; `SlotColumns` says what its numbers are."""

    index: int
    sent_frames: Frames
    received_frames: Frames
    refused_frames: Frames
    away_ns: int
    silent_ns: int

    @property
    def lost_frames(self) -> Frames:
        """Frames that left in this slot and did not arrive."""
        pairs = zip(self.sent_frames, self.received_frames, strict=True)
        return tuple(sent - received for sent, received in pairs)

    @property
    def away(self) -> bool:
        """Whether the generator was kept from running in it."""
        return self.away_ns > 0

    @property
    def silent(self) -> bool:
        """Whether the path stood still in it."""
        return self.silent_ns > 0


class SlotColumns(Record):
    """Slots in which something happened, and their neighbours: columns of the same length."""

    index: Column
    """From 0, which begins with the trial. The slot behind the last one of sending may be there."""
    sent_frames: tuple[Column, ...]
    """Frames that left in a slot, one column for each direction; of a file that is replayed, those
    with a mark."""
    received_frames: tuple[Column, ...]
    """Of these the ones that arrived intact, whenever."""
    refused_frames: tuple[Column, ...]
    """Frames that were due in a slot while the port was full; some may have been sent later."""
    away_ns: Column
    """Time for which the machine kept the generator from running, in gaps of more than 100 µs."""
    silent_ns: Column
    """Time for which frames were on their way too long and none came, while the generator ran; in
    silences of more than 100 µs."""

    @classmethod
    def of(cls, slots: Sequence[Slot], directions: int) -> Self:
        def columns(frames: Iterable[Frames]) -> tuple[Column, ...]:
            return tuple(zip(*frames, strict=True)) or ((),) * directions

        return cls(
            index=tuple(slot.index for slot in slots),
            sent_frames=columns(slot.sent_frames for slot in slots),
            received_frames=columns(slot.received_frames for slot in slots),
            refused_frames=columns(slot.refused_frames for slot in slots),
            away_ns=tuple(slot.away_ns for slot in slots),
            silent_ns=tuple(slot.silent_ns for slot in slots),
        )

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        frames = (*self.sent_frames, *self.received_frames, *self.refused_frames)
        lengths = {len(column) for column in (self.away_ns, self.silent_ns, *frames)}
        if lengths != {len(self.index)}:
            raise ValueError("columns of slots have different lengths")
        return self

    def rows(self, chosen: Sequence[bool] | None = None) -> Iterator[Slot]:
        """Make each slot, or those that are chosen: one word for each of them."""

        def of(column: Column) -> Iterable[int]:
            return column if chosen is None else compress(column, chosen)

        return map(
            Slot,
            of(self.index),
            zip(*map(of, self.sent_frames), strict=True),
            zip(*map(of, self.received_frames), strict=True),
            zip(*map(of, self.refused_frames), strict=True),
            of(self.away_ns),
            of(self.silent_ns),
        )


class Slots(Record):
    """All slots of a trial."""

    width_ns: int
    count: int = Field(ge=0)
    """Slots from the begin of the trial to the end of sending."""
    sent_frames: Frames
    """In all slots, those that are not stored included."""
    received_frames: Frames
    refused_frames: Frames
    columns: SlotColumns
    cut: bool = False
    """There were more of these than are stored, so nobody knows of the others."""

    @classmethod
    def of(cls, noted: Sequence[Slot], *, sent_frames: Frames, **rest: Any) -> Self:
        """Return all slots of a trial of which these are to be stored."""
        columns = SlotColumns.of(noted, len(sent_frames))
        return cls(columns=columns, sent_frames=sent_frames, **rest)

    @property
    def noted(self) -> tuple[Slot, ...]:
        """Slots in which something happened, and their neighbours, in order."""
        return tuple(self.columns.rows())

    @property
    def silence_ns(self) -> int:
        """Time in all slots in which the path stood still."""
        return sum(self.columns.silent_ns)

    def left_out(self, *, silent: bool, guard: int = NEIGHBOURS) -> tuple[Slot, ...]:
        """Return the slots in which the generator was away, and `guard` on each side of them.

        With `silent`, those too in which the path stood still. What they lost is not looked at.
        """
        if not 0 <= guard <= NEIGHBOURS:
            raise ValueError(f"only {NEIGHBOURS} neighbour of a slot is stored, not {guard}")
        found = self.columns
        times = zip(found.index, found.away_ns, found.silent_ns, strict=True)
        out = {
            near
            for index, away_ns, silent_ns in times
            if away_ns > 0 or (silent and silent_ns > 0)
            for near in range(index - guard, index + guard + 1)
        }
        return tuple(found.rows([at in out and at < self.count for at in found.index]))
