"""A criterion on a baseline: held against the same number, of the same regime, over deployments."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vsperf.analysis.answers import (
    ALONE,
    alone,
    findings_of,
    in_regime,
    may_be_negative,
    names_of_draws,
    spans_met,
    undrawn,
)
from vsperf.analysis.difference import Sample, Scatter, beyond_draws, samples_of, scatter_of
from vsperf.config.case import CaseSpec
from vsperf.config.expect import Bound, Expectation
from vsperf.quantities.human import human_fps, human_interval
from vsperf.quantities.unit import Unit
from vsperf.records.regime import Boundary, Regime, boundary_among
from vsperf.records.result import GoalResult, Limit, SearchResult
from vsperf.records.run import Check
from vsperf.records.trial import Trial

Spans = Mapping[str, tuple[int, int]]
"""The shortest and the longest round trip by regime, or of the only one."""
Like = tuple[str, Sample, Bound]
"""A number by its name, and what a baseline asks for of it."""
ONE_DRAW = (
    "the baseline and this case are of one deployment each, one draw, and may differ by no more "
    "than these drew; `--repeat` of the baseline's run, or `search.draws` of a throughput, tells"
)
OF_ITS_MOMENT = (
    "what a switch came to in turns is of its moment, and no other session is held against it; "
    "its ratio is, such as ratio_b"
)


def goal_of(expected: Expectation, result: SearchResult) -> GoalResult | None:
    """Return the answer to the goal that a criterion is on."""
    return next((one for one in result.goals if one.goal == expected.metric), None)


def of_one_draw(expected: Expectation, spec: CaseSpec, result: SearchResult) -> bool:
    """Whether nobody knows how far deployments lie apart; a model has no draw."""
    goal = goal_of(expected, result)
    drawn = goal is not None and scatter_of_draws(goal) is not None
    known = expected.apart is not None or drawn or bool(spec.sides)
    return expected.baseline is not None and not known and not spec.testbed.simulated


def fewer_draws(expected: Expectation, result: SearchResult) -> str | None:
    """Say so where fewer deployments have an answer than what is asked allows for."""
    goal = goal_of(expected, result)
    draws = None if goal is None else goal.believed_draws
    if goal is None or draws is None or len(draws.told) == draws.asked:
        return None
    if names_of_draws(goal.goal)[draws.view] not in expected.held_by:
        return None
    return (
        f"{len(draws.told)} of {draws.asked} deployments have an answer, and as few may come to "
        "this by chance"
    )


def drawn_by_less(expected: Expectation, unit: Unit, bound: float) -> float | None:
    """Return what a bound is multiplied by that is missed by more than two deployments draw.

    The change that is allowed is in it already. None where the number is 0 or may lie about it, so
    that no share of it says anything.
    """
    if may_be_negative(expected.metric) or not bound:
        return None
    allowed = float(expected.rise or expected.drop or 0)
    return beyond_draws(unit, allowed, more=expected.at_most)


def scatter_of_draws(goal: GoalResult) -> Scatter | None:
    """Return how far the deployments of a case lie apart by its own; None where too few tell."""
    told = () if goal.draws is None else goal.draws.told
    return scatter_of([[one.lower_fps or 0 for one in told]])


def in_another_regime(
    expected: Expectation, spec: CaseSpec, result: SearchResult, trials: Sequence[Trial]
) -> str | None:
    """Say that a number is not held against its baseline, as that is from another regime.

    Goals have answers by regime, which are found one by one. Of a case that met both nobody knows
    where the trials were made that a figure or a percentile is from.
    """
    own, spans = spans_met(result, lambda: trials), expected.spans_ns
    if expected.metric in spec.search.asked() or not own or not spans:
        return None
    if ALONE in own and ALONE in spans:
        same = boundary_among([spans[ALONE], own[ALONE]]) is None
    else:
        same = ALONE not in own and ALONE not in spans
    return None if same else _moved(spans, own)


def like_it(
    expected: Expectation, goal: GoalResult, result: SearchResult, trials: Sequence[Trial]
) -> list[Like] | str:
    """Return the numbers that the baseline has, too, and what it asks for; none if all trials tell.

    They are those of each regime that both were in, over deployments where both have that. Where
    they were in none that is the same, it is said so.
    """
    held, spans = dict(expected.held_by), expected.spans_ns
    met = SearchResult(goals=(goal,), round_trips_ns=result.round_trips_ns)
    own = spans_met(met, lambda: trials)
    boundary = _boundary(spans, own)
    if boundary is not None and ALONE in spans and alone(goal.goal) in held:
        regime = boundary.holding(*spans[ALONE])
        held |= {} if regime is None else {in_regime(goal.goal, regime): held[alone(goal.goal)]}
    found = samples_of(findings_of(met, boundary=boundary))
    samples = {name: sample for (name, _), sample in found.items()}
    if _elsewhere(spans, own) or (boundary is not None and ALONE in spans and ALONE in own):
        return _moved(spans, own)  # and no deployment of one of them says anything of the other
    both = [name for name in held if name in samples]
    drawn = [name for name in names_of_draws(goal.goal).values() if name in both]
    closer = {told for name in drawn for told in undrawn(name)}
    regimes = [in_regime(goal.goal, one) for one in Regime]
    names = [*drawn, *(name for name in regimes if name in both and name not in closer)]
    if names:
        return [(name, samples[name], held[name]) for name in names]
    one_alone = bool(own and spans) and (ALONE in own) != (ALONE in spans)
    if one_alone or all(any(name in told for name in regimes) for told in (held, samples)):
        return _moved(spans, own)
    return []


def _elsewhere(spans: Spans, own: Spans) -> bool:
    """Whether what is near, or far, of one of them is another distance than of the other."""
    return any(
        boundary_among([spans[one], own[one]]) for one in Regime if one in spans and one in own
    )


def _moved(spans: Spans, own: Spans) -> str:
    there = " and ".join(f"{least} to {most} ns" for least, most in spans.values())
    here = " and ".join(f"{least} to {most} ns" for least, most in own.values())
    return (
        f"the CPUs of generator and switch were {here} apart there and back, and {there} when "
        "the baseline was measured: nobody can tell"
    )


def _boundary(spans: Spans, own: Spans) -> Boundary | None:
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
    if met is False and any(one.limit is Limit.VNF for one in sample.findings):
        return Check(criterion=criterion, met=None, found=f"{found}, limited by {Limit.VNF}")
    if met is None:
        found += ": the interval is too wide to tell"
    return Check(criterion=criterion, met=met, found=found)
