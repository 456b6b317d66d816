"""Whether numbers that were found one after the other depend on each other.

What is said of repeats by their count alone presumes that each could have come at any place. A
machine that stays in a state for longer than a repeat makes neighbours alike, and then twenty of
them say no more than a few would. The order tells, and nothing else is presumed of the numbers.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import Any

FEWEST = 6
"""Fewer have too few orders for one of them to be a surprise."""
SURE = 0.01
"""An order that chance makes more seldom than this is no chance. It is lower than the level of
changes, as every wrong alarm costs a judgement."""
REST = 0.2
"""Where numbers were found to depend, what is put together is to show no hint of it any more."""
MOST_ORDERS = 720
"""So many orders are gone through one by one; of more, some are drawn."""
DRAWN = 2_000
ROUNDING = 1e-12
"""Sums of the same numbers in another order differ by less."""


def order_p(values: Sequence[float]) -> float:
    """Return how often chance alone puts the numbers so that neighbours lie as near as here.

    Every order of these numbers is as likely where they do not depend on each other, whatever the
    shape of their scatter. Of few, or of such as are all equal, no order is a surprise.
    """
    if len(values) < FEWEST or min(values) == max(values):
        return 1.0
    import numpy

    scaled = (numpy.array(values, dtype=float) - min(values)) / (max(values) - min(values))
    if math.factorial(len(values)) <= MOST_ORDERS:
        orders = numpy.array(list(itertools.permutations(scaled)))
        return float((_apart(orders) <= _apart(scaled) + ROUNDING).mean())
    drawn = numpy.random.default_rng(0).permuted(numpy.tile(scaled, (DRAWN, 1)), axis=1)
    as_near = int((_apart(drawn) <= _apart(scaled) + ROUNDING).sum())
    return (as_near + 1) / (DRAWN + 1)


def _apart(orders: Any) -> Any:
    """Return how far neighbours lie apart in each order, as a sum of squares."""
    import numpy

    return (numpy.diff(orders, axis=-1) ** 2).sum(axis=-1)


def taken_together(values: Sequence[float]) -> int | None:
    """Return how many neighbours count as one number, so that the rest do not depend on each other.

    One where nothing shows that they do. None where they do, and too few are left to see whether
    it helped.
    """
    if order_p(values) >= SURE:
        return 1
    size = 2
    while len(values) // size >= FEWEST:
        if order_p(batches(values, size)) >= REST:
            return size
        size *= 2
    return None


def batches(values: Sequence[float], size: int) -> tuple[float, ...]:
    """Return the middle of each so many neighbours; the first ones that fill no batch are left out.

    What has no end stays so.
    """
    return tuple(statistics.median(batch) for batch in _cut(values, size))


def averages(values: Sequence[float], size: int) -> tuple[float, ...]:
    """Return the average of each so many neighbours, likewise."""
    return tuple(statistics.fmean(batch) for batch in _cut(values, size))


def _cut(values: Sequence[float], size: int) -> list[Sequence[float]]:
    first = len(values) % size
    return [values[begin : begin + size] for begin in range(first, len(values), size)]
