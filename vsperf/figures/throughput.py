"""Frames per second against frame size, below what nothing can exceed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from vsperf.figures.drawing import Drawing, Layer, Line, Look, Panel, Point
from vsperf.figures.evidence import caption
from vsperf.figures.groups import Group, groups_of, most_of
from vsperf.figures.plot import Options, Plot, Scope
from vsperf.figures.published import beside
from vsperf.figures.rates import (
    RATE_AXIS,
    Rate,
    by_place,
    gather,
    left_out,
    line_of,
    remarks,
    shown_of,
)
from vsperf.figures.sizes import size_axis

CLOSE = 0.02
"""Caps of a generator that lie this close to each other are one."""


def draw(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw one line for each switch or run, and the ceilings above them."""
    found = shown_of(samples)
    if not found:
        return None
    groups, more = most_of(groups_of(found, by=options.by, without=("size",)))
    shown = [one for group in groups for one in group.samples]
    if len(shown) == 1 and not options.beside:
        return None  # a number says it
    published = beside(options.beside, "throughput")
    layers: list[Layer] = [*_ceilings(groups)]
    layers += [line_of(group, number, _size) for number, group in enumerate(groups)]
    layers += published.lines(len(groups))
    sizes = [(one.size, one.size_name) for one in shown]
    sizes += [(point.x, f"{point.x:g}B") for line in published.lines(0) for point in line.points]
    return Drawing(
        title="Frames per second against frame size",
        caption=caption(
            [one.evidence for one in (*shown, *left_out(samples))],
            *remarks(shown, groups, _size),
            more,
            published.source,
        ),
        panels=(Panel(x=size_axis(sizes), y=RATE_AXIS, layers=tuple(layers)),),
        simulated=any(one.evidence.simulated for one in shown),
    )


def _size(one: Rate) -> float:
    return one.size


def _ceilings(groups: Sequence[Group]) -> Iterator[Line]:
    """Yield the line rate once, and the cap of each generator that differs from the others."""
    every = [one for group in groups for one in group.samples]
    rates = {(one.size, one.line_rate_fps) for one in every if one.line_rate_fps is not None}
    for speed, points in _speeds(rates):
        yield Line(f"line rate of {speed}", points, Look.CEILING, markers=False)
    drawn: list[dict[float, float]] = []
    for number, group in enumerate(groups):
        caps = {
            size: statistics.median([one.cap_fps for one in members if one.cap_fps is not None])
            for size, members in by_place(group.samples, _size).items()
            if any(one.cap_fps is not None for one in members)
        }
        if not caps or any(_same(caps, other) for other in drawn):
            continue
        drawn.append(caps)
        points = tuple(Point(size, cap) for size, cap in sorted(caps.items()))
        name = f"cap of the generator, {group.name}"
        yield Line(name, points, Look.CEILING, color=number, dash=1)


def _speeds(rates: set[tuple[float, float]]) -> Iterator[tuple[str, tuple[Point, ...]]]:
    """Yield a line for each speed of links."""
    by_speed: dict[int, list[Point]] = {}
    for size, fps in sorted(rates):
        by_speed.setdefault(round(fps * (size + 20) * 8), []).append(Point(size, fps))
    for bps, points in by_speed.items():
        yield f"{bps / 1e9:g} Gbit/s", tuple(points)


def _same(caps: dict[float, float], other: dict[float, float]) -> bool:
    return all(
        size in other and abs(cap - other[size]) <= CLOSE * other[size]
        for size, cap in caps.items()
    )


PLOT = Plot(
    name="throughput",
    title="frames per second against frame size, below line rate and cap of the generator",
    scope=Scope.CASES,
    gather=gather,
    draw=draw,
)
