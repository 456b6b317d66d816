"""What changed from the first run to others, as ratios with the intervals in which they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.figures.drawing import Axis, Drawing, Line, Look, Panel, Point, Points, Scale, Tick
from vsperf.figures.evidence import Evidence, caption, evidence_of
from vsperf.figures.plot import Options, Plot, Scope
from vsperf.record.figure import heading
from vsperf.record.labels import labels_text
from vsperf.stats.difference import difference_of
from vsperf.stats.environment import ground_of_case
from vsperf.stats.findings import Finding, findings_of
from vsperf.stats.sample import Sample, samples_of
from vsperf.stats.scatter import scatter_of
from vsperf.store.view import CaseView
from vsperf.unit import Unit

MOST = 20
"""Numbers that one drawing has room for."""
MOST_SIDES = 6
Place = tuple[str, str, Unit]


@dataclass(frozen=True, slots=True)
class Found:
    """What one case of one run found."""

    side: str
    """Runs with the same labels are one; a run without labels stands for itself."""
    label: str
    simulated: bool
    ground: str
    """What two results must have in common to be compared."""
    findings: tuple[Finding, ...]
    evidence: Evidence


def gather(view: CaseView) -> tuple[Found, ...]:
    """Return the numbers of a case."""
    found = tuple(findings_of(view.result)) if view.result is not None else ()
    side = labels_text(view.labels) or view.run
    left_out = "" if found else "no number"
    evidence = evidence_of(view, left_out)
    ground = ground_of_case(view.header, view.planned)
    return (Found(side, view.label, view.simulated, ground, found, evidence),)


def draw(cases: Sequence[Found], options: Options) -> Drawing | None:
    """Draw each number of the other runs as a share of what the first found."""
    if len({one.simulated for one in cases}) > 1:
        return None  # a model and reality are never put side by side
    comparable = _comparable(cases)
    sides = _sides(comparable)
    names = list(sides)[: MOST_SIDES + 1]
    if len(names) < 2:
        return None
    base = sides[names[0]]
    others = {name: sides[name] for name in names[1:]}
    places = [key for key in base if any(key in side for side in others.values())]
    layers = []
    for color, (name, side) in enumerate(others.items()):
        points = [
            point
            for number, key in enumerate(places[:MOST])
            if key in side and (point := _ratio(number, base[key], side[key], sides)) is not None
        ]
        if points:
            simulated = cases[0].simulated
            layers.append(Points(name, tuple(points), simulated=simulated, color=color))
    if not layers:
        return None
    ends = tuple(Point(number, 1.0) for number in range(len(places[:MOST])))
    ticks = tuple(Tick(n, _name(key, places)) for n, key in enumerate(places[:MOST]))
    more = len(places) - MOST
    return Drawing(
        title="Change from the first run, number by number",
        caption=caption(
            [one.evidence for one in comparable],
            f"Each as a share of what {names[0]} found. Bars reach as far as the ratio can be: by "
            "ranks of repeats where there are enough, else by the bounds of the searches, widened "
            "by how far repeats lie apart where that is known.",
            f"{more} more numbers are not drawn." if more > 0 else "",
            "Cases with other frames or topologies, or of another machine, are left out."
            if len(comparable) < len(cases)
            else "",
        ),
        panels=(
            Panel(
                x=Axis("case and number", "", Scale.NAMES, ticks=ticks),
                y=Axis(f"share of {names[0]}", "%"),
                layers=(Line("no change", ends, Look.CEILING, markers=False), *layers),
            ),
        ),
        simulated=cases[0].simulated,
    )


def _comparable(cases: Sequence[Found]) -> list[Found]:
    """Return the cases that have to do with the first of the same name."""
    grounds: dict[str, str] = {}
    return [one for one in cases if grounds.setdefault(one.label, one.ground) == one.ground]


def _sides(cases: Sequence[Found]) -> dict[str, dict[Place, Sample]]:
    """Return the samples of each side, in the order in which they were given."""
    by_case: dict[str, dict[str, list[Finding]]] = {}
    for one in cases:
        by_case.setdefault(one.side, {}).setdefault(one.label, []).extend(one.findings)
    return {
        side: {
            (label, name, unit): sample
            for label, findings in labels.items()
            for (name, unit), sample in samples_of(findings).items()
        }
        for side, labels in by_case.items()
    }


def _ratio(
    place: int, base: Sample, other: Sample, sides: dict[str, dict[Place, Sample]]
) -> Point | None:
    """Return a ratio with its ends; None where it is no number."""
    groups = [
        sample.values
        for side in sides.values()
        for key, sample in side.items()
        if key[1] == base.name
    ]
    found = difference_of(base, other, scatter_of(groups))
    if found.share is None:
        return None
    low, high = (None if end is None else 1 + end for end in (found.least, found.most))
    return Point(place, 1 + found.share, low, high)


def _name(key: Place, places: Sequence[Place]) -> str:
    """Return the case and the number; the testcase is left out where it is always the same."""
    testcases = {label.partition("-")[0] for label, _, _ in places}
    label = key[0] if len(testcases) > 1 else key[0].partition("-")[2] or key[0]
    return f"{label} {heading(key[1])}"


PLOT = Plot(
    name="ratios",
    title="what changed from the first run to others, with confidence intervals",
    scope=Scope.CASES,
    gather=gather,
    draw=draw,
)
