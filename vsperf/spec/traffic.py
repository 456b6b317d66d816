"""What is sent, without a word on how fast and by which generator."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from pydantic import Field

from vsperf.spec.base import Spec
from vsperf.units import Count, Duration, FrameSize, Ratio

Directions = Literal["both", "forward", "reverse"]


class TrafficProfile(Spec):
    """Frames, flows and direction of the offered traffic."""

    frame_size: FrameSize
    """Size with FCS; a list makes one case per size."""
    flows: Count = Count(1)
    """Distinct flows per direction; a list makes one case per number."""
    direction: Directions = "both"
    """`both` offers the same load each way at once, as RFC 2544 section 14 asks."""


class TrialPolicy(Spec):
    """How one trial is carried out and when it is believed."""

    warm_up: Duration
    """Length of one trial before the search whose result is ignored; 0 for none."""
    learning: bool
    """Send learning frames before each trial (RFC 2544 section 23 b)."""
    settle: Duration
    """Wait after learning frames, before the test stream."""
    drain: Duration
    """Wait for frames still on their way after the last one was sent."""
    pause: Duration
    """Wait after a trial, for the switch to come to rest."""
    retries: int = Field(ge=0, le=100)
    """How often a trial that cannot be believed is repeated before the case is given up."""
    offered_tolerance: Ratio
    """Share of the intended frames that may stay unsent before the generator counts as short."""
    stretch_tolerance: Ratio
    """Share by which sending may take longer than intended."""
    unexplained_tolerance: Ratio = Ratio(Fraction(1, 10_000))
    """Share of the sent frames that may be missing without a counter that says where."""

    @property
    def overhead_ns(self) -> int:
        """Time that each trial takes beyond its traffic."""
        return self.settle.ns + self.drain.ns + self.pause.ns


class LatencyTrials(Spec):
    """Latency trials after the search, at shares of a goal's result."""

    goal: str
    """The goal whose lower bound is the reference, such as `ndr`."""
    loads: tuple[Ratio, ...]
    """Shares of that bound; an empty list switches latency trials off."""
    duration: Duration
