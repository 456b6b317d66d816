"""Tables on a terminal, and all that is printed of the cases of a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from vsperf.analysis.answers import missed_on_a_busy_host
from vsperf.analysis.summary import CaseRow, first_remedy
from vsperf.cli.terminal import (
    INDENT,
    PlainConsole,
    between_words,
    columns_asked,
    fitting,
    words_of,
)
from vsperf.output.case_tables import (
    MOST_WARNINGS,
    REPEATS,
    CaseColumn,
    column_case,
    compliances,
    curve_table,
    effort_columns,
    figures_table,
    first_figures,
    goal_columns,
    goals_table,
    hit_columns,
    latency_columns,
    legend,
    limit_column,
    load_columns,
    outcome_column,
    rate_columns,
    regime_columns,
    repeats_table,
    rests_on,
    switch_columns,
    unclean,
)
from vsperf.output.figures.published import published_table
from vsperf.output.table import NOTHING, Cell, Column, Table
from vsperf.quantities.human import counted
from vsperf.records.flags import Flag, Severity
from vsperf.records.result import Level, Standard
from vsperf.records.run import Outcome
from vsperf.trust.printable import printable

NUMBERS = re.compile(r"\d[\d.,]*(?: [µmn]?s\b)?")
MOST_PARTLY = 4
"""Answers of which not all trials passed, where all cases of a run are shown."""
GOAL = re.compile(r"^no \w+ ")
FLAGGED = re.compile("|".join(f"{re.escape(flag.value)}: " for flag in Flag))
"""How a deviation begins that is a flag."""
OUTCOME_STYLES = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.INVALID: "magenta",
    Outcome.ERROR: "red",
    Outcome.SKIP: "dim",
    Outcome.ABORTED: "yellow",
}


def criteria(rows: Sequence[CaseRow]) -> list[Text]:
    """Return every criterion with its answer; the question of a run comes first."""
    words = {True: ("met", "green"), False: ("MISSED", "red"), None: ("open", "magenta")}
    return [
        Text(f"{words[check.met][0]}: {row.planned.label}: ", words[check.met][1]).append(
            f"{check.criterion}, found {check.found}", "default"
        )
        for row in rows
        if row.record
        for check in row.record.checks
    ]


def notes(rows: Sequence[CaseRow], simulated: bool, *, whole: bool = False) -> list[Text]:
    """Return what is to be said of the numbers: what they mean, and what speaks against them.

    As a whole, or in short with what tells the rest.
    """
    measured = [row for row in rows if row.record is not None]
    said = [Text(line, style="dim") for line in legend(rows, measured, simulated)]
    case = column_case(rows)
    names = {row.planned.key: str(case.cell(row)).strip() for row in measured}
    said += [Text(line, style="dim") for line in _partly(measured, names, whole)]
    said += [Text(line, style="dim") for line in _assumed(measured, whole)]
    for row in measured:
        if row.record and row.record.reason and row.record.outcome is not Outcome.FAIL:
            style = OUTCOME_STYLES[row.record.outcome]
            said.append(Text(f"{row.planned.label}: {row.record.reason}", style=style))
        if missed := missed_on_a_busy_host(row):
            said.append(Text(f"{row.planned.label}: {missed}", style="red"))
    said += [
        Text(f"{one.planned.label}: {one.view.refuted}", "magenta")
        for one in rows
        if one.view.refuted
    ]
    warned = _warnings(measured)
    for doubt in islice(warned, MOST_WARNINGS):
        said.append(Text(f"! {doubt.text}{doubt.where(names)}", "yellow"))
    if (more := len(warned) - MOST_WARNINGS) > 0:
        said.append(Text(f"! and {more:,} more: `vsperf show … --json` has all", style="yellow"))
    if first := first_remedy(measured, (doubt.remedy for doubt in warned)):
        said.append(Text(f"what to do first: {first}"))
    said += [Text(line) for line in _standing(measured, whole)]
    if measured and not whole:
        hint = "more on a case: vsperf show RUN CASE --why; on a word: vsperf explain WORD"
        said.append(Text(hint, style="dim"))
    return said


def _partly(rows: Sequence[CaseRow], names: Mapping[str, str], whole: bool) -> list[str]:
    """Say of which answers not all trials at the lower bound passed; goals alike in one line."""
    told: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for goal, kept in row.partly.items():
            told.setdefault((row.planned.key, kept.text), []).append(goal)
    lines = [
        f"{names[case]} {', '.join(goals)}: of the trials at its lower bound {text}"
        for (case, text), goals in told.items()
    ]
    if whole or len(lines) <= MOST_PARTLY:
        return lines
    return [*lines[:MOST_PARTLY], f"and {len(lines) - MOST_PARTLY} more: vsperf show RUN CASE"]


def _assumed(rows: Sequence[CaseRow], whole: bool) -> list[str]:
    looked, assumed = rests_on(rows)
    told = [f"each answer rests on {looked}"] if looked else []
    if whole or not assumed:
        return [*told, *(f"{one}: {one.meaning}" for one in assumed)]
    rests = "".join(f"{one}, and " for one in told) or "each answer "
    return [f"{rests}assumes: {', '.join(assumed)}"]


@dataclass
class Doubt:
    """What speaks against numbers of some cases, in the words of the first."""

    text: str
    gravity: Severity | None = None
    """None of a warning."""
    remedy: str = ""
    """What to do about it; empty where that depends."""
    cases: dict[str, None] = field(default_factory=dict)
    likewise: dict[str, None] = field(default_factory=dict)
    """Cases that say the same with other numbers."""

    def where(self, names: Mapping[str, str]) -> str:
        """Name the cases that it is for, unless it is for all of them."""
        others = [case for case in self.likewise if case not in self.cases]
        if len(self.cases) == len(names):
            return ""
        told = _several([names[case] for case in self.cases])
        more = f"; likewise {_several([names[case] for case in others])}" if others else ""
        return f" ({told}{more})"


def _warnings(rows: Sequence[CaseRow]) -> list[Doubt]:
    """Return each flag and warning once, the gravest flags first."""
    found: dict[tuple[str, int], Doubt] = {}
    for row in rows:
        if row.record is None:
            continue
        flags = [(f"{flag.value}: {flag.gist}", flag) for flag in row.record.flags]
        said = [*row.record.warnings, *unclean(row)]
        met: Counter[str] = Counter()
        for text, flag in _of_one_goal((*flags, *((one, None) for one in said))):
            alike = NUMBERS.sub("#", GOAL.sub("#", text))
            met[alike] += 1  # of one case, two with other numbers are two
            new = Doubt(text) if flag is None else Doubt(text, flag.gravity, flag.remedy)
            doubt = found.setdefault((alike, met[alike]), new)
            (doubt.cases if doubt.text == text else doubt.likewise)[row.planned.key] = None
    order = (Severity.INVALID, Severity.SUSPECT, None, Severity.NOTE)
    return sorted(found.values(), key=lambda doubt: order.index(doubt.gravity))


def _of_one_goal(
    texts: Iterable[tuple[str, Flag | None]],
) -> Iterator[tuple[str, Flag | None]]:
    """Leave out what was said of another goal in the same words."""
    seen: set[str] = set()
    for text, flag in texts:
        if (plain := GOAL.sub("#", text)) not in seen:
            seen.add(plain)
            yield text, flag


def _standing(rows: Sequence[CaseRow], whole: bool) -> Iterator[str]:
    """Say how the cases stand to each standard.

    In short there is a line for each level, with what first deviates in all of its cases; that a
    doubt above is a deviation, too, is not said once more. Of a whole case such doubts are named.
    """
    found: dict[tuple[Standard, Level], list[tuple[str, ...]]] = {}
    for item, labels in compliances(rows).items():
        found.setdefault((item.standard, item.level), []).extend([item.deviations] * len(labels))
    for (standard, level), told in found.items():
        head = f"{standard.value}: {level.value}" + (
            "" if len(told) == len(rows) else f" in {len(told)} of {len(rows)} cases"
        )
        common = [one for one in told[0] if all(one in each for each in told)]
        shown = [one for one in common if not FLAGGED.match(one)]
        if not whole:
            shown = shown[:1]
        elif flags := [one.partition(":")[0] for one in common if FLAGGED.match(one)]:
            shown.append(f"doubts: {', '.join(flags)}")
        more = max(len(each) for each in told) - (len(common) if whole else len(shown))
        why = [
            *shown,
            *([f"{more} more" if shown else f"for {counted(more, 'reason')}"] if more else []),
        ]
        yield f"{head}: {'; '.join(why)}" if why else head


def _several(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} and {len(names) - 1} others"


WIDE = 170
"""Columns from which everything fits into one table; below, latency gets a table of its own."""
PLAIN_WIDTH = 220
"""Columns when the output is a file or a pipe and $COLUMNS is not set: nothing is cut there."""
GAP = 2
"""Places between two columns."""
STYLES = {
    "worse": "red",
    "better": "green",
    "aside": "dim",
    "doubt": "yellow",
    "name": "cyan",
    **{outcome.value: style for outcome, style in OUTCOME_STYLES.items()},
}
"""How that looks which a cell means."""


def console(stderr: bool = False) -> PlainConsole:
    """Return a console that cuts nothing when its output is a pipe, unless $COLUMNS is set."""
    made = PlainConsole(stderr=stderr)
    if made.is_terminal:
        return made
    return PlainConsole(stderr=stderr, width=columns_asked() or PLAIN_WIDTH)


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


def print_titled(out: Console, table: Table, meaning: str = "", *, blocks: bool = False) -> None:
    """Print a table below its title, and what it means below that."""
    out.print(table.title, style="bold")
    print_table(out, table, blocks=blocks)
    if meaning:
        out.print(meaning, style="dim")


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
    which, hits = [*switch_columns(rows), *regime_columns(rows)], hit_columns(rows)
    rates = rate_columns(rows) if any(row.rates_fps for row in rows) else []
    latency, effort = latency_columns(), effort_columns(rows)
    silent = [column.name for column in (*latency, *effort)]
    if width >= WIDE:
        every = [case, *which, *bounds, *hits, *rates, limit, *latency, *effort, outcome]
        yield Table.made("cases", every, rows).without(NOTHING, silent)
        return
    subjects: tuple[list[CaseColumn], ...] = (
        [*which, *bounds, limit, outcome],
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
