"""What a model of a switch is: a frozen specification that turns offered frames into arrived ones.

A model is told the conditions of one direction of one trial and answers in whole frames. It has no
memory but between the steps of a trial; what happened earlier in the session is part of the
conditions.

Each use of chance draws from a stream of its own, named by what it is for. So one more draw in one
place moves no number in another, and the same seed gives the same run in any process.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Annotated

from pydantic import AfterValidator

from vsperf.config.base import Spec
from vsperf.quantities.units import NANOSECONDS, Ratio
from vsperf.records.trial import intended_frames


@dataclass(frozen=True, slots=True)
class Crossing:
    """A place on the scale of loads where passing turns into failing [fps per direction].

    It holds for trials of one second or longer; a shorter one cannot resolve single frames. Where
    chance plays a part, the two ends lie as far apart as chance can move the place.
    """

    lower_fps: int | None
    """Up to here each trial passes; 0 where none does, None where every load passes."""
    upper_fps: int | None
    """From here on each trial fails, up to the next crossing's region; None where none does."""


@dataclass(frozen=True, slots=True)
class Truth:
    """All crossings of one direction, from the lowest load upwards; a sane switch has one."""

    crossings: tuple[Crossing, ...]
    accidents: bool = False
    """Whether a trial below the crossing may fail all the same, by accident."""

    def brackets(self, lower_fps: int | None, upper_fps: int | None) -> bool:
        """Return whether a reported interval is right: some crossing can lie within it.

        `lower_fps` None says that no load passed, `upper_fps` None that no load failed.
        """
        return any(_holds(crossing, lower_fps or 0, upper_fps) for crossing in self.crossings)


def _holds(crossing: Crossing, lower_fps: int, upper_fps: int | None) -> bool:
    passed_too_high = crossing.upper_fps is not None and lower_fps >= crossing.upper_fps
    failed_too_low = upper_fps is not None and (
        crossing.lower_fps is None or upper_fps <= crossing.lower_fps
    )
    return not passed_too_high and not failed_too_low


NO_LIMIT = Truth((Crossing(None, None),))
"""Every load passes."""
NOTHING_PASSES = Truth((Crossing(0, 1),))
"""Every load fails."""


def overload(low_fps: int, high_fps: int, loss_ratio: Fraction) -> Truth:
    """Return the truth of a switch that forwards what it can and drops the rest.

    Its capacity lies between `low_fps` and `high_fps`. A load L loses L − capacity, so an allowed
    ratio moves the crossing up to capacity / (1 − ratio); the slack is for counting whole frames.
    """
    if loss_ratio >= 1:
        return NO_LIMIT
    slack = math.ceil(1 / (1 - loss_ratio)) if loss_ratio else 0
    lower = math.floor(low_fps / (1 - loss_ratio))
    upper = math.floor(high_fps / (1 - loss_ratio)) + 1
    return Truth((Crossing(max(0, lower - slack), upper + slack),))


@dataclass(frozen=True, slots=True)
class Chance:
    """A named stream of random numbers."""

    stream: Random

    @classmethod
    def of(cls, seed: int, *names: object) -> Chance:
        """Return the stream of `seed` for the purpose that `names` spell out."""
        return cls(Random("/".join(str(part) for part in ("vsperf", seed, *names))))  # noqa: S311

    def share(self) -> float:
        """Return a number between 0 and 1, evenly spread."""
        return self.stream.random()

    def wobble(self) -> float:
        """Return a number with mean 0 and standard deviation 1, never beyond ±4.

        The sum of twelve even draws is close to a normal distribution, and needs nothing of the
        random module but the one sequence that Python promises to keep. They are added one by one
        because `sum` rounds differently from Python 3.12 on.
        """
        total = 0.0
        for _ in range(12):
            total += self.stream.random()
        return max(-WOBBLE_LIMIT, min(WOBBLE_LIMIT, total - 6))


WOBBLE_LIMIT = 4


WIDEST_SPREAD = Ratio.parse("10%")


def _above_zero(share: Ratio) -> Ratio:
    if not share.value:
        raise ValueError("this share must be above 0")
    return share


def _moderate(spread: Ratio) -> Ratio:
    if spread > WIDEST_SPREAD:
        raise ValueError(f"a spread is at most {WIDEST_SPREAD}; four of them may add up")
    return spread


PositiveShare = Annotated[Ratio, AfterValidator(_above_zero)]
Spread = Annotated[Ratio, AfterValidator(_moderate)]
"""A standard deviation, as a share of the capacity."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """One direction of one trial, as the switch sees it."""

    capacity_fps: int
    """What the switch could forward in this direction if it were ideal."""
    sent_frames: int
    sending_ns: int
    forward: bool
    """Whether the frames enter by the link that comes first in the topology."""
    ordinal: int = 1
    """Number of the trial since the switch was started, from 1; path check and warm-up count."""
    traffic_before_ns: int = 0
    """Time for which traffic was sent in earlier trials."""
    seed: int = 1
    load_fps: int | None = None
    """Rate that was asked for, if the generator kept it."""
    burst_frames: int = 0
    """Frames that come close together; 0 where all are equally far apart."""
    gap_ns: int = 0
    """From one burst to the next; `sending_ns` has no gaps in it."""

    @property
    def bursts(self) -> int:
        return max(1, -(-self.sent_frames // self.burst_frames)) if self.burst_frames else 1

    @property
    def lasting_ns(self) -> int:
        """From the first frame to the last one, gaps included."""
        return self.sending_ns + (self.bursts - 1) * self.gap_ns

    def leaves_ns(self, frame: int) -> int:
        """Return when a frame leaves, since the first one did."""
        gaps = frame // self.burst_frames if self.burst_frames else 0
        return math.ceil(frame * NANOSECONDS / self.pace_fps) + gaps * self.gap_ns

    def due(self, moment_ns: int) -> int:
        """Return how many frames are due before a moment."""
        if not self.burst_frames:
            return max(0, math.ceil(self.pace_fps * moment_ns / NANOSECONDS))
        period = self.burst_frames * NANOSECONDS / self.pace_fps + self.gap_ns
        whole = max(0, math.floor(moment_ns / period))
        begun = math.ceil(self.pace_fps * (moment_ns - whole * period) / NANOSECONDS)
        return whole * self.burst_frames + max(0, min(self.burst_frames, begun))

    @property
    def pace_fps(self) -> Fraction:
        """Rate at which frames follow each other; above 0."""
        return Fraction(self.load_fps) if self.load_fps else max(self.offered_fps, Fraction(1))

    @property
    def offered_fps(self) -> Fraction:
        return Fraction(self.sent_frames * NANOSECONDS, max(1, self.sending_ns))

    @property
    def of_start(self) -> Chance:
        """Chance that falls once, when the switch starts."""
        return Chance.of(self.seed, "start")

    @property
    def of_trial(self) -> Chance:
        """Chance that falls once per trial, for both directions alike."""
        return Chance.of(self.seed, "trial", self.ordinal)

    @property
    def of_direction(self) -> Chance:
        """Chance that falls once per trial and direction."""
        way = "forward" if self.forward else "reverse"
        return Chance.of(self.seed, "trial", self.ordinal, way)


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What a switch made of the frames of one direction."""

    distinct_frames: int
    """Sent frames that arrived at least once."""
    capacity_fps: int | None
    """Capacity at work in this trial, None for no limit; latency follows from it."""
    extra_copies: int = 0
    """Frames that arrived once more."""
    last_loss: Fraction | None = None
    """When the last lost frame left, as a share of the time of sending; None: at its end, if any
    was lost."""


def through(sent_frames: int, capacity_fps: int, sending_ns: int) -> int:
    """Return how many of `sent_frames` pass a capacity during the time of sending."""
    return min(sent_frames, intended_frames(capacity_fps, sending_ns))


def share_of(frames: int, share: Fraction) -> int:
    """Return that share of `frames`, rounded up: a fault that is asked for shows."""
    return -(-frames * share.numerator // share.denominator)


class Behaviour(Spec):
    """Base of all models: forwards up to its capacity, and drops what is beyond."""

    def forward(self, conditions: Conditions) -> Forwarded:
        return self.limited(conditions, conditions.sent_frames, conditions.capacity_fps)

    def forward_steps(self, steps: Sequence[Conditions]) -> list[Forwarded]:
        """Return what arrives of the frames of loads that follow each other in one trial."""
        return [self.forward(conditions) for conditions in steps]

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        """Return where trials of a second or longer turn from passing to failing."""
        return overload(capacity_fps, capacity_fps, loss_ratio)

    @staticmethod
    def limited(conditions: Conditions, frames: int, capacity_fps: int) -> Forwarded:
        """Return how many of `frames`, those that no other fault took, pass the capacity."""
        distinct = through(frames, capacity_fps, conditions.sending_ns)
        return Forwarded(max(0, distinct), capacity_fps)
