"""A comparison as a page of its own, and as Markdown for a merge request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from vsperf.analysis.comparison import Comparison
from vsperf.output.compare_text import (
    change_tables,
    environment_table,
    generators_table,
    headline,
    meanings,
    notes,
    sides_table,
)
from vsperf.output.table import Table, escape_markdown, html_table, markdown_table

if TYPE_CHECKING:
    from vsperf.output.report.page import Picture

SIMULATED = "these numbers come from a model, and say nothing of any switch."


def simulated_note(simulated: bool) -> str:
    """Return what stands above all numbers of a model; nothing above others."""
    return f"<p><strong>SIMULATED</strong>: {SIMULATED}</p>" if simulated else ""


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
        tables=_tables(found, only_changed),
        meanings=meanings(found),
        notes=list(notes(found)),
        empty=NOTHING,
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
    for table in _tables(found, only_changed=False):
        shown = html_table(table, inline=True) if table.rows else NOTHING
        parts.append(f"<p>{escape(table.title)}</p>{shown}")
    parts += [f"<li>{escape(line)}</li>" for line in (*meanings(found), *notes(found))]
    return "".join(parts)


def markdown(found: Comparison, *, only_changed: bool = False) -> str:
    """Return the same as Markdown."""
    head = headline(found)
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
