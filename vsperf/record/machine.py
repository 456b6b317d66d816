"""What a virtual machine says about itself: counters of its network cards.

Counters are cumulative and may start anywhere; only differences mean something. What a machine
does not count is missing, never 0.
"""

from __future__ import annotations

from pydantic import Field

from vsperf.record.base import Record, growth


class NicCounters(Record):
    """Frames through one network card, as the machine sees them."""

    received_frames: int
    sent_frames: int
    drops: dict[str, int] = Field(default_factory=dict)
    """Frames lost at this card by reason, such as `no buffer`."""

    @property
    def all_counts(self) -> tuple[int, ...]:
        """Every counter of it."""
        return (self.received_frames, self.sent_frames, *self.drops.values())


class MachineCounters(Record):
    """All counters of a machine at one moment, or their growth over a trial."""

    name: str
    """Such as vm1."""
    nics: tuple[NicCounters, ...] = ()
    """In the order of its cards; empty when it counts nothing."""

    def since(self, before: MachineCounters) -> MachineCounters:
        """Return how much each counter grew."""
        pairs = zip(self.nics, before.nics, strict=False)
        return MachineCounters(
            name=self.name, nics=tuple(_growth(now, then) for now, then in pairs)
        )

    @property
    def least_growth(self) -> int:
        """The least of what counters grew by; below zero where one was reset."""
        return min((count for nic in self.nics for count in nic.all_counts), default=0)

    @property
    def lost_frames(self) -> int | None:
        """Frames that came in and did not go out again; None when it counts nothing."""
        if not self.nics:
            return None
        return sum(nic.received_frames - nic.sent_frames for nic in self.nics)


def _growth(now: NicCounters, before: NicCounters) -> NicCounters:
    return NicCounters(
        received_frames=now.received_frames - before.received_frames,
        sent_frames=now.sent_frames - before.sent_frames,
        drops=growth(now.drops, before.drops),
    )
