"""How throughput scales: with the number of flows, and with the threads of the switch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vsperf.output.figures.drawing import (
    Axis,
    Drawing,
    Layer,
    Line,
    Look,
    Panel,
    Point,
    Scale,
    Tick,
)
from vsperf.output.figures.groups import Group, caption, groups_of, most_of
from vsperf.output.figures.plot import Options, Plot, Scope
from vsperf.output.figures.published import beside
from vsperf.output.figures.rates import RATE_AXIS, Rate, gather, line_of, remarks, shown_of

FEW = 2
"""Up to so many lines, each ideal has a name of its own; more would fill the legend."""


def draw_flows(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw throughput against the number of flows."""
    return _draw(samples, options, "flows", "flows", "Frames per second against number of flows")


def draw_workers(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw throughput against the number of polling threads, and what twice as many would be."""
    title = "Frames per second against polling threads of the switch"
    return _draw(samples, options, "workers", "polling threads", title)


def _draw(
    samples: Sequence[Rate], options: Options, trait: str, label: str, title: str
) -> Drawing | None:
    place = _place(trait)
    known = [one for one in shown_of(samples) if getattr(one, trait) is not None]
    found = [
        group
        for group in groups_of(known, by=options.by, without=(trait,))
        if len({place(one) for one in group.samples}) > 1  # one place is no scale
    ]
    if not found:
        return None
    groups, more = most_of(found)
    shown = [one for group in groups for one in group.samples]
    layers: list[Layer] = []
    if trait == "workers":
        layers += _ideal(groups, place)
    layers += [line_of(group, number, place) for number, group in enumerate(groups)]
    published = beside(options.beside, trait)
    layers += published.points(len(groups))
    places = {place(one) for one in shown}
    places |= {point.x for one in published.points(0) for point in one.points}
    ideal = "The ideal is as much for each thread as the fewest threads had."
    return Drawing(
        title=title,
        caption=caption(
            [one.evidence for one in shown],
            *remarks(shown, groups, place),
            ideal if trait == "workers" else "",
            more,
            published.source,
        ),
        panels=(
            Panel(
                x=Axis(
                    label,
                    "",
                    Scale.NAMES,
                    ticks=tuple(Tick(one, f"{one:,.0f}") for one in sorted(places)),
                ),
                y=RATE_AXIS,
                layers=tuple(layers),
            ),
        ),
        simulated=any(one.evidence.simulated for one in shown),
    )


def _place(trait: str) -> Callable[[Rate], float]:
    def place(one: Rate) -> float:
        return float(getattr(one, trait))

    return place


def _ideal(groups: Sequence[Group], place: Callable[[Rate], float]) -> Iterator[Line]:
    """Yield for each line what it would be if threads did not stand in each other's way."""
    for number, group in enumerate(groups):
        points = line_of(group, number, place).points
        if len(points) < 2:
            continue
        first = points[0]
        ideal = tuple(Point(one.x, first.y * one.x / first.x) for one in points)
        name = "ideal" if len(groups) > FEW else f"ideal, {group.name}"
        yield Line(name, ideal, Look.CEILING, color=number)


FLOWS = Plot(
    name="flows",
    title="frames per second against number of flows",
    needs="two numbers of flows or more: `--set traffic.flows=[1,1k,100k]`",
    scope=Scope.CASES,
    gather=gather,
    draw=draw_flows,
)
WORKERS = Plot(
    name="workers",
    title="frames per second against polling threads of the switch, with the ideal line",
    needs="two numbers of polling threads or more: `--set vswitch.pmds=[1,2]`",
    scope=Scope.CASES,
    gather=gather,
    draw=draw_workers,
)
