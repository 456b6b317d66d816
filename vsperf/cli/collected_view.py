"""What collectors saw of a case, and parts of its cache, for people at a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from vsperf.analysis.collected import NAMES, Saw
from vsperf.records.files.view import CaseView


def print_collected(out: Console, case: CaseView) -> None:
    """Print a table of each, and what it has to say."""
    from vsperf.output.report.case_part import sights  # what a report needs is loaded for it alone

    for one in sights(case.folder, case.key, case.attempt, case.trials):
        out.print(Text(one.title, style="bold"))
        if one.rows:
            out.print(_table(one))
        for note in one.notes:
            out.print(note, soft_wrap=True, markup=False)


def _table(one: Saw) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    used = [place for place in range(len(NAMES)) if any(row[place] for row in one.rows)]
    for place in used:
        table.add_column(NAMES[place], justify="left" if place < 2 else "right")
    for row in one.rows:
        table.add_row(*(Text(row[place]) for place in used))
    return table
