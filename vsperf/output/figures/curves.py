"""Curves that a method found, whatever they are about: a panel for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.output.figures.drawing import Axis, Drawing, Line, Panel, Point, Scale
from vsperf.output.figures.groups import Evidence, caption, evidence_of
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.result import Axis as Column
from vsperf.records.result import Curve, heading

UNITS = {
    Unit.FPS: "fps",
    Unit.BPS: "bit/s",
    Unit.NANOSECONDS: "ns",
    Unit.RATIO: "%",
    Unit.FACTOR: "%",
    Unit.FRAMES: "frames",
    Unit.PER_SECOND: "/s",
    Unit.COUNT: "",
}
MOST_PANELS = 5


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a case."""

    label: str
    curves: tuple[Curve, ...]
    evidence: Evidence


def gather(view: CaseView) -> tuple[Curves, ...]:
    """Return the curves of a case that have more than one point."""
    curves = view.result.curves if view.result is not None else ()
    told = tuple(curve for curve in curves if len(curve.points) > 1)
    return (Curves(view.label, told, evidence_of(view)),) if told else ()


def draw(samples: Sequence[Curves], options: Options) -> Drawing | None:
    """Draw each column of each curve against what it depends on."""
    (case,) = samples
    panels = [
        panel
        for curve in case.curves
        for place in range(len(curve.columns))
        if (panel := _panel(curve, place, case.evidence)) is not None
    ]
    if not panels:
        return None
    more = len(panels) - MOST_PANELS
    places = "; ".join(dict.fromkeys(curve.at for curve in case.curves if curve.at))
    return Drawing(
        title=f"Curves, {case.label}",
        caption=caption(
            [case.evidence],
            f"Measured at {places}." if places else "",
            f"{more} more panels are not drawn." if more > 0 else "",
        ),
        panels=tuple(panels[:MOST_PANELS]),
        simulated=case.evidence.simulated,
    )


def _panel(curve: Curve, place: int, evidence: Evidence) -> Panel | None:
    column = curve.columns[place]
    points = tuple(
        Point(x, y)
        for x, y in ((point[0], point[1 + place]) for point in curve.points)
        if x is not None and y is not None
    )
    if not points:
        return None
    return Panel(
        x=_axis(curve.x),
        y=_axis(column),
        layers=(Line(heading(column.name), points, simulated=evidence.simulated, color=0),),
        title=f"{heading(curve.name)}: {heading(column.name)}",
    )


def _axis(column: Column) -> Axis:
    return Axis(heading(column.name), UNITS[column.unit], Scale.LINEAR, from_zero=True)


PLOT = Plot(
    name="curves",
    title="curves that the method of a case found, such as loss over the hours of a soak",
    needs="a case whose method finds a curve, such as `phy2phy_soak` or `phy2phy_loss`",
    scope=Scope.CASE,
    gather=gather,
    draw=draw,
)
