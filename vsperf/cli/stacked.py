"""Tables whose first column takes up others where they do not all fit beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from vsperf.cli.tables import GAP, Column, fitted

INDENT = "  "


def stacked(columns: Sequence[Column], below: Sequence[str], width: int) -> Table:
    """Return a table that fits: columns named in `below` go below the first, one after the other.

    So a number is never cut. What has a rank is left out before.
    """
    found = list(columns)
    for name in below:
        if sum(one.width for one in found if one.rank == 0) - GAP <= width:
            break
        under = next(one for one in found if one.name == name)
        found.remove(under)
        found[0] = _over(found[0], under)
    return fitted(found, width)


def _over(first: Column, under: Column) -> Column:
    """Return a column with the cells of another below its own."""
    cells = []
    for above, cell in zip(first.cells, under.cells, strict=True):
        text = above.copy() if isinstance(above, Text) else Text(above)
        for line in str(cell).splitlines():
            text.append(f"\n{INDENT}{line}", "default")
        cells.append(text)
    return Column(f"{first.name}, {under.name}", cells)
