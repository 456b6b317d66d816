"""Tables on a terminal, and all that is printed of the cases of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from vsperf.analysis.summary import CaseRow
from vsperf.cli.notes import OUTCOME_STYLES, criteria, notes
from vsperf.cli.terminal import INDENT, PlainConsole, between_words, fitting, words_of
from vsperf.output.case_tables import (
    REPEATS,
    CaseColumn,
    column_case,
    curve_table,
    effort_columns,
    figures_table,
    first_figures,
    goal_columns,
    goals_table,
    hit_columns,
    latency_columns,
    limit_column,
    load_columns,
    outcome_column,
    rate_columns,
    repeats_table,
    switch_columns,
)
from vsperf.output.figures.published import published_table
from vsperf.output.table import NOTHING, Cell, Column, Table
from vsperf.trust.printable import printable

WIDE = 170
"""Columns from which everything fits into one table; below, latency gets a table of its own."""
PLAIN_WIDTH = 220
"""Columns when the output is a file or a pipe: nothing is cut there."""
GAP = 2
"""Places between two columns."""
STYLES = {
    "worse": "red",
    "better": "green",
    "aside": "dim",
    "name": "cyan",
    **{outcome.value: style for outcome, style in OUTCOME_STYLES.items()},
}
"""How that looks which a cell means."""


def console(stderr: bool = False) -> Console:
    """Return a console that cuts nothing when its output is a pipe."""
    made = PlainConsole(stderr=stderr)
    return made if made.is_terminal else PlainConsole(stderr=stderr, width=PLAIN_WIDTH)


def print_label(out: Console, *, simulated: bool) -> None:
    """Print what every output of a simulated run says before its first number."""
    if simulated:
        label = " SIMULATED: these numbers come from a model, not from a switch "
        out.print(Text(label, "black on yellow"))


def print_table(out: Console, table: Table, *, blocks: bool = False) -> None:
    """Print a table so that each line fits and none ends within a number or a word.

    What does not fit beside each other stands in several tables, each with what names a row. With
    `blocks`, or where not even one more column fits, each row is a block of lines, and whole.
    """
    parts = beside(table, out.width)
    if not parts or (blocks and len(parts) > 1):
        _print_blocks(out, table)
        return
    for number, part in enumerate(parts):
        if number:
            out.print()
        out.print(part)


def beside(table: Table, width: int) -> list[RichTable]:
    """Return the tables that it takes where there is so much room; none where that is not enough.

    This is for what is drawn again and again; all else goes to `print_table`.
    """
    made = _stacked(table, width)
    found = []
    for part in _parts(made.only(_fitting(made, width)), width):
        widths = _between_words(part, width)
        if widths is None:
            return []
        found.append(_shown(part, widths))
    return found


def _shown(table: Table, widths: Sequence[int]) -> RichTable:
    found = RichTable(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column, width in zip(table.columns, widths, strict=True):
        found.add_column(
            _broken(column.name, column, width),
            width=width,
            justify="right" if column.align == "right" else "left",
            no_wrap=True,
        )
    for row in table.rows:
        found.add_row(*map(_broken, row, table.columns, widths))
    return found


def _broken(cell: str | Cell, column: Column[Any], width: int) -> Text:
    return between_words(_text(cell), width, "") if column.breaks else _text(cell)


def _print_blocks(out: Console, table: Table) -> None:
    """Print each row as lines, a cell in each; all words are whole, so that they can be copied."""
    keys, others = table.names[: table.keys], table.names[table.keys :]
    label = max(map(cell_len, others), default=0)
    if any(keys):
        out.print(Text(" ".join(filter(None, keys)), "bold"))
    for row in table.rows:
        head = Text(" ").join(_text(cell) for cell in row[: table.keys] if str(cell))
        out.print(fitting(head, out, INDENT))
        for name, cell in zip(others, row[table.keys :], strict=True):
            if str(cell):
                lines = Text("\n" + 2 * INDENT).join(_text(cell).split(allow_blank=True))
                line = Text(f"{INDENT}{name:<{label}}{INDENT}").append_text(lines)
                out.print(fitting(line, out, 2 * INDENT))


def _between_words(table: Table, width: int) -> list[int] | None:
    """Return widths of columns that hold their words; None where these take more places."""
    least = _widths(table)
    if sum(least) - GAP > width:
        return None
    whole = tuple(replace(column, breaks=False) for column in table.columns)
    found = [min(one, width + GAP) for one in _widths(replace(table, columns=whole))]
    while sum(found) - GAP > width:
        places = (place for place in range(len(found)) if found[place] > least[place])
        found[max(places, key=found.__getitem__)] -= 1
    return [one - GAP for one in found]


def _text(cell: str | Cell) -> Text:
    style = STYLES.get(cell.style, "") if isinstance(cell, Cell) else ""
    lines = printable(str(cell)).split("\n")  # a blank at an end would take a place
    return Text("\n".join(map(str.rstrip, lines)), style)


def _stacked(table: Table, width: int) -> Table:
    """Return a table with as few columns as it takes below the first one, where they may go."""
    places = [place for place, column in enumerate(table.columns) if place and column.below]
    for count in range(len(places) + 1):
        made = table.stacked(places[:count])
        widths = zip(made.columns, _widths(made), strict=True)
        if sum(taken for column, taken in widths if column.rank == 0) - GAP <= width:
            return made
    return table.stacked(places)


def _fitting(table: Table, width: int) -> list[int]:
    """Return which columns fit: those of the highest rank are left out first."""
    widths, left = _widths(table), list(range(len(table.columns)))
    while sum(widths[place] for place in left) - GAP > width:
        last = max(left, key=lambda place: table.columns[place].rank)
        if table.columns[last].rank == 0:
            break
        left.remove(last)
    return left


def _widths(table: Table) -> list[int]:
    """Return how many places each column takes at least, with the gap behind it."""
    columns = zip(table.columns, *table.texts, strict=True)
    return [_width(column, [printable(cell) for cell in cells]) for column, *cells in columns]


def _width(column: Column[Any], cells: Sequence[str]) -> int:
    lines = [column.name, *(line for cell in cells for line in cell.splitlines())]
    whole = max(1, *map(cell_len, lines))  # Rich gives 1 to what needs 0
    if not column.breaks:
        return whole + GAP
    word = max((cell_len(word) for line in lines for word in words_of(line)), default=0)
    return max(word, min(whole, column.least)) + GAP


def print_summary(
    out: Console, rows: Sequence[CaseRow], simulated: bool, *, whole: bool = False
) -> None:
    """Print what a run found: criteria first, then the numbers, then what is to be said of them."""
    for line in criteria(rows):
        out.print(line)
    if any(row.record is not None for row in rows):
        _print_tables(out, rows)
    else:
        out.print("no case has a result yet", style="dim")
    for line in notes(rows, simulated, whole=whole):
        out.print(line)


def _print_tables(out: Console, rows: Sequence[CaseRow]) -> None:
    for table in (*_of_cases(rows, out.width), goals_table(rows), figures_table(rows)):
        if table is not None:
            out.print()
            print_table(out, table)
    if (published := published_table(rows)) is not None:
        out.print()
        print_table(out, published)
        out.print(published.title, style="dim")
    for row in rows:
        for curve in map(curve_table, row.curves):
            out.print()
            out.print(Text(f"{row.planned.label}: {curve.title}", "bold"))
            print_table(out, curve)
    if (repeats := repeats_table(rows)) is not None:
        out.print()
        print_table(out, repeats)
        out.print(REPEATS, style="dim")
    out.print()


def _of_cases(rows: Sequence[CaseRow], width: int) -> Iterator[Table]:
    """Yield what is said of cases, in one table where there is room and else by subjects."""
    case, limit, outcome = column_case(rows), limit_column(), outcome_column()
    bounds = [*goal_columns(rows), *load_columns(rows), *first_figures(rows)]
    switch, hits = switch_columns(rows), hit_columns(rows)
    rates = rate_columns(rows) if any(row.rates_fps for row in rows) else []
    latency, effort = latency_columns(), effort_columns(rows)
    silent = [column.name for column in (*latency, *effort)]
    if width >= WIDE:
        every = [case, *switch, *bounds, *hits, *rates, limit, *latency, *effort, outcome]
        yield Table.made("cases", every, rows).without(NOTHING, silent)
        return
    subjects: tuple[list[CaseColumn], ...] = (
        [*switch, *bounds, limit, outcome],
        rates,
        [*latency, *effort],
        hits,
    )
    for subject in subjects:
        if subject:
            yield Table.made("cases", [case, *subject], rows).without(NOTHING, silent)


def _parts(table: Table, width: int) -> Iterator[Table]:
    """Yield columns in as many tables as it takes: a figure that is cut is another figure.

    Each has the columns that name a row.
    """
    widths, keys = _widths(table), list(range(table.keys))
    left = width + GAP - sum(widths[: table.keys])
    part, room = keys, left
    for place, needed in enumerate(widths[table.keys :], start=table.keys):
        if needed > room and part != keys:
            yield table.only(part)
            part, room = keys, left
        part = [*part, place]
        room -= needed
    yield table.only(part)
