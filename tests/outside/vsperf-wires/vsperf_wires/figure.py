# vsperf-wires/vsperf_wires/figure.py
"""A figure: what each trial of a case lost, in the order in which they were made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.output.figures.drawing import Axis, Drawing, Panel, Point, Points
from vsperf.output.figures.groups import Evidence, caption, evidence_of_trials
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.records.files.view import CaseView
from vsperf.records.trial import Purpose


@dataclass(frozen=True, slots=True)
class Losses:
    """The few numbers that matter of a case."""

    label: str
    percents: tuple[tuple[int, float], ...]
    """Number of a trial, and what it lost."""
    evidence: Evidence


def gather(view: CaseView) -> tuple[Losses, ...]:
    """Take from a case what is drawn; nothing where there is nothing to draw."""
    trials = [one for one in view.trials if one.purpose is Purpose.SEARCH and one.directions]
    found = tuple((one.index, float(100 * one.loss_ratio)) for one in trials)
    return (Losses(view.label, found, evidence_of_trials(view, trials)),) if found else ()


def draw(samples: Sequence[Losses], options: Options) -> Drawing | None:
    """Draw it; a renderer sees to fonts and colours, and says SIMULATED where that is so."""
    (case,) = samples
    points = tuple(Point(number, percent) for number, percent in case.percents)
    panel = Panel(
        x=Axis("trial", from_zero=True),
        y=Axis("frames lost, worse direction", "%", from_zero=True),
        layers=(Points("trials", points, simulated=case.evidence.simulated),),
    )
    return Drawing(
        title=f"Loss of each trial, {case.label}",
        caption=caption([case.evidence]),
        panels=(panel,),
        simulated=case.evidence.simulated,
    )


PLOT = Plot(
    name="losses",
    title="what each trial of a case lost, in their order",
    scope=Scope.CASE,
    gather=gather,
    draw=draw,
)
