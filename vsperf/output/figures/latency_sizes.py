"""Latency against frame size, a panel for each load it was measured at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vsperf.output.figures.drawing import Axis, Drawing, Layer, Line, Look, Panel, Point, Points
from vsperf.output.figures.facts import TARGET
from vsperf.output.figures.groups import (
    REPEATED,
    Evidence,
    Group,
    Traits,
    drawn,
    groups_of,
    medians,
    most_of,
    not_drawn,
    size_axis,
)
from vsperf.output.figures.latency_case import TOLD, Case, Latency, gather, latency_axis, share_name
from vsperf.output.figures.plot import Options, Plot

MOST_PANELS = 4
MOST_GROUPS = 4
"""Each has several lines."""
ALONE = ("min", "mean", "p50", "p99", "p99.9")
"""What is drawn of a single switch,"""
SEVERAL = ("min", "mean", "p99")
"""and of several, which would be too many lines otherwise."""
SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True, slots=True)
class CaseLatency:
    """The latency of one case at one load."""

    traits: Traits
    size: float
    size_name: str
    reference: str
    lossy: bool
    """Whether frames were lost at that load."""
    values_ns: tuple[tuple[str, float], ...]
    """By what they are called; what too few frames were there for is not there."""
    evidence: Evidence
    targets: tuple[tuple[str, float], ...] = ()
    """What criteria ask of them, by what they are called."""


def _found(cases: Sequence[Case]) -> Iterator[CaseLatency]:
    """Yield the latencies that may be believed."""
    for case in cases:
        for one in case.latencies if case.believed and case.size is not None else ():
            reference = one.reference or "a fixed load"
            yield CaseLatency(
                case.traits,
                case.size or 0.0,
                case.size_name,
                reference,
                one.lost_frames > 0,
                tuple(_values(one)),
                replace(case.evidence, trials=len(one.durations_ns)),
                tuple((share_name(t.share), t.ns) for t in case.targets if t.at(reference)),
            )


def _values(one: Latency) -> Iterator[tuple[str, float]]:
    yield "min", one.minimum_ns
    yield "mean", one.mean_ns
    for share in SHARES.values():
        if (ns := one.at(share)) is not None:
            yield share_name(share), ns


def draw(cases: Sequence[Case], options: Options) -> Drawing | None:
    """Draw a panel for each load, and in it lines for each switch or run."""
    samples = list(_found(cases))
    if not samples:
        return None
    groups, fewer = most_of(groups_of(samples, by=options.by, without=("size",)), MOST_GROUPS)
    samples = [one for group in groups for one in group.samples]
    references = list(dict.fromkeys(one.reference for one in samples))
    if len({one.traits for one in samples}) == 1:
        return None  # numbers say it
    wanted = ALONE if len(groups) == 1 else SEVERAL
    axis = latency_axis(
        [ns for one in samples for name, ns in one.values_ns if name in wanted]
        + [ns for one in samples for _, ns in one.targets]
    )
    more = len(references) - MOST_PANELS
    shown = [one for one in samples if one.reference in references[:MOST_PANELS]]
    # One axis for all panels: where a size has no latency, no line leads over it.
    x = size_axis((case.size, case.size_name) for case in cases if case.size is not None)
    panels = tuple(_panel(one, groups, wanted, (x, axis)) for one in references[:MOST_PANELS])
    return drawn(
        "Latency against frame size",
        [one.evidence for one in shown if one.reference == references[0]],
        panels,
        f"The same again for each of {len(references)} loads." if len(references) > 1 else "",
        TOLD,
        _repeated(layer for panel in panels for layer in panel.layers),
        _lossy(shown),
        not_drawn(more, "load"),
        fewer,
        simulated=any(one.evidence.simulated for one in shown),
    )


def _lossy(shown: Sequence[CaseLatency]) -> str:
    """Say where frames were lost: latency is of those that arrived."""
    places: dict[str, list[str]] = {}
    for one in shown:
        if one.lossy:
            places.setdefault(one.reference, []).append(one.size_name)
    if not places:
        return ""
    said = (f"{where} ({', '.join(dict.fromkeys(sizes))})" for where, sizes in places.items())
    return f"Frames were lost at {', '.join(said)}: there it is the latency of the others."


def _panel(
    reference: str, groups: Sequence[Group], wanted: Sequence[str], axes: tuple[Axis, Axis]
) -> Panel:
    layers: list[Layer] = []
    x, y = axes
    for number, group in enumerate(groups):
        members = [one for one in group.samples if one.reference == reference]
        for dash, name in enumerate(wanted):
            points = tuple(medians((one.size, dict(one.values_ns).get(name)) for one in members))
            if not points:
                continue
            alone = len(groups) == 1
            layers.append(
                Line(
                    name if alone else f"{group.name}, {name}",
                    points,
                    simulated=any(one.evidence.simulated for one in members),
                    color=dash if alone else number,
                    dash=0 if alone else dash,
                )
            )
    shown = [one for group in groups for one in group.samples if one.reference == reference]
    layers += _targets(shown)
    return Panel(x=x, y=y, layers=tuple(layers), title=f"at {reference}")


def _targets(shown: Sequence[CaseLatency]) -> Iterator[Points]:
    """Yield what criteria ask for of each size, by percentile."""
    asked: dict[str, set[tuple[float, float]]] = {}
    for one in shown:
        for name, ns in one.targets:
            asked.setdefault(name, set()).add((one.size, ns))
    for name, places in asked.items():
        points = tuple(Point(size, ns) for size, ns in sorted(places))
        yield Points(f"{TARGET}: {name}", points, Look.TARGET)


def _repeated(layers: Iterable[Layer]) -> str:
    """Say what points and bars are, where any point is of repeats."""
    points = (point for layer in layers if isinstance(layer, Line) for point in layer.points)
    if all(point.low is None for point in points):
        return ""
    return REPEATED


PLOT = Plot(
    name="latency",
    title="latency (least, mean, percentiles) against frame size, at each load",
    needs="latency trials of two frame sizes or more, such as `phy2phy_tput`; of one case, "
    "`vsperf plot percentiles` draws it",
    gather=gather,
    draw=draw,
    rank=2,
)
