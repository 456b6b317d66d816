"""Loads as frames: how many a rate means over a time."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from vsperf.units import NANOSECONDS


def intended_frames(load_fps: int, duration_ns: int) -> int:
    """Return how many frames a load means over a duration: the nearest whole number."""
    return (2 * load_fps * duration_ns + NANOSECONDS) // (2 * NANOSECONDS)


@dataclass(frozen=True, slots=True)
class RateStep:
    """A stretch of a trial with a load of its own."""

    load_fps: int
    """Per direction."""
    duration_ns: int

    @property
    def frames(self) -> int:
        """What is to be sent per direction."""
        return intended_frames(self.load_fps, self.duration_ns)

    def shared(self, share: Fraction) -> RateStep:
        """Return the step of a direction that is offered a share of the load: a frame at least."""
        return RateStep(max(1, int(self.load_fps * share)), self.duration_ns)
