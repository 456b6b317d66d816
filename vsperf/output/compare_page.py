"""A comparison as a page of its own, and as Markdown for a merge request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from vsperf.analysis.comparison import Comparison
from vsperf.output.compare_text import (
    change_grids,
    environment_grid,
    headline,
    meanings,
    notes,
    sides_grid,
)
from vsperf.output.generators_text import generators_grid
from vsperf.output.grid import Grid
from vsperf.trust.printable import printable

if TYPE_CHECKING:
    from vsperf.output.report.page import Picture

# Tables of plain text as a part of a page.

SIMULATED = "these numbers come from a model, and say nothing of any switch."


def html_table(grid: Grid) -> str:
    """Return a table; whatever its texts hold is shown, and never run."""
    numbers = [' style="text-align: right"' if n in grid.numbers else "" for n in _places(grid)]
    head = "".join(
        f'<th scope="col"{style}>{_cell(name)}</th>'
        for name, style in zip(grid.columns, numbers, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{style}>{_cell(c)}</td>" for c, style in zip(row, numbers, strict=True))
        + "</tr>"
        for row in grid.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def simulated_note(simulated: bool) -> str:
    """Return what stands above all numbers of a model; nothing above others."""
    return f"<p><strong>SIMULATED</strong>: {SIMULATED}</p>" if simulated else ""


def _places(grid: Grid) -> range:
    return range(len(grid.columns))


def _cell(text: str) -> str:
    return escape(printable(text))


NOTHING = "nothing"


def html_page(found: Comparison, *, only_changed: bool = False) -> str:
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
        headline=headline(found),
        picture=_picture(found),
        grids=_grids(found, only_changed),
        meanings=meanings(found),
        notes=list(notes(found)),
        empty=NOTHING,
        looks={"worse": " bad", "better": " good"},
    )


def _picture(found: Comparison) -> Picture | None:
    from vsperf.output.compare_picture import picture_of
    from vsperf.output.figures.render import svg
    from vsperf.output.report.page import Picture

    drawing = picture_of(found)
    if drawing is None:
        return None
    return Picture("changes", drawing.title, drawing.caption, svg(drawing), drawing.simulated)


def html_tables(found: Comparison) -> str:
    """Return the tables and what is to be said of them, as a part of a page of others."""
    parts = [simulated_note(found.simulated)]
    for grid in _grids(found, only_changed=False):
        parts.append(f"<p>{escape(grid.title)}</p>{html_table(grid) if grid.rows else NOTHING}")
    parts += [f"<li>{escape(line)}</li>" for line in (*meanings(found), *notes(found))]
    return "".join(parts)


def markdown(found: Comparison, *, only_changed: bool = False) -> str:
    """Return the same as Markdown."""
    from vsperf.output.report.templates import escape_markdown

    head = headline(found)
    parts = [f"## {head.word}: {escape_markdown(_title(found))}"]
    if found.simulated:
        parts.append(f"**SIMULATED: {SIMULATED}**")
    parts.append(escape_markdown(head.text))
    for grid in _grids(found, only_changed):
        parts.append(f"### {escape_markdown(grid.title)}")
        parts.append("\n".join(_lines(grid, escape_markdown)) if grid.rows else NOTHING)
    parts.append(
        "\n".join(f"- {escape_markdown(line)}" for line in (*meanings(found), *notes(found)))
    )
    return "\n\n".join(parts) + "\n"


def _title(found: Comparison) -> str:
    return f"Comparison of {' and '.join(found.names)}"


def _grids(found: Comparison, only_changed: bool) -> Sequence[Grid]:
    changes = change_grids(found, only_changed=only_changed)
    own = [generators_grid(found.generators)] if found.generators else []
    return [sides_grid(found), environment_grid(found), *own, *changes]


def _lines(grid: Grid, escape_cell: Callable[[str], str]) -> Iterator[str]:
    rules = ("---:" if place in grid.numbers else "---" for place in range(len(grid.columns)))
    yield _line(escape_cell(name) for name in grid.columns)
    yield _line(rules)
    for row in grid.rows:
        yield _line(escape_cell(cell) for cell in row)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
