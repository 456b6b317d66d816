"""What can be said of the change from one sample to another, and by which means.

With enough repeats by their ranks; with fewer by the intervals in which the answers lie, and by
what is known of their scatter. A number without bounds that was measured once says nothing.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

from vsperf.stats.dependence import taken_together
from vsperf.stats.findings import Basis, Finding
from vsperf.stats.ranks import (
    LEVEL,
    can_tell,
    distance_interval,
    is_exact,
    middle_ratio,
    one_sided,
    ratio_interval,
)
from vsperf.stats.sample import Sample
from vsperf.stats.scatter import Scatter


class Means(enum.StrEnum):
    """By which means a difference was judged."""

    RANKS = "ranks"
    """Mann and Whitney's test over the repeats, at 5 %: exact, or where many of them are equal by
    the normal distribution."""
    SCATTER = "scatter"
    """Too few repeats for ranks: the intervals lie apart, and by more than repeats scatter."""
    INTERVALS = "intervals"
    """The intervals lie apart; how far repeats lie apart nobody knows."""
    NOTHING = "nothing"
    """Single numbers without bounds, of which nobody knows how far they can be off."""


class Change(enum.StrEnum):
    """Which way a number went, where that is more than chance."""

    UP = "up"
    DOWN = "down"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Difference:
    """From a base to another sample."""

    means: Means
    change: Change
    share: float | None
    """By how much it changed, as a share of the base; None where that is no number."""
    least: float | None = None
    most: float | None = None
    """The interval in which the share lies; None on the side of which nobody knows."""
    p: float | None = None
    """How often chance alone makes such a difference, by ranks; None where that was not asked."""
    exact: bool = True
    """Whether that was counted; False where it is approached by the normal distribution."""
    together: int | None = 1
    """So many repeats that were made one after the other count as one, since they depend on each
    other; None where too few would be left."""

    @property
    def significant(self) -> bool:
        """Whether there is a change."""
        return self.change is not Change.NONE


def difference_of(base: Sample, other: Sample, scatter: Scatter | None = None) -> Difference:
    """Judge the change from one sample to another by the best means that they allow.

    `scatter` is what is known of repeats of this number, also from other cases.
    """
    together = _together(base, other)
    if together is None:
        return Difference(Means.NOTHING, Change.NONE, _share(base, other), together=None)
    if can_tell(base.count // together, other.count // together):
        found = _by_ranks(base.batched(together), other.batched(together))
        return replace(found, together=together)
    share = _share(base, other)
    if scatter is not None and min(*base.values, *other.values) > 0:
        return _by_intervals(base, other, share, scatter)
    if base.bounded and other.bounded:
        return _by_intervals(base, other, share, None)
    return Difference(Means.NOTHING, Change.NONE, share)


def _together(base: Sample, other: Sample) -> int | None:
    """Return how many neighbours count as one on both sides; None where they depend all the same.

    Side by side one of them alone would do; but a machine that holds its states on one side held
    them on the other, too.
    """
    sizes = [taken_together(one.values) for one in (base, other)]
    found = [size for size in sizes if size is not None]
    return max(found) if len(found) == len(sizes) else None


def _by_ranks(base: Sample, other: Sample) -> Difference:
    """Judge by the repeats: size, direction, interval and test are those of all pairs of them.

    Each claim is held against what speaks most against it, as far as searches tell loads apart: to
    go up is to go up from what the first are at most to what the others are at least.
    """
    base_low, base_high = _ends(base)
    other_low, other_high = _ends(other)
    p = min(
        1.0,
        2 * one_sided(base_high, other_low, "greater"),
        2 * one_sided(base_low, other_high, "less"),
    )
    exact = is_exact(base_high, other_low) and is_exact(base_low, other_high)
    if min(*base_low, *other_low) < 0:
        least, _ = distance_interval(base_high, other_low)
        _, most = distance_interval(base_low, other_high)
        return Difference(Means.RANKS, _change(p, least, most), None, p=p, exact=exact)
    least, _ = ratio_interval(base_high, other_low)
    _, most = ratio_interval(base_low, other_high)
    return Difference(
        Means.RANKS,
        _change(p, least - 1, most - 1),
        _middle(base, other),
        None if least == 0 and base.open_ended else least - 1,
        None if math.isinf(most) else most - 1,
        p,
        exact,
    )


def _change(p: float, least: float, most: float) -> Change:
    """Return which way it went: the test says so, and the interval has nothing else in it."""
    if p >= LEVEL or least <= 0 <= most:
        return Change.NONE
    return Change.UP if least > 0 else Change.DOWN


def _middle(base: Sample, other: Sample) -> float | None:
    """Return the change in the middle of all pairs; None where a bound stands for one of them."""
    if base.open_ended or other.open_ended:
        return None
    middle = middle_ratio(base.values, other.values)
    return None if math.isinf(middle) else middle - 1


def _ends(sample: Sample) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return what the numbers are at least and at most, as far as searches tell loads apart.

    What was measured is what it is: how far it scatters is seen in the repeats. What a search found
    lies below its upper bound, which did not hold, so one that begins there lies above it.
    """
    searched = [one.basis is Basis.SEARCH for one in sample.findings]
    told = list(zip(sample.findings, searched, strict=True))
    return (
        tuple(one.low if bounds else one.value for one, bounds in told),
        tuple(_below(one) if bounds else one.value for one, bounds in told),
    )


def _below(one: Finding) -> float:
    wide = one.low < one.high and not one.open_ended
    return math.nextafter(one.high, one.low) if wide else one.high


def _by_intervals(
    base: Sample, other: Sample, share: float | None, scatter: Scatter | None
) -> Difference:
    before, after = base.middle, other.middle
    if scatter is not None:
        margin = math.exp(scatter.margin(base.count, other.count) / 2)
        before, after = _wider(before, margin), _wider(after, margin)
    means = Means.INTERVALS if scatter is None else Means.SCATTER
    least, most = _shares(before, after)
    return Difference(means, _apart(before, after), share, least, most)


def _wider(span: tuple[float, float], factor: float) -> tuple[float, float]:
    return span[0] / factor, span[1] * factor


def _apart(before: tuple[float, float], after: tuple[float, float]) -> Change:
    """Return which way one interval lies of another; they share no more than an end."""
    if before == after:
        return Change.NONE
    if after[0] >= before[1]:
        return Change.UP
    return Change.DOWN if after[1] <= before[0] else Change.NONE


def _shares(
    before: tuple[float, float], after: tuple[float, float]
) -> tuple[float | None, float | None]:
    if before[0] <= 0:
        return None, None
    least = None if math.isinf(before[1]) else after[0] / before[1] - 1
    most = None if math.isinf(after[1]) else after[1] / before[0] - 1
    return least, most


def _share(base: Sample, other: Sample) -> float | None:
    """Return the change of what was found; None where a bound stands for it, or a zero."""
    if base.median_is_open or other.median_is_open:
        return None
    return other.median / base.median - 1 if base.median > 0 else None
