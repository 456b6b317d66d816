"""What a simulated generator does well or badly: how much it sends, and what it counts."""

from __future__ import annotations

import enum
from fractions import Fraction

from pydantic import Field

from vsperf.config.base import Spec
from vsperf.quantities.units import NANOSECONDS, FrameSize, LinkSpeed, Rate
from vsperf.records.trial import intended_frames
from vsperf.simulation.base import share_of
from vsperf.simulation.restless import Restless

OVERSENT_SHARE = Fraction(1, 100)
STRETCHED_SHARE = Fraction(1, 10)
UNCOUNTED_SHARE = Fraction(1, 1000)


class Fault(enum.StrEnum):
    """What can be wrong with a simulated generator."""

    NONE = "none"
    RAISES = "raises"
    """It fails instead of reporting a trial."""
    EARLY_COUNTERS = "early-counters"
    """It reads its counters while the last frames are on their way, and says so."""
    LATE_COUNTERS = "late-counters"
    """The last frames of a trial are counted in the next one."""
    OVERSENDS = "oversends"
    """It sends 1 % more than it was asked to."""
    DEAD = "dead"
    """It sends nothing, and does not notice."""
    STRETCHES = "stretches"
    """It takes 10 % longer to send its frames."""


class GeneratorSettings(Spec):
    """What a user can set of a simulated generator."""

    max_rate: Rate | None = None
    """The most that it can send per direction; the line rate when not given."""
    fault: Fault = Fault.NONE
    """What is wrong with it."""
    raises_in_trial: int | None = Field(default=None, ge=1)
    """With fault `raises`: the one trial in which it fails; every trial when not given."""
    seed: int = 1
    """All chance of a run follows from this number; repetitions of a case count it up."""
    realtime: float = Field(default=0, ge=0, le=1000, allow_inf_nan=False)
    """Seconds to wait for each simulated second of sending; 0 for none."""
    host: Restless | None = None
    """What the machine does to switches; nothing when not given."""
    sees_duplicates: bool = True
    """Whether it can tell a duplicate from a first arrival."""

    def sent_frames(self, intended: int, duration_ns: int, size: FrameSize, link: LinkSpeed) -> int:
        """Return how many of the `intended` frames it sends in one direction."""
        if self.fault is Fault.DEAD:
            return 0
        wanted = intended
        if self.fault is Fault.OVERSENDS:
            wanted += share_of(intended, OVERSENT_SHARE)
        line = _frames(link.frames_per_second(size), duration_ns)
        if self.max_rate is None:
            return min(wanted, line)
        own = _frames(self.max_rate.frames_per_second(size, link), duration_ns)
        return min(wanted, own, line)

    def sending_ns(self, duration_ns: int) -> int:
        """Return how long sending takes."""
        if self.fault is Fault.STRETCHES:
            return duration_ns + share_of(duration_ns, STRETCHED_SHARE)
        return duration_ns

    def uncounted_frames(self, received: int) -> int:
        """Return how many of the frames that arrived are missing in this trial's counter."""
        if self.fault in (Fault.EARLY_COUNTERS, Fault.LATE_COUNTERS):
            return share_of(received, UNCOUNTED_SHARE)
        return 0

    def raises_in(self, ordinal: int) -> bool:
        """Return whether it fails in the trial of this number."""
        return self.fault is Fault.RAISES and self.raises_in_trial in (None, ordinal)


def _frames(rate_fps: Fraction, duration_ns: int) -> int:
    """Return how many frames a rate that need not be whole means, as `intended_frames` counts."""
    if rate_fps.denominator == 1:
        return intended_frames(rate_fps.numerator, duration_ns)
    return int(rate_fps * duration_ns / NANOSECONDS + Fraction(1, 2))
