"""How throughput scales: with the number of flows, and with the threads of the switch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

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
from vsperf.output.figures.groups import Group, drawn, groups_of, most_of
from vsperf.output.figures.plot import Options, Plot
from vsperf.output.figures.published import Published, beside
from vsperf.output.figures.rates import RATE_AXIS, Rate, gather, line_of, missing, remarks, shown_of
from vsperf.quantities.unit import Unit
from vsperf.records.files.view import CaseView

FEW = 2
"""Up to so many lines, each ideal has a name of its own; more would fill the legend."""


RATES = {
    Unit.FPS: RATE_AXIS,
    Unit.PER_SECOND: Axis("connections, requests or the like", "/s", Scale.LINEAR, from_zero=True),
}
"""What is drawn against threads, each in a panel of its own."""


def gather_any(view: CaseView) -> tuple[Rate, ...]:
    """Return the main rate of a case, whatever it is a rate of."""
    return next((found for unit in RATES if (found := gather(view, unit))), ())


def draw_flows(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw throughput against the number of flows."""
    return _draw(samples, options, "flows", "flows", "Frames per second against number of flows")


def draw_workers(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw rates against the number of threads, and what twice as many would be."""
    title = "Rates against threads of the switch"
    return _draw(samples, options, "workers", "threads", title)


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
    published = {unit: _beside(shown, options, trait, unit) for unit in RATES}
    all_published = _together(published.values())
    places = {place(one) for one in shown}
    places |= {point.x for one in all_published.points(0) for point in one.points}
    ideal = "The ideal is as much for each thread as the fewest threads had."
    return drawn(
        title,
        [one.evidence for one in shown],
        tuple(
            Panel(
                x=Axis(
                    label,
                    "",
                    Scale.NAMES,
                    ticks=tuple(Tick(one, f"{one:,.0f}") for one in sorted(places)),
                ),
                y=axis,
                layers=layers,
            )
            for unit, axis in RATES.items()
            if (layers := tuple(_layers(groups, trait, unit, published[unit])))
        ),
        *remarks(shown, groups, place),
        ideal if trait == "workers" else "",
        more,
        all_published.source,
    )


def _layers(
    groups: Sequence[Group], trait: str, unit: Unit, published: Published
) -> Iterator[Layer]:
    """Yield what is drawn of the rates of a unit; nothing where there is no line of it."""
    place = _place(trait)
    of_unit = [one for one in enumerate(groups) if one[1].samples[0].unit is unit]
    if trait == "workers":
        yield from _ideal(of_unit, place, few=len(groups) <= FEW)
    for number, group in of_unit:
        yield line_of(group, number, place)
    yield from published.points(len(groups))


def _beside(shown: Sequence[Rate], options: Options, trait: str, unit: Unit) -> Published:
    """Return what others published of the quantities that are shown in a unit."""
    asked = (
        "" if unit is Unit.FPS else dict(one.traits)["measure"] for one in shown if one.unit is unit
    )
    return _together(beside(options.beside, trait, of) for of in dict.fromkeys(asked))


def _together(several: Iterable[Published]) -> Published:
    every = tuple(several)
    series = tuple(line for one in every for line in one.series)
    return Published(series, tuple(dict.fromkeys(text for one in every for text in one.sources)))


def _place(trait: str) -> Callable[[Rate], float]:
    def place(one: Rate) -> float:
        return float(getattr(one, trait))

    return place


def _ideal(
    groups: Sequence[tuple[int, Group]], place: Callable[[Rate], float], *, few: bool
) -> Iterator[Line]:
    """Yield for each line what it would be if threads did not stand in each other's way."""
    for number, group in groups:
        points = line_of(group, number, place).points
        if len(points) < 2:
            continue
        first = points[0]
        ideal = tuple(Point(one.x, first.y * one.x / first.x) for one in points)
        name = f"ideal, {group.name}" if few else "ideal"
        yield Line(name, ideal, Look.CEILING, color=number)


FLOWS = Plot(
    name="flows",
    title="frames per second against number of flows",
    needs="two numbers of flows or more: `--set traffic.flows=[1,1k,100k]`",
    gather=gather,
    missing=missing,
    draw=draw_flows,
)
WORKERS = Plot(
    name="workers",
    title="frames, connections or requests per second against threads of the switch, with the "
    "ideal line",
    needs="two numbers of threads or more: `--set vswitch.pmds=[1,2]`, or `vswitch.workers=[1,2]`",
    gather=gather_any,
    draw=draw_workers,
)
