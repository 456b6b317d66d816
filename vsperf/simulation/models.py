"""The catalogue of simulated switches, sane and otherwise; each one teaches or tests one thing."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from vsperf.config.counted import Counted
from vsperf.quantities.units import Duration, Ratio
from vsperf.simulation.base import Behaviour, Conditions, Forwarded, PositiveShare, Spread, share_of
from vsperf.simulation.buffer import Buffered
from vsperf.simulation.chance import WOBBLE_LIMIT
from vsperf.simulation.knee import SoftKnee
from vsperf.simulation.truth import NO_LIMIT, NOTHING_PASSES, Crossing, Truth, overload


class Ideal(Behaviour):
    """A sharp capacity: nothing is lost up to it, and everything beyond it."""

    kind: Literal["ideal"]


class Noisy(Behaviour):
    """The capacity wobbles from trial to trial, normally distributed, both directions alike."""

    kind: Literal["noisy"]
    spread: Spread = Ratio.parse("1%")
    """Standard deviation as a share of the capacity; no trial is beyond four of them."""

    def forward(self, conditions: Conditions) -> Forwarded:
        factor = 1 + float(self.spread) * conditions.of_trial.wobble()
        capacity = int(conditions.capacity_fps * factor)
        return self.limited(conditions, conditions.sent_frames, capacity)

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        reach = WOBBLE_LIMIT * self.spread.value
        low = math.floor(capacity_fps * (1 - reach)) - 1
        return overload(low, math.ceil(capacity_fps * (1 + reach)), loss_ratio)


class RandomLoss(Behaviour):
    """Now and then, at any load, a trial loses a few frames, as from a stall of the machine."""

    kind: Literal["random-loss"]
    probability: Ratio = Ratio.parse("5%")
    """Share of trials that an accident happens in, for each direction."""
    frames: Annotated[int, Field(ge=1), Counted] = 3
    """Frames that an accident costs."""

    def forward(self, conditions: Conditions) -> Forwarded:
        accident = conditions.of_direction.share() < float(self.probability)
        frames = conditions.sent_frames - (self.frames if accident else 0)
        return self.limited(conditions, frames, conditions.capacity_fps)

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        sharp = overload(capacity_fps, capacity_fps, loss_ratio)
        return replace(sharp, accidents=bool(self.probability.value))


class Inversion(Behaviour):
    """Loses frames in a band of loads below its capacity, and none between band and capacity."""

    kind: Literal["inversion"]
    band_from: PositiveShare = Ratio.parse("58%")
    """Lower end of the band, as a share of the capacity."""
    band_to: Ratio = Ratio.parse("66%")
    """Upper end of the band."""
    lost: Ratio = Ratio.parse("2%")
    """Share of the frames that is lost within the band."""

    def forward(self, conditions: Conditions) -> Forwarded:
        sent = conditions.sent_frames
        used = conditions.offered_fps / conditions.capacity_fps
        within = self.band_from.value <= used <= self.band_to.value
        frames = sent - share_of(sent, self.lost.value) if within else sent
        return self.limited(conditions, frames, conditions.capacity_fps)

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        real = overload(capacity_fps, capacity_fps, loss_ratio)
        if self.lost.value <= loss_ratio or self.band_to <= self.band_from:
            return real
        begin = math.floor(self.band_from.value * capacity_fps)
        return Truth((Crossing(max(0, begin - 1), begin + 2), *real.crossings))


class Asymmetric(Behaviour):
    """One direction is slower than the other; a sum over both would hide it."""

    kind: Literal["asymmetric"]
    slow_direction: Literal["forward", "reverse"] = "reverse"
    """Which one is slower."""
    capacity_share: PositiveShare = Ratio.parse("70%")
    """Capacity of the slow direction, as a share of the other one's."""

    def forward(self, conditions: Conditions) -> Forwarded:
        capacity = self._capacity_fps(conditions.capacity_fps, conditions.forward)
        return self.limited(conditions, conditions.sent_frames, capacity)

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        capacity = self._capacity_fps(capacity_fps, forward)
        return overload(capacity, capacity, loss_ratio)

    def _capacity_fps(self, capacity_fps: int, forward: bool) -> int:
        slow = forward == (self.slow_direction == "forward")
        return max(1, int(capacity_fps * self.capacity_share.value)) if slow else capacity_fps


class NeverLossy(Behaviour):
    """Forwards whatever is sent; the limit is elsewhere."""

    kind: Literal["never-lossy"]

    def forward(self, conditions: Conditions) -> Forwarded:
        return Forwarded(conditions.sent_frames, None)

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        return NO_LIMIT


class AlwaysLossy(Behaviour):
    """Loses a constant share of the frames at any load, at least one."""

    kind: Literal["always-lossy"]
    lost: PositiveShare = Ratio.parse("1%")
    """Share of the frames that is lost."""

    def forward(self, conditions: Conditions) -> Forwarded:
        frames = conditions.sent_frames - share_of(conditions.sent_frames, self.lost.value)
        return self.limited(conditions, frames, conditions.capacity_fps)

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        if self.lost.value > loss_ratio:
            return NOTHING_PASSES
        real = overload(capacity_fps, capacity_fps, loss_ratio)
        return real if self.lost.value < loss_ratio else replace(real, accidents=True)


class OneFrameLoss(Behaviour):
    """Each trial loses one frame per direction, as if a protocol daemon had taken it."""

    kind: Literal["one-frame-loss"]

    def forward(self, conditions: Conditions) -> Forwarded:
        frames = conditions.sent_frames - 1
        return self.limited(conditions, frames, conditions.capacity_fps)

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        if not loss_ratio:
            return NOTHING_PASSES
        return replace(overload(capacity_fps, capacity_fps, loss_ratio), accidents=True)


class Duplicating(Behaviour):
    """Delivers a share of the frames twice; a generator that cannot tell sees rx above tx."""

    kind: Literal["duplicating"]
    duplicated: Ratio = Ratio.parse("1%")
    """Share of the frames that arrives twice."""

    def forward(self, conditions: Conditions) -> Forwarded:
        sane = super().forward(conditions)
        return replace(sane, extra_copies=share_of(sane.distinct_frames, self.duplicated.value))


class WarmUp(Behaviour):
    """Loses frames during the first seconds of traffic, while its caches fill."""

    kind: Literal["warm-up"]
    lasts: Duration = Duration.parse("5s")
    """Time of traffic after which it forwards properly."""
    lost: Ratio = Ratio.parse("10%")
    """Share of the frames that is lost until then."""

    def forward(self, conditions: Conditions) -> Forwarded:
        sent, sending_ns = conditions.sent_frames, max(1, conditions.sending_ns)
        cold_ns = min(sending_ns, max(0, self.lasts.ns - conditions.traffic_before_ns))
        lost = share_of(sent, self.lost.value * Fraction(cold_ns, sending_ns))
        return self.limited(conditions, sent - lost, conditions.capacity_fps)


class Dies(Behaviour):
    """Forwards nothing any more from some trial on, while its process looks well."""

    kind: Literal["dies"]
    in_trial: int = Field(default=4, ge=1)
    """The first trial without a frame; the path check is trial 1, the warm-up follows."""

    def forward(self, conditions: Conditions) -> Forwarded:
        if conditions.ordinal >= self.in_trial:
            return Forwarded(0, conditions.capacity_fps)
        return super().forward(conditions)


AnyBehaviour = Annotated[
    SoftKnee
    | Buffered
    | Ideal
    | Noisy
    | RandomLoss
    | Inversion
    | Asymmetric
    | NeverLossy
    | AlwaysLossy
    | OneFrameLoss
    | Duplicating
    | WarmUp
    | Dies,
    Field(discriminator="kind"),
]
"""Any model of the catalogue; `kind` says which."""
