"""What testpmd sends and gets back without a switch: a mirror stands in for it, on its CPUs."""

from __future__ import annotations

from vsperf.drivers.generators.base import GeneratorSession, TrialRequest
from vsperf.errors import ComponentError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import TrialCounts

FLAT_OUT = TrialRequest(load_fps=10_000_000, duration_ns=500_000_000)
"""testpmd is unpaced: all that the load says is that it is more than a handful of frames."""
ATTEMPTS = 2
"""The better of two: what a host can do is what it once did."""
MOST_ATTEMPTS = 6
"""A machine that is busy enough lets nothing through for half a second."""


def measure_cap(session: GeneratorSession) -> int:
    """Return the frames per second and direction that came back, sending flat out."""
    rates: list[int] = []
    for _ in range(MOST_ATTEMPTS):
        counts = session.run(FLAT_OUT)
        if rate := arrived_fps(counts):
            rates.append(rate)
        if len(rates) == ATTEMPTS:
            break
    if not rates:
        sent = sum(way.sent_frames for way in counts.directions)
        raise ComponentError(
            "no frame of testpmd came back from the mirror", why=f"{sent} were sent"
        )
    return max(rates)


def arrived_fps(counts: TrialCounts) -> int:
    """Return how much came back per second of sending, of the direction with the least."""
    if not counts.sending_ns:
        return 0
    least = min(way.received_frames for way in counts.directions)
    return least * NANOSECONDS // counts.sending_ns
