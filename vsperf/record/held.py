"""A wait before a trial."""

from __future__ import annotations

from vsperf.record.base import Record


class Held(Record):
    """A wait before a trial, while the CPUs were in a regime in which nothing was to be asked."""

    ns: int
    round_trip_ns: int
    """By the last look at which they were."""
