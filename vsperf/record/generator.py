"""How a generator itself fared during a trial."""

from __future__ import annotations

from vsperf.record.base import Record


class GeneratorActivity(Record):
    """How the generator itself fared during a trial."""

    busy_ppm: int | None = None
    """Share of its time in which its loop had something to do; of the busiest worker. None, as
    with the next two, where the generator does not watch its own time."""
    longest_gap_ns: int | None = None
    """Longest time in which the machine kept one of its loops from running."""
    gaps_over_10us: int | None = None
    """How often it was kept from running for more than 10 µs."""
    paused_ns: int | None = None
    """Time that its schedule stood still because it was kept from running: what was due then was
    sent later, and not faster. Of the worker that had most of it; None of one that catches up."""
    no_buffers: int = 0
    """Times that it had no buffer for a frame."""
    ring_frames: int | None = None
    """Frames that wait in a receive ring of it at most, while it does not run."""
    behind_ns: int = 0
    """Time in which half a receive ring or more waited for it: it found nothing but full bursts."""
    missed_frames: int = 0
    """Frames that its device says it dropped, because its ring was full."""
