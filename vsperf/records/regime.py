"""Regimes: where a hypervisor has the CPUs of a trial, near each other or far, by the trials alone.

A cache line goes from the generator's CPU to the switch's and back before and after each trial. On
a machine whose CPUs are moved these round trips fall into two groups, a gap of several times
between them. What is boundary follows from the trials that there are, so whoever has them can say
it again. A trial that began in one regime and ended in the other is of none, and so is one of which
nobody knows both ends.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.records.trial import Trial

APART = 2
"""So many times as long at least is the shortest way that is far as the longest that is near."""
LEAST_TRIALS = 2
"""That lie wholly on one side: one look that was disturbed, or one trial, is no regime."""


class Regime(enum.StrEnum):
    """Where the CPUs are."""

    NEAR = "near"
    FAR = "far"

    @property
    def words(self) -> str:
        """Where the CPUs are then, of each other."""
        return "near each other" if self is Regime.NEAR else "far from each other"


@dataclass(frozen=True, slots=True)
class Boundary:
    """The gap between two regimes."""

    near_ns: int
    """Longest round trip that is near."""
    far_ns: int
    """Shortest that is far."""

    def of(self, round_trip_ns: int) -> Regime:
        """Return the regime of a look; one within the gap belongs to what it is closer to."""
        between = self.near_ns * self.far_ns
        return Regime.NEAR if round_trip_ns * round_trip_ns < between else Regime.FAR

    def holding(self, least_ns: int, most_ns: int) -> Regime | None:
        """Return the one regime of looks from the shortest to the longest; None of several."""
        ends = {self.of(least_ns), self.of(most_ns)}
        return ends.pop() if len(ends) == 1 else None


def boundary_among(spans: Iterable[tuple[int, int]]) -> Boundary | None:
    """Return the widest gap between cases that met one regime each, by their round trips.

    None where they all met the same one.
    """
    ordered = sorted(spans)
    gaps = []
    most = 0
    for least, longest in ordered:
        if most and least >= APART * most:
            gaps.append(Boundary(most, least))
        most = max(most, longest)
    return max(gaps, key=lambda gap: Fraction(gap.far_ns, gap.near_ns), default=None)


def span_of(trials: Iterable[Trial]) -> tuple[int, int] | None:
    """Return the shortest and the longest round trip of trials of one regime.

    One look that was disturbed is left out, as it makes no regime: that between two trials is one
    look of both. None where that does not bring them together, or nobody looked.
    """
    looks: list[int] = []
    for before, after in (one.round_trips_ns for one in trials if _known(one)):
        looks += [after] if looks and looks[-1] == before else [before, after]
    looks = sorted(max(1, trip) for trip in looks)
    for kept in (looks, looks[1:], looks[:-1]):
        if kept and kept[-1] < APART * kept[0]:
            return kept[0], kept[-1]
    return None


def boundary_of(trials: Iterable[Trial]) -> Boundary | None:
    """Return the widest gap that has trials on both sides; None where there is one regime."""
    ends = [one.round_trips_ns for one in trials if _known(one)]
    least, most = sorted(min(pair) for pair in ends), sorted(max(pair) for pair in ends)
    if len(ends) < 2 * LEAST_TRIALS:
        return None
    low, high = most[LEAST_TRIALS - 1], least[-LEAST_TRIALS]
    trips = sorted({max(1, trip) for pair in ends for trip in pair})
    gaps = [
        Boundary(short, long)
        for short, long in itertools.pairwise(trips)
        if long >= APART * short and low <= short and high >= long
    ]
    return max(gaps, key=lambda gap: Fraction(gap.far_ns, gap.near_ns), default=None)


def regime_of(trial: Trial, boundary: Boundary) -> Regime | None:
    """Return the regime in which a trial was made; None where its ends differ, or nobody looked."""
    if not _known(trial):
        return None
    before, after = (boundary.of(trip) for trip in trial.round_trips_ns)
    return before if before is after else None


def shares_of(trials: Sequence[Trial], boundary: Boundary) -> dict[Regime, Fraction]:
    """Return the share of the time in each regime: of trials, and of waits before them.

    A trial whose ends differ counts half for each.
    """
    spent = dict.fromkeys(Regime, Fraction(0))
    for one in trials:
        for trip in one.round_trips_ns if _known(one) else ():
            spent[boundary.of(trip)] += Fraction(one.elapsed_ns, 2)
        if one.held is not None:
            spent[boundary.of(one.held.round_trip_ns)] += one.held.ns
    whole = sum(spent.values())
    return {regime: ns / whole for regime, ns in spent.items()} if whole else spent


def _known(trial: Trial) -> bool:
    return len(trial.round_trips_ns) == 2
