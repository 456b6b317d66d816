"""A trial in slots of time: what was lost of what left in each, and who stood still meanwhile.

Only slots in which something happened are stored, each with its neighbours. In all others nothing
was lost or refused, and nobody stood still.
"""

from __future__ import annotations

from pydantic import Field

from vsperf.record.base import Record

NEIGHBOURS = 1
"""How many slots on each side of one in which something happened are stored with it."""

Frames = tuple[int, ...]
"""One number for each direction of the trial, in their order."""


def even_share(total: int, index: int, count: int) -> int:
    """Return what falls into one of `count` slots of frames that are spread evenly over them."""
    return total * (index + 1) // count - total * index // count


class Slot(Record):
    """One slot of time, by the frames that left in it."""

    index: int
    """From 0, which begins with the trial. The slot behind the last one of sending may be there."""
    sent_frames: Frames
    """Frames that left in this slot; of a file that is replayed, those with a mark."""
    received_frames: Frames
    """Of these the ones that arrived intact, whenever."""
    refused_frames: Frames
    """Frames that were due in this slot while the port was full; some may have been sent later."""
    away_ns: int
    """Time for which the machine kept the generator from running, in gaps of more than 100 µs."""
    silent_ns: int
    """Time for which frames were on their way too long and none came, while the generator ran; in
    silences of more than 100 µs."""

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


class Slots(Record):
    """All slots of a trial."""

    width_ns: int
    count: int = Field(ge=0)
    """Slots from the begin of the trial to the end of sending."""
    sent_frames: Frames
    """In all slots, those that are not stored included."""
    received_frames: Frames
    refused_frames: Frames
    noted: tuple[Slot, ...]
    """Slots in which something happened, and their neighbours, in order."""
    cut: bool = False
    """There were more of these than are stored, so nobody knows of the others."""

    @property
    def silence_ns(self) -> int:
        """Time in all slots in which the path stood still."""
        return sum(slot.silent_ns for slot in self.noted)

    def left_out(self, *, silent: bool, guard: int = NEIGHBOURS) -> tuple[Slot, ...]:
        """Return the slots in which the generator was away, and `guard` on each side of them.

        With `silent`, those too in which the path stood still. What they lost is not looked at.
        """
        if not 0 <= guard <= NEIGHBOURS:
            raise ValueError(f"only {NEIGHBOURS} neighbour of a slot is stored, not {guard}")
        out = {
            index
            for slot in self.noted
            if slot.away or (silent and slot.silent)
            for index in range(slot.index - guard, slot.index + guard + 1)
        }
        return tuple(slot for slot in self.noted if slot.index in out and slot.index < self.count)
