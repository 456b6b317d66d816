"""Summary tables: the interval, what limited it, how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsperf.cli.summary import CaseRow, LatencyRow
from vsperf.human import human_fps, human_ns, human_seconds
from vsperf.record.flags import Severity, worst
from vsperf.record.result import Compliance, GoalResult, Level, LoadResult
from vsperf.record.run import Outcome

WIDE = 170
"""Columns from which everything fits into one table; below, latency gets a table of its own."""
PLAIN_WIDTH = 220
"""Columns when the output is a file or a pipe: nothing is cut there."""

OUTCOME_STYLES = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.INVALID: "magenta",
    Outcome.ERROR: "red",
    Outcome.SKIP: "dim",
    Outcome.ABORTED: "yellow",
}
LEVEL_MARKS = {Level.UNCONDITIONAL: "✓", Level.CONDITIONAL: "(✓)", Level.NOT: "✗"}

Column = tuple[str, Callable[[CaseRow], RenderableType]]


def console(stderr: bool = False) -> Console:
    """Return a console that cuts nothing when its output is a pipe."""
    made = Console(stderr=stderr, highlight=False)
    return made if made.is_terminal else Console(stderr=stderr, highlight=False, width=PLAIN_WIDTH)


def summary(rows: Sequence[CaseRow], simulated: bool, width: int) -> RenderableType:
    """Return the summary of a run."""
    parts: list[RenderableType] = []
    if simulated:
        parts.append(simulated_banner())
    parts.append(Text())
    shown = [row for row in rows if row.record is not None]
    if shown and width >= WIDE:
        parts.append(_table(rows, [*_result_columns(rows), *_latency_columns(), *_trust_columns()]))
    elif shown:
        narrow = [_column_case(rows), *_latency_columns(), *_effort_columns()]
        parts += [
            _table(rows, [*_result_columns(rows), _outcome()]),
            Text(),
            _table(rows, narrow),
        ]
    else:
        parts.append(Text("no case has a result yet", style="dim"))
    return Group(*parts, Text(), *_notes(rows))


def simulated_banner() -> Text:
    """Return the label that every output of a simulated run carries."""
    return Text(
        " SIMULATED: these numbers come from a model, not from a switch ", "black on yellow"
    )


def _table(rows: Sequence[CaseRow], columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, _ in columns:
        left = name in ("case", "limit", "outcome", "compliance")
        table.add_column(name, justify="left" if left else "right", no_wrap=name != "outcome")
    for row in rows:
        table.add_row(*(cell(row) for _, cell in columns))
    return table


def _column_case(rows: Sequence[CaseRow]) -> Column:
    several = len({row.planned.spec["name"] for row in rows}) > 1
    swept = any(set(row.planned.point) - {"frame_size"} for row in rows)
    repeated = any(row.planned.repeat > 1 for row in rows)

    def cell(row: CaseRow) -> str:
        text = row.planned.label if several or swept else str(row.frame_size)
        return f"{text} #{row.planned.repeat}" if repeated else text

    return ("case" if several or swept else "frame", cell)


def _result_columns(rows: Sequence[CaseRow]) -> list[Column]:
    columns: list[Column] = [_column_case(rows)]
    for name in dict.fromkeys(goal.goal for row in rows for goal in row.goals):
        columns.append((name.upper(), lambda row, name=name: _goal_cell(row, name)))  # type: ignore[misc]
    if any(row.loads for row in rows):
        columns.append(("load", lambda row: _lines(human_fps(x.load_fps) for x in row.loads)))
        columns.append(("through", lambda row: _lines(_through(x) for x in row.loads)))
        columns.append(("loss", lambda row: _lines(_loss(x.worst_loss_ratio) for x in row.loads)))
    return [
        *columns,
        ("% line", lambda row: "–" if row.line_share is None else f"{float(row.line_share):.1%}"),
        ("Gbit/s L1", lambda row: _gigabits(row.bps(1))),
        ("L2", lambda row: _gigabits(row.bps(2))),
        ("limit", lambda row: str(row.record.limit or "–") if row.record else "–"),
    ]


def _latency_columns() -> list[Column]:
    return [
        (f"p{percent:g}", lambda row, percent=percent: _percentile(row.latency, percent))  # type: ignore[misc]
        for percent in (50.0, 99.0, 99.9)
    ]


def _effort_columns() -> list[Column]:
    return [
        ("trials", lambda row: str(row.record.trials) if row.record else "–"),
        ("time", lambda row: human_seconds(row.record.measured_ns / 1e9) if row.record else "–"),
        ("compliance", _compliance_cell),
    ]


def _trust_columns() -> list[Column]:
    return [*_effort_columns(), _outcome()]


def _outcome() -> Column:
    return ("outcome", _outcome_cell)


def _outcome_cell(row: CaseRow) -> Text:
    if row.record is None:
        return Text("not run", style="dim")
    return Text(row.record.outcome.value, style=OUTCOME_STYLES[row.record.outcome])


def _compliance_cell(row: CaseRow) -> str:
    found = row.record.compliance if row.record else ()
    return " · ".join(f"{item.standard.value} {LEVEL_MARKS[item.level]}" for item in found) or "–"


def _goal_cell(row: CaseRow, name: str) -> str:
    goal = next((goal for goal in row.goals if goal.goal == name), None)
    return "–" if goal is None else interval(goal)


def interval(goal: GoalResult) -> str:
    """Write the answer to a goal: the interval, a lower limit, or none; never one bare number."""
    if worst(goal.flags) is Severity.INVALID:
        return "invalid"
    if goal.lower_fps is None:
        return f"none < {human_fps(goal.upper_fps)}" if goal.upper_fps is not None else "unknown"
    lower = human_fps(goal.lower_fps)
    if goal.upper_fps is None:
        return f"≥ {lower}"
    upper = human_fps(goal.upper_fps)
    number, _, unit = lower.partition(" ")
    return f"{number if upper.endswith(' ' + unit) else lower} … {upper}"


def _through(load: LoadResult) -> str:
    return human_fps(load.throughput_fps)


def _loss(ratio: str) -> str:
    value = float(Fraction(ratio))
    return "0" if value == 0 else f"{value:.4%}" if value >= 1e-5 else f"{value:.1e}"


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(texts) or "–"


def _gigabits(bps: int | None) -> str:
    return "–" if bps is None else f"{bps / 1e9:.3f}"


def _percentile(latency: tuple[LatencyRow, ...], percent: float) -> str:
    if not latency:
        return "–"
    middle = latency[len(latency) // 2]
    return human_ns(middle.percentiles_ns[percent])


def _notes(rows: Sequence[CaseRow]) -> list[RenderableType]:
    lines = ["rates per direction; intervals are [highest load that passed … lowest that failed]"]
    references = {row.latency[len(row.latency) // 2].reference for row in rows if row.latency}
    if references:
        lines.append(f"latency at {', '.join(sorted(references))}, all directions together")
    notes: list[RenderableType] = [Text("\n".join(lines), style="dim")]
    for row in rows:
        if row.record is not None and row.record.reason:
            style = OUTCOME_STYLES[row.record.outcome]
            notes.append(Text(f"{row.planned.label}: {row.record.reason}", style=style))
    notes += [Text(f"! {text}", style="yellow") for text in _warnings(rows)]
    notes += [Text(_compliance_line(item)) for item in _compliances(rows)]
    checks = [
        Text(f"{_mark(check.met)} {row.planned.label}: {check.criterion}, found {check.found}")
        for row in rows
        if row.record
        for check in row.record.checks
    ]
    return [*checks, *notes]


def _mark(met: bool | None) -> str:
    return "?" if met is None else "✓" if met else "✗"


def _warnings(rows: Sequence[CaseRow]) -> list[str]:
    """Return flags and warnings, each once with the cases that it concerns."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.record is None:
            continue
        texts = [f"{flag.value}: {flag.meaning}" for flag in row.record.flags]
        for text in (*texts, *row.record.warnings):
            found.setdefault(text, []).append(row.planned.label)
    return [f"{text} ({_some(labels)})" for text, labels in found.items()]


def _compliances(rows: Sequence[CaseRow]) -> list[Compliance]:
    found = [item for row in rows if row.record for item in row.record.compliance]
    return list(dict.fromkeys(found))


def _compliance_line(item: Compliance) -> str:
    why = f": {'; '.join(item.deviations)}" if item.deviations else ""
    return f"{LEVEL_MARKS[item.level]} {item.standard.value}: {item.level.value}{why}"


def _some(labels: Sequence[str]) -> str:
    unique = list(dict.fromkeys(labels))
    return ", ".join(unique) if len(unique) <= 3 else f"{unique[0]} and {len(unique) - 1} others"
