"""The picture of a comparison: each number's change with the interval in which it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsperf.analysis.comparison import Comparison, Row
from vsperf.output.compare_text import LETTERS, common_prefix
from vsperf.output.figures.drawing import (
    Axis,
    Drawing,
    Line,
    Look,
    Panel,
    Point,
    Points,
    Scale,
    Tick,
)
from vsperf.records.result import heading

MOST = 16
"""Numbers that one drawing has room for; those that changed most come first."""


def picture_of(found: Comparison) -> Drawing | None:
    """Return a drawing of the changes; None where none of them is a number."""
    rows = [row for row in found.rows if any(_shares(row))]
    shown = rows[:MOST]
    if not shown:
        return None
    prefix = common_prefix([row.label for row in found.rows])
    ticks = tuple(Tick(place, _name(row, prefix)) for place, row in enumerate(shown))
    ends = tuple(Point(place, 0.0) for place in range(len(shown)))
    more = len(found.rows) - len(shown)
    text = "Bars reach as far as the change can be." + (
        f" {more} more are in the tables: they changed less, or their change is no number."
        if more
        else ""
    )
    return Drawing(
        title="Change from A, number by number",
        caption=text,
        panels=(
            Panel(
                x=Axis("case and number", "", Scale.NAMES, ticks=ticks),
                y=Axis("change from A", "%"),
                layers=(
                    Line("no change", ends, Look.CEILING, markers=False),
                    *_layers(found, shown),
                ),
            ),
        ),
        simulated=found.simulated,
    )


def _layers(found: Comparison, shown: Sequence[Row]) -> Iterator[Points]:
    for number, letter in enumerate(LETTERS[1 : len(found.sides)]):
        points = tuple(
            Point(place, one.share, one.least, one.most)
            for place, row in enumerate(shown)
            if (one := row.differences[number]) is not None and one.share is not None
        )
        if points:
            name = f"{letter}, {found.names[number + 1]}"
            yield Points(name, points, simulated=found.simulated, color=number)


def _shares(row: Row) -> Iterator[bool]:
    return (one is not None and one.share is not None for one in row.differences)


def _name(row: Row, prefix: str) -> str:
    return f"{row.label.removeprefix(prefix) or row.label} {heading(row.name)}"
