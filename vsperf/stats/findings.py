"""The numbers that a result answers with, each with the interval in which the truth lies."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from vsperf.record.figure import Figure
from vsperf.record.flags import Severity, worst
from vsperf.record.limit import Limit
from vsperf.record.regime import Regime
from vsperf.record.result import GoalResult, LoadResult, PartialResult, SearchResult
from vsperf.unit import Unit

LOSSES = ("loss", "lost")
"""A figure whose name says so is better where it is less."""
DIFFERENCES = ("drift", "difference")
"""A figure whose name says so may lie below 0, which no time, rate or count does."""


class Basis(enum.StrEnum):
    """What the interval of a finding rests on."""

    SEARCH = "search"
    """Loads that held, and loads that did not."""
    SPREAD = "spread"
    """The least and the greatest of what was measured several times within one case."""
    NOTHING = "nothing"
    """Nobody knows how far a single number can be off."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One number of one case."""

    name: str
    """Such as ndr; what it was measured at stands in it where the same name has several."""
    unit: Unit
    value: float
    low: float
    """The truth is not below it."""
    high: float
    """The truth is not above it; infinite where nobody knows."""
    limit: Limit | None = None
    """What kept it from being better."""
    basis: Basis = Basis.SEARCH

    @property
    def open_ended(self) -> bool:
        """Whether it is only known to be as high or higher."""
        return math.isinf(self.high)


def more_is_better(name: str, unit: Unit) -> bool:
    """Return which way a finding gets better."""
    return unit is not Unit.NANOSECONDS and not any(word in name for word in LOSSES)


def may_be_negative(name: str) -> bool:
    """Return whether a number may lie below 0."""
    return any(word in name for word in DIFFERENCES)


def findings_of(result: SearchResult, *, curve: bool = False) -> Iterator[Finding]:
    """Yield the numbers of a result in the order of its answers.

    One that there is not, or that is not to be believed, is left out. Those by regime have its name
    behind their own, so that nothing is held against another one. Loads that were gone through
    one by one are told by the figures that follow from them; `curve` has each of them as well.
    """
    for goal in result.goals:
        yield from _of_goal(goal.goal, goal)
    for goal in result.goals:
        for one in goal.regimes:
            yield from _of_goal(in_regime(goal.goal, one.regime), one)
    for figure in result.figures:
        if figure.value is not None and worst(figure.flags) is not Severity.INVALID:
            yield _of_figure(figure, figure.value)
    for load in result.loads if curve or not result.figures else ():
        yield from _of_load(load)


def in_regime(name: str, regime: Regime) -> str:
    """Return the name of a finding that was made in a regime."""
    return f"{name} {regime}"


def regime_in(name: str) -> Regime | None:
    """Return the regime that the name of a finding says."""
    return next((one for one in Regime if name.endswith(f" {one}")), None)


def _of_goal(name: str, found: GoalResult | PartialResult) -> Iterator[Finding]:
    if found.lower_fps is not None and worst(found.flags) is not Severity.INVALID:
        high = math.inf if found.upper_fps is None else found.upper_fps
        yield Finding(name, Unit.FPS, found.lower_fps, found.lower_fps, high, found.limit)


def at_load(load_fps: int) -> str:
    """Return how the name of a finding says at which load it was found."""
    return f"at {load_fps} fps"


def _of_load(load: LoadResult) -> Iterator[Finding]:
    if load.limit is Limit.UNKNOWN:
        return
    at, loss = at_load(load.load_fps), float(Fraction(load.worst_loss_ratio))
    yield _single(f"through {at}", Unit.FPS, load.throughput_fps, load.limit)
    yield _single(f"loss {at}", Unit.RATIO, loss, load.limit)


def _of_figure(figure: Figure, value: float) -> Finding:
    name, unit, limit = figure.name, figure.unit, figure.limit
    if figure.lower is not None and figure.upper is None:
        return Finding(name, unit, figure.lower, figure.lower, math.inf, limit)
    if figure.lower is not None and figure.upper is not None:
        return Finding(name, unit, value, figure.lower, figure.upper, limit)
    spread = figure.spread
    if spread is not None and spread.runs > 1:
        return Finding(name, unit, value, spread.minimum, spread.maximum, limit, Basis.SPREAD)
    return _single(name, unit, value, limit)


def _single(name: str, unit: Unit, value: float, limit: Limit | None) -> Finding:
    return Finding(name, unit, value, value, value, limit, Basis.NOTHING)
