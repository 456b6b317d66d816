"""How far repeats of a case lie apart: each as a point, their quartiles as a box."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from vsperf.output.figures.drawing import Axis, Boxes, Drawing, Panel, Point, Scale, Tick
from vsperf.output.figures.groups import drawn, groups_of, not_drawn
from vsperf.output.figures.plot import Options, Plot
from vsperf.output.figures.rates import Rate, gather, missing, shown_of
from vsperf.quantities.human import human_fps

MOST = 24
"""Cases that one drawing has room for."""


def draw(samples: Sequence[Rate], options: Options) -> Drawing | None:
    """Draw the repeats of each case as shares of their median: rates of cases differ too much."""
    shown = shown_of(samples)
    groups = groups_of(shown, by=options.by, without=("run",)) if shown else ()
    several = [one for group in groups if len(group.samples) > 1 for one in group.samples]
    again = groups_of(several, by=options.by, without=("run",))  # called by what tells these apart
    repeated = sorted(again, key=lambda group: group.samples[0].size)
    if not repeated:
        return None
    ticks, points = [], []
    for place, group in enumerate(repeated[:MOST]):
        rates = [one.fps for one in group.samples]
        middle = statistics.median(rates)
        ticks.append(Tick(place, f"{group.name}: {human_fps(middle)}"))
        points += [Point(place, rate / middle) for rate in rates]
    counted = [one for group in repeated[:MOST] for one in group.samples]
    simulated = any(one.evidence.simulated for one in counted)
    more = len(repeated) - MOST
    return drawn(
        "Repeats, each as a share of the median of its case",
        [one.evidence for one in counted],
        (
            Panel(
                Axis("case, and its median", "", Scale.NAMES, ticks=tuple(ticks)),
                Axis("share of the median", "%"),
                (Boxes("repeats", tuple(points), simulated=simulated),),
            ),
        ),
        "Points are single repeats. Of four or more, a box holds the middle half, and its "
        "whiskers reach at most 1.5 times as far; a line is the median.",
        not_drawn(more, "case"),
    )


PLOT = Plot(
    name="repeats",
    title="repeats of each case as points and box, against their median",
    needs="repeats of a case: `vsperf run TESTCASE --repeat 5`",
    gather=gather,
    missing=missing,
    draw=draw,
)
