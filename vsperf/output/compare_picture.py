"""The picture of a comparison: each number's change with the interval in which it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsperf.analysis.comparison import Comparison, Row
from vsperf.analysis.difference import Means
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
from vsperf.output.figures.groups import MOST as MOST_SIDES
from vsperf.output.figures.groups import not_drawn
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
    return Drawing(
        title="Change from A, number by number",
        caption=_caption(shown, len(found.rows) - len(shown), len(found.sides) - 1 - MOST_SIDES),
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


def _caption(shown: Sequence[Row], more: int, sides: int) -> str:
    """Say what bars are, which points have none, and what is not drawn."""
    said = ["Bars reach as far as the change can be."]
    drawn = [one for row in shown for one in row.differences[:MOST_SIDES] if one is not None]
    alone = sum(one.share is not None and one.means is Means.NOTHING for one in drawn)
    if alone:
        count = "1 point has no bar" if alone == 1 else f"{alone} points have no bar"
        said.append(f"{count}: nothing tells whether that is more than chance.")
    if more:
        count = "1 more is" if more == 1 else f"{more} more are"
        said.append(f"{count} in the tables: the change is less, or no number.")
    if sides > 0:
        said.append(not_drawn(sides, "side"))
    return " ".join(said)


def _layers(found: Comparison, shown: Sequence[Row]) -> Iterator[Points]:
    for number, letter in enumerate(LETTERS[1 : len(found.sides)][:MOST_SIDES]):
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
