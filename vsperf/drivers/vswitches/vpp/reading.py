"""What is read from the statistics segment at one moment, and what it says of all nodes.

Counters of nodes are copied there once a second. Those of ports are where the workers count, and
need no waiting. A copy is known by VPP's heartbeat, which it counts up after each one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

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


Vector = tuple[tuple[int, ...], ...]
"""By thread, then by index of an interface or node."""
LOST_ON_RECEIVING = {
    "rx no buffer": "/if/rx-no-buf",
    "rx missed": "/if/rx-miss",
    "rx errors": "/if/rx-error",
}
"""Our words for counters of frames that came to an interface and were not taken in."""
POOLS = "/buffer-pools/"
TRANSLATED = tuple(
    f"nat44-ed/{way}/{path}/{what}"
    for way in ("in2out", "out2in")
    for path in ("slowpath", "fastpath")
    for what in ("tcp", "udp", "icmp", "other", "drops")
)
"""Counters of frames whose addresses were looked up: from inside or outside, those that begin a
connection and all others."""
SESSIONS = "/nat44-ed/total-sessions"
"""What the table of connections holds, by thread; unlike a counter it shrinks, too."""
STATES = ("cached", "used", "available")
"""Where a buffer can be: each is in one of these."""


@dataclass(frozen=True)
class Reading:
    """All counters that are made use of."""

    names: tuple[str, ...] = ()
    """Of interfaces, by index."""
    received: Vector = ()
    sent: Vector = ()
    dropped: Vector = ()
    not_received: Mapping[str, Vector] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    """By `node/reason`."""
    translated: Mapping[str, int] = field(default_factory=dict)
    """Frames whose addresses were looked up in the table of connections, by way and protocol, as
    VPP calls it; what it has not counted yet is missing."""
    nodes: tuple[str, ...] = ()
    """Names, by index."""
    clocks: Vector = ()
    calls: Vector = ()
    vectors: Vector = ()
    beats: int | None = None
    """How often the counters of nodes have been copied."""


def reading(segment: Segment) -> Reading:
    """Read them all."""
    return Reading(
        names=segment.names("/if/names"),
        received=segment.combined("/if/rx"),
        sent=segment.combined("/if/tx"),
        dropped=segment.simple("/if/drops"),
        not_received={word: segment.simple(name) for word, name in LOST_ON_RECEIVING.items()},
        errors=segment.errors(),
        translated=translated(segment),
        nodes=segment.names("/sys/node/names"),
        clocks=segment.simple("/sys/node/clocks"),
        calls=segment.simple("/sys/node/calls"),
        vectors=segment.simple("/sys/node/vectors"),
        beats=heartbeat(segment),
    )


def translated(segment: Segment) -> dict[str, int]:
    """Return what NAT counts of frames; nothing where there is none."""
    found = {name: _sum(segment.simple(f"/{name}")) for name in TRANSLATED}
    return {name: count for name, count in found.items() if count}


def sessions(segment: Segment) -> int | None:
    """Return how many connections the tables of all threads hold; None where there are none."""
    held = segment.simple(SESSIONS)
    return _sum(held) if held else None


def buffer_pools(segment: Segment) -> dict[str, int]:
    """Return the buffers that there are, by pool; none of a pool that VPP has not counted yet."""
    found: Counter[str] = Counter()
    for name in segment.directory:
        pool, _, state = name.removeprefix(POOLS).rpartition("/")
        if name.startswith(POOLS) and state in STATES:
            found[pool] += segment.number(name) or 0
    return {pool: count for pool, count in found.items() if count}


def heartbeat(segment: Segment) -> int | None:
    """Return how often the counters of nodes have been copied by now."""
    return segment.number("/sys/heartbeat")


def beats_between(first: Reading, later: Reading) -> int:
    """Return how often the counters of nodes have been copied in between."""
    return (later.beats or 0) - (first.beats or 0)


def total(vector: Vector, index: int) -> int | None:
    """Return a counter over all threads; None where VPP has none of that index."""
    found = [thread[index] for thread in vector if index < len(thread)]
    return sum(found) if found else None


def _sum(vector: Vector) -> int:
    return sum(map(sum, vector))


def of_thread(vector: Vector, thread: int, index: int) -> int:
    """Return a counter of one thread; 0 where it has counted nothing there."""
    counts = vector[thread] if thread < len(vector) else ()
    return counts[index] if index < len(counts) else 0


DAEMON = "daemon"


def insides(found: Reading, pools: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Return what each thread has done by node, and what nodes count by reason.

    Nodes that were never called, and reasons that never came up, are missing.
    """
    threads = {
        f"{_name(thread)}: {node}": values
        for thread in range(len(found.calls))
        for at, node in enumerate(found.nodes)
        if (values := _values(found, thread, at))["calls"]
    }
    counted = {f"count_{name}": count for name, count in found.errors.items()}
    buffers = {f"buffers_{pool}": count for pool, count in pools.items()}
    return {**threads, DAEMON: {**counted, **buffers}}


def _name(thread: int) -> str:
    """Return what a thread is called; the main one forwards nothing where there are workers."""
    return "main thread" if thread == 0 else f"worker {thread}"


def _values(found: Reading, thread: int, at: int) -> dict[str, int]:
    return {
        "calls": of_thread(found.calls, thread, at),
        "frames": of_thread(found.vectors, thread, at),
        "cycles": of_thread(found.clocks, thread, at),
    }
