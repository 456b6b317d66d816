"""Answers as words: what a goal, a load or a figure came to; never one bare number."""

from __future__ import annotations

from fractions import Fraction

from vsperf.human import human_fps, human_share
from vsperf.record.figure import heading
from vsperf.record.flags import Flag, Severity, worst
from vsperf.record.result import GoalResult, RegimeResult, SearchResult
from vsperf.stats.summary import CaseRow


def interval(goal: GoalResult) -> str:
    """Write the answer to a goal: an interval or a limit, never one bare number."""
    if worst(goal.flags) is Severity.INVALID:
        return "invalid"
    if goal.lower_fps is None:
        nothing = "<" if Flag.AT_MINIMUM in goal.flags else "? …"
        return "unknown" if goal.upper_fps is None else f"{nothing} {human_fps(goal.upper_fps)}"
    lower = human_fps(goal.lower_fps)
    if goal.upper_fps is None:
        return f"≥ {lower}"
    upper = human_fps(goal.upper_fps)
    number, _, unit = lower.partition(" ")
    return f"{number if upper.endswith(' ' + unit) else lower} … {upper}"


def another(goal: GoalResult) -> GoalResult | None:
    """Return the answer to a goal from clean time, if there is one and it is another."""
    if goal.clean is None or goal.clean.limit is None:
        return None
    told = {"lower_fps", "upper_fps", "limit"}
    if goal.model_dump(include=told) == goal.clean.model_dump(include=told):
        return None
    return goal.model_copy(update=goal.clean.model_dump(exclude={"share"}))


def by_regime(goal: GoalResult) -> list[tuple[RegimeResult, GoalResult]]:
    """Return the answers to a goal by regime, as far as there are any."""
    told = {"share", "regime", "least_ns", "most_ns", "clean"}
    return [
        (one, goal.model_copy(update=one.model_dump(exclude=told)))
        for one in goal.regimes
        if one.limit is not None
    ]


def answers(goal: GoalResult) -> list[str]:
    """Write the answer to a goal, the one from clean time if it is another, and those by regime."""
    clean = another(goal)
    return [
        interval(goal),
        *([] if clean is None else [f"clean {interval(clean)}"]),
        *(f"{there.regime} {interval(one)}" for there, one in by_regime(goal)),
    ]


def headlines(result: SearchResult) -> list[str]:
    """Write what a method found, one line for each goal and load, and the first figure."""
    return [
        *(f"{goal.goal} {interval(goal)}" for goal in result.goals),
        *(
            f"{human_fps(load.load_fps)}: lost {loss_text(load.worst_loss_ratio)}"
            for load in result.loads
        ),
        *(f"{heading(figure.name)} {figure.text}" for figure in result.figures[:1]),
    ]


def reasons(row: CaseRow) -> list[str]:
    """Say why each interval of a case ends where it does."""
    found = []
    for goal in row.goals:
        found.append(f"{goal.goal}: {goal.reason}")
        clean = another(goal)
        if clean is not None and goal.clean is not None:
            share = share_text(Fraction(goal.clean.share))
            found.append(f"{goal.goal} in {share} clean time: {clean.reason}")
        found += [
            f"{goal.goal} {there.regime}, in {share_text(Fraction(there.share))} of the time: "
            f"{there.reason}"
            for there, _ in by_regime(goal)
        ]
    return found


def loss_text(ratio: Fraction | str) -> str:
    """Write a loss ratio in percent."""
    return human_share(float(Fraction(ratio)))


def share_text(share: Fraction | None) -> str:
    """Write a share in percent, coarsely; for people who compare."""
    return "–" if share is None else f"{float(share):.1%}"
