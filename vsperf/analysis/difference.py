"""What can be said of the change from one sample to another, and by which means.

With enough repeats by their ranks; with fewer by the intervals in which the answers lie, and by
what is known of their scatter. A number without bounds that was measured once says nothing.
"""

from __future__ import annotations

import enum
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from vsperf.analysis.answers import Basis, Finding, undrawn
from vsperf.analysis.repeats import batches, student_95, taken_together
from vsperf.quantities.unit import RATES, Unit

# Two sets of repeats, compared by their ranks: no shape of their scatter is presumed.
#
# Some numbers are only known to be as high or higher. Each claim is therefore tested in the case
# that speaks most against it: that one is lower, with what is open on its side as high as can be.

LEVEL = 0.05
"""Differences that chance makes in fewer cases than this are believed."""
MOST_ARRANGEMENTS = 1_000
"""So many ways to share equal numbers out are gone through one by one; beyond, the ranks are as
good as normal."""


def can_tell(first: int, second: int) -> bool:
    """Return whether so many repeats can show a difference at all, however large it is."""
    return first > 0 and second > 0 and 2 / math.comb(first + second, first) < LEVEL


def least_repeats() -> int:
    """Return how many repeats on each side can show a difference at all."""
    return next(count for count in range(2, 100) if can_tell(count, count))


def one_sided(
    base: Sequence[float], other: Sequence[float], way: Literal["less", "greater"]
) -> float:
    """Return how often chance alone puts the other set at least as far to one side."""
    from scipy.stats import PermutationMethod, mannwhitneyu

    # As ranks, so that equal ones stay equal and what has no end has one.
    places = {value: place for place, value in enumerate(sorted({*base, *other}))}
    first, second = ([float(places[value]) for value in side] for side in (other, base))
    if not is_exact(base, other):
        found = mannwhitneyu(first, second, alternative=way, method="asymptotic")
    elif _has_ties(base, other):
        every = PermutationMethod(n_resamples=MOST_ARRANGEMENTS)
        found = mannwhitneyu(first, second, alternative=way, method=every)
    else:
        found = mannwhitneyu(first, second, alternative=way, method="exact")
    return float(found.pvalue)


def is_exact(base: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether all arrangements are counted, rather than approached by the normal one."""
    arrangements = math.comb(len(base) + len(other), len(base))
    return arrangements <= MOST_ARRANGEMENTS or not _has_ties(base, other)


def _has_ties(base: Sequence[float], other: Sequence[float]) -> bool:
    return len({*base, *other}) < len(base) + len(other)


def ratio_interval(base: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the interval that holds the ratio of the second to the first, at 95 %.

    Multiply the first by a ratio outside of it, and the test sees that they are not the same
    (Hodges and Lehmann). No number is below zero, and there are enough that the test can tell.
    """
    return _outer_pair(_ratios(base, other), outermost(len(base), len(other)))


def middle_ratio(base: Sequence[float], other: Sequence[float]) -> float:
    """Return the ratio in the middle of those of all pairs, which belongs to that interval."""
    found = _ratios(base, other)
    half = len(found) // 2
    low, high = found[half - (len(found) % 2 == 0)], found[half]
    return high if low == high else math.sqrt(low) * math.sqrt(high)


def distance_interval(base: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the interval that holds what is added to the first, where ratios say nothing."""
    found = sorted(after - before for before in base for after in other)
    return _outer_pair(found, outermost(len(base), len(other)))


def _outer_pair(ordered: Sequence[float], outer: int) -> tuple[float, float]:
    return ordered[outer], ordered[-1 - outer]


def _ratios(base: Sequence[float], other: Sequence[float]) -> list[float]:
    return sorted(_ratio(before, after) for before in base for after in other)


def _ratio(before: float, after: float) -> float:
    """Return by what the first is multiplied to be the second: nothing stays what it is."""
    if after == before:
        return 1.0
    return after / before if before else math.inf


@cache
def outermost(first: int, second: int) -> int:
    """Return how many pairs at either end lie outside of the interval at 95 %.

    As many as the rank sum of Mann and Whitney can be for a difference that is just believed.
    """
    ways = _ways(first, second)
    total, seen = sum(ways), 0
    for place, count in enumerate(ways):
        seen += count
        if 2 * seen >= LEVEL * total:
            return max(0, place - 1)
    return 0  # pragma: no cover - half of all ways is always reached


def _ways(first: int, second: int) -> list[int]:
    """Return in how many arrangements each count of pairs stands the wrong way round.

    The coefficients of the Gaussian binomial, by its product: exact, as integers.
    """
    most = first * second
    ways = [1] + [0] * most
    for step in range(1, first + 1):
        for place in range(most, second + step - 1, -1):
            ways[place] -= ways[place - second - step]
        for place in range(step, most + 1):
            ways[place] += ways[place - step]
    return ways


# One number over the repeats of a case on one side of a comparison.


@dataclass(frozen=True, slots=True)
class Sample:
    """The answers of all repeats, in the order in which they were made; at least one."""

    findings: tuple[Finding, ...]
    left_out: tuple[Finding, ...] = ()
    """What is no repeat of the answer."""

    @property
    def name(self) -> str:
        return self.findings[0].name

    @property
    def unit(self) -> Unit:
        return self.findings[0].unit

    @property
    def count(self) -> int:
        return len(self.findings)

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(one.value for one in self.findings)

    @property
    def lows(self) -> tuple[float, ...]:
        """What each cannot be below."""
        return tuple(one.low for one in self.findings)

    @property
    def highs(self) -> tuple[float, ...]:
        """What each cannot be above."""
        return tuple(one.high for one in self.findings)

    @property
    def ended(self) -> tuple[float, ...]:
        """Those that are known: how far lower bounds lie apart is no scatter of what they bound."""
        return tuple(one.value for one in self.findings if not one.open_ended)

    @property
    def busy(self) -> bool:
        """Whether each machine was too busy to tell."""
        return all(one.busy for one in self.findings)

    @property
    def answered(self) -> bool:
        """Whether any of them is an answer."""
        return any(not one.no_answer for one in self.findings)

    @property
    def median(self) -> float:
        return self._middle_of(self.values)

    @property
    def middle(self) -> tuple[float, float]:
        """The interval of the one in the middle."""
        return self._middle_of(self.lows), statistics.median(self.highs)

    def _middle_of(self, values: Sequence[float]) -> float:
        """Return the middle of some; between two of which one is a bound lies no number."""
        return statistics.median_low(values) if self.open_ended else statistics.median(values)

    @property
    def resolved(self) -> tuple[float, float]:
        """The same, as far as a search could tell loads apart; what was measured, as it is."""
        return self.middle if self.searched else (self.median, self.median)

    @property
    def searched(self) -> bool:
        """Whether all of them are bounds that a search found."""
        return all(one.basis is Basis.SEARCH for one in self.findings)

    @property
    def median_is_open(self) -> bool:
        """Whether the one in the middle is only known to be as high or higher."""
        return math.isinf(self.middle[1])

    @property
    def bounded(self) -> bool:
        """Whether every one of them came with its bounds."""
        return all(one.basis is not Basis.NOTHING for one in self.findings)

    @property
    def open_ended(self) -> bool:
        """Whether one of them is only known to be as high or higher."""
        return any(one.open_ended for one in self.findings)

    def batched(self, size: int) -> Sample:
        """Return a sample in which each so many neighbours are one answer, that in their middle."""
        if size == 1:
            return self
        told = zip(
            *(batches(ends, size) for ends in (self.values, self.lows, self.highs)), strict=True
        )
        bases = {one.basis for one in self.findings}
        basis = bases.pop() if len(bases) == 1 else Basis.NOTHING
        return Sample(
            tuple(
                replace(self.findings[0], value=value, low=low, high=high, basis=basis)
                for value, low, high in told
            )
        )


def samples_of(findings: Iterable[Finding]) -> dict[tuple[str, Unit], Sample]:
    """Return the answers of several repeats, put together by what they answer."""
    found: dict[tuple[str, Unit], list[Finding]] = {}
    for one in findings:
        found.setdefault((one.name, one.unit), []).append(one)
    return {key: Sample(tuple(group)) for key, group in found.items()}


def answers_in(sample: Sample) -> Sample:
    """Return a sample without what is no repeat of its answers; as it is where it has none.

    A machine that was too busy says nothing. Nor does a lower bound below all answers: it would
    have been met whatever the switch can do. One above an answer speaks for more, and without it
    those that came to less would be chosen; it stays, and is taken as high as can be.
    """
    least = min((one.low for one in sample.findings if not one.no_answer), default=math.inf)
    calm = any(not one.busy for one in sample.findings)
    kept = tuple(
        one
        for one in sample.findings
        if not (one.busy and calm) and (math.isinf(least) or not one.is_bound or one.low > least)
    )
    return replace(
        sample, findings=kept, left_out=tuple(one for one in sample.findings if one not in kept)
    )


# How far repeats lie apart, as a share of what they find, and how many show a change.

SEEN = 0.03
"""The change that people ask to see."""
MOST_DRAWN = 0.2
"""By more, as a share of a rate, two deployments of one switch do not differ: twice of what was
ever seen."""
HALF, DOUBLE = 0.5, 1.0
"""What other numbers lose or grow by where a change is believed though nobody knows how far
deployments lie apart in them."""


def most_drawn(unit: Unit, *, more: bool) -> float:
    """Return which change of a number, up or down, may be what two deployments drew."""
    return MOST_DRAWN if unit in RATES else DOUBLE if more else HALF


def beyond_draws(unit: Unit, allowed: float, *, more: bool) -> float:
    """Return what a bound is multiplied by that no two deployments miss by what they draw.

    It allows a change already: what they draw may be a part of that, and comes to no more.
    """
    most = max(allowed, most_drawn(unit, more=more))
    return (1 + most) / (1 + allowed) if more else (1 - most) / (1 - allowed)


NORMAL_95 = 1.96
POWER = 0.8416
"""Quantile of the normal distribution at 80 %: so often is a change of that size to be seen."""
EFFICIENCY = 3 / math.pi
"""Ranks need so many times fewer samples than averages would, of what scatters normally."""
ENOUGH = 9
"""With so many repeats, less one for each group, it is they that say what others will do."""
MOST_REPEATS = 9_999
"""More nobody makes."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """The standard deviation of repeats, as a share of their mean."""

    share: float
    freedom: int
    """How many repeats it rests on, less one for each group."""
    groups: tuple[tuple[float, ...], ...] = ()
    """Their logarithms."""

    def margin(self, first: int, second: int) -> float:
        """Return how far the means of so many repeats lie apart by chance, at 95 %, as a share."""
        return student_95(self.freedom) * self.share * math.sqrt(1 / first + 1 / second)

    @property
    def presumes_normal(self) -> bool:
        """Whether there are too few repeats to go by anything but the normal distribution."""
        return self.freedom < ENOUGH or not self.groups

    def by_chance(
        self, first: int, second: int, unit: Unit, allowed: float, *, more: bool
    ) -> float:
        """Return what a bound is multiplied by that chance alone is not to miss.

        Of two or three repeats a margin may be anything: beyond_draws() it is no chance.
        """
        margin, most = self.margin(first, second), beyond_draws(unit, allowed, more=more)
        return min(math.exp(margin), most) if more else max(math.exp(-margin), most)

    def repeats_to_see(self, change: float = SEEN) -> int:
        """Return how many repeats on each side show a change of that share, 4 times out of 5.

        What counts for ranks is how often one with the change lies above one without it (Noether).
        That is counted over all pairs of repeats: where they lie in two states, it is far more
        often than their standard deviation lets expect. No shape needs many more than the normal.
        """
        needed = 2 * ((NORMAL_95 + POWER) * self.share / change) ** 2 / EFFICIENCY
        if not self.presumes_normal:
            beyond = self._above(math.log1p(change)) - 0.5
            by_pairs = ((NORMAL_95 + POWER) / beyond) ** 2 / 6 if beyond > 0 else math.inf
            needed = min(needed, by_pairs)
        return min(MOST_REPEATS, max(least_repeats(), math.ceil(min(needed, MOST_REPEATS))))

    def _above(self, shift: float) -> float:
        """Return how often one repeat lies above another of its group once it is shifted."""
        above = pairs = 0.0
        for group in self.groups:
            for one, other in itertools.permutations(group, 2):
                above += 1.0 if one + shift > other else 0.5 if one + shift == other else 0.0
                pairs += 1
        return above / pairs


def scatter_of(groups: Iterable[Sequence[float]]) -> Scatter | None:
    """Return the scatter of several groups of repeats together; None where nothing is repeated."""
    repeated = [group for group in groups if len(group) > 1 and min(group) > 0]
    logs = tuple(tuple(math.log(value) for value in group) for group in repeated)
    freedom = sum(len(group) - 1 for group in logs)
    if not freedom:
        return None
    squares = sum(statistics.variance(group) * (len(group) - 1) for group in logs)
    return Scatter(math.sqrt(squares / freedom), freedom, logs)


def scatters_of(cases: Iterable[Mapping[tuple[str, Unit], Sample]]) -> dict[str, Scatter]:
    """Return how far repeats lie apart, for each number over all cases, as far as that is known.

    Deployments of one case lie as far apart as repeats of it: each of these is a draw, too. The
    first of them is what all trials came to as well, and counts once.
    """
    groups: dict[str, list[tuple[float, ...]]] = {}
    for samples in cases:
        drawn = {told for name, _ in samples for told in undrawn(name)}
        for (name, _), sample in samples.items():
            names = undrawn(name) if name in drawn else (name, *undrawn(name))
            for told in names:
                groups.setdefault(told, []).append(() if sample.busy else sample.ended)
    known = {name: scatter_of(values) for name, values in groups.items()}
    return {name: scatter for name, scatter in known.items() if scatter is not None}


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
    """Single numbers without bounds, of which nobody knows how far they can be off; or lower bounds
    above which a side can be anything; or a machine that was too busy to tell."""


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
        return self.change is not Change.NONE


def difference_of(base: Sample, other: Sample, scatter: Scatter | None = None) -> Difference:
    """Judge the change from one sample to another by the best means that they allow.

    `scatter` is what is known of repeats of this number, also from other cases.
    """
    if base.busy or other.busy:
        return Difference(Means.NOTHING, Change.NONE, None)
    found = _judged(base, other, scatter)
    open_ended = base.open_ended or other.open_ended
    if open_ended and not found.significant and None in (found.least, found.most):
        return replace(found, means=Means.NOTHING)  # it may be anything above its lower bound
    return found


def _judged(base: Sample, other: Sample, scatter: Scatter | None) -> Difference:
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
        None if math.isinf(least) or (least == 0 and base.open_ended) else least - 1,
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
        # Of two or three repeats a margin may be anything. What is beyond what two deployments
        # draw, and beyond what repeats were seen to lie apart, is no chance.
        drawn = -math.log1p(-most_drawn(base.unit, more=False))
        seen = max((max(one) - min(one) for one in scatter.groups), default=0.0)
        margin = min(scatter.margin(base.count, other.count), max(drawn, seen))
        factor = math.exp(margin / 2)
        before, after = _wider(before, factor), _wider(after, factor)
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
    if before[0] < 0 or before[1] <= 0:
        return None, None
    least = None if math.isinf(before[1]) else after[0] / before[1] - 1
    unknown = math.isinf(after[1]) or before[0] == 0
    most = None if unknown else after[1] / before[0] - 1
    return least, most


def _share(base: Sample, other: Sample) -> float | None:
    """Return the change of what was found; None where a bound stands for it, or a zero."""
    if base.median_is_open or other.median_is_open:
        return None
    return other.median / base.median - 1 if base.median > 0 else None
