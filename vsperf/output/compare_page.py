"""A comparison as a page of its own, with its picture, and as Markdown for a merge request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from vsperf.analysis.comparison import Comparison, Row
from vsperf.analysis.difference import Means
from vsperf.output.compare_text import (
    LETTERS,
    change_tables,
    common_prefix,
    environment_table,
    generators_table,
    headline,
    meanings,
    notes,
    sides_table,
)
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
from vsperf.output.table import Table, escape_markdown, html_table, markdown_table
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


if TYPE_CHECKING:
    from vsperf.output.report.page import Picture

SIMULATED = "these numbers come from a model, and say nothing of any switch."


def simulated_note(simulated: bool) -> str:
    """Return what stands above all numbers of a model; nothing above others."""
    return f"<p><strong>SIMULATED</strong>: {SIMULATED}</p>" if simulated else ""


NOTHING = "nothing"
NO_PICTURE = "There is no picture: of no change it is known how large it is."


def html_page(found: Comparison, *, only_changed: bool = False, asked: float | None = None) -> str:
    """Return a page that needs no network and no script; it looks as reports do."""
    from markupsafe import Markup

    from vsperf.output.report import templates

    own = files("vsperf.output") / "templates"
    reports = files("vsperf.output.report") / "templates"
    styles = [room / name for room, name in ((reports, "style.css"), (own, "comparison.css"))]
    styles.append(reports / "print.css")
    template = templates.html().from_string((own / "comparison.html.j2").read_text())
    return template.render(
        title=_title(found),
        style=Markup("\n".join(style.read_text() for style in styles)),  # noqa: S704 - our own
        simulated=SIMULATED if found.simulated else "",
        headline=headline(found, asked),
        picture=_picture(found),
        no_picture=NO_PICTURE,
        tables=_tables(found, only_changed),
        meanings=meanings(found),
        notes=list(notes(found)),
        empty=NOTHING,
    )


def _picture(found: Comparison) -> Picture | None:
    from vsperf.output.figures.render import svg
    from vsperf.output.report.page import Picture

    drawing = picture_of(found)
    if drawing is None:
        return None
    return Picture("changes", drawing.title, drawing.caption, svg(drawing), drawing.simulated)


def html_tables(found: Comparison) -> str:
    """Return the tables and what is to be said of them, as a part of a page of others."""
    parts = [simulated_note(found.simulated)]
    for table in _tables(found, only_changed=False):
        shown = html_table(table, inline=True) if table.rows else NOTHING
        parts.append(f"<p>{escape(table.title)}</p>{shown}")
    parts += [f"<li>{escape(line)}</li>" for line in (*meanings(found), *notes(found))]
    return "".join(parts)


def markdown(found: Comparison, *, only_changed: bool = False, asked: float | None = None) -> str:
    """Return the same as Markdown."""
    head = headline(found, asked)
    parts = [f"## {head.word}: {escape_markdown(_title(found))}"]
    if found.simulated:
        parts.append(f"**SIMULATED: {SIMULATED}**")
    parts.append(escape_markdown(head.text))
    for table in _tables(found, only_changed):
        parts.append(f"### {escape_markdown(table.title)}")
        parts.append(markdown_table(table) if table.rows else NOTHING)
    parts.append(
        "\n".join(f"- {escape_markdown(line)}" for line in (*meanings(found), *notes(found)))
    )
    return "\n\n".join(parts) + "\n"


def _title(found: Comparison) -> str:
    return f"Comparison of {' and '.join(found.names)}"


def _tables(found: Comparison, only_changed: bool) -> Sequence[Table]:
    changes = change_tables(found, only_changed=only_changed)
    own = [generators_table(found.generators)] if found.generators else []
    return [sides_table(found), environment_table(found), *own, *changes]
