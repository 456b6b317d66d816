"""Tables of plain text on a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from vsperf.output.grid import Grid
from vsperf.trust.printable import printable

STYLES = {"worse": "red", "better": "green"}


def grid_table(grid: Grid) -> Table:
    """Return a grid as a table; what stands out has a word, and not only a colour."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, column in enumerate(grid.columns):
        right = number in grid.numbers
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    marks = grid.marks or ("",) * len(grid.rows)
    for row, mark in zip(grid.rows, marks, strict=True):
        cells = [Text(printable(cell)) for cell in row]
        if mark:
            cells[-1].stylize(STYLES.get(mark, ""))
        table.add_row(*cells)
    return table
