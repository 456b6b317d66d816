"""Which numbers of two sides are held against each other: what was found alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from vsperf.analysis.answers import (
    ALONE,
    in_regime,
    names_of_draws,
    of_all_trials,
    regime_behind,
    spans_in,
    spans_of,
)
from vsperf.analysis.difference import Sample
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.regime import Regime, boundary_among

Key = tuple[str, Unit]
"""A number by its name and unit."""


class Met:
    """Which regimes the cases of a side met, as far as anybody knows."""

    def __init__(self, cases: Sequence[CaseView]) -> None:
        self._cases = cases

    @cached_property
    def alone(self) -> bool:
        """Whether each of them met one alone."""
        results = [case.result for case in self._cases if case.result is not None]
        return bool(results) and all(ALONE in spans_of([one]) for one in results)

    @cached_property
    def spans(self) -> dict[str, tuple[int, int]]:
        """The shortest and the longest round trip of each that their answers tell of."""
        return spans_of(case.result for case in self._cases if case.result is not None)

    @cached_property
    def both(self) -> bool:
        """Whether all trials of one are of neither. Methods without goals have them read."""
        return any(len(spans_in(case)) > 1 for case in self._cases)


def told_closer(key: Key, base: Mapping[Key, Sample], other: Mapping[Key, Sample]) -> bool:
    """Whether two sides have the same number in the same regime, or over deployments.

    Then that is what is held against each other: how much of the time each was near decides what
    all trials come to, and what a deployment is like what one of them comes to.
    """
    name, unit = key
    closer = (*(in_regime(name, one) for one in Regime), *names_of_draws(name).values())
    return any((one, unit) in base and (one, unit) in other for one in closer)


def in_another(
    key: Key, base: tuple[dict[Key, Sample], Met], other: tuple[dict[Key, Sample], Met]
) -> bool:
    """Whether one side was near, and the other one far; so were all deployments of it then.

    Or whether what is near, or far, of one is another distance than of the other. One that met both
    has in its other numbers what it was near in and what it was far in.
    """
    name, unit = key
    goal = of_all_trials(name)
    if (regime := regime_behind(name)) is not None:
        spans = [met.spans[regime] for _, met in (base, other) if regime in met.spans]
        return boundary_among(spans) is not None
    (first, first_met), (second, second_met) = (
        ({one for one in Regime if (in_regime(goal, one), unit) in side}, met)
        for side, met in (base, other)
    )
    if first and second:
        return first.isdisjoint(second)
    return (first_met.alone and second_met.both) or (second_met.alone and first_met.both)
