"""A comparison as a page of its own, and as Markdown for a merge request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from vsperf.results.compare_text import (
    MEANING,
    change_grids,
    environment_grid,
    notes,
    sides_grid,
)
from vsperf.results.comparison import Comparison
from vsperf.results.grid import Grid
from vsperf.results.grid_page import SIMULATED, html_table, simulated_note

NOTHING = "nothing"
SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
"""What Markdown takes for more than a character."""


def html_page(found: Comparison, *, only_changed: bool = False) -> str:
    """Return a page that needs no network and no script."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    room = files("vsperf.results") / "templates"
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string((room / "comparison.html.j2").read_text())
    return template.render(
        title=_title(found),
        style=Markup((room / "comparison.css").read_text()),  # noqa: S704 - our own
        simulated=found.simulated,
        grids=_grids(found, only_changed),
        meaning=MEANING,
        notes=list(notes(found)),
        empty=NOTHING,
    )


def html_tables(found: Comparison) -> str:
    """Return the tables and what is to be said of them, as a part of a page of others."""
    parts = [simulated_note(found.simulated)]
    for grid in _grids(found, only_changed=False):
        parts.append(f"<p>{escape(grid.title)}</p>{html_table(grid) if grid.rows else NOTHING}")
    parts += [f"<li>{escape(line)}</li>" for line in (MEANING, *notes(found))]
    return "".join(parts)


def markdown(found: Comparison, *, only_changed: bool = False) -> str:
    """Return the same as Markdown."""
    parts = [f"## {_escaped(_title(found))}"]
    if found.simulated:
        parts.append(f"**SIMULATED: {SIMULATED}**")
    for grid in _grids(found, only_changed):
        parts.append(f"### {_escaped(grid.title)}")
        parts.append("\n".join(_lines(grid)) if grid.rows else NOTHING)
    parts.append("\n".join(f"- {_escaped(line)}" for line in (MEANING, *notes(found))))
    return "\n\n".join(parts) + "\n"


def _title(found: Comparison) -> str:
    return f"Comparison of {' and '.join(found.names)}"


def _grids(found: Comparison, only_changed: bool) -> Sequence[Grid]:
    changes = change_grids(found, only_changed=only_changed)
    return [sides_grid(found), environment_grid(found), *changes]


def _lines(grid: Grid) -> Iterator[str]:
    yield _line(grid.columns)
    yield _line(
        ["---:" if n in grid.numbers else "---" for n in range(len(grid.columns))], raw=True
    )
    for row in grid.rows:
        yield _line(row)


def _line(cells: Sequence[str], *, raw: bool = False) -> str:
    return "| " + " | ".join(cell if raw else _escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Return text that Markdown takes as it is, in one line."""
    plain = "".join(one if one.isprintable() else " " for one in text)
    return SPECIAL.sub(r"\\\1", plain)
