"""The latencies of one case: percentiles on an axis of nines, and against load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsperf.figures.drawing import Axis, Drawing, Line, Panel, Point, Scale, Tick
from vsperf.figures.evidence import caption
from vsperf.figures.latencies import Case, Latency, gather, latency_axis, share_name
from vsperf.figures.plot import Options, Plot, Scope
from vsperf.human import human_count, human_fps

NINES = (0.0, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999)
SHOWN = (0.5, 0.99, 0.999)
"""Percentiles that are drawn against load."""


def draw_percentiles(samples: Sequence[Case], options: Options) -> Drawing | None:
    """Draw a line for each load: the latency that so many of the frames did not exceed."""
    (case,) = samples
    layers = tuple(
        Line(
            _load(one),
            tuple(Point(share, ns) for share, ns in one.curve),
            simulated=case.evidence.simulated,
            color=number,
            markers=False,
            dash=number,
        )
        for number, one in enumerate(case.latencies)
    )
    values = [point.y for layer in layers for point in layer.points]
    farthest = max((point.x for layer in layers for point in layer.points), default=0.0)
    frames = min(one.frames for one in case.latencies)
    return Drawing(
        title=f"Latency percentiles, {case.label}",
        caption=caption(
            [case.evidence],
            f"At least {human_count(frames)} latencies at each load, both directions together. "
            "Each nine to the right is ten times rarer.",
        ),
        panels=(
            Panel(
                x=Axis(
                    "share of the frames that took no longer",
                    "",
                    Scale.NINES,
                    ticks=tuple(_nines(farthest)),
                ),
                y=latency_axis(values),
                layers=layers,
            ),
        ),
        simulated=case.evidence.simulated,
    )


def _nines(farthest: float) -> Iterator[Tick]:
    for share in (*NINES[:1], 0.5, *NINES[1:]):
        if share <= farthest:
            yield Tick(share, f"{100 * share:.7g}%")


def _load(one: Latency) -> str:
    rate = human_fps(one.load_fps)
    lossy = ", frames lost" if one.lost_frames else ""
    return f"{one.reference}, {rate}{lossy}" if one.reference else f"{rate}{lossy}"


def draw_loads(samples: Sequence[Case], options: Options) -> Drawing | None:
    """Draw latency against load; nothing where there is but one load."""
    (case,) = samples
    if len({one.load_fps for one in case.latencies}) < 2:
        return None
    layers = tuple(_lines(case))
    values = [point.y for layer in layers for point in layer.points]
    return Drawing(
        title=f"Latency against load, {case.label}",
        caption=caption([case.evidence], "Latencies of both directions together."),
        panels=(
            Panel(
                x=Axis("load per direction", "fps", Scale.LINEAR, from_zero=True),
                y=latency_axis(values),
                layers=layers,
            ),
        ),
        simulated=case.evidence.simulated,
    )


def _lines(case: Case) -> Iterator[Line]:
    values: dict[str, list[tuple[int, float | None]]] = {
        "min": [(one.load_fps, one.minimum_ns) for one in case.latencies],
        "mean": [(one.load_fps, one.mean_ns) for one in case.latencies],
        **{share_name(s): [(one.load_fps, one.at(s)) for one in case.latencies] for s in SHOWN},
        "max": [(one.load_fps, one.maximum_ns) for one in case.latencies],
    }
    for number, (name, found) in enumerate(values.items()):
        points = tuple(Point(load_fps, ns) for load_fps, ns in found if ns is not None)
        if points:
            yield Line(name, points, simulated=case.evidence.simulated, color=number)


PERCENTILES = Plot(
    name="percentiles",
    title="latency percentiles of a case on an axis of nines, a line for each load",
    scope=Scope.CASE,
    gather=gather,
    draw=draw_percentiles,
    rank=6,
)
LOADS = Plot(
    name="latency-load",
    title="latency of a case against load",
    scope=Scope.CASE,
    gather=gather,
    draw=draw_loads,
    of_many_loads=True,
)
