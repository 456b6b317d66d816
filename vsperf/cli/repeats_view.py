"""What the repeats of a run say together, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from vsperf.analysis.repeated import NAMES, repeat_rows
from vsperf.analysis.summary import CaseRow


def repeats_table(rows: Sequence[CaseRow]) -> Table | None:
    """Return what each number did over the repeats of its case; None where nothing was repeated."""
    found = repeat_rows(rows)
    if not found:
        return None
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(NAMES):
        words = place < 2
        left = words or name == NAMES[-1]
        table.add_column(name, justify="left" if left else "right", no_wrap=not words)
    for row in found:
        table.add_row(*row)
    return table
