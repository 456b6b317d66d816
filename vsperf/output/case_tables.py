"""What is said of cases in tables, on a terminal and in reports, and what is to be said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from vsperf.analysis.answers import (
    INVALID,
    alone_in,
    another,
    answers,
    longest_away,
    loss_text,
    most_lost,
    over_draws,
    parted,
    share_text,
)
from vsperf.analysis.deployments import deployed_anew
from vsperf.analysis.repeats import Series, series_of
from vsperf.analysis.summary import (
    LOSSY,
    PERCENTILES,
    CaseRow,
    flows_differ,
    outcome_look,
    outcome_text,
)
from vsperf.output.regime_lines import regime_lines
from vsperf.output.table import NOTHING, Cell, Column, Table, columns
from vsperf.quantities.human import (
    End,
    above_text,
    human_count,
    human_fps,
    human_interval,
    human_ns,
    human_seconds,
    human_share,
    outward,
    rounded_share,
)
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.meaning import how_far
from vsperf.records.regime import Regime
from vsperf.records.result import (
    Assumption,
    Compliance,
    Curve,
    Level,
    Limit,
    LoadResult,
    Standard,
    amount,
    heading,
    unlikely_above,
)

CaseColumn = Column[CaseRow]
LEAST_BPS = 1_000_000
"""So much is a thousandth of a Gbit/s."""
LOSSY_MARK = "*"
"""Behind a latency that was measured while frames were lost."""
SENTENCES = 40
"""Places that sentences in a column take at least; with fewer they go below the numbers."""
AND = ", "
"""Between what is said of where a figure was measured."""
LEVEL_MARKS = {Level.UNCONDITIONAL: "✓", Level.CONDITIONAL: "(✓)", Level.NOT: "✗"}
MOST_GOALS = 3
"""So many goals stand side by side; more of them get a table of their own."""
MOST_WARNINGS = 100
"""Different ones that people are shown at once; somebody's record may hold any number."""


def _number(name: str, of: Callable[[CaseRow], str]) -> CaseColumn:
    return Column(name, of=of, align="right")


def column_case(rows: Sequence[CaseRow]) -> CaseColumn:
    """Name the cases by what tells them apart and nothing else."""
    several = len({row.testcase for row in rows}) > 1
    swept = any(set(row.planned.point) - {"frame_size"} for row in rows)
    repeated = any(row.planned.repeat > 1 for row in rows)

    def cell(row: CaseRow) -> str:
        common = "" if several else f"{row.testcase}-"
        text = row.planned.label.removeprefix(common)
        return f"{text} #{row.planned.repeat}" if repeated else text

    if several or swept or repeated:
        return Column("case", of=cell)
    return _number("frame", cell)


def switch_columns(rows: Sequence[CaseRow]) -> list[CaseColumn]:
    """Say which switch a row is of, where there are several and names of cases do not tell it."""
    named = all("vswitch" in row.planned.point for row in rows)
    if named or len({row.planned.driver("vswitch") for row in rows}) < 2:
        return []
    return [Column("switch", of=lambda row: row.planned.driver("vswitch") or NOTHING)]


def regime_columns(rows: Sequence[CaseRow]) -> list[CaseColumn]:
    """Say of which regime rows are, where they are not of the same.

    What was measured near need not be faster than what was measured far.
    """
    boundary = parted(row.result for row in rows)

    def cell(row: CaseRow) -> str:
        if any(goal.regimes for goal in row.goals):
            return "both"
        return alone_in(row.result, boundary) or NOTHING

    differ = len({*map(cell, rows)} - {NOTHING}) > 1
    return [Column("regime", of=cell)] if differ else []


def goal_columns(rows: Sequence[CaseRow]) -> list[CaseColumn]:
    """Answer to each of the first goals, with the one from clean time below it."""

    def cell(name: str) -> Callable[[CaseRow], str]:
        def found(row: CaseRow) -> str:
            goal = next((goal for goal in row.goals if goal.goal == name), None)
            return NOTHING if goal is None else "\n".join(answers(goal))

        return found

    return [_number(name.upper(), cell(name)) for name in goal_names(rows)[:MOST_GOALS]]


def goal_names(rows: Sequence[CaseRow]) -> list[str]:
    """Return the names of all goals, in the order of the cases."""
    return list(dict.fromkeys(goal.goal for row in rows for goal in row.goals))


def load_columns(rows: Sequence[CaseRow]) -> list[CaseColumn]:
    """Say what became of loads that were given; nothing where none were."""
    if not any(row.loads for row in rows):
        return []

    def column(name: str, of: Callable[[LoadResult], str]) -> CaseColumn:
        return _number(name, lambda row: _lines(map(of, row.loads)))

    def used(of: Callable[[LoadResult], str]) -> Callable[[LoadResult], str]:
        return lambda one: of(one) if one.believed else INVALID

    return [
        column("load", lambda one: human_fps(one.load_fps)),
        column("through", used(lambda one: human_fps(one.throughput_fps, End.LOWER))),
        column("loss", used(most_lost)),
        *(
            [column("away", used(_away))]
            if any(load.outages_ns for row in rows for load in row.loads)
            else []
        ),
    ]


def first_figures(rows: Sequence[CaseRow]) -> list[CaseColumn]:
    """Show the figure that matters most; the others stand in a table of their own."""

    def cell(name: str) -> Callable[[CaseRow], str]:
        return lambda row: next((one.text for one in row.figures[:1] if one.name == name), NOTHING)

    names = dict.fromkeys(figure.name for row in rows for figure in row.figures[:1])
    return [_number(heading(name), cell(name)) for name in names]


def _away(load: LoadResult) -> str:
    """Say how long frames stayed away after an event, at worst."""
    return longest_away(load) or NOTHING


def rate_columns(rows: Sequence[CaseRow]) -> list[CaseColumn]:
    """Say what the rates are as a share of the line rate and in bits."""
    line = _number(
        "% line",
        lambda row: _lines(share_text(row.line_share(fps), End.LOWER) for fps in row.rates_fps),
    )
    return [
        *([] if all(row.virtual for row in rows) else [line]),
        _number(
            "Gbit/s L1", lambda row: _lines(gigabits(row.bps(fps, 1)) for fps in row.rates_fps)
        ),
        _number("L2", lambda row: _lines(gigabits(row.bps(fps, 2)) for fps in row.rates_fps)),
    ]


def limit_column() -> CaseColumn:
    """Name what limited each answer."""

    def cell(row: CaseRow) -> str:
        if row.loads:
            return _lines(load.limit.value for load in row.loads)
        if not row.goals:
            return row.record.limit or NOTHING if row.record else NOTHING
        return limit_lines(row, lambda limit: limit.value)

    return Column("limit", of=cell)


def limit_lines(row: CaseRow, named: Callable[[Limit], str]) -> str:
    """Name what limited the answers to the goals of a case, in lines as those answers stand."""
    others = (another(goal) for goal in row.goals)
    found = (
        [goal.limit for goal in row.goals],
        [goal.limit for goal in others if goal is not None],
        *(
            [
                one.limit
                for goal in row.goals
                for one in goal.regimes
                if one.regime is regime and one.limit is not None
            ]
            for regime in Regime
        ),
    )
    return _lines(" / ".join(dict.fromkeys(map(named, limits))) for limits in found if limits)


def latency_columns() -> list[CaseColumn]:
    """Latency at the middle one of its loads; marked where frames were lost there."""

    def cell(percent: float) -> Callable[[CaseRow], str]:
        def found(row: CaseRow) -> str:
            middle = row.middle_latency
            if middle is None:
                return NOTHING
            mark = LOSSY_MARK if middle.lost_frames else ""
            return f"{human_ns(middle.percentiles_ns[percent])}{mark}"

        return found

    return [_number(f"p{percent:g}", cell(percent)) for percent in PERCENTILES]


def effort_columns(rows: Sequence[CaseRow]) -> list[CaseColumn]:
    """Say what it took, and which standards it complies with."""

    def clean(row: CaseRow) -> str:
        shares = [Fraction(goal.clean.share) for goal in row.goals if goal.clean is not None]
        return share_text(min(shares, default=None))

    known = any(goal.clean is not None for row in rows for goal in row.goals)
    return [
        *([_number("clean", clean)] if known else []),
        _number("trials", lambda row: str(row.record.trials) if row.record else NOTHING),
        _number("time", _time),
        Column("compliance", of=_compliance_cell),
    ]


def hit_columns(rows: Sequence[CaseRow]) -> list[CaseColumn]:
    """Show which caches answered where cases differ in their flows: there they overflow."""
    if not flows_differ(rows):
        return []

    def cell(cache: str) -> Callable[[CaseRow], str]:
        return lambda row: human_share(row.hits[cache]) if cache in row.hits else NOTHING

    caches = dict.fromkeys(cache for row in rows for cache, share in row.hits.items() if share > 0)
    return [_number(cache, cell(cache)) for cache in caches]


def outcome_column() -> CaseColumn:
    """Say how a case ended, or how far it came."""
    return Column("outcome", of=lambda row: outcome_cell(row, "aside"))


def outcome_cell(row: CaseRow, other: str) -> Cell:
    """Say how a case ended; one without a record looks like another one."""
    return Cell(case_outcome(row), outcome_look(row.record) if row.record else other)


def _time(row: CaseRow) -> str:
    return human_seconds(row.record.measured_ns / 1e9) if row.record else NOTHING


def _compliance_cell(row: CaseRow) -> str:
    found = row.record.compliance if row.record else ()
    return (
        " · ".join(f"{item.standard.value} {LEVEL_MARKS[item.level]}" for item in found) or NOTHING
    )


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(texts) or NOTHING


def gigabits(bps: int) -> str:
    """Write what a bound is in Gbit/s; what is too little for the digits is not called 0."""
    if 0 < bps < LEAST_BPS:
        return "< 0.001"
    return f"{float(outward(Fraction(bps, 10**9), 3, End.LOWER)):.3f}"


def case_outcome(row: CaseRow) -> str:
    """Say how a case ended, or how far it came."""
    if row.record is None:
        return how_far(begun=row.view.attempt > 0, refuted=row.view.refuted)
    return outcome_text(row.record)


# Tables of what does not fit into one line of a case: goals, figures, curves, repeats.


def goals_table(rows: Sequence[CaseRow]) -> Table | None:
    """Return all goals below each other, where they are too many to stand side by side."""
    if len(goal_names(rows)) <= MOST_GOALS:
        return None
    case, found = column_case(rows), []
    for row in rows:
        label = case.cell(row)
        for goal in row.goals:
            allowed, answer = loss_text(goal.loss_ratio), "\n".join(answers(goal))
            found.append((label, goal.goal, allowed, answer, goal.limit.value))
            label = ""
    whole = columns("goal", "loss allowed", "load", "limit", right=(1, 2), breaks=False)
    return Table("goals", (*columns(case.name), *whole), tuple(found), keys=2)


def _shared(places: Sequence[str]) -> set[str]:
    """Return what is said of each of several places, which is told with the first one alone."""
    return set.intersection(*(set(one.split(AND)) for one in places)) if len(places) > 1 else set()


def figures_table(rows: Sequence[CaseRow]) -> Table | None:
    """Return all figures of all cases, with what defends them; None where there is none."""
    repeated = any(figure.spread_text for row in rows for figure in row.figures)
    case, found = column_case(rows), []
    for row in rows:
        label, told = case.cell(row), set[str]()
        shared = _shared([figure.at for figure in row.figures if figure.at])
        for figure in row.figures:
            parts = figure.at.split(AND)
            at = AND.join(part for part in parts if part not in told)
            told |= shared & set(parts)
            why = "; ".join(part for part in (at, figure.reason) if part)
            spread = [figure.spread_text] if repeated else []
            found.append((label, heading(figure.name), figure.text, *spread, why))
            label = ""
    spread = ["lowest … highest"] if repeated else []
    value = columns("value", right=(0,), breaks=False)
    reasons = Column[Any]("measured at, and why", breaks=True, least=SENTENCES)
    head = (*columns(case.name, "figure"), *value, *columns(*spread), reasons)
    return Table("figures", head, tuple(found), keys=2) if found else None


def curve_table(curve: Curve) -> Table:
    """Return how one number depends on another, a point in a row."""
    axes = (curve.x, *curve.columns)
    rows = (
        tuple(
            NOTHING if value is None else amount(value, axis.unit)
            for value, axis in zip(point, axes, strict=True)
        )
        for point in curve.points
    )
    at = f", {curve.at}" if curve.at else ""
    names = (heading(axis.name) for axis in axes)
    heads = columns(*names, right=range(len(axes)), breaks=False)
    return Table(f"{heading(curve.name)}{at}", heads, tuple(rows))


REPEATS = (
    "repeats: of a search, rates are the highest loads that passed; s is the standard deviation, "
    "and the last column holds the mean of all repeats there could be, at 95 %, cut at 0 "
    "where no such number lies below, if they scatter normally and do not depend on each other: "
    "a state of the machine that lasts longer than all of them is not in it, and few repeats of "
    "states that last for some are held too narrow; "
    "≥ where a repeat is only a lower bound, and then nothing is averaged"
)
DEPEND = f"{NOTHING} (they depend on each other)"


def repeats_table(rows: Sequence[CaseRow]) -> Table | None:
    """Return what each number did over the repeats of its case; None where none was repeated."""
    cases: dict[str, list[CaseRow]] = {}
    for row in rows:
        if row.record is not None and row.record.result is not None:
            cases.setdefault(row.planned.id, []).append(row)
    found = []
    for group in cases.values():
        label = group[0].planned.label
        for series in series_of([row.result for row in group]) if len(group) > 1 else ():
            found.append((label, heading(series.name), *_of_series(series)))
            label = ""
    names = ("runs", "median", "lowest", "highest", "s", "s / mean", "mean, 95 %")
    whole = columns(*names, right=range(6), breaks=False)
    heads = (*columns("case", "repeated"), *whole)
    return Table("repeats", heads, tuple(found), keys=2) if found else None


def _of_series(series: Series) -> list[str]:
    def written(value: float, end: End | None = None) -> str:
        return amount(value, series.unit, end)

    def shown(value: float, *, is_bound: bool, end: End | None = None) -> str:
        return human_interval(value, None, written) if is_bound else written(value, end)

    deviation, mean = series.deviation, series.mean
    share = NOTHING if deviation is None or not mean else rounded_share(deviation / abs(mean), 1)
    ends, together = series.confidence, series.together
    lowest, highest = min(series.values), max(series.values)
    return [
        f"{len(series.values)}" + (f", {len(series.bounds)} of them ≥" if series.bounds else ""),
        shown(series.median, is_bound=series.median_is_bound),
        shown(lowest, is_bound=series.is_bound(lowest), end=End.LOWER),
        shown(highest, is_bound=series.is_bound(highest), end=End.UPPER),
        NOTHING if deviation is None else written(deviation),
        share,
        (DEPEND if together is None else NOTHING)
        if ends is None
        else human_interval(*ends, written) + _as_one(together),
    ]


def _as_one(together: int | None) -> str:
    """Say that repeats were found to depend on each other, if they were."""
    return "" if together == 1 else f", {together} neighbours as one, since they depend"


# What is to be said of the numbers of a run, once for all the cases that it concerns.


def _of_frames(row: CaseRow) -> bool:
    """Whether any of its figures is a rate of frames."""
    return any(figure.unit is Unit.FPS for figure in row.figures)


def legend(rows: Sequence[CaseRow], measured: Sequence[CaseRow], simulated: bool) -> list[str]:
    """Say what the numbers of a table mean."""
    lines = []
    if any(row.goals for row in rows):
        lines.append(
            "rates per direction; intervals: highest load that passed … lowest that failed, "
            "rounded outward"
        )
    elif any(row.loads or _of_frames(row) for row in measured):
        lines.append("rates per direction")
    if any(goal.clean is not None for row in rows for goal in row.goals):
        lines.append("clean: only the time in which nothing kept generator or switch from running")
    lines += filter(None, (*regime_lines(rows), _over(rows), *deployed_anew(rows)))
    frames = [count for row in measured for count in row.lossless.values()]
    if frames and (share := unlikely_above(min(frames))) is not None:
        least = "" if len(frames) == 1 else "at least "
        lines.append(
            f"no frame lost at a lower bound{_of_which(rows)}: of {least}"
            f"{human_count(min(frames))} sent there each way, so that a loss ratio above "
            f"{above_text(share)} is unlikely (3/n, at 95 %)"
        )
    references = {row.middle_latency.at for row in rows if row.middle_latency}
    if references:
        lines.append(
            f"latency at {', '.join(sorted(references))}, from when frames left, all directions "
            "together"
        )
    if any(row.middle_latency.lost_frames for row in rows if row.middle_latency):
        lines.append(f"{LOSSY_MARK} frames were lost at that load: {LOSSY}")
    if flows_differ(rows) and any(row.hits for row in rows):
        lines.append("caches of the switch: by which share of the lookups each was the answer")
    if simulated and measured:
        lines.append("time is that of the model")
    return lines


def _over(rows: Sequence[CaseRow]) -> str:
    """Say what an interval over several deployments is, and what it is not.

    Of so many draws and one more each is as likely to be the least as any other, and the greatest.
    """
    told = [goal.draws for row in rows for goal in row.goals if over_draws(goal)]
    if not told:
        return ""
    fewest = min(len(draws.told) for draws in told if draws is not None)
    return (
        "over N: from the least of the lower bounds on N deployments to the greatest of the upper "
        "ones; each deployment is a draw of its own, and one more lies beyond these in about "
        f"{2 / (fewest + 1):.0%} of cases"
    )


def rests_on(rows: Sequence[CaseRow]) -> tuple[str, tuple[Assumption, ...]]:
    """Say for how long answers were looked at, and what they assume since no trial there can tell.

    The first is nothing without an answer that rests on trials at its bounds. One of a method that
    has no bounds is of one deployment all the same.
    """
    resting = [one for row in rows for one in row.resting.values()]
    taken = {one for each in resting for one in each.assumed}
    if not resting and any(_without_bounds(row) for row in rows):
        taken = {Assumption.ONE_DRAW}
    answered = Counter(row.planned.id for row in rows if not row.result.empty)
    if all(count > 1 for count in answered.values()):  # each repeat is a draw
        taken -= {Assumption.ONE_DRAW}
    told = tuple(one for one in Assumption if one in taken)
    if not resting:
        return "", told
    shortest = min(one.sending_ns for one in resting) / NANOSECONDS
    least, end = ("", None) if len(resting) == 1 else ("at least ", End.LOWER)
    return f"{least}{human_seconds(shortest, end)} of trials at its bounds", told


def _without_bounds(row: CaseRow) -> bool:
    """Whether it has an answer of a method that looks for no bounds, from one deployment."""
    if row.view.rounds:
        return False
    return bool(row.loads or row.curves) or any(one.value is not None for one in row.figures)


def _of_which(rows: Sequence[CaseRow]) -> str:
    """Name the lower bounds at which not one frame was lost, unless it is all of them.

    A goal that allows loss may have one that lost frames, in a case whose other goal has none. Of
    repeats and of several runs, whose cases are called the same, it is said how many they are.
    """
    answered = [row for row in rows if row.goals]
    cases = {
        name: [row for row in answered if any(goal.goal == name for goal in row.goals)]
        for name in dict.fromkeys(goal.goal for row in answered for goal in row.goals)
    }
    held = {name: sum(name in row.lossless for row in each) for name, each in cases.items()}
    if all(held[name] == len(each) for name, each in cases.items()):
        return ""
    labels = [row.planned.label for row in answered]
    if len({*labels}) < len(labels) or all(held[name] in (0, len(cases[name])) for name in cases):
        told = [_held(name, held[name], len(each)) for name, each in cases.items() if held[name]]
        return f" of {', '.join(told)}"
    told = [
        row.planned.label
        if len(row.lossless) == len(row.goals)
        else f"{row.planned.label} ({', '.join(name.upper() for name in row.lossless)})"
        for row in answered
        if row.lossless
    ]
    more = f" and {len(told) - 3} others" if len(told) > 4 else ""
    return f" of {', '.join(told[:3] if more else told)}{more}"


def _held(name: str, held: int, cases: int) -> str:
    return name.upper() if held == cases else f"{name.upper()} in {held} of {cases} cases"


def unclean(row: CaseRow) -> list[str]:
    """Say why there is no answer from clean time, in a regime or over deployments."""
    return (
        [
            f"no {goal.goal} from clean time: {goal.clean.reason}"
            for goal in row.goals
            if goal.clean is not None and goal.clean.limit is None
        ]
        + [
            f"no {goal.goal} while the CPUs were {one.regime.words}, "
            f"{rounded_share(Fraction(one.share))} of the time: {one.reason}"
            for goal in row.goals
            for one in goal.regimes
            if one.limit is None
        ]
        + [
            f"no {goal.goal} over {goal.draws.asked} deployments: on number {draw.deployment}, "
            f"{draw.reason}"
            for goal in row.goals
            if goal.draws is not None and not over_draws(goal)
            for draw in [one for one in goal.draws.made if not one.told][:1]
        ]
    )


def compliances(rows: Sequence[CaseRow]) -> dict[Compliance, list[str]]:
    """Return each way to stand to a standard with the cases that it holds for."""
    found: dict[Compliance, list[str]] = {}
    for row in rows:
        for item in row.record.compliance if row.record else ():
            found.setdefault(item, []).append(row.planned.label)
    return dict(sorted(found.items(), key=lambda pair: list(Standard).index(pair[0].standard)))
