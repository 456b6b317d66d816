"""A switch with a buffer in front of it, as a fluid.

It is exact, so that what a method finds can be held against it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from vsperf.config.counted import Counted
from vsperf.quantities.units import NANOSECONDS, Duration
from vsperf.simulation.base import Behaviour, Conditions, Forwarded
from vsperf.simulation.truth import Truth, overload


class Buffered(Behaviour):
    """Frames beyond the capacity wait in a buffer, and are lost when it is full.

    A burst of n frames at a rate R above the capacity C fills it with n (1 − C / R) frames. At a
    rate below C it drains, and nothing is lost.
    """

    kind: Literal["buffered"]
    frames: Annotated[int, Field(ge=1, le=10**9), Counted] = 2048
    """How many frames have room in the buffer, for each direction."""
    recovery: Duration = Duration(0)
    """Time for which all frames are lost after a load that was too much, before it forwards again;
    with 0 the first frame of a load below the capacity gets through."""

    def forward(self, conditions: Conditions) -> Forwarded:
        return self.forward_steps([conditions])[0]

    def forward_steps(self, steps: Sequence[Conditions]) -> list[Forwarded]:
        waiting, overflown, found = Fraction(0), False, []
        for step in steps:
            if step.burst_frames:
                excess = self._lost_of_bursts(step)
                found.append(Forwarded(step.sent_frames - excess, step.capacity_fps))
                continue
            dead = self._lost_first(step) if overflown else 0
            frames = step.sent_frames - dead
            waiting += frames - step.capacity_fps * step.sent_frames / step.pace_fps
            excess = max(0, math.ceil(waiting - self.frames))
            waiting = max(Fraction(0), min(waiting, Fraction(self.frames)))
            overflown = excess > 0
            last = Fraction(dead - 1, step.sent_frames) if dead and not excess else None
            found.append(Forwarded(frames - excess, step.capacity_fps, last_loss=last))
        return found

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        """Return that a trial passes up to its capacity, and up to one buffer more in a second."""
        return overload(capacity_fps, capacity_fps + self.frames, loss_ratio)

    def _lost_of_bursts(self, step: Conditions) -> int:
        """Return how many frames find the buffer full, of bursts after which it drains.

        It fills burst by burst until one does not fit; from then on each loses the same.
        """
        fills = step.burst_frames * (1 - step.capacity_fps / step.pace_fps)
        drains = Fraction(step.capacity_fps * step.gap_ns, NANOSECONDS)
        grows = max(Fraction(0), fills - drains)
        if fills > self.frames:
            fitting = 0
        elif grows:
            fitting = math.floor((self.frames - fills) / grows) + 1
        else:
            return 0
        if fitting >= step.bursts:
            return 0
        first = fitting * grows + fills - self.frames
        later = max(Fraction(0), self.frames - drains) + fills - self.frames
        return math.ceil(first + (step.bursts - fitting - 1) * later)

    def _lost_first(self, step: Conditions) -> int:
        """Return how many of the first frames leave before it forwards again."""
        due = math.ceil(step.pace_fps * self.recovery.ns / NANOSECONDS)
        return min(step.sent_frames, due)
