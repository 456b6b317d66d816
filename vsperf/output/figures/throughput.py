"""Frames per second against frame size, below what nothing can exceed."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from vsperf.output.figures.drawing import Drawing, Layer, Line, Look, Panel, Point, Points
from vsperf.output.figures.facts import TARGET
from vsperf.output.figures.groups import Group, drawn, groups_of, most_of, size_axis
from vsperf.output.figures.plot import Options, Plot
from vsperf.output.figures.published import beside
from vsperf.output.figures.rates import (
    CLEAN_MEANING,
    RATE_AXIS,
    Rate,
    by_place,
    clean_lines,
    gather,
    left_out,
    line_of,
    missing,
    remarks,
    shown_of,
)
from vsperf.quantities.units import WIRE_OVERHEAD_BYTES

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
    # A size without a number keeps its place, so that no line leads over it as if there were one.
    sizes = [(one.size, one.size_name) for one in (*shown, *left_out(samples))]
    sizes += [(point.x, f"{point.x:g}B") for one in published.points(0) for point in one.points]
    layers: list[Layer] = [*_ceilings(groups, sorted({size for size, _ in sizes}))]
    layers += [line_of(group, number, _size) for number, group in enumerate(groups)]
    layers += (clean := list(clean_lines(groups, _size)))
    layers += [*_target(shown), *published.points(len(groups))]
    return drawn(
        "Frames per second against frame size",
        [one.evidence for one in (*shown, *left_out(samples))],
        (Panel(size_axis(sizes), RATE_AXIS, tuple(layers)),),
        *remarks(shown, groups, _size),
        CLEAN_MEANING if clean else "",
        more,
        published.source,
    )


def _size(one: Rate) -> float:
    return one.size


def _ceilings(groups: Sequence[Group], sizes: Sequence[float]) -> Iterator[Line | Points]:
    """Yield the line rate once, and the cap of each generator that differs from the others.

    A cap is measured for each frame size, and says nothing of those between: so it is a bar over
    each, and no line.
    """
    every = [one for group in groups for one in group.samples]
    speeds = {one.link_bps for one in every if one.link_bps is not None}
    for bps in sorted(speeds):
        points = tuple(Point(size, bps / (8 * (size + WIRE_OVERHEAD_BYTES))) for size in sizes)
        yield Line(f"line rate of {bps / 1e9:g} Gbit/s", points, Look.CEILING)
    known: list[dict[float, float]] = []
    for number, group in enumerate(groups):
        caps = {
            size: statistics.median([one.cap_fps for one in members if one.cap_fps is not None])
            for size, members in by_place(group.samples, _size).items()
            if any(one.cap_fps is not None for one in members)
        }
        if not caps or any(_same(caps, other) for other in known):
            continue
        known.append(caps)
        points = tuple(Point(size, cap) for size, cap in sorted(caps.items()))
        of = f", {group.name}" if len(groups) > 1 else ""
        name = f"what the generator does without a switch{of}"
        yield Points(name, points, Look.CEILING, color=number if len(groups) > 1 else None)


def _target(shown: Sequence[Rate]) -> Iterator[Points]:
    """Yield what criteria ask for at each frame size."""
    asked = {(one.size, one.target_fps) for one in shown if one.target_fps is not None}
    if asked:
        points = tuple(Point(size, fps) for size, fps in sorted(asked))
        yield Points(TARGET, points, Look.TARGET)


def _same(caps: dict[float, float], other: dict[float, float]) -> bool:
    return all(
        size in other and abs(cap - other[size]) <= CLOSE * other[size]
        for size, cap in caps.items()
    )


PLOT = Plot(
    name="throughput",
    title="frames per second against frame size, below the line rate and what the generator does",
    needs="rates of two frame sizes or more, or of two runs, such as `phy2phy_tput`",
    gather=gather,
    missing=missing,
    draw=draw,
    rank=1,
)
