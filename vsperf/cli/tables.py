"""Summary tables: the interval, what limited it, how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from vsperf.cli.summary import PERCENTILES, CaseRow
from vsperf.cli.terminal import PlainConsole
from vsperf.human import human_fps, human_ns, human_seconds
from vsperf.record.flags import Flag, Severity, worst
from vsperf.record.result import Compliance, GoalResult, Level, Standard
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
LEFT = ("case", "limit", "outcome", "compliance")


def console(stderr: bool = False) -> Console:
    """Return a console that cuts nothing when its output is a pipe."""
    made = PlainConsole(stderr=stderr)
    return made if made.is_terminal else PlainConsole(stderr=stderr, width=PLAIN_WIDTH)


def print_summary(out: Console, rows: Sequence[CaseRow], simulated: bool) -> None:
    """Print what a run found: criteria first, then the numbers, then what is to be said of them."""
    if simulated:
        out.print(simulated_banner())
    for line in _criteria(rows):
        out.print(line, soft_wrap=True)
    if any(row.record is not None for row in rows):
        for columns in _blocks(rows, out.width):
            out.print()
            out.print(_table(rows, columns))
        out.print()
    else:
        out.print("no case has a result yet", style="dim")
    for line in _notes(rows, simulated):
        out.print(line, soft_wrap=True)


def simulated_banner() -> Text:
    """Return the label that every output of a simulated run carries."""
    return Text(
        " SIMULATED: these numbers come from a model, not from a switch ", "black on yellow"
    )


def _blocks(rows: Sequence[CaseRow], width: int) -> list[list[Column]]:
    """Return the columns, in one table where they fit and in several that fit 80 columns."""
    case = _column_case(rows)
    bounds = [*_goal_columns(rows), *_load_columns(rows)]
    if width >= WIDE:
        columns = [*bounds, *_rate_columns(rows), *_latency_columns(), *_effort_columns(rows)]
        return [[case, *columns, _outcome()]]
    return [
        [case, *bounds, _limit(), _outcome()],
        [case, *(column for column in _rate_columns(rows) if column[0] != "limit")],
        [case, *_latency_columns(), *_effort_columns(rows)],
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

    names = dict.fromkeys(goal.goal for row in rows for goal in row.goals)
    return [(name.upper(), cell(name)) for name in names]


def _load_columns(rows: Sequence[CaseRow]) -> list[Column]:
    if not any(row.loads for row in rows):
        return []
    return [
        ("load", lambda row: _lines(human_fps(load.load_fps) for load in row.loads)),
        ("through", lambda row: _lines(human_fps(load.throughput_fps) for load in row.loads)),
        ("loss", lambda row: _lines(loss_text(load.worst_loss_ratio) for load in row.loads)),
        *([("away", _away)] if any(load.outages_ns for row in rows for load in row.loads) else []),
    ]


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
        ("% line", lambda row: _lines(_share(row.line_share(fps)) for fps in row.rates_fps))
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
        return _share(min(shares, default=None))

    known = any(goal.clean is not None for row in rows for goal in row.goals)
    return [
        *([("clean", clean)] if known else []),
        ("trials", lambda row: str(row.record.trials) if row.record else "–"),
        ("time", lambda row: human_seconds(row.record.measured_ns / 1e9) if row.record else "–"),
        ("compliance", _compliance_cell),
    ]


def _outcome() -> Column:
    return ("outcome", _outcome_cell)


def _outcome_cell(row: CaseRow) -> Text:
    if row.record is None:
        return Text("interrupted" if row.begun else "not run", style="dim")
    return Text(row.record.outcome.value, style=OUTCOME_STYLES[row.record.outcome])


def _compliance_cell(row: CaseRow) -> str:
    found = row.record.compliance if row.record else ()
    return " · ".join(f"{item.standard.value} {LEVEL_MARKS[item.level]}" for item in found) or "–"


def interval(goal: GoalResult) -> str:
    """Write the answer to a goal: the interval, a lower limit, or none; never one bare number."""
    if worst(goal.flags) is Severity.INVALID:
        return "invalid"
    if goal.lower_fps is None:
        nothing = "none <" if Flag.AT_MINIMUM in goal.flags else "? …"
        return "unknown" if goal.upper_fps is None else f"{nothing} {human_fps(goal.upper_fps)}"
    lower = human_fps(goal.lower_fps)
    if goal.upper_fps is None:
        return f"≥ {lower}"
    upper = human_fps(goal.upper_fps)
    number, _, unit = lower.partition(" ")
    return f"{number if upper.endswith(' ' + unit) else lower} … {upper}"


def another(goal: GoalResult) -> GoalResult | None:
    """Return the answer to a goal from clean time, if there is one and it is another."""
    if goal.clean is None or goal.clean.limit is None:
        return None
    told = {"lower_fps", "upper_fps", "limit"}
    if goal.model_dump(include=told) == goal.clean.model_dump(include=told):
        return None
    return goal.model_copy(update=goal.clean.model_dump(exclude={"share"}))


def answers(goal: GoalResult) -> list[str]:
    """Write the answer to a goal, and the one from clean time if it is another."""
    clean = another(goal)
    return [interval(goal), *([] if clean is None else [f"clean {interval(clean)}"])]


def reasons(row: CaseRow) -> list[str]:
    """Say why each interval of a case ends where it does."""
    found = []
    for goal in row.goals:
        found.append(f"{goal.goal}: {goal.reason}")
        clean = another(goal)
        if clean is not None and goal.clean is not None:
            share = _share(Fraction(goal.clean.share))
            found.append(f"{goal.goal} in {share} clean time: {clean.reason}")
    return found


def loss_text(ratio: Fraction | str) -> str:
    """Write a loss ratio in percent, with enough digits that a small one is not shown as zero."""
    value = Fraction(ratio)
    return "0" if value == 0 else f"{float(value) * 100:.4g}%"


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(texts) or "–"


def _share(share: Fraction | None) -> str:
    return "–" if share is None else f"{float(share):.1%}"


def _gigabits(bps: int) -> str:
    return f"{bps / 1e9:.3f}"


def _criteria(rows: Sequence[CaseRow]) -> list[Text]:
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


def _notes(rows: Sequence[CaseRow], simulated: bool) -> list[Text]:
    measured = [row for row in rows if row.record is not None]
    notes = [Text(line, style="dim") for line in _legend(rows, measured, simulated)]
    for row in measured:
        if row.record and row.record.reason and row.record.outcome is not Outcome.FAIL:
            style = OUTCOME_STYLES[row.record.outcome]
            notes.append(Text(f"{row.planned.label}: {row.record.reason}", style=style))
    for text, labels in _warnings(measured).items():
        notes.append(Text(f"! {text}{_concerning(labels, measured)}", style="yellow"))
    if any(row.record and row.record.flags for row in measured):
        notes.append(Text("  more on a flag: vsperf explain FLAG", style="dim"))
    for item, labels in _compliances(measured).items():
        notes.append(Text(_compliance_line(item) + _concerning(labels, measured)))
    return notes


def _legend(rows: Sequence[CaseRow], measured: Sequence[CaseRow], simulated: bool) -> list[str]:
    lines = []
    if any(row.goals for row in rows):
        lines.append(
            "rates per direction; intervals: highest load that passed … lowest that failed"
        )
    elif measured:
        lines.append("rates per direction")
    if any(goal.clean is not None for row in rows for goal in row.goals):
        lines.append("clean: only the time in which nothing kept generator or switch from running")
    references = {row.middle_latency.reference for row in rows if row.middle_latency}
    if references:
        lines.append(f"latency at {', '.join(sorted(references))}, all directions together")
    if simulated and measured:
        lines.append("time is that of the model")
    return lines


def _warnings(rows: Sequence[CaseRow]) -> dict[str, list[str]]:
    """Return flags and warnings, each once with the cases that it concerns."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.record is None:
            continue
        texts = [f"{flag.value}: {flag.gist}" for flag in row.record.flags]
        for text in (*texts, *row.record.warnings, *_unclean(row)):
            found.setdefault(text, []).append(row.planned.label)
    return found


def _unclean(row: CaseRow) -> list[str]:
    """Say why there is no answer from clean time, where there is none."""
    return [
        f"no {goal.goal} from clean time: {goal.clean.reason}"
        for goal in row.goals
        if goal.clean is not None and goal.clean.limit is None
    ]


def _compliances(rows: Sequence[CaseRow]) -> dict[Compliance, list[str]]:
    found: dict[Compliance, list[str]] = {}
    for row in rows:
        for item in row.record.compliance if row.record else ():
            found.setdefault(item, []).append(row.planned.label)
    return dict(sorted(found.items(), key=lambda pair: list(Standard).index(pair[0].standard)))


def _compliance_line(item: Compliance) -> str:
    why = f": {'; '.join(item.deviations)}" if item.deviations else ""
    return f"{item.standard.value}: {item.level.value}{why}"


def _concerning(labels: Sequence[str], rows: Sequence[CaseRow]) -> str:
    """Name the cases that a note is for, unless it is for all of them."""
    unique = list(dict.fromkeys(labels))
    if len(unique) == len({row.planned.label for row in rows}):
        return ""
    shown = ", ".join(unique) if len(unique) <= 3 else f"{unique[0]} and {len(unique) - 1} others"
    return f" ({shown})"
