"""The interval that each goal's answer lies in, against frame size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.output.figures.drawing import Drawing, Intervals, Panel, Point
from vsperf.output.figures.facts import Facts, trusted
from vsperf.output.figures.groups import (
    Evidence,
    Traits,
    caption,
    evidence_of,
    groups_of,
    most_of,
    size_axis,
    traits_of,
)
from vsperf.output.figures.plot import Options, Plot
from vsperf.output.figures.rates import RATE_AXIS
from vsperf.records.files.view import CaseView


@dataclass(frozen=True, slots=True)
class GoalInterval:
    """The answer to one goal in one case."""

    traits: Traits
    size: float
    size_name: str
    lower_fps: int
    upper_fps: int | None
    evidence: Evidence


def gather(view: CaseView) -> tuple[GoalInterval, ...]:
    """Return the answers of a case that may be believed."""
    facts = Facts(view)
    if facts.size is None or not facts.believed or view.result is None:
        return ()
    evidence = evidence_of(view)  # the same for all its goals
    return tuple(
        GoalInterval(
            traits_of(view, measure=goal.goal),
            float(facts.size.mean),
            facts.size_name,
            goal.lower_fps,
            goal.upper_fps,
            evidence,
        )
        for goal in view.result.goals
        if goal.lower_fps is not None and trusted(goal.flags)
    )


def missing(view: CaseView) -> str:
    """Return why a search has no interval to draw; empty if it has, or is none."""
    if unbelieved := Facts(view).unbelieved:
        return unbelieved
    searched = view.result is not None and view.result.goals
    return "no lower bound that can be believed" if searched and not gather(view) else ""


def draw(samples: Sequence[GoalInterval], options: Options) -> Drawing | None:
    """Draw each interval from the highest load that passed to the lowest that failed."""
    if not samples:
        return None
    by = (*options.by, "measure") if options.by else ()
    groups, more = most_of(groups_of(samples, by=by, without=("size",)))
    shown = [one for group in groups for one in group.samples]
    if len({(one.size, dict(one.traits)["run"]) for one in shown}) == 1:
        return None  # numbers say it
    layers = tuple(
        Intervals(
            group.name,
            tuple(
                Point(one.size, one.lower_fps, one.lower_fps, one.upper_fps)
                for one in sorted(group.samples, key=lambda one: one.size)
            ),
            simulated=any(one.evidence.simulated for one in group.samples),
            color=number,
        )
        for number, group in enumerate(groups)
    )
    return Drawing(
        title="Intervals in which the answers lie",
        caption=caption(
            _each_case_once(shown),
            "A marker is the highest load that passed, the end of its bar the lowest that failed; "
            "an arrow where none failed.",
            more,
        ),
        panels=(
            Panel(
                x=size_axis((one.size, one.size_name) for one in shown),
                y=RATE_AXIS,
                layers=layers,
            ),
        ),
        simulated=any(one.evidence.simulated for one in shown),
    )


def _each_case_once(samples: Sequence[GoalInterval]) -> list[Evidence]:
    """Return the evidence of each case once, though it answers several goals.

    Cases are told apart by whose it is: what it says may be the same of two.
    """
    return list({id(one.evidence): one.evidence for one in samples}.values())


PLOT = Plot(
    name="intervals",
    title="the interval of each goal (NDR, PDR …) against frame size",
    needs="a search of two frame sizes, or of one in two runs, such as `phy2phy_tput`",
    gather=gather,
    draw=draw,
    missing=missing,
    in_report=False,  # the table has them, and in a plot they are hardly wider than its lines
)
