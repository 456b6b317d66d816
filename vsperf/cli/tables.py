"""Summary tables: the interval, what limited it, how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Literal

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from vsperf.cli.figures_view import figure_tables
from vsperf.cli.notes import OUTCOME_STYLES, criteria, notes
from vsperf.cli.repeats_view import MEANING as REPEATS
from vsperf.cli.repeats_view import repeats_table
from vsperf.cli.terminal import PlainConsole
from vsperf.human import human_fps, human_ns, human_seconds, human_share
from vsperf.record.figure import heading
from vsperf.record.result import Level
from vsperf.stats.answers import another, answers, loss_text, share_text
from vsperf.stats.summary import PERCENTILES, CaseRow, flows_differ

WIDE = 170
"""Columns from which everything fits into one table; below, latency gets a table of its own."""
PLAIN_WIDTH = 220
"""Columns when the output is a file or a pipe: nothing is cut there."""

LEVEL_MARKS = {Level.UNCONDITIONAL: "✓", Level.CONDITIONAL: "(✓)", Level.NOT: "✗"}

Column = tuple[str, Callable[[CaseRow], RenderableType]]
MOST_GOALS = 3
"""So many goals stand side by side; more of them get a table of their own."""
GOAL_COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("goal", "left"),
    ("loss allowed", "right"),
    ("load", "right"),
    ("limit", "left"),
)
LEFT = ("case", "limit", "outcome", "compliance")


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
        named, label = _column_case(rows)
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


def simulated_banner() -> Text:
    """Return the label that every output of a simulated run carries."""
    return Text(
        " SIMULATED: these numbers come from a model, not from a switch ", "black on yellow"
    )


def _blocks(rows: Sequence[CaseRow], width: int) -> list[list[Column]]:
    """Return the columns, in one table where they fit and in several that fit 80 columns."""
    case = _column_case(rows)
    bounds = [*_goal_columns(rows), *_load_columns(rows), *_first_figures(rows)]
    hits = _hit_columns(rows)
    rates = _rate_columns(rows) if any(row.rates_fps for row in rows) else []
    if width >= WIDE:
        limit = [] if rates else [_limit()]
        columns = [*bounds, *hits, *rates, *limit, *_latency_columns(), *_effort_columns(rows)]
        return [[case, *columns, _outcome()]]
    return [
        [case, *bounds, _limit(), _outcome()],
        *([[case, *(column for column in rates if column[0] != "limit")]] if rates else []),
        [case, *_latency_columns(), *_effort_columns(rows)],
        *([[case, *hits]] if hits else []),
    ]


def _table(rows: Sequence[CaseRow], columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, _ in columns:
        table.add_column(name, justify="left" if name in LEFT else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(cell(row) for _, cell in columns))
    return table


def _column_case(rows: Sequence[CaseRow]) -> Column:
    """Name the cases by what tells them apart and nothing else."""
    several = len({row.testcase for row in rows}) > 1
    swept = any(set(row.planned.point) - {"frame_size"} for row in rows)
    repeated = any(row.planned.repeat > 1 for row in rows)

    def cell(row: CaseRow) -> str:
        common = "" if several else f"{row.testcase}-"
        text = row.planned.label.removeprefix(common)
        return f"{text} #{row.planned.repeat}" if repeated else text

    return ("case" if several or swept or repeated else "frame", cell)


def _goal_columns(rows: Sequence[CaseRow]) -> list[Column]:
    def cell(name: str) -> Callable[[CaseRow], str]:
        def found(row: CaseRow) -> str:
            goal = next((goal for goal in row.goals if goal.goal == name), None)
            return "–" if goal is None else "\n".join(answers(goal))

        return found

    return [(name.upper(), cell(name)) for name in goal_names(rows)[:MOST_GOALS]]


def goal_names(rows: Sequence[CaseRow]) -> list[str]:
    """Return the names of all goals, in the order of the cases."""
    return list(dict.fromkeys(goal.goal for row in rows for goal in row.goals))


def _goals_table(rows: Sequence[CaseRow]) -> Table | None:
    """Return all goals below each other, where they are too many to stand side by side."""
    if len(goal_names(rows)) <= MOST_GOALS:
        return None
    named, label = _column_case(rows)
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


def _load_columns(rows: Sequence[CaseRow]) -> list[Column]:
    if not any(row.loads for row in rows):
        return []
    return [
        ("load", lambda row: _lines(human_fps(load.load_fps) for load in row.loads)),
        ("through", lambda row: _lines(human_fps(load.throughput_fps) for load in row.loads)),
        ("loss", lambda row: _lines(loss_text(load.worst_loss_ratio) for load in row.loads)),
        *([("away", _away)] if any(load.outages_ns for row in rows for load in row.loads) else []),
    ]


def _first_figures(rows: Sequence[CaseRow]) -> list[Column]:
    """Show the figure that matters most; the others stand in a table of their own."""

    def cell(name: str) -> Callable[[CaseRow], str]:
        return lambda row: next((one.text for one in row.figures[:1] if one.name == name), "–")

    names = dict.fromkeys(figure.name for row in rows for figure in row.figures[:1])
    return [(heading(name), cell(name)) for name in names]


def _away(row: CaseRow) -> str:
    """Say how long frames stayed away after an event, at worst."""
    return _lines(
        human_ns(max(outage for outage in load.outages_ns if outage is not None))
        if load.outages_ns and None not in load.outages_ns
        else "–"
        for load in row.loads
    )


def _rate_columns(rows: Sequence[CaseRow]) -> list[Column]:
    line: list[Column] = [
        ("% line", lambda row: _lines(share_text(row.line_share(fps)) for fps in row.rates_fps))
    ]
    return [
        *([] if all(row.virtual for row in rows) else line),
        ("Gbit/s L1", lambda row: _lines(_gigabits(row.bps(fps, 1)) for fps in row.rates_fps)),
        ("L2", lambda row: _lines(_gigabits(row.bps(fps, 2)) for fps in row.rates_fps)),
        _limit(),
    ]


def _limit() -> Column:
    def cell(row: CaseRow) -> str:
        if row.loads:
            return _lines(load.limit.value for load in row.loads)
        if not row.goals:
            return row.record.limit or "–" if row.record else "–"
        limits = dict.fromkeys(goal.limit.value for goal in row.goals)
        others = (another(goal) for goal in row.goals)
        clean = dict.fromkeys(goal.limit.value for goal in others if goal is not None)
        return _lines(" / ".join(found) for found in (limits, clean) if found)

    return ("limit", cell)


def _latency_columns() -> list[Column]:
    def cell(percent: float) -> Callable[[CaseRow], str]:
        def found(row: CaseRow) -> str:
            middle = row.middle_latency
            return "–" if middle is None else human_ns(middle.percentiles_ns[percent])

        return found

    return [(f"p{percent:g}", cell(percent)) for percent in PERCENTILES]


def _effort_columns(rows: Sequence[CaseRow]) -> list[Column]:
    def clean(row: CaseRow) -> str:
        shares = [Fraction(goal.clean.share) for goal in row.goals if goal.clean is not None]
        return share_text(min(shares, default=None))

    known = any(goal.clean is not None for row in rows for goal in row.goals)
    return [
        *([("clean", clean)] if known else []),
        ("trials", lambda row: str(row.record.trials) if row.record else "–"),
        ("time", lambda row: human_seconds(row.record.measured_ns / 1e9) if row.record else "–"),
        ("compliance", _compliance_cell),
    ]


def _hit_columns(rows: Sequence[CaseRow]) -> list[Column]:
    """Show which caches answered where cases differ in their flows: there they overflow."""
    if not flows_differ(rows):
        return []

    def cell(cache: str) -> Callable[[CaseRow], str]:
        return lambda row: human_share(row.hits.get(cache, 0.0)) if row.hits else "–"

    caches = dict.fromkeys(cache for row in rows for cache in row.hits)
    return [(cache, cell(cache)) for cache in caches]


def _outcome() -> Column:
    return ("outcome", _outcome_cell)


def _outcome_cell(row: CaseRow) -> Text:
    if row.record is None:
        return Text("interrupted" if row.begun else "not run", style="dim")
    return Text(row.record.outcome.value, style=OUTCOME_STYLES[row.record.outcome])


def _compliance_cell(row: CaseRow) -> str:
    found = row.record.compliance if row.record else ()
    return " · ".join(f"{item.standard.value} {LEVEL_MARKS[item.level]}" for item in found) or "–"


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(texts) or "–"


def _gigabits(bps: int) -> str:
    return f"{bps / 1e9:.3f}"
