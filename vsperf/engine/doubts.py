"""What trials say against the answers of a case once all are made. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from vsperf.config.case import CaseSpec
from vsperf.methods.base import method_of
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.result import Draw, GoalResult, SearchResult
from vsperf.records.trial import Purpose, Trial


def believed(result: SearchResult, trials: Iterable[Trial]) -> SearchResult:
    """Return the result, with doubt put on all of it if frames were counted in the wrong trial.

    The surplus of one trial was missed by another, whose loss then looks like the switch's. So
    the whole case is tainted, also when repeating the one trial went well.
    """
    found = _damning(trials)
    if found is None:
        return result
    return result.doubted(*found)


def _damning(trials: Iterable[Trial]) -> tuple[Flag, str] | None:
    """Return what a trial says against all the others, if one does."""
    for trial in trials:
        if trial.purpose not in (Purpose.SEARCH, Purpose.LATENCY):
            continue
        if Flag.RX_EXCEEDS_TX in trial.flags:
            return Flag.RX_EXCEEDS_TX, _surplus(trial)
        for flag in (Flag.NOTHING_RECEIVED, Flag.NOTHING_SENT):
            if trial.purpose is Purpose.LATENCY and flag in trial.flags:
                return flag, (
                    f"in trial {trial.index}, below the load found, the path was dead; nobody can "
                    "say since when"
                )
    return None


def _surplus(trial: Trial) -> str:
    return (
        f"in trial {trial.index} more frames arrived than were sent, so other trials may have "
        "missed frames that did arrive; a longer `trial.drain` may help"
    )


def believed_draws(result: SearchResult, trials: Iterable[Trial]) -> SearchResult:
    """Return the result without the answers of further deployments on which the same happened."""
    why = {
        trial.deployment: _surplus(trial)
        for trial in trials
        if trial.purpose is Purpose.DRAW and Flag.RX_EXCEEDS_TX in trial.flags
    }
    if not why:
        return result

    def without(draw: Draw) -> Draw:
        if draw.deployment not in why:
            return draw
        none = {"lower_fps": None, "upper_fps": None, "limit": None}
        return draw.model_copy(update=none | {"reason": why[draw.deployment]})

    def told(goal: GoalResult) -> GoalResult:
        if goal.draws is None:
            return goal
        made = tuple(map(without, goal.draws.made))
        return goal.model_copy(update={"draws": goal.draws.model_copy(update={"made": made})})

    return result.model_copy(update={"goals": tuple(map(told, result.goals))})


def contradicted(spec: CaseSpec, result: SearchResult, trials: Iterable[Trial]) -> SearchResult:
    """Return the result with a doubt on each goal that a later trial speaks against.

    A latency trial at or below the bound that there is in the end lost more than the goal allows. A
    search that takes single trials for granted was wrong; one that weighs them may be right.
    """
    if spec.latency is None:
        return result
    flag = Flag.REFUTED if method_of(spec).trusts_single_trials else Flag.UNSTABLE
    later = [t for t in trials if t.purpose is Purpose.LATENCY and t.valid]
    goals = []
    for goal in result.goals:
        allowed = Fraction(goal.loss_ratio)
        refuted = goal.goal == spec.latency.goal and any(
            one.loss_ratio > allowed and one.load_fps <= (goal.lower_fps or 0) for one in later
        )
        news = refuted and flag not in goal.flags and worst(goal.flags) is not Severity.INVALID
        flags = (*goal.flags, flag) if news else goal.flags
        goals.append(goal.model_copy(update={"flags": flags}))
    return result.model_copy(update={"goals": tuple(goals)})
