"""A trial in slots of time: what was lost of what left in each, and who stood still meanwhile.

Only slots in which something happened are stored, each with its neighbours. In all others nothing
was lost or refused, and nobody stood still.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from vsperf.record.base import Record

STILL_NS = 100_000
"""Who stood still for longer in a slot, did so: what is shorter, any machine does now and then."""
NEIGHBOURS = 1
"""How many slots on each side of one in which something happened are stored with it."""

Frames = tuple[int, ...]
"""One number for each direction of the trial, in their order."""


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
    """Time for which frames were on their way too long and none came, while the generator ran."""

    @property
    def lost_frames(self) -> Frames:
        """Frames that left in this slot and did not arrive."""
        pairs = zip(self.sent_frames, self.received_frames, strict=True)
        return tuple(sent - received for sent, received in pairs)

    @property
    def still(self) -> bool:
        """Whether generator or path stood still in it."""
        return max(self.away_ns, self.silent_ns) > STILL_NS


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


@dataclass(frozen=True, slots=True)
class CleanTime:
    """What is left of a trial without the slots in which somebody stood still."""

    left_out: tuple[int, ...]
    """Numbers of the slots that do not count, whether or not they lost frames."""
    count: int
    """Slots that do."""
    sent_frames: Frames
    lost_frames: Frames
    refused_frames: Frames


def clean(slots: Slots, guard: int = NEIGHBOURS) -> CleanTime | None:
    """Leave out the slots in which generator or path stood still, and `guard` on each side of them.

    What they lost is not looked at. None when nobody knows of all slots what happened in them.
    """
    if not 0 <= guard <= NEIGHBOURS:
        raise ValueError(f"only {NEIGHBOURS} neighbour of a slot is stored, not {guard}")
    if slots.cut:
        return None
    out = {
        index
        for slot in slots.noted
        if slot.still
        for index in range(slot.index - guard, slot.index + guard + 1)
        if 0 <= index < slots.count
    }
    gone = [slot for slot in slots.noted if slot.index in out]
    sent = _without(slots.sent_frames, [slot.sent_frames for slot in gone])
    received = _without(slots.received_frames, [slot.received_frames for slot in gone])
    return CleanTime(
        left_out=tuple(sorted(out)),
        count=slots.count - len(out),
        sent_frames=sent,
        lost_frames=_without(sent, [received]),
        refused_frames=_without(slots.refused_frames, [slot.refused_frames for slot in gone]),
    )


def _without(total: Frames, parts: list[Frames]) -> Frames:
    """Return what is left of each direction's total."""
    return tuple(whole - sum(part[n] for part in parts) for n, whole in enumerate(total))
