"""Curves that a method found, whatever they are about: a panel for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vsperf.output.figures.drawing import Axis, Drawing, Line, Panel, Point, Scale, stretches
from vsperf.output.figures.groups import Evidence, drawn, evidence_of, not_drawn
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView
from vsperf.records.result import Axis as Column
from vsperf.records.result import Curve, heading
from vsperf.records.trial import Purpose

UNITS = {
    Unit.FPS: "fps",
    Unit.BPS: "bit/s",
    Unit.NANOSECONDS: "ns",
    Unit.RATIO: "%",
    Unit.FACTOR: "%",
    Unit.FRAMES: "frames",
    Unit.PER_SECOND: "/s",
    Unit.BYTES: "B",
    Unit.COUNT: "",
}
LOADS = (Unit.PER_SECOND, Unit.COUNT)
"""What a search of connections goes by: in a second, or at a time."""
MOST_PANELS = 5
FAILED = "failed"
"""Column of connections that were begun, and did not come to their end in order."""


@dataclass(frozen=True, slots=True)
class Curves:
    """The curves of a case."""

    label: str
    curves: tuple[Curve, ...]
    evidence: Evidence
    not_begun: tuple[Point, ...] = ()
    """Of connections, or of requests by a clock, by load: the share of those due that the generator
    did not begin in time. They have not failed, and a search ends by them all the same."""


def gather(view: CaseView) -> tuple[Curves, ...]:
    """Return the curves of a case that have more than one point."""
    curves = view.result.curves if view.result is not None else ()
    told = tuple(curve for curve in curves if len(curve.points) > 1)
    if not told:
        return ()
    late = _not_begun(view, told[0].x.unit)
    return (Curves(view.label, told, evidence_of(view), late),)


def _not_begun(view: CaseView, unit: Unit) -> tuple[Point, ...]:
    """Return the worst share at each load that was searched; nothing where all were begun.

    Nor is there any where the curve is one over time, as of a soak: it has one load.
    """
    shares: dict[int, float] = {}
    for one in view.standing_connections if unit in LOADS else ():
        if one.client is None or one.purpose is Purpose.PATH_CHECK or not one.valid:
            continue
        load = one.rate if unit is Unit.PER_SECOND else one.asked
        for some in (one.client, one.accounts or one.client):
            share = some.unsent / max(1, some.intended)
            shares[load] = max(share, shares.get(load, 0))
    return tuple(Point(*one) for one in sorted(shares.items())) if any(shares.values()) else ()


def draw(samples: Sequence[Curves], options: Options) -> Drawing | None:
    """Draw each column of each curve against what it depends on."""
    (case,) = samples
    panels = [
        panel
        for curve in case.curves
        for place in range(len(curve.columns))
        if (panel := _panel(curve, place, case)) is not None
    ]
    if not panels:
        return None
    more = len(panels) - MOST_PANELS
    places = "; ".join(dict.fromkeys(curve.at for curve in case.curves if curve.at))
    return drawn(
        f"Curves, {case.label}",
        [case.evidence],
        tuple(panels[:MOST_PANELS]),
        f"Measured at {places}." if places else "",
        not_drawn(more, "panel"),
    )


def _panel(curve: Curve, place: int, case: Curves) -> Panel | None:
    column = curve.columns[place]
    late = case.not_begun if column.name == FAILED else ()
    simulated = case.evidence.simulated
    told = ((point[0], point[1 + place]) for point in curve.points)
    found = tuple(stretches(None if x is None or y is None else Point(x, y) for x, y in told))
    if not found:
        return None
    name = heading(column.name)
    return Panel(
        x=_axis(curve.x),
        y=replace(_axis(column), label="share of those due") if late else _axis(column),
        layers=(
            *(Line(name, points, simulated=simulated, color=0) for points in found),
            *([Line("not begun", late, simulated=simulated, color=1, dash=1)] if late else []),
        ),
        title=f"{heading(curve.name)}: {name}{', not begun' if late else ''}",
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
