"""What a generator says while a trial runs, about once a second."""

from __future__ import annotations

from vsperf.record.base import Record


class LatencySample(Record):
    """Latencies of the frames that arrived since the sample before."""

    frames: int
    min_ns: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int


class DirectionSample(Record):
    """Counters of one direction since the trial began; approximate, as frames are on their way."""

    name: str
    sent_frames: int
    received_frames: int
    refused_frames: int | None = None
    """What should have been sent by now, and the port did not take; it may take it later."""
    lost_frames: int | None = None
    """Frames missing before one that arrived; None when nobody can tell before the end."""
    latency: LatencySample | None = None
    """None when it is not measured, or when no frame arrived since the sample before."""


class Sample(Record):
    """All directions at a moment of a trial."""

    elapsed_ns: int
    """Since the trial began."""
    directions: tuple[DirectionSample, ...]
