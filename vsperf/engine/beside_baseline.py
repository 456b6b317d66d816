"""A criterion on a baseline: held against the same number, of the same regime, over deployments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from vsperf.analysis.answers import (
    ALONE,
    alone,
    findings_of,
    in_regime,
    names_of_draws,
    spans_of,
)
from vsperf.analysis.difference import Sample, samples_of
from vsperf.config.case import CaseSpec
from vsperf.config.expect import Bound, Expectation
from vsperf.quantities.human import human_fps, human_interval
from vsperf.records.regime import Boundary, Regime, boundary_among
from vsperf.records.result import GoalResult, SearchResult
from vsperf.records.run import Check

ONE_DRAW = (
    "the baseline and this case are of one deployment each, one draw, and may differ by no more "
    "than these drew; `search.draws` of a search, or `--repeat` of the baseline's run, tells"
)


def of_one_draw(expected: Expectation, spec: CaseSpec, result: SearchResult) -> bool:
    """Whether nobody knows how far deployments lie apart, as of a model, which has no draw."""
    drawn = any(goal.goal == expected.metric and goal.draws is not None for goal in result.goals)
    known = expected.apart is not None or drawn or bool(spec.sides)
    return expected.baseline is not None and not known and not spec.testbed.simulated


def in_another_regime(expected: Expectation, spec: CaseSpec, result: SearchResult) -> str | None:
    """Say that a number is not held against its baseline, as that is from another regime.

    Goals have answers by regime, which are found one by one.
    """
    own = spans_of([result])
    spans = expected.spans_ns
    if expected.metric in spec.search.asked() or ALONE not in spans or ALONE not in own:
        return None
    apart = boundary_among([spans[ALONE], own[ALONE]])
    return None if apart is None else _moved(spans, own)


def like_it(
    expected: Expectation, goal: GoalResult, met: SearchResult
) -> tuple[str, Sample, Bound] | str | None:
    """Return the number that the baseline has, too, and what it asks for; None if all trials tell.

    It is one over deployments, or else in a regime: of several that in which the machine was for
    longest. Where both met one alone, and not the same, it is said so.
    """
    held, spans = dict(expected.held_by), expected.spans_ns
    own = spans_of([met])
    boundary = _boundary(spans, own)
    if boundary is not None and ALONE in spans and alone(goal.goal) in held:
        regime = boundary.holding(*spans[ALONE])
        held |= {} if regime is None else {in_regime(goal.goal, regime): held[alone(goal.goal)]}
    found = samples_of(findings_of(met, boundary=boundary))
    samples = {name: sample for (name, _), sample in found.items()}
    by_share = sorted(goal.regimes, key=lambda one: Fraction(one.share), reverse=True)
    regimes = [in_regime(goal.goal, one) for one in (*(one.regime for one in by_share), *Regime)]
    for name in (*names_of_draws(goal.goal).values(), *regimes):
        if name in held and name in samples:
            return name, samples[name], held[name]
    if any(name in held for name in regimes) and any(name in samples for name in regimes):
        return _moved(spans, own)
    return None


def _moved(spans: Mapping[str, tuple[int, int]], own: Mapping[str, tuple[int, int]]) -> str:
    there = " and ".join(f"{least} to {most} ns" for least, most in spans.values())
    here = " and ".join(f"{least} to {most} ns" for least, most in own.values())
    return (
        f"the CPUs of generator and switch were {here} apart there and back, and {there} when "
        "the baseline was measured: nobody can tell"
    )


def _boundary(
    spans: Mapping[str, tuple[int, int]], own: Mapping[str, tuple[int, int]]
) -> Boundary | None:
    """Return what is near and far by whoever met both, or by what each met alone."""
    for one in (own, spans):
        if Regime.NEAR in one and Regime.FAR in one and one[Regime.NEAR][1] < one[Regime.FAR][0]:
            return Boundary(one[Regime.NEAR][1], one[Regime.FAR][0])
    return boundary_among(one[ALONE] for one in (spans, own) if ALONE in one)


def check_like(criterion: str, sample: Sample, least: float) -> Check:
    """Judge the middle of what was found against a bound that was made of the same."""
    lower, upper = sample.middle
    told = human_interval(lower, None if math.isinf(upper) else upper, human_fps)
    found = told if sample.count == 1 else f"{told}, the middle of {sample.count}"
    met = True if lower >= least else False if upper <= least else None
    if met is None:
        found += ": the interval is too wide to tell"
    return Check(criterion=criterion, met=met, found=found)
