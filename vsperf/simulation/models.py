"""The catalogue of simulated switches, sane and otherwise; each one teaches or tests one thing.

The one with a buffer in front of it is a fluid, and exact, so that what a method finds can be held
against it. The realistic one begins to lose frames gently before it is full, and no start is equal.
Batches, interrupts and cache misses make a real switch drop single frames shortly below its
capacity. So its loss-free rate lies some percent below the rate with half a percent of loss, and
longer trials find a lower one. And each start differs a little from the last one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from vsperf.config.counted import Counted
from vsperf.quantities.units import NANOSECONDS, Duration, Ratio
from vsperf.records.switch import AddressCounts
from vsperf.simulation.base import (
    NO_LIMIT,
    NOTHING_PASSES,
    WOBBLE_LIMIT,
    Behaviour,
    Chance,
    Conditions,
    Crossing,
    Forwarded,
    PositiveShare,
    Spread,
    Truth,
    overload,
    share_of,
)


@dataclass
class AddressTable:
    """Learns the first so many of those that come too fast, and forgets the oldest when full.

    The addresses of one direction are numbered, and each trial begins with the first of them.
    """

    most: int
    per_second: Fraction | None = None
    """Addresses that it can learn in a second; None for as many as come."""
    learned: int = 0
    evicted: int = 0
    _known: dict[tuple[str, int], None] = field(default_factory=dict)
    """Link and number of each, the oldest first."""

    @property
    def counts(self) -> AddressCounts:
        return AddressCounts(
            known=len(self._known),
            most=self.most,
            learned=self.learned,
            evicted=self.evicted,
            expired=0,
        )

    def see(self, link: str, addresses: int, duration_ns: int) -> None:
        """Learn what can be learned of addresses that come evenly within a time."""
        new = addresses
        if self.per_second is not None:
            new = min(new, int(self.per_second * duration_ns / NANOSECONDS))
        for number in range(new):
            if (link, number) in self._known:
                del self._known[link, number]  # it moves to the end
            else:
                self.learned += 1
                if len(self._known) >= self.most:
                    del self._known[next(iter(self._known))]
                    self.evicted += 1
            self._known[link, number] = None

    def flush(self) -> None:
        self._known.clear()


class SoftKnee(Behaviour):
    """Realistic: loss begins gently some percent below the capacity, and starts differ a little."""

    kind: Literal["soft-knee"]
    knee: PositiveShare = Ratio.parse("94%")
    """Share of the capacity up to which nothing is lost."""
    lost_at_capacity: Ratio = Ratio.parse("1%")
    """Share of the frames that is lost at the capacity; it grows with the square up to there."""
    spread_of_starts: Spread = Ratio.parse("0.4%")
    """Standard deviation of the capacity between starts, which the seed decides."""
    spread_of_trials: Spread = Ratio.parse("0.02%")
    """Standard deviation of the capacity between trials of one start."""

    def forward(self, conditions: Conditions) -> Forwarded:
        wobble = float(self.spread_of_trials) * conditions.of_direction.wobble()
        capacity = conditions.capacity_fps * (1 + wobble) * self._of_start(conditions.of_start)
        fps = max(1, int(capacity))
        sent = conditions.sent_frames
        lost = math.floor(sent * self.loss_ratio(conditions.offered_fps / fps))
        return Forwarded(sent - lost, fps)

    def loss_ratio(self, used: Fraction) -> Fraction:
        """Return the lost share at a load of `used` times the capacity."""
        knee, at_capacity = self.knee.value, self.lost_at_capacity.value
        if used <= knee:
            return Fraction(0) if used <= 1 else 1 - 1 / used
        if used <= 1:
            return at_capacity * ((used - knee) / (1 - knee)) ** 2
        return 1 - (1 - at_capacity) / used

    def truth(self, capacity_fps: int, loss_ratio: Fraction, forward: bool, seed: int) -> Truth:
        if loss_ratio >= 1:
            return NO_LIMIT
        middle = capacity_fps * self._of_start(Chance.of(seed, "start"))
        reach = WOBBLE_LIMIT * float(self.spread_of_trials)
        low, high = max(1, int(middle * (1 - reach)) - 1), int(middle * (1 + reach)) + 1

        def may_fail(load: int) -> bool:
            return self.loss_ratio(Fraction(load, low)) > loss_ratio

        def must_fail(load: int) -> bool:
            lost = math.floor(load * self.loss_ratio(Fraction(load, high)))
            return lost > loss_ratio * load

        return Truth((Crossing(_first(may_fail) - 1, _first(must_fail)),))

    def _of_start(self, chance: Chance) -> float:
        return 1 + float(self.spread_of_starts) * chance.wobble()


def _first(holds: Callable[[int], bool]) -> int:
    """Return the least load from which on `holds` is true; it must become so."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


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
