"""A series of numbers cut into stretches of one level, by the least bits that describe it.

Where the numbers before and after have nothing to do with each other, such as on another machine, a
series is cut before it is looked at, and a cut is no change.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise

from vsperf.analysis.repeats import FEWEST, SURE, order_p
from vsperf.records.regime import Regime

FINEST = 2**13 - 1
"""The greatest number has so many steps, as the library takes them by itself."""
COARSEST = 12
"""It has at least so many, or the library would tell no numbers apart."""
MOST_STATES = 2
"""Levels that are looked at together: whether each of them comes back."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Numbers that lie next to each other on one level."""

    begin: int
    end: int
    """One behind its last number."""
    mean: float
    cut: bool
    """Whether it begins where the series is cut; the first one does not."""
    answered: bool = True
    """Whether anything on it is an answer; where nothing is, its mean is no level."""


def segments_of(
    values: Sequence[float],
    ground: Sequence[Hashable],
    *,
    levels: bool = True,
    answered: Sequence[bool] | None = None,
) -> tuple[Segment, ...]:
    """Return the stretches of a series; it is cut wherever what stands in `ground` changes.

    Without `levels` nobody looks for any in between. What is not `answered` is in the stretch that
    it follows, and says nothing of its level, but is on its own ground all the same.
    """
    found: list[Segment] = []
    for _, places in groupby(range(len(values)), key=lambda place: ground[place]):
        stretch = list(places)
        told = [place for place in stretch if answered is None or answered[place]]
        kept = told or stretch
        sizes = _sizes([values[place] for place in kept]) if levels and told else [len(kept)]
        begin, done, cut = stretch[0], 0, bool(found)
        for size in sizes:
            mean = sum(values[place] for place in kept[done : done + size]) / size
            done += size
            end = kept[done] if done < len(kept) else stretch[-1] + 1
            found.append(Segment(begin, end, mean, cut, answered=bool(told)))
            begin, cut = end, False
    return tuple(found)


def differ_by_regime(segments: Sequence[Segment], met: Sequence[Regime | None]) -> bool:
    """Whether a level follows another one as most of its runs met another regime, by each of them.

    Then it is the machine that changed, as far as anybody can tell, and no switch.
    """
    mostly = []
    for segment in segments:
        there = met[segment.begin : segment.end]
        mostly.append(next((one for one in Regime if 2 * there.count(one) > len(there)), None))
    return any(
        not after.cut and None not in (one, other) and one is not other
        for (one, other), after in zip(pairwise(mostly), segments[1:], strict=True)
    )


def _sizes(values: Sequence[float]) -> list[int]:
    """Return how long the stretches of one level are; numbers that are not positive make one."""
    if len(values) < 2 or min(values) <= 0 or min(values) == max(values):
        return [len(values)]
    from jumpavg import classify

    finest = max(values) / FINEST
    ordered = order_p(values) < SURE
    unit = max(finest, min(_grid(values), max(values) / COARSEST))
    if ordered or _in_steps(values):
        unit = finest
    found = classify([float(value) for value in values], unit=unit)
    stretches = [[float(value) for value in one.run_list] for one in found]
    if not ordered and len(values) >= FEWEST:
        stretches = _without_states(stretches, unit)
    return [len(stretch) for stretch in stretches]


def _in_steps(values: Sequence[float]) -> bool:
    """Return whether each number was found again at once, and never after another.

    Chance hardly makes that of more than two, and few numbers have no order that is a surprise.
    """
    rows = [len(list(row)) for _, row in groupby(values)]
    return len(rows) == len({*values}) > MOST_STATES and min(rows) > 1


def _without_states(stretches: list[list[float]], unit: float) -> list[list[float]]:
    """Put together what comes and goes, in an order that chance could make.

    Two levels that both come back are states of a machine, and so is one that a single run fell
    out of. What is on a level that was nowhere before stays, and so does what left and came back.
    """
    levels = list[int]()
    for place, stretch in enumerate(stretches):
        known = zip(levels, stretches, strict=False)
        before = (level for level, old in known if _same(old, stretch, unit))
        levels.append(next(before, place))
    joined = {place for place in range(1, len(levels)) if levels[place - 1] == levels[place]}
    for place in range(1, len(levels) - 1):
        if len(stretches[place]) == 1 and levels[place - 1] == levels[place + 1]:
            joined |= {place, place + 1}
    for two in combinations(sorted({*levels}), MOST_STATES):
        places = [place for place, level in enumerate(levels) if level in two]
        rows = len(list(groupby(places, key=levels.__getitem__)))
        if rows >= 2 * MOST_STATES:
            joined |= {*range(places[0] + 1, places[-1] + 1)}
    found: list[list[float]] = []
    for place, stretch in enumerate(stretches):
        if place in joined:
            found[-1] += stretch
        else:
            found.append(list(stretch))
    return found


def _same(one: Sequence[float], other: Sequence[float], unit: float) -> bool:
    """Return whether two stretches are on one level, if they lay next to each other."""
    from jumpavg import classify

    if min(one) <= max(other) and min(other) <= max(one):
        return True
    return len(classify([one, other], unit=unit)) == 1


def _grid(values: Sequence[float]) -> float:
    """Return how near two numbers lie that are not the same.

    Searches find loads of a grid, so their numbers repeat exactly, and to the library a few equal
    ones are a level that was met to all its digits. Neighbours on the grid are as good as the same.
    """
    return min(high - low for low, high in pairwise(sorted({*values})))
