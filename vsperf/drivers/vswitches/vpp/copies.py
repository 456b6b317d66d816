"""Reading what VPP copies now and then: the counters of its nodes, once a second.

Those of ports are where the workers count, and need no waiting. A copy is known by VPP's heartbeat,
which it counts up after each one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from vsperf.drivers.vswitches.vpp.reading import Reading, beats_between, heartbeat, reading
from vsperf.drivers.vswitches.vpp.segment import Segment
from vsperf.waits import sleep

POLL_S = 0.02
COPY_S = 3.0
"""Patience with the next copy."""
TRIES = 3
"""How often a reading is begun anew because a copy was made beside it."""
Read = TypeVar("Read")


class Source(Protocol):
    """What can be read from; a segment of statistics."""

    def read(self, what: Callable[[Segment], Read]) -> Read:
        """Return what a function reads, all of it from one layout."""


def whole(source: Source) -> Reading:
    """Return a reading whose counters of nodes are all of one copy."""
    for _ in range(TRIES):
        before = source.read(heartbeat)
        found = source.read(reading)
        if found.beats == before:
            break
    return found


def settled(source: Source, enough: Callable[[Reading], bool]) -> Reading:
    """Return what is read when it is enough, or when the next copy will not know more."""
    deadline = time.monotonic() + COPY_S
    first = found = whole(source)
    while not enough(found) and time.monotonic() < deadline:
        if beats_between(first, found) > 1:  # the first of them may have begun before
            break
        sleep(POLL_S)  # between two looks at a condition, never instead of one
        found = whole(source)
    return found


def at_rest(source: Source) -> tuple[Reading, Reading]:
    """Return two readings with nothing but time between their copies.

    Nobody sends meanwhile. Each is read next to a copy, so it knows of all that was before.
    """
    return _after_a_copy(source), _after_a_copy(source)


def _after_a_copy(source: Source) -> Reading:
    deadline = time.monotonic() + COPY_S
    before = source.read(heartbeat)
    while source.read(heartbeat) == before and time.monotonic() < deadline:
        sleep(POLL_S)  # between two looks at a condition, never instead of one
    return whole(source)
