"""Latencies of a simulated switch: a floor, and a queue that grows as the load nears capacity."""

from __future__ import annotations

import math
from collections.abc import Iterator

from vsperf.quantities.units import NANOSECONDS
from vsperf.simulation.base import Conditions, Forwarded
from vsperf.simulation.chance import Chance

FLOOR_NS = 4_000
"""Ports, buses and one pass through an idle switch."""
FLOOR_SPREAD = 0.1
BATCH_FRAMES = 32
"""Frames that a poll-mode core takes at once; each waits for those before it."""
RING_FRAMES = 2_048
"""Frames that a full queue holds; a longer wait is impossible, for the rest is dropped."""
SAMPLES = 10_000


def latencies_ns(conditions: Conditions, forwarded: Forwarded) -> Iterator[int]:
    """Return a sample of the latencies, evenly drawn over the frames that arrived.

    The wait is exponential with mean batch × service × ρ / 2(1 − ρ), as of a queue with one
    server that is used to the share ρ, and ends at the length of the ring.
    """
    samples = min(SAMPLES, forwarded.distinct_frames)
    service_ns = NANOSECONDS / forwarded.capacity_fps if forwarded.capacity_fps else 0.0
    used = min(0.999, float(conditions.offered_fps) * service_ns / NANOSECONDS)
    mean_ns = BATCH_FRAMES * service_ns * used / (2 * (1 - used))
    full_ns = RING_FRAMES * service_ns
    way = "forward" if conditions.forward else "reverse"
    chance = Chance.of(conditions.seed, "latency", conditions.ordinal, way)
    for number in range(samples):
        place = (number + chance.share()) / samples
        wait_ns = min(-math.log(1 - place) * mean_ns, full_ns * (0.9 + 0.1 * place))
        yield round(FLOOR_NS * (1 + FLOOR_SPREAD * place) + wait_ns)
