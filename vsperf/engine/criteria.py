"""Criteria and outcome: what a finished measurement means for its testcase. Pure.

A criterion of the command line becomes one of the case's own, so that its record holds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vsperf.analysis.answers import CONTROLS, names_of_draws, over_draws
from vsperf.config.case import Case, CaseSpec
from vsperf.config.expect import Bound, Expectation
from vsperf.engine.beside_baseline import (
    OF_ITS_MOMENT,
    ONE_DRAW,
    Like,
    check_like,
    drawn_by_less,
    fewer_draws,
    goal_of,
    in_another_regime,
    like_it,
    of_one_draw,
    scatter_of_draws,
)
from vsperf.errors import UsageError
from vsperf.methods.base import method_of
from vsperf.methods.turns import Compares
from vsperf.quantities.human import End, human_fps, human_interval
from vsperf.quantities.unit import RATES, Factor, Unit
from vsperf.quantities.units import Count, LinkSpeed, MeasuredTime, Rate, Ratio
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.histogram import percentiles_ns
from vsperf.records.result import (
    Draws,
    Figure,
    GoalResult,
    Limit,
    LoadResult,
    SearchResult,
    amount,
    latency_trials,
)
from vsperf.records.run import Check, Outcome
from vsperf.records.trial import Purpose, Trial
from vsperf.records.turns import CONTROL, FIRST, is_own_name
from vsperf.search.verdict import not_the_switchs

NOT_THE_SWITCH = (Limit.GENERATOR, Limit.SERVER, Limit.VNF, Limit.HOST, Limit.UNCOUNTED)
"""Where these end a result, the switch may do better: that it is too slow does not follow."""


def check_all(
    spec: CaseSpec, result: SearchResult, trials: Iterable[Trial], cap_fps: int | None = None
) -> tuple[Check, ...]:
    """Judge every criterion of the case; `cap_fps` is the generator's, where it was measured."""
    made = tuple(trials)
    return tuple(_check(expected, spec, result, made, cap_fps) for expected in spec.expect)


def _check(
    expected: Expectation,
    spec: CaseSpec,
    result: SearchResult,
    trials: tuple[Trial, ...],
    cap_fps: int | None,
) -> Check:
    """Judge a criterion; one on a baseline is open where that and the case are hard to compare."""
    check = _check_alone(expected, spec, result, trials, cap_fps)
    if expected.baseline is not None and spec.sides and is_own_name(expected.metric):
        return check.model_copy(update={"met": None, "found": f"{check.found}: {OF_ITS_MOMENT}"})
    if (elsewhere := in_another_regime(expected, spec, result, trials)) is not None:
        return check.model_copy(update={"met": None, "found": f"{check.found}: {elsewhere}"})
    why = ONE_DRAW if of_one_draw(expected, spec, result) else fewer_draws(expected, result)
    if check.met is False and why is not None:
        unit = _unit_of(expected, spec)
        factor = drawn_by_less(expected, unit, _number(expected.bound, unit, spec))
        if (
            factor is None
            or _check_alone(expected, spec, result, trials, cap_fps, factor).met is not False
        ):
            return check.model_copy(update={"met": None, "found": f"{check.found}: {why}"})
    return check


def _unit_of(expected: Expectation, spec: CaseSpec) -> Unit:
    if expected.percentile is not None:
        return Unit.NANOSECONDS
    return spec.search.metrics()[expected.metric]


def _check_alone(
    expected: Expectation,
    spec: CaseSpec,
    result: SearchResult,
    trials: tuple[Trial, ...],
    cap_fps: int | None,
    factor: float = 1.0,
) -> Check:
    """Judge a criterion, its bound multiplied by a factor."""
    if expected.max_loss is not None:
        return _check_loss(expected, result)
    if expected.percentile is not None:
        return _check_latency(expected, spec, latency_trials(trials, result), factor)
    if expected.metric not in spec.search.asked():
        figure = next((one for one in result.figures if one.name == expected.metric), None)
        return _check_figure(expected, spec, figure, factor)
    goal = goal_of(expected, result)
    check = _check_goal(expected, spec, goal, result, trials, factor)
    if goal is None or check.met is not False or not goal.cut_short:
        return check
    # Had there been more time, the search itself would have said whose loss it was.
    elsewhere = not_the_switchs(goal, trials, cap_fps)
    if elsewhere is None or _by_draws(expected, goal):
        return check
    return check.model_copy(update={"met": None, "found": f"{check.found}: {elsewhere[1]}"})


def _by_draws(expected: Expectation, goal: GoalResult) -> bool:
    """Whether a criterion goes by several deployments, of which each answer has its own limit."""
    if goal.draws is None or goal.draws.lower_fps is None:
        return False
    name = names_of_draws(goal.goal)[goal.draws.view]
    return expected.baseline is None or name in expected.held_by


def _number(bound: Bound, unit: Unit, spec: CaseSpec) -> float:
    """Return what a criterion asks for, in the unit of its figure."""
    match bound.read(unit):
        case Rate() as rate:
            # Loads are whole frames per second, so the line rate itself is a fraction above one.
            return int(rate.frames_per_second(spec.traffic.frame_size, spec.slowest_link))
        case LinkSpeed() as speed:
            return speed.bps
        case Ratio() | Factor() | MeasuredTime() as found:
            return float(found)
        case Count() as count:
            return count.value


def _check_figure(
    expected: Expectation, spec: CaseSpec, figure: Figure | None, factor: float
) -> Check:
    """Judge the side of a figure that is certain: what was seen to hold, or not to."""
    sign = "≤" if expected.at_most else "≥"
    criterion = f"{expected.metric} {sign} {expected.asked}"
    if figure is None or worst(figure.flags) is Severity.INVALID:
        why = figure.reason if figure is not None else "not measured"
        return Check(criterion=criterion, met=None, found=why)
    asked = _number(expected.bound, figure.unit, spec) * factor
    if figure.value is None:
        return _check_none(criterion, expected, figure, asked)
    low = figure.value if figure.lower is None else figure.lower
    high = figure.value if figure.upper is None else figure.upper
    others = figure.limit in NOT_THE_SWITCH
    if figure.open_ended:
        high = math.inf
    if expected.at_most:
        # A time is that of whatever takes it; a rate may be higher; a loss may be somebody else's.
        if others and figure.unit in RATES:
            high = math.inf
        elif others and figure.unit is not Unit.NANOSECONDS and high < math.inf:
            low = 0
        met = True if high <= asked else False if low > asked else None
    else:
        asked_no_more = figure.limit is Limit.SETTING and figure.unit in RATES
        high = math.inf if others or asked_no_more else high
        met = True if low >= asked else False if high <= asked else None
    if met is None or (met and _cut_short(figure)):
        found = _left_open(figure, high, others=others)
        return Check(criterion=criterion, met=None, found=found)
    found = _text_of(figure, figure.value, asked, met=met)
    return Check(criterion=criterion, met=met, found=found)


def _cut_short(figure: Figure) -> bool:
    """Whether a search ended before its goal was reached: what held by then is no answer."""
    early = figure.limit is Limit.BUDGET or Flag.LEFT_TO_REGIMES in figure.flags
    return early and figure.lower is not None


def _left_open(figure: Figure, high: float, *, others: bool) -> str:
    """Say what was found of a figure that leaves a criterion open, and why it does."""
    if figure.limit is not None and (others or high == math.inf):
        return f"{figure.text}, limited by {figure.limit}: what the switch can do nobody can tell"
    if _cut_short(figure) and figure.lower is not None:
        lower = amount(figure.lower, figure.unit, End.LOWER)
        upper = amount(high, figure.unit, End.UPPER)
        return f"between {lower} and {upper}: the time ended too early to tell"
    return f"{figure.text}{_interval(figure)}: the interval is too wide to tell"


def _text_of(figure: Figure, value: float, asked: float, *, met: bool) -> str:
    """Write what a criterion found of a figure, with the sign of one that is open on a side."""
    if figure.open_ended and figure.lower is not None:
        return f"≥ {_told(figure.lower, asked, figure.unit, End.LOWER, met=met)}"
    if figure.open_below and figure.upper is not None:
        return f"≤ {_told(figure.upper, asked, figure.unit, End.UPPER, met=met)}"
    end = End.LOWER if value == figure.lower else None
    return _told(value, asked, figure.unit, end, met=met)


def _check_none(criterion: str, expected: Expectation, figure: Figure, asked: float) -> Check:
    """Judge a figure that has no number: more than what did not hold at its lowest is missed."""
    switch = figure.limit not in (*NOT_THE_SWITCH, Limit.UNKNOWN)
    if switch and not expected.at_most and figure.upper is not None and figure.upper <= asked:
        return Check(criterion=criterion, met=False, found=figure.text)
    return Check(criterion=criterion, met=None, found=figure.reason)


def _told(value: float, asked: float, unit: Unit, end: End | None, *, met: bool) -> str:
    """Write what a criterion found; where it reads like what was asked for, with all its digits.

    Whoever reads that 5 Mfps were asked for and 5.000 found takes a verdict of FAIL for a mistake,
    and one of PASS where 4.9995 were asked for and 4.999 found.
    """
    text, asked_text = amount(value, unit, end), amount(asked, unit, end)
    reads_met = met and amount(asked, unit, End.LOWER) == amount(asked, unit, End.UPPER)
    return (
        _exactly(value, unit) if text == asked_text and value != asked and not reads_met else text
    )


def _exactly(value: float, unit: Unit) -> str:
    share = unit in (Unit.RATIO, Unit.FACTOR)
    name = "bit/s" if unit is Unit.BPS else unit.value
    return f"{100 * value:.12g}%" if share else f"{value:,.12g} {name}"


def _interval(figure: Figure) -> str:
    """Return the interval of a comparison: it has the criterion in it, and more rounds tell."""
    unit = figure.unit
    if unit is not Unit.FACTOR or figure.lower is None or figure.upper is None:
        return ""
    low, high = amount(figure.lower, unit, End.LOWER), amount(figure.upper, unit, End.UPPER)
    return f" ({low} … {high}, and more `search.rounds` narrow that)"


def _check_goal(
    expected: Expectation,
    spec: CaseSpec,
    goal: GoalResult | None,
    result: SearchResult,
    trials: Sequence[Trial],
    factor: float,
) -> Check:
    """Judge a goal; several deployments by all of them, or against a baseline by their middle."""
    least = _number(expected.bound, Unit.FPS, spec)
    criterion = f"{expected.metric} ≥ {expected.asked} ({human_fps(least, End.LOWER)})"
    least *= factor
    if goal is None or worst(goal.flags) is Severity.INVALID:
        return Check(criterion=criterion, met=None, found="not measured")
    if expected.baseline is not None:
        like = like_it(expected, goal, result, trials)
        if isinstance(like, str):
            return Check(criterion=criterion, met=None, found=like)
        if like:
            return _agreed([_check_like(one, expected, spec, goal, factor) for one in like])
    if expected.baseline is None and goal.draws is not None and goal.draws.lower_fps is not None:
        return _check_draws(criterion, goal, goal.draws, least)
    least, criterion = _less_by_chance(least, criterion, expected, goal)
    return _check_bounds(criterion, goal, least)


def _check_like(
    like: Like, expected: Expectation, spec: CaseSpec, goal: GoalResult, factor: float
) -> Check:
    name, sample, bound = like
    least = _number(bound, Unit.FPS, spec)
    asked = f"{name} ≥ {human_fps(least, End.LOWER)}, {expected.baseline}"
    if sample.count == 1:
        least, asked = _less_by_chance(least, asked, expected, goal)
    check = check_like(asked, sample, least * factor)
    whole = goal.regimes or name in names_of_draws(goal.goal).values()
    if check.met and goal.cut_short and not whole:
        early = f"{check.found}: the time ended too early to tell"
        return check.model_copy(update={"met": None, "found": early})
    return check


def _agreed(checks: Sequence[Check]) -> Check:
    """Return what regimes say together: met in all of them, missed in all, or open."""
    met = {check.met for check in checks}
    return Check(
        criterion="; ".join(check.criterion for check in checks),
        met=met.pop() if len(met) == 1 else None,
        found="; ".join(check.found for check in checks),
    )


def _less_by_chance(
    least: float, criterion: str, expected: Expectation, goal: GoalResult
) -> tuple[float, str]:
    """Return what is asked for, less what the case's deployments differ by, and words for it.

    Where the baseline has several, theirs is in its bound.
    """
    scatter = scatter_of_draws(goal)
    if expected.baseline is None or expected.apart is not None or scatter is None:
        return least, criterion
    least *= scatter.by_chance(1, 1, Unit.FPS, float(expected.drop or 0), more=False)
    return least, f"{criterion}, less what deployments lie apart: {human_fps(least, End.LOWER)}"


def _check_draws(criterion: str, goal: GoalResult, draws: Draws, least: float) -> Check:
    """Judge a bound by all deployments: one that only some of them reach is open.

    Of a machine that moved its CPUs they are from one regime: it is open if another one disagrees.
    """
    told, elsewhere = over_draws(goal), _by_regimes(goal, least)
    if elsewhere is not None and elsewhere.met is None:
        return Check(criterion=criterion, met=None, found=f"{told}; {elsewhere.found}")
    failed = sum(  # one whose time ended has no answer, and has failed there all the same
        one.limit is Limit.BUDGET and one.upper_fps is not None and one.upper_fps <= least
        for one in draws.made
    )
    if (draws.lower_fps or 0) >= least and not failed:
        return Check(criterion=criterion, met=True, found=told)
    if draws.upper_fps is not None and draws.upper_fps <= least:
        others = [one.limit for one in draws.told if one.limit in NOT_THE_SWITCH]
        if others:
            found = f"{told}, limited by {others[0]}: what the switch can do nobody can tell"
            return Check(criterion=criterion, met=None, found=found)
        return Check(criterion=criterion, met=False, found=told)
    reached = sum((one.lower_fps or 0) >= least for one in draws.told)
    found = f"{told}: {reached} of {len(draws.told) + failed} deployments reach it"
    return Check(criterion=criterion, met=None, found=found)


def _check_bounds(criterion: str, goal: GoalResult, least: float) -> Check:
    """Judge the interval of one deployment; where the machine leaves it open, regimes may agree."""
    check = _by_all_trials(criterion, goal, least)
    left = Flag.LEFT_TO_REGIMES in goal.flags
    there = _by_regimes(goal, least) if left or goal.limit is Limit.HOST else None
    if check.met is not None or there is None:
        return check
    found = there.found if there.met is not None else f"{check.found}; {there.found}"
    return Check(criterion=criterion, met=there.met, found=found)


def _by_all_trials(criterion: str, goal: GoalResult, least: float) -> Check:
    left = Flag.LEFT_TO_REGIMES in goal.flags
    found = "no lower bound"
    if goal.lower_fps is None and goal.upper_fps is not None:
        found = f"{found}, as {human_fps(goal.upper_fps)} failed"
    if goal.lower_fps is not None:
        reached = goal.lower_fps >= least
        found = _told(goal.lower_fps, least, Unit.FPS, End.LOWER, met=reached)
    if goal.upper_fps is not None and goal.upper_fps <= least:
        if goal.limit in NOT_THE_SWITCH:
            untold = f"{found}, limited by {goal.limit}: what the switch can do nobody can tell"
            return Check(criterion=criterion, met=None, found=untold)
        return Check(criterion=criterion, met=False, found=found)
    if (goal.lower_fps or 0) >= least and not (goal.cut_short or left):
        return Check(criterion=criterion, met=True, found=found)
    if goal.upper_fps is not None:
        why = "the time ended too early" if goal.cut_short else "the interval is too wide"
        if left:
            why = "regimes were asked and not all trials together, which is too little"
        upper = human_fps(goal.upper_fps, End.UPPER)
        between = found if goal.lower_fps is None else f"between {found} and {upper}"
        found = f"{between}: {why} to tell"
        return Check(criterion=criterion, met=None, found=found)
    return Check(criterion=criterion, met=None, found=f"≥ {found}, limited by {goal.limit}")


@dataclass(frozen=True, slots=True)
class _InRegimes:
    """What the answers by regime say of a bound, if there are several."""

    met: bool | None
    found: str


def _by_regimes(goal: GoalResult, least: float) -> _InRegimes | None:
    """Judge a bound by regimes: it is met in all of them or missed in all, or open."""
    told = [
        one
        for one in goal.regimes
        if one.limit not in (None, Limit.UNKNOWN) and worst(one.flags) is not Severity.INVALID
    ]
    if len(told) < 2:
        return None
    found = "the machine moved its CPUs: " + ", ".join(
        f"{human_interval(one.lower_fps, one.upper_fps, human_fps)} while they were {one.regime}"
        for one in told
    )
    if all((one.lower_fps or 0) >= least and one.limit is not Limit.BUDGET for one in told):
        return _InRegimes(True, found)
    missed = [
        one.upper_fps is not None and one.upper_fps <= least and one.limit not in NOT_THE_SWITCH
        for one in told
    ]
    return _InRegimes(False if all(missed) else None, found)


def _check_loss(expected: Expectation, result: SearchResult) -> Check:
    assert expected.max_loss is not None
    criterion = f"{expected.metric} ≤ {expected.max_loss}"
    if not all(load.believed for load in result.loads):
        return Check(criterion=criterion, met=None, found="not measured")
    if not result.loads:
        return Check(criterion=criterion, met=None, found="no load was measured")
    loss, asked = max(Fraction(load.worst_loss_ratio) for load in result.loads), expected.max_loss
    kept = loss <= asked.value
    found = _told(float(loss), float(asked), Unit.RATIO, None, met=kept)
    too_lossy = [x for x in result.loads if Fraction(x.worst_loss_ratio) > expected.max_loss.value]
    if too_lossy and all(load.limit in NOT_THE_SWITCH for load in too_lossy):
        found = f"{found}, limited by {too_lossy[0].limit}"
        return Check(criterion=criterion, met=None, found=found)
    if too_lossy and all(_sent_too_little(load, expected.max_loss) for load in too_lossy):
        found = f"{found}, and the generator was too slow for as much"
        return Check(criterion=criterion, met=None, found=found)
    met = not too_lossy
    if met and not result.complete:
        found = f"{found}, but the time ended before every load was tried"
        return Check(criterion=criterion, met=None, found=found)
    return Check(criterion=criterion, met=met, found=found)


def _sent_too_little(load: LoadResult, allowed: Ratio) -> bool:
    """Whether too much is missing only with what the generator was too slow for."""
    return Fraction(load.worst_loss_ratio) - Fraction(load.short_ratio) <= allowed.value


def _check_latency(
    expected: Expectation, spec: CaseSpec, latency: tuple[Trial, ...], factor: float
) -> Check:
    """Judge the worst direction at the worst of the loads that the criterion is for."""
    assert expected.percentile is not None
    most_ns = _number(expected.bound, Unit.NANOSECONDS, spec) * factor
    at = "" if expected.load is None else f" at {expected.load}"
    criterion = f"{expected.metric}{at} ≤ {expected.asked}"
    found = latencies_ns(expected, latency)
    if not found:
        return Check(criterion=criterion, met=None, found="latency was not measured")
    greatest, trial = max(found, key=lambda item: item[0])
    met = greatest <= most_ns
    value = _told(greatest, most_ns, Unit.NANOSECONDS, None, met=met)
    shown = f"{value} at {trial.reference}"
    wanted = spec.latency.loads if spec.latency is not None else ()
    measured = {str(one.reference).partition(" of ")[0] for _, one in found}
    asked = wanted if expected.load is None else (expected.load,)
    missing = [str(share) for share in asked if str(share) not in measured]
    if met and missing:
        shown = f"{shown}, but not measured at {', '.join(missing)}"
        return Check(criterion=criterion, met=None, found=shown)
    return Check(criterion=criterion, met=met, found=shown)


def latencies_ns(expected: Expectation, latency: Iterable[Trial]) -> list[tuple[int, Trial]]:
    """Return what a criterion on latency is about: for each direction of each of its trials."""
    assert expected.percentile is not None
    return [
        (percentiles_ns(way.latency_histogram, (expected.percentile,))[expected.percentile], trial)
        for trial in latency
        for way in trial.directions
        if way.latency_histogram is not None
        and (expected.load is None or str(trial.reference).startswith(f"{expected.load} of "))
    ]


def outcome_of(result: SearchResult, checks: tuple[Check, ...]) -> tuple[Outcome, str]:
    """Return the outcome of a case that was measured, and why it is not PASS.

    A rival without an answer leaves open what is asked of it, and not what is sure of another one.
    """
    doubt = _doubt(result)
    missed = [check for check in checks if check.met is False]
    if doubt is not None and not (missed and _on_rivals_alone(result)):
        return Outcome.INVALID, doubt
    if missed:
        found = "; ".join(f"{c.criterion}: found {c.found}" for c in missed)
        return Outcome.FAIL, found if doubt is None else f"{found}; nobody can tell {doubt}"
    untold = [check for check in checks if check.met is None]
    if untold:
        return Outcome.INVALID, "; ".join(f"{c.criterion}: {c.found}" for c in untold)
    return Outcome.PASS, ""


def _doubt(result: SearchResult) -> str | None:
    """Return why a result cannot be given as one, if it cannot."""
    if result.empty:
        return "the time ended before anything was measured"
    if not result.complete and result.figures and result.figures[0].value is None:
        return f"{result.figures[0].name}: {result.figures[0].reason}"
    for figure in result.figures:
        if figure.limit is Limit.UNKNOWN or worst(figure.flags) is Severity.INVALID:
            return f"{figure.name}: {figure.reason}"
    unknown = next((load for load in result.loads if load.limit is Limit.UNKNOWN), None)
    return unknown.reason if unknown is not None else _doubt_on_goals(result)


def _on_rivals_alone(result: SearchResult) -> bool:
    """Whether there is no doubt but that of some switches nobody knows how they stand to the first.

    A control without an answer is a doubt on all of them, and so is one that differs.
    """
    others = tuple(one for one in result.figures if not _is_open(one))
    return _doubt(result.model_copy(update={"figures": others})) is None


def _is_open(figure: Figure) -> bool:
    rival = figure.unit is Unit.FACTOR and figure.name not in CONTROLS
    doubted = worst(figure.flags) is Severity.INVALID
    return rival and figure.limit is Limit.UNKNOWN and not doubted


def _doubt_on_goals(result: SearchResult) -> str | None:
    for goal in result.goals:
        flag = next((flag for flag in goal.flags if flag.severity is Severity.INVALID), None)
        if flag is not None:
            return f"{goal.goal}: {flag.value}: {goal.reason}"
        unexplained = goal.limit is Limit.UNKNOWN and Flag.CONSTANT_LOSS not in goal.flags
        if unexplained or (goal.lower_fps is None and goal.upper_fps is None):
            return f"{goal.goal}: {goal.reason}"
    return None


def flags_of(result: SearchResult, trials: Iterable[Trial]) -> tuple[Flag, ...]:
    """Return all flags that a reader of the result should see, each once.

    Those of the goals, and of the trials whose numbers stand with a reservation. The shortage of
    a generator above the result is what the limit verdict says already, unless loads were given
    that it fell short of, or an answer says it itself; and buffers fill under any overload: only at
    a bound they matter.
    """
    flags = dict.fromkeys(result.flags)
    if not result.complete:
        flags[Flag.OUT_OF_BUDGET] = None
    if result.spoiled:
        flags[Flag.FEWER_REPEATS] = None
    for trial in trials:
        if trial.purpose in (Purpose.SEARCH, Purpose.LATENCY):
            suspect = [flag for flag in trial.flags if flag.severity is Severity.SUSPECT]
            flags |= {flag: None for flag in suspect if flag is not Flag.BUFFERED}
    short = any(Fraction(load.short_ratio) for load in result.loads)
    told = Flag.SHORT_OFFER in result.flags
    if Limit.GENERATOR not in result.limits and not short and not told:
        flags.pop(Flag.SHORT_OFFER, None)
    return tuple(flags)


def not_slower(cases: Sequence[Case], by: Ratio | None) -> tuple[Case, ...]:
    """Return the cases with a criterion for each rival, if a share is given."""
    if by is None:
        return tuple(cases)
    if by.value >= 1:
        raise UsageError(f"--fail-above {by} leaves nothing to ask for", fix="such as 3%")
    found = tuple(_of(case, by) for case in cases)
    if all(case is before for case, before in zip(found, cases, strict=True)):
        raise UsageError(
            "--fail-above says by how much a rival may be worse, and no case has one",
            why="switches are held against each other in turns by a method that compares them",
            fix="vsperf run phy2phy_paired --vswitch A,B --fail-above 3%; of runs that were made, "
            "`vsperf compare` has the same option",
        )
    return found


def _of(case: Case, by: Ratio) -> Case:
    rivals = [side for side in case.spec.sides if side.letter not in (FIRST, CONTROL)]
    if not rivals:
        return case
    method = method_of(case.spec)
    assert isinstance(method, Compares)  # its cases have sides
    asked = (method.worse_by(side.letter, by.value) for side in rivals)
    expect = (*case.spec.expect, *asked)
    return replace(case, spec=case.spec.model_copy(update={"expect": expect}))
