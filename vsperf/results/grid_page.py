"""Tables of plain text as a part of a page."""

from __future__ import annotations

from html import escape

from vsperf.printable import printable
from vsperf.results.grid import Grid

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
