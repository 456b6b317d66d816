"""What the trials at one load say about it, and where the bounds of a goal lie.

The rule is the load classification of RFC 9971, in exact fractions: a load is an upper bound when
the goal cannot be met any more however the missing time would turn out, a lower bound when it
cannot be missed any more, and undecided in between. A trial counts with its intended duration, or
with what of it is clean; the waits around it do not count, for nothing was measured in them. Since
sums do not depend on their order, neither does a classification.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from vsperf.records.clean import counted_ns
from vsperf.records.flags import Flag
from vsperf.records.trial import Trial

ROUNDING = Fraction(1, 10**9)
"""Far above what floating-point sums of a search can be off by, far below any share of interest."""


class Bound(enum.Enum):
    """What a load is to a goal."""

    LOWER = "lower"
    UPPER = "upper"
    UNDECIDED = "undecided"


Failed = Callable[[Trial, Fraction], bool]
"""(trial, allowed loss ratio) → whether the trial lost too much."""


def failed(trial: Trial, loss_ratio: Fraction) -> bool:
    """Whether the worse direction lost more than allowed, unsent frames included.

    A trial whose load was not really offered fails as well, even if what is missing would fit into
    the allowed loss: nothing is known about a load that was never there. Asked of every trial again
    and again, so it is whole numbers that are compared.
    """
    most, of = loss_ratio.numerator, loss_ratio.denominator
    lost = any(
        way.lost_frames * of > most * way.intended_frames if way.intended_frames > 0 else most < of
        for way in trial.directions
    )
    return lost or Flag.SHORT_OFFER in trial.flags


def failed_in_switch(trial: Trial, loss_ratio: Fraction) -> bool:
    """Whether the switch lost more than allowed of what it was really sent."""
    return trial.switch_loss_ratio > loss_ratio


class Rule(Protocol):
    """How a goal makes one judgement of all trials at a load."""

    @property
    def loss_ratio(self) -> Fraction:
        """Loss that the goal allows."""

    def bound(self, trials: Sequence[Trial], fails: Failed = failed) -> Bound:
        """Return what the load of `trials` is to the goal."""

    def throughput_fps(self, trials: Sequence[Trial]) -> int:
        """Return the frames per second and direction that came through at a lower bound."""

    def outweigh(self, some: Sequence[Trial], trials: Sequence[Trial]) -> bool:
        """Whether these are more of the trials at a load than may fail."""


@dataclass(frozen=True, slots=True)
class Classification:
    """The judgement on a load, with the two shares of time that it rests on."""

    bound: Bound
    optimistic: Fraction
    """Share of lossy time if all time still missing were loss-free."""
    pessimistic: Fraction
    """Share of lossy time if all time still missing were lossy."""
    on_edge: bool
    """Whether a share is so close to the allowed one that rounding could tip it."""


@dataclass(frozen=True, slots=True)
class DurationRule:
    """A goal in the terms of RFC 9971; with one full trial as the sum, it is that of RFC 2544."""

    loss_ratio: Fraction
    exceed_ratio: Fraction
    """Share of the time at a load that may be lossy, below 1."""
    final_ns: int
    """Duration from which on a trial counts as full-length."""
    sum_ns: int
    """Full-length time after which a load is decided."""

    def classify(self, trials: Iterable[Trial], fails: Failed = failed) -> Classification:
        """Return the judgement on a load, and how close it is."""
        lossy, passed, whole = self._weighed(trials, fails)
        optimistic, pessimistic = Fraction(lossy, whole), Fraction(whole - passed, whole)
        on_edge = any(
            abs(share - self.exceed_ratio) < ROUNDING for share in (optimistic, pessimistic)
        )
        return Classification(self._bound(lossy, passed, whole), optimistic, pessimistic, on_edge)

    def bound(self, trials: Sequence[Trial], fails: Failed = failed) -> Bound:
        return self._bound(*self._weighed(trials, fails))

    def _bound(self, lossy: int, passed: int, whole: int) -> Bound:
        """Judge whole numbers: it is done again and again, and a fraction costs more."""
        most, of = self.exceed_ratio.numerator, self.exceed_ratio.denominator
        if lossy * of > most * whole:
            return Bound.UPPER
        if (whole - passed) * of <= most * whole:
            return Bound.LOWER
        return Bound.UNDECIDED

    def _weighed(self, trials: Iterable[Trial], fails: Failed) -> tuple[int, int, int]:
        """Weigh the time of lossy trials at a load against that of the others.

        Short trials that passed excuse lossy short ones only, in the proportion of the exceed
        ratio; they never count as evidence for the load. Returned are the time that is lossy, that
        of full-length trials that passed, and all there is, the missing included; each a whole
        number, in the same part of a nanosecond.
        """
        full_high = full_low = short_high = short_low = 0
        for trial in trials:
            high, ns = fails(trial, self.loss_ratio), counted_ns(trial)
            if trial.duration_ns >= self.final_ns:
                full_high += ns * high
                full_low += ns * (not high)
            else:
                short_high += ns * high
                short_low += ns * (not high)
        most = self.exceed_ratio.numerator
        part = self.exceed_ratio.denominator - most
        lossy = full_high * part + max(0, short_high * part - short_low * most)
        passed = full_low * part
        return lossy, passed, max(lossy + passed, self.sum_ns * part)

    def outweigh(self, some: Sequence[Trial], trials: Sequence[Trial]) -> bool:
        """Whether these take more of the time at a load than may be lossy."""
        most = self.exceed_ratio * sum(counted_ns(trial) for trial in trials)
        return sum(counted_ns(trial) for trial in some) > most

    def so_far(self, trials: Iterable[Trial]) -> DurationRule:
        """Return the rule that decides every load by the time there was, however short."""
        shortest = min((trial.duration_ns for trial in trials), default=self.final_ns)
        return replace(self, final_ns=min(shortest, self.final_ns), sum_ns=1)

    def throughput_fps(self, trials: Sequence[Trial]) -> int:
        """Return the conditional throughput: the load less the loss at the allowed quantile.

        Full-length trials are sorted by loss, and time that is missing to the duration sum counts
        as lost altogether; the loss that (1 - exceed ratio) of the time stays within is taken.
        """
        full = sorted((t for t in trials if t.duration_ns >= self.final_ns), key=_loss)
        known = sum(counted_ns(trial) for trial in full)
        remaining = max(known, self.sum_ns) * (1 - self.exceed_ratio)
        for trial in full:
            remaining -= counted_ns(trial)
            if remaining <= 0:
                return int(trial.load_fps * (1 - trial.loss_ratio))
        return 0


def _loss(trial: Trial) -> Fraction:
    return trial.loss_ratio


@dataclass(frozen=True, slots=True)
class Bounds:
    """The relevant bounds of a goal, as loads per direction [fps]."""

    lower: int | None
    """Highest lower bound below the upper one."""
    upper: int | None
    """Lowest upper bound."""
    inverted: bool
    """Whether a load above the upper bound is a lower bound as well."""


def by_load(trials: Iterable[Trial]) -> dict[int, list[Trial]]:
    """Group trials by their load, lowest first."""
    groups: dict[int, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.load_fps, []).append(trial)
    return dict(sorted(groups.items()))


def bounds_of(rule: Rule, trials: Iterable[Trial]) -> Bounds:
    """Return the relevant bounds; a contradiction is resolved towards the lower loads."""
    return bounds_among({load: rule.bound(group) for load, group in by_load(trials).items()})


def bounds_among(decided: Mapping[int, Bound]) -> Bounds:
    """Return the relevant ones of the bounds of all loads."""
    lower = upper = None
    inverted = False
    for load, bound in sorted(decided.items()):
        match bound:
            case Bound.UPPER:
                upper = load if upper is None else upper
            case Bound.LOWER if upper is None:
                lower = load
            case Bound.LOWER:
                inverted = True
            case Bound.UNDECIDED:
                pass
    return Bounds(lower, upper, inverted)
