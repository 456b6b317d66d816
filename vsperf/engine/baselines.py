"""Criteria that refer to a baseline become plain bounds before anything is started.

So a run holds itself against numbers that stand in its own record, whatever becomes of the
baseline meanwhile; and a baseline that does not fit is an error of the specification.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vsperf.analysis.answers import (
    ALONE,
    Finding,
    alone,
    cleanest,
    finding_of,
    findings_of,
    in_regime,
    names_of_draws,
    parted,
    spans_in,
    spans_of,
    undrawn,
)
from vsperf.analysis.difference import Sample, answers_in, samples_of, scatter_of, scatters_of
from vsperf.analysis.environment import PROSE, contrasts, flat, obstacle, settings
from vsperf.analysis.sides import Side, baseline_side
from vsperf.analysis.summary import beside_noise, too_busy_to_tell
from vsperf.config.case import Case
from vsperf.config.expect import Bound, Expectation
from vsperf.engine.criteria import latencies_ns
from vsperf.errors import Location, Problem, SpecError, VsperfError
from vsperf.host.facts import environment
from vsperf.methods.base import method_of
from vsperf.quantities.human import End, outward
from vsperf.quantities.quantity import UnitError
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import MeasuredTime, Ratio
from vsperf.records.files.view import CaseView
from vsperf.records.regime import Regime
from vsperf.records.result import amount, latency_trials

Facts = Callable[[], Mapping[str, Any]]
FINE_NS, FINE = 1_000, 6
"""Below so many nanoseconds a bound has so many decimals of one: a bit costs less than one."""


def with_baselines(
    cases: Sequence[Case], results: Path, facts: Facts = environment
) -> tuple[Case, ...]:
    """Return the cases with every criterion on a baseline as a bound; raise all that does not fit.

    `facts` says what this machine is; it is asked only where there is a baseline that was really
    measured.
    """
    if all(one.known for case in cases for one in case.spec.expect):
        return tuple(cases)
    return _Resolver(results, facts).all(cases)


class _Resolver:
    """Looks up each baseline once, and gathers what is wrong."""

    def __init__(self, results: Path, facts: Facts) -> None:
        self._results = results
        self._facts = facts
        self._sides: dict[str, Side] = {}
        self._host: dict[str, str | None] | None = None
        self._problems: list[Problem] = []

    def all(self, cases: Iterable[Case]) -> tuple[Case, ...]:
        found = tuple(self._case(case) for case in cases)
        if self._problems:
            raise SpecError(dict.fromkeys(self._problems))
        return found

    def _case(self, case: Case) -> Case:
        expect = tuple(
            one if one.known else self._expectation(case, number, one)
            for number, one in enumerate(case.spec.expect)
        )
        return replace(case, spec=case.spec.model_copy(update={"expect": expect}))

    def _expectation(self, case: Case, number: int, one: Expectation) -> Expectation:
        origin = case.origins.get(f"expect.{number}.baseline")
        where = Location(origin) if origin else None
        try:
            side = self._side(str(one.baseline))
            views = self._fitting(case, side)
            found = _bounds(one, case, side, views)
        except VsperfError as error:
            self._problems += [replace(problem, where=where) for problem in error.problems]
            return one
        return one.model_copy(update=found)

    def _side(self, name: str) -> Side:
        if name not in self._sides:
            self._sides[name] = baseline_side(self._results, name)
        return self._sides[name]

    def _fitting(self, case: Case, side: Side) -> list[CaseView]:
        """Return the repeats of a case in a baseline; refuse what has nothing to do with it."""
        views = [view for view in side.cases if view.label == case.label]
        simulated = case.spec.testbed.simulated
        if not views:
            known = ", ".join(dict.fromkeys(view.label for view in side.cases))
            raise _unfit(side, f"has no case {case.label}", f"it has {known or 'none'}")
        if any(view.simulated is not simulated for view in views):
            kinds = ("a real switch", "a model")
            why = f"the baseline is of {kinds[not simulated]}, the case of {kinds[simulated]}"
            raise _unfit(side, f"cannot be held against {case.label}", why)
        wrong = [*self._other_settings(case, views), *self._other_host(simulated, side)]
        if wrong:
            raise _unfit(side, f"does not fit {case.label}", "; ".join(wrong))
        return views

    def _other_settings(self, case: Case, views: Sequence[CaseView]) -> list[str]:
        if all(view.planned.id == case.id for view in views):
            return []
        now = flat(case.spec.model_dump(mode="json", exclude={*PROSE}))
        then = [settings(view.planned) for view in views]
        return _differing(then, now, case.spec.testbed.simulated)

    def _other_host(self, simulated: bool, side: Side) -> list[str]:
        if simulated:
            return []
        if self._host is None:
            self._host = flat({"host": self._facts()["host"]})
        then = [flat({"host": run.header.environment.get("host")}) for run in side.runs]
        return _differing(then, self._host, simulated)


def _differing(
    then: Sequence[Mapping[str, str | None]], now: Mapping[str, str | None], simulated: bool
) -> list[str]:
    found = contrasts([then, [now]])
    reasons = ((obstacle(one, simulated=simulated), one) for one in found)
    return [
        f"other {what}: {one.name} was {one.text(0)}, and is {one.text(1)}"
        for what, one in reasons
        if what is not None
    ]


def _bounds(one: Expectation, case: Case, side: Side, views: Sequence[CaseView]) -> dict[str, Any]:
    """Return what a criterion asks for: the median of the baseline's repeats, and the change.

    Of a goal that was answered on several deployments less is asked, by as much as as many of them
    lie apart by chance. Where it was answered by regime, a regime is held against the same.
    """
    views = [view for view in views if not too_busy_to_tell(view.record)] or views
    answers = _answers(views)
    numbers = _numbers(one, views, answers)
    if not numbers:
        reasons = [view.record.reason for view in views if view.record and view.record.reason]
        why = "; ".join(dict.fromkeys(reasons)) or "it came to no result, or to none to be believed"
        raise _unfit(side, f"has no {one.metric} of {case.label}", why)
    metrics = case.spec.search.metrics()
    unit = Unit.NANOSECONDS if one.percentile is not None else metrics[one.metric]
    open_ended = any(is_bound for _, is_bound in numbers)
    middle = statistics.median_low if open_ended else statistics.median  # as of a sample
    value = middle([value for value, _ in numbers])
    if one.at_most and open_ended:
        why = f"it is only known to be {amount(value, unit, End.LOWER)} or more"
        raise _unfit(side, f"sets no upper end for {one.metric} of {case.label}", why)
    if unit is Unit.FACTOR and not value:
        why = "it is only known to be so much or less, as the first switch may be faster"
        raise _unfit(side, f"sets no lower end for {one.metric} of {case.label}", why)
    change = one.rise.value if one.rise is not None else -(one.drop or Ratio.parse("0%")).value
    end = End.UPPER if one.at_most else End.LOWER
    if one.metric not in case.spec.search.asked():
        # Of the size of the number: a difference may lie below 0, and more of it is nearer to 0.
        scatter = scatter_of([[number for number, is_bound in numbers if not is_bound]])
        less = 1.0
        if scatter is not None:
            less = scatter.by_chance(len(numbers), 1, unit, abs(float(change)), more=one.at_most)
        asked = value + abs(value) * float(change)
        whole = unit is Unit.RATIO and asked <= 1 < asked * less
        changed = 1.0 if whole else asked * less
        try:
            return {
                "held_to": _as_bound(changed, unit, end),
                "spans_ns": _spans(views),
                "apart": None if scatter is None else _share(abs(less - 1)),
            }
        except UnitError as error:
            what = f"says nothing that {one.metric} of {case.label} could be held to"
            raise _unfit(side, what, f"{amount(value, unit)} {one.change}: {error}") from error
    samples = _of_goal(one.metric, answers)
    by_chance = _by_chance(samples, method_of(case.spec).deployments, abs(float(change)))
    all_time = by_chance.get(one.metric)
    apart = None if all_time is None else _share(1 - all_time)

    def bound(median: float, name: str = one.metric) -> Bound:
        less = by_chance.get(name, all_time or 1.0)
        return _as_bound(median * float(1 + change) * less, unit, end)

    others = {
        name: bound(found.median, name) for name, found in samples.items() if name != one.metric
    }
    spans = spans_of(view.result for view in views if view.result is not None)
    if ALONE in spans and (clean := _cleanest(one.metric, views)):
        others[alone(one.metric)] = bound(statistics.median(clean))
    return {"held_to": bound(value), "held_by": others, "spans_ns": spans, "apart": apart}


def _spans(views: Sequence[CaseView]) -> dict[str, tuple[int, int]]:
    """Return the round trips by regime; where one repeat met both, all of them together did."""
    both = [met for view in views if len(met := spans_in(view)) > 1]
    told = spans_of(view.result for view in views if view.result is not None)
    return both[0] if both and len(told) < len(both[0]) else told


def _share(value: float) -> Ratio:
    return Ratio.parse(f"{100 * value:.2g}%")


def _cleanest(goal: str, views: Sequence[CaseView]) -> tuple[float, ...]:
    """Return what repeats found of a goal, as answers by regime are found."""
    results = [view.result for view in views if view.result is not None]
    goals = [cleanest(one) for each in results for one in each.goals if one.goal == goal]
    found = tuple(each for one in goals for each in finding_of(goal, one))
    return answers_in(Sample(found)).values if found else ()


def _answers(views: Sequence[CaseView]) -> dict[str, Sample]:
    """Return what repeats and deployments found, by name, without what is no repeat of it."""
    told = [(view.result, beside_noise(view.record)) for view in views if view.result is not None]
    boundary = parted(result for result, _ in told)
    every = (
        one for result, noise in told for one in findings_of(result, boundary=boundary, noise=noise)
    )
    return {name: answers_in(sample) for (name, _), sample in samples_of(every).items()}


def _of_goal(goal: str, answers: Mapping[str, Sample]) -> dict[str, Sample]:
    """Return what was found of a goal, of all trials, by regime and over deployments."""
    regimes = (in_regime(goal, one) for one in Regime)
    wanted = (goal, *names_of_draws(goal).values(), *regimes)
    return {name: answers[name] for name in wanted if name in answers}


def _by_chance(samples: Mapping[str, Sample], deployments: int, allowed: float) -> dict[str, float]:
    """Return by name what as many deployments as a case has may come to by chance, as a share.

    What a number scatters by is told by the same number, and by the deployments that it is of. One
    that is not over draws is of a single deployment in each repeat.
    """
    scatters = scatters_of([{(name, one.unit): one for name, one in samples.items()}])
    return {
        name: scatter.by_chance(
            samples[name].count if name in samples else 1,
            deployments if undrawn(name) else 1,
            Unit.FPS,
            allowed,
            more=False,
        )
        for name, scatter in scatters.items()
    }


def _numbers(
    one: Expectation, views: Sequence[CaseView], answers: Mapping[str, Sample]
) -> list[tuple[float, bool]]:
    """Return what each repeat found, and whether that is only a lower bound.

    Where regimes were asked and not all trials together, it is what is found in the slowest one.
    """
    if one.percentile is not None:
        latency = (latency_trials(view.standing_trials, view.result) for view in views)
        found = (latencies_ns(one, trials) for trials in latency)
        return [(max(value for value, _ in repeat), False) for repeat in found if repeat]
    regimes = [in_regime(one.metric, regime) for regime in Regime]
    met = [answers[name] for name in regimes if name in answers]
    slowest = min(met, key=lambda sample: sample.median, default=None)
    sample = answers.get(one.metric, slowest)
    findings = () if sample is None else sample.findings
    return [(_end(finding, one), finding.open_ended) for finding in findings]


def _end(finding: Finding, one: Expectation) -> float:
    """Return what a criterion is held to: of a ratio what it may have been, as of a search."""
    if finding.unit is not Unit.FACTOR:
        return finding.value
    return finding.high if one.at_most else finding.low


def _as_bound(value: float, unit: Unit, end: End) -> Bound:
    """Write a bound as a user would, rounded so that it asks for no more than it means."""
    match unit:
        case Unit.FPS:
            return Bound.parse(f"{outward(value, 0, end)}fps")
        case Unit.BPS:
            return Bound.parse(f"{outward(value, 0, end)}bit/s")
        case Unit.NANOSECONDS:
            decimals = 0 if abs(value) >= FINE_NS else FINE
            return Bound.parse(str(MeasuredTime(outward(value, decimals, end))))
        case Unit.FACTOR:
            return Bound.parse(f"{float(outward(value, 6, end)):.6f}")
        case Unit.RATIO:
            return Bound.parse(str(Ratio(outward(value, 12, end))))
        case _:
            return Bound.parse(str(outward(value, 0, end)))


def _unfit(side: Side, what: str, why: str) -> SpecError:
    fix = f"`vsperf baseline set {side.name} RUN` with a run of the same, or another baseline"
    return SpecError([Problem(f"the baseline {side.name} {what}", None, why, fix)])
