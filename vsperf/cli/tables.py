"""Summary tables: the interval, what limited it, how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from vsperf.analysis.answers import answers, loss_text
from vsperf.analysis.columns import (
    MOST_GOALS,
    column_case,
    effort_columns,
    first_figures,
    goal_columns,
    goal_names,
    hit_columns,
    latency_columns,
    limit_column,
    load_columns,
    outcome_text,
    rate_columns,
    switch_columns,
)
from vsperf.analysis.repeated import MEANING as REPEATS
from vsperf.analysis.summary import CaseRow
from vsperf.cli.figures_view import figure_tables
from vsperf.cli.notes import OUTCOME_STYLES, criteria, notes
from vsperf.cli.repeats_view import repeats_table
from vsperf.cli.terminal import PlainConsole

WIDE = 170
"""Columns from which everything fits into one table; below, latency gets a table of its own."""
PLAIN_WIDTH = 220
"""Columns when the output is a file or a pipe: nothing is cut there."""

GAP = 2
"""Places between two columns."""

Shown = tuple[str, Callable[[CaseRow], RenderableType]]
GOAL_COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("goal", "left"),
    ("loss allowed", "right"),
    ("load", "right"),
    ("limit", "left"),
)
LEFT = ("case", "switch", "limit", "outcome", "compliance")


def console(stderr: bool = False) -> Console:
    """Return a console that cuts nothing when its output is a pipe."""
    made = PlainConsole(stderr=stderr)
    return made if made.is_terminal else PlainConsole(stderr=stderr, width=PLAIN_WIDTH)


def print_summary(out: Console, rows: Sequence[CaseRow], simulated: bool) -> None:
    """Print what a run found: criteria first, then the numbers, then what is to be said of them."""
    if simulated:
        out.print(simulated_banner())
    for line in criteria(rows):
        out.print(line, soft_wrap=True)
    if any(row.record is not None for row in rows):
        for columns in _blocks(rows, out.width):
            out.print()
            out.print(_table(rows, columns))
        if (goals := _goals_table(rows)) is not None:
            out.print()
            out.print(goals)
        named, label = column_case(rows)
        for table in figure_tables(rows, label, named):
            out.print()
            out.print(table)
        if (repeats := repeats_table(rows)) is not None:
            out.print()
            out.print(repeats)
            out.print(REPEATS, style="dim", soft_wrap=True)
        out.print()
    else:
        out.print("no case has a result yet", style="dim")
    for line in notes(rows, simulated):
        out.print(line, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class Column:
    """Cells below a heading. Of columns that do not fit, those of the highest rank are left out."""

    name: str
    cells: Sequence[str | Text]
    rank: int = 0
    """0: it is never left out."""
    breaks: bool = False
    """Whether its cells may be broken, between words; a number is not."""

    @property
    def width(self) -> int:
        """How many places it takes, with the gap behind it."""
        lines = [self.name, *(line for cell in self.cells for line in str(cell).splitlines())]
        parts = [word for line in lines for word in line.split()] if self.breaks else lines
        return max(map(cell_len, parts), default=0) + GAP


def fitted(columns: Sequence[Column], width: int) -> Table:
    """Return a table of as many columns as fit."""
    left = list(columns)
    while sum(column.width for column in left) - GAP > width:
        last = max(left, key=lambda column: column.rank)
        if last.rank == 0:
            break
        left.remove(last)
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for column in left:
        table.add_column(column.name, no_wrap=not column.breaks, overflow="fold")
    for cells in zip(*(column.cells for column in left), strict=True):
        table.add_row(*cells)
    return table


def simulated_banner() -> Text:
    """Return the label that every output of a simulated run carries."""
    return Text(
        " SIMULATED: these numbers come from a model, not from a switch ", "black on yellow"
    )


def _blocks(rows: Sequence[CaseRow], width: int) -> list[list[Shown]]:
    """Return the columns, in one table where they fit and in several that fit 80 columns."""
    case: Shown = column_case(rows)
    bounds = [*goal_columns(rows), *load_columns(rows), *first_figures(rows)]
    switch, hits = switch_columns(rows), hit_columns(rows)
    rates = rate_columns(rows) if any(row.rates_fps for row in rows) else []
    if width >= WIDE:
        effort = [*latency_columns(), *effort_columns(rows)]
        return [[case, *switch, *bounds, *hits, *rates, limit_column(), *effort, _outcome()]]
    subjects: Sequence[Sequence[Shown]] = (
        [*switch, *bounds, limit_column(), _outcome()],
        rates,
        [*latency_columns(), *effort_columns(rows)],
        hits,
    )
    return [part for subject in subjects for part in _fitting(rows, case, subject, width)]


def _fitting(
    rows: Sequence[CaseRow], case: Shown, columns: Sequence[Shown], width: int
) -> Iterator[list[Shown]]:
    """Yield columns in as many tables as it takes: a figure that is cut is another figure."""
    part, room = [case], width - _width(rows, case)
    for column in columns:
        needed = _width(rows, column)
        if needed > room and len(part) > 1:
            yield part
            part, room = [case], width - _width(rows, case)
        part.append(column)
        room -= needed
    if len(part) > 1:
        yield part


def _width(rows: Sequence[CaseRow], column: Shown) -> int:
    """Return how many places a column takes, with the gap behind it."""
    name, cell = column
    return Column(name, [str(cell(row)) for row in rows]).width


def _table(rows: Sequence[CaseRow], columns: Sequence[Shown]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for name, _ in columns:
        table.add_column(name, justify="left" if name in LEFT else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(cell(row) for _, cell in columns))
    return table


def _goals_table(rows: Sequence[CaseRow]) -> Table | None:
    """Return all goals below each other, where they are too many to stand side by side."""
    if len(goal_names(rows)) <= MOST_GOALS:
        return None
    named, label = column_case(rows)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(named)
    for name, justify in GOAL_COLUMNS:
        table.add_column(name, justify=justify, no_wrap=True)
    for row in rows:
        case = label(row)
        for goal in row.goals:
            found = "\n".join(answers(goal))
            table.add_row(case, goal.goal, loss_text(goal.loss_ratio), found, goal.limit.value)
            case = ""
    return table


def _outcome() -> Shown:
    return ("outcome", _outcome_cell)


def _outcome_cell(row: CaseRow) -> Text:
    style = OUTCOME_STYLES[row.record.outcome] if row.record is not None else "dim"
    return Text(outcome_text(row), style=style)
