"""Criteria and outcome: what a finished measurement means for its testcase. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from vsperf.human import human_fps, human_ns
from vsperf.record.flags import Flag, Severity, worst
from vsperf.record.histogram import percentiles_ns
from vsperf.record.result import GoalResult, Limit, SearchResult
from vsperf.record.run import Check, Outcome
from vsperf.record.trial import Purpose, Trial
from vsperf.spec.case import CaseSpec
from vsperf.spec.expect import Expectation
from vsperf.spec.search import Rfc2544Search

NOT_THE_SWITCH = (Limit.GENERATOR, Limit.GUEST, Limit.HOST, Limit.UNCOUNTED)
"""Where these end a result, the switch may do better: that it is too slow does not follow."""


def check_all(spec: CaseSpec, result: SearchResult, trials: Iterable[Trial]) -> tuple[Check, ...]:
    """Judge every criterion of the case."""
    latency = tuple(trial for trial in trials if trial.purpose is Purpose.LATENCY and trial.valid)
    return tuple(_check(expected, spec, result, latency) for expected in spec.expect)


def _check(
    expected: Expectation, spec: CaseSpec, result: SearchResult, latency: tuple[Trial, ...]
) -> Check:
    if expected.metric == "loss":
        return _check_loss(expected, result)
    if expected.percentile is not None:
        return _check_latency(expected, spec, latency)
    goal = next((goal for goal in result.goals if goal.goal == expected.metric), None)
    return _check_goal(expected, spec, goal)


def _check_goal(expected: Expectation, spec: CaseSpec, goal: GoalResult | None) -> Check:
    assert expected.min is not None  # by the model of expectations
    speed = spec.slowest_link
    # Loads are whole frames per second, so the line rate itself is reached a fraction below it.
    least = int(expected.min.frames_per_second(spec.traffic.frame_size, speed))
    criterion = f"{expected.metric} ≥ {expected.min} ({human_fps(least)})"
    if goal is None or worst(goal.flags) is Severity.INVALID:
        return Check(criterion=criterion, met=None, found="not measured")
    found = human_fps(goal.lower_fps) if goal.lower_fps is not None else "none"
    if goal.upper_fps is not None and goal.upper_fps <= least:
        if goal.limit in NOT_THE_SWITCH:
            untold = f"{found}, limited by {goal.limit}: what the switch can do nobody can tell"
            return Check(criterion=criterion, met=None, found=untold)
        return Check(criterion=criterion, met=False, found=found)
    if (goal.lower_fps or 0) >= least and goal.limit is not Limit.BUDGET:
        return Check(criterion=criterion, met=True, found=found)
    if goal.upper_fps is not None:
        why = "the time ended" if goal.limit is Limit.BUDGET else "the interval is too wide"
        found = f"between {found} and {human_fps(goal.upper_fps)}: {why} to tell"
        return Check(criterion=criterion, met=None, found=found)
    return Check(criterion=criterion, met=None, found=f"≥ {found}, limited by {goal.limit}")


def _check_loss(expected: Expectation, result: SearchResult) -> Check:
    assert expected.max_loss is not None
    criterion = f"loss ≤ {expected.max_loss}"
    if not result.loads:
        return Check(criterion=criterion, met=None, found="no fixed load was measured")
    loss = max(Fraction(load.worst_loss_ratio) for load in result.loads)
    found = f"{float(loss):.4%}"
    too_lossy = [x for x in result.loads if Fraction(x.worst_loss_ratio) > expected.max_loss.value]
    if too_lossy and all(load.limit in NOT_THE_SWITCH for load in too_lossy):
        found = f"{found}, limited by {too_lossy[0].limit}"
        return Check(criterion=criterion, met=None, found=found)
    met = not too_lossy
    if met and not result.complete:
        found = f"{found}, but the time ended before every load was tried"
        return Check(criterion=criterion, met=None, found=found)
    return Check(criterion=criterion, met=met, found=found)


def _check_latency(expected: Expectation, spec: CaseSpec, latency: tuple[Trial, ...]) -> Check:
    """Judge the worst direction at the worst of the loads that the criterion is for."""
    assert expected.max is not None and expected.percentile is not None
    at = "" if expected.load is None else f" at {expected.load}"
    criterion = f"{expected.metric}{at} ≤ {expected.max}"
    found = [
        (percentiles_ns(way.latency_histogram, (expected.percentile,))[expected.percentile], trial)
        for trial in latency
        for way in trial.directions
        if way.latency_histogram is not None
        and (expected.load is None or str(trial.reference).startswith(f"{expected.load} of "))
    ]
    if not found:
        return Check(criterion=criterion, met=None, found="latency was not measured")
    greatest, trial = max(found, key=lambda item: item[0])
    shown = f"{human_ns(greatest)} at {trial.reference}"
    met = greatest <= expected.max.ns
    wanted = spec.latency.loads if spec.latency is not None else ()
    measured = {str(one.reference).partition(" of ")[0] for _, one in found}
    asked = wanted if expected.load is None else (expected.load,)
    missing = [str(share) for share in asked if str(share) not in measured]
    if met and missing:
        shown = f"{shown}, but not measured at {', '.join(missing)}"
        return Check(criterion=criterion, met=None, found=shown)
    return Check(criterion=criterion, met=met, found=shown)


def outcome_of(result: SearchResult, checks: tuple[Check, ...]) -> tuple[Outcome, str]:
    """Return the outcome of a case that was measured, and why it is not PASS."""
    doubt = _doubt(result)
    if doubt is not None:
        return Outcome.INVALID, doubt
    missed = [check for check in checks if check.met is False]
    if missed:
        return Outcome.FAIL, "; ".join(f"{c.criterion}: found {c.found}" for c in missed)
    untold = [check for check in checks if check.met is None]
    if untold:
        return Outcome.INVALID, "; ".join(f"{c.criterion}: {c.found}" for c in untold)
    return Outcome.PASS, ""


def _doubt(result: SearchResult) -> str | None:
    """Return why a result cannot be given as one, if it cannot."""
    if not result.goals and not result.loads:
        return "the time ended before anything was measured"
    for load in result.loads:
        if load.limit is Limit.UNKNOWN:
            return load.reason
    for goal in result.goals:
        flag = next((flag for flag in goal.flags if flag.severity is Severity.INVALID), None)
        if flag is not None:
            return f"{goal.goal}: {flag.value}: {goal.reason}"
        unexplained = goal.limit is Limit.UNKNOWN and Flag.CONSTANT_LOSS not in goal.flags
        if unexplained or (goal.lower_fps is None and goal.upper_fps is None):
            return f"{goal.goal}: {goal.reason}"
    return None


def believed(result: SearchResult, trials: Iterable[Trial]) -> SearchResult:
    """Return the result, with doubt put on all of it if frames were counted in the wrong trial.

    The surplus of one trial was missed by another, whose loss then looks like the switch's. So
    the whole case is tainted, also when repeating the one trial went well.
    """
    found = _damning(trials)
    if found is None:
        return result
    flag, reason = found
    doubt = {"limit": Limit.UNKNOWN, "reason": reason}
    return SearchResult(
        goals=tuple(
            goal.model_copy(update={**doubt, "flags": (flag, *goal.flags)}) for goal in result.goals
        ),
        loads=tuple(load.model_copy(update=doubt) for load in result.loads),
        complete=result.complete,
    )


def _damning(trials: Iterable[Trial]) -> tuple[Flag, str] | None:
    """Return what a trial says against all the others, if one does."""
    for trial in trials:
        if trial.purpose not in (Purpose.SEARCH, Purpose.LATENCY):
            continue
        if Flag.RX_EXCEEDS_TX in trial.flags:
            return Flag.RX_EXCEEDS_TX, (
                f"in trial {trial.index} more frames arrived than were sent, so other trials may "
                "have missed frames that did arrive; a longer `trial.drain` may help"
            )
        for flag in (Flag.NOTHING_RECEIVED, Flag.NOTHING_SENT):
            if trial.purpose is Purpose.LATENCY and flag in trial.flags:
                return flag, (
                    f"in trial {trial.index}, below the load found, the path was dead; nobody can "
                    "say since when"
                )
    return None


def contradicted(spec: CaseSpec, result: SearchResult, trials: Iterable[Trial]) -> SearchResult:
    """Return the result with a doubt on each goal that a later trial speaks against.

    A latency trial runs below the bound that was found. When it loses more than the goal allows,
    a search that takes single trials for granted was wrong; one that weighs them may be right.
    """
    if spec.latency is None:
        return result
    flag = Flag.REFUTED if isinstance(spec.search, Rfc2544Search) else Flag.UNSTABLE
    later = [t for t in trials if t.purpose is Purpose.LATENCY and t.valid]
    goals = []
    for goal in result.goals:
        allowed = Fraction(goal.loss_ratio)
        refuted = goal.goal == spec.latency.goal and any(t.loss_ratio > allowed for t in later)
        news = refuted and flag not in goal.flags and worst(goal.flags) is not Severity.INVALID
        flags = (*goal.flags, flag) if news else goal.flags
        goals.append(goal.model_copy(update={"flags": flags}))
    return result.model_copy(update={"goals": tuple(goals)})


def flags_of(result: SearchResult, trials: Iterable[Trial]) -> tuple[Flag, ...]:
    """Return all flags that a reader of the result should see, each once.

    Those of the goals, and of the trials whose numbers stand with a reservation. The shortage of
    a generator above the result is what the limit verdict says already, and buffers fill under
    any overload: only at a bound they matter.
    """
    flags = {flag: None for goal in result.goals for flag in goal.flags}
    if not result.complete:
        flags[Flag.OUT_OF_BUDGET] = None
    for trial in trials:
        if trial.purpose in (Purpose.SEARCH, Purpose.LATENCY):
            suspect = [flag for flag in trial.flags if flag.severity is Severity.SUSPECT]
            flags |= {flag: None for flag in suspect if flag is not Flag.BUFFERED}
    limits = [*(goal.limit for goal in result.goals), *(load.limit for load in result.loads)]
    if Limit.GENERATOR not in limits:
        flags.pop(Flag.SHORT_OFFER, None)
    return tuple(flags)
