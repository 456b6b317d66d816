"""The columns of a table of cases: one row each, whatever became of it.

Rates and frames per second are per direction, as everywhere. Of what differs from method to method
(goals, loads, figures) there are as many columns as the exported cases need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from vsperf.analysis.summary import CaseRow
from vsperf.analysis.why import Measured
from vsperf.errors import StoreError
from vsperf.output.export.columns import (
    as_specified,
    is_told,
    joined,
    latency_columns,
    share,
    slug,
    unique,
)
from vsperf.output.table import Column, Kind, Moment, Value
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.flags import Severity, worst
from vsperf.records.regime import Regime
from vsperf.records.result import (
    Draws,
    Figure,
    GoalResult,
    LoadResult,
    PartialResult,
    RegimeResult,
    SearchResult,
    View,
    heading,
)
from vsperf.records.run import CaseRecord
from vsperf.records.words import meaning

CaseColumn = Column[CaseRow]
GoalColumn = Callable[[str, Kind, Callable[[GoalResult], Value], str], CaseColumn]
MOST_CELLS: Final = 10_000_000
"""Of a table of cases: what each case of a stranger's record has for itself makes columns for all,
so that cells grow with the square of the record."""


def case_columns(runs: Sequence[RunView]) -> tuple[CaseColumn, ...]:
    """Return the columns that the cases of `runs` need; looks at their records only."""
    labels: dict[str, None] = {}
    goals: dict[str, tuple[bool, bool]] = {}
    figures: dict[tuple[str, str], None] = {}
    standards: dict[str, None] = {}
    cases = loads = 0
    for run in runs:
        labels |= dict.fromkeys(run.labels)
        for case in run.cases():
            cases += 1
            result = case.result or SearchResult()
            for goal in result.goals:
                apart, drawn = goals.get(goal.goal, (False, False))
                goals[goal.goal] = (
                    apart or bool(goal.regimes),
                    drawn or goal.draws is not None,
                )
            figures |= dict.fromkeys((one.name, one.unit.value) for one in result.figures)
            loads = max(loads, len(result.loads))
            if case.record:
                standards |= dict.fromkeys(one.standard.value for one in case.record.compliance)
    columns = unique(
        [
            *_about_the_run(),
            *(_label(name) for name in sorted(labels)),
            *_about_the_case(),
            *_about_the_outcome(),
            *(column for goal, told in goals.items() for column in _goal(goal, *told)),
            *(column for number in range(loads) for column in _load(number)),
            *(column for name, unit in figures for column in _figure(name, unit)),
            Column(
                "switch_cycles_per_frame",
                float,
                _cycles_per_frame,
                meaning="Busy cycles of the polling threads of the switch for each frame.",
            ),
            *_latency(),
            *(_compliance(standard) for standard in standards),
        ]
    )
    if len(columns) * cases > MOST_CELLS:
        raise StoreError(
            f"a table of {cases:,} cases with {len(columns):,} columns is too large",
            why=f"it has at most {MOST_CELLS:,} cells, and each label, goal, load and figure of "
            "any case needs columns",
            fix="export fewer runs at once",
        )
    return columns


def _seen(name: str, kind: Kind, of: Callable[[CaseView], Value], meaning: str = "") -> CaseColumn:
    return Column(name, kind, lambda row: of(row.view), meaning=meaning)


def _recorded(
    name: str, kind: Kind, of: Callable[[CaseRecord], Value], meaning: str = ""
) -> CaseColumn:
    """Return a column that is empty of a case that has not ended."""
    return _seen(name, kind, lambda case: of(case.record) if case.record else None, meaning)


def _about_the_run() -> Iterator[CaseColumn]:
    yield _seen("run", str, lambda case: case.run)
    yield _seen("run_started_at", Moment, lambda case: case.header.started_at)
    yield _seen("simulated", bool, lambda case: case.simulated)
    yield _seen("testbed", str, lambda case: case.header.testbed)
    yield _seen("preset", str, lambda case: case.header.preset)
    yield _seen("vsperf_version", str, lambda case: case.header.vsperf_version)
    yield _seen("hostname", str, lambda case: _fact(case, "host", "hostname"))
    yield _seen("cpu_model", str, lambda case: _fact(case, "host", "cpu_model"))
    yield _seen("kernel", str, lambda case: _fact(case, "system", "kernel"))


def _label(name: str) -> CaseColumn:
    return _seen(f"label_{slug(name)}", str, lambda case: case.labels.get(name))


def _about_the_case() -> Iterator[CaseColumn]:
    yield _seen("case", str, lambda case: case.key)
    yield _seen("label", str, lambda case: case.label)
    yield _seen("testcase", str, lambda case: case.testcase)
    yield _seen("tags", str, lambda case: joined(case.asked.tags))
    yield _seen("repeat", int, lambda case: case.planned.repeat, "Which repeat of the case it is.")
    yield _seen("attempt", int, lambda case: case.attempt or None, "How often it was begun.")
    yield _seen("topology", str, lambda case: case.asked.text("topology", "name"))
    yield _seen("vswitch", str, lambda case: case.asked.kind("vswitch"))
    yield _seen("generator", str, lambda case: _sender(case, "generator"))
    yield _seen("program", str, lambda case: _sender(case, "program"))
    yield _seen("method", str, lambda case: case.asked.kind("search"))
    yield _seen(
        "frame_size_bytes", int, lambda case: case.asked.frame_bytes, "Size of frames with FCS."
    )
    yield Column(
        "mean_frame_size_bytes",
        float,
        as_specified(_mean_frame_size),
        meaning="Mean size of frames with FCS, of a mix of sizes, too.",
    )
    yield _seen("flows", int, lambda case: case.asked.flows, "Flows that the frames are of.")
    yield _seen("directions", int, _directions, "Directions in which frames are sent at once.")
    yield _seen("started_at", Moment, lambda case: case.start.started_at if case.start else None)


def _about_the_outcome() -> Iterator[CaseColumn]:
    yield _recorded("finished_at", Moment, lambda record: record.finished_at)
    yield _recorded("outcome", str, lambda record: record.outcome.value)
    yield _recorded("reason", str, lambda record: record.reason or None)
    yield _recorded("limit", str, lambda record: record.limit.value if record.limit else None)
    yield _recorded("flags", str, lambda record: joined(flag.value for flag in record.flags))
    yield _recorded("warnings", str, lambda record: joined(record.warnings))
    yield _recorded(
        "criteria_met", int, lambda record: _criteria(record, met=True), "Criteria that were met."
    )
    yield _recorded(
        "criteria_missed",
        int,
        lambda record: _criteria(record, met=False),
        "Criteria that were missed.",
    )
    yield _recorded("trials", int, lambda record: record.trials, "Trials that the answer took.")
    yield _recorded(
        "measured_ns", int, lambda record: record.measured_ns, "Time that all trials took."
    )
    yield Column(
        "rate_fps", int, _rate, meaning="The one rate that stands for the case, per direction."
    )
    yield Column(
        "line_rate_percent",
        float,
        as_specified(_line_rate_percent),
        meaning="The same as a share of what the link could carry.",
    )
    yield Column(
        "rate_l1_bps",
        int,
        as_specified(lambda row: _bps(row, 1)),
        meaning="The same in bits of frames with preamble and gaps.",
    )
    yield Column(
        "rate_l2_bps",
        int,
        as_specified(lambda row: _bps(row, 2)),
        meaning="The same in bits of frames with FCS.",
    )


def _goal(name: str, by_regime: bool, drawn: bool) -> Iterator[CaseColumn]:
    def column(
        suffix: str, kind: Kind, of: Callable[[GoalResult], Value], meaning: str
    ) -> CaseColumn:
        def found(row: CaseRow) -> Value:
            goal = next((one for one in row.goals if one.goal == name), None)
            if goal is None:
                return None
            return of(_without_rates(goal) if row.too_busy else goal)

        return Column(f"{slug(name)}_{suffix}", kind, found, meaning=f"{name}: {meaning}.")

    yield column(
        "loss_ratio",
        float,
        lambda goal: share(Fraction(goal.loss_ratio)),
        "share of frames that may be lost",
    )
    for suffix, said in {
        "lower_fps": "lower bound, per direction",
        "upper_fps": "upper bound, per direction",
        "throughput_fps": "frames that arrived at the lower bound, per direction",
    }.items():
        yield column(suffix, int, partial(_used, name=suffix), said)
    yield column("limit", str, lambda goal: goal.limit.value, "what limited it")
    yield column("flags", str, lambda goal: joined(flag.value for flag in goal.flags), "doubts")
    yield column("clean_share", float, _clean_share, "share of the time that was clean")
    yield column(
        "clean_lower_fps",
        int,
        lambda goal: _used(goal.clean, "lower_fps"),
        "lower bound in clean time, per direction",
    )
    yield column(
        "clean_upper_fps",
        int,
        lambda goal: _used(goal.clean, "upper_fps"),
        "upper bound in clean time, per direction",
    )
    for regime in Regime if by_regime else ():
        yield from _goal_in(regime, column)
    yield from _goal_over(column) if drawn else ()


def _without_rates(goal: GoalResult) -> GoalResult:
    """Return an answer of a machine that was too busy without what is from all the time.

    What is from clean time stays: in that the machine kept nobody from running.
    """
    from_all = goal.draws is not None and goal.draws.view is View.ALL
    untold = ["lower_fps", "upper_fps", "throughput_fps", *(["draws"] if from_all else [])]
    return goal.model_copy(update=dict.fromkeys(untold))


def _used(answer: GoalResult | PartialResult | None, name: str) -> Value:
    """Return a number of an answer; none of one that is not used: its flags say why, and JSON."""
    if answer is None or worst(answer.flags) is Severity.INVALID:
        return None
    found: float | None = getattr(answer, name)
    return found


def _goal_over(column: GoalColumn) -> Iterator[CaseColumn]:
    """Yield the answer to a goal over several deployments."""

    def found(of: Callable[[Draws], Value]) -> Callable[[GoalResult], Value]:
        return lambda goal: of(goal.believed_draws) if goal.believed_draws is not None else None

    yield column(
        "draws_count", int, found(lambda draws: len(draws.told)), "deployments that were measured"
    )
    yield column("draws_view", str, found(lambda draws: draws.view.value), "how they are looked at")
    yield column(
        "draws_lower_fps",
        int,
        found(lambda draws: draws.lower_fps),
        "lower bound over deployments, per direction",
    )
    yield column(
        "draws_upper_fps",
        int,
        found(lambda draws: draws.upper_fps),
        "upper bound over deployments, per direction",
    )


def _goal_in(regime: Regime, column: GoalColumn) -> Iterator[CaseColumn]:
    """Yield the answer to a goal in one regime."""

    def found(of: Callable[[RegimeResult], Value]) -> Callable[[GoalResult], Value]:
        return lambda goal: next((of(one) for one in goal.regimes if one.regime is regime), None)

    bound = f"bound while the CPUs were {regime}, per direction"
    part = f"share of the time in which the CPUs were {regime}"
    yield column(f"{regime}_share", float, found(lambda one: share(Fraction(one.share))), part)
    for end in ("lower", "upper"):
        told = found(partial(_used, name=f"{end}_fps"))
        yield column(f"{regime}_{end}_fps", int, told, f"{end} {bound}")


def _load(number: int) -> Iterator[CaseColumn]:
    def column(
        suffix: str, kind: Kind, of: Callable[[LoadResult], Value], meaning: str
    ) -> CaseColumn:
        def found(row: CaseRow) -> Value:
            if number >= len(row.loads):
                return None
            load = row.loads[number]
            doubted = not load.believed and suffix not in ("fps", "limit")
            untold = row.too_busy and suffix in ("throughput_fps", "loss_ratio")
            return None if doubted or untold else of(load)

        name, said = f"load_{number + 1}_{suffix}", f"Load {number + 1}: {meaning}."
        return Column(name, kind, found, meaning=said)

    yield column("fps", int, lambda load: load.load_fps, "what was offered, per direction")
    yield column(
        "throughput_fps", int, lambda load: load.throughput_fps, "what arrived, per direction"
    )
    yield column(
        "loss_ratio",
        float,
        lambda load: share(Fraction(load.worst_loss_ratio)),
        "share of frames that was lost, at worst",
    )
    yield column("trials", int, lambda load: load.trials, "trials at it")
    yield column(
        "passed", int, lambda load: load.passed, "trials at it that lost no more than they may"
    )
    yield column("limit", str, lambda load: load.limit.value, "what limited it")


def _figure(name: str, unit: str) -> Iterator[CaseColumn]:
    means = (
        f"{heading(name)}: {meaning(heading(name))}" if meaning(heading(name)) else heading(name)
    )

    def column(suffix: str, of: Callable[[Figure], Value], part: str = "") -> CaseColumn:
        def found(row: CaseRow) -> Value:
            found = (one for one in row.figures if (one.name, one.unit.value) == (name, unit))
            figure = next(found, None)
            return of(figure) if figure is not None and is_told(row, figure) else None

        return Column(f"{slug(name)}{suffix}_{unit}", float, found, meaning=f"{part}{means}")

    yield column("", lambda figure: figure.value)
    yield column("_lower", lambda figure: figure.lower, "Lower bound: ")
    yield column("_upper", lambda figure: figure.upper, "Upper bound: ")
    yield column(
        "_deviation",
        lambda figure: figure.spread.deviation if figure.spread is not None else None,
        "Standard deviation: ",
    )


def _latency() -> Iterator[CaseColumn]:
    """Yield the latency at the load that stands for the case; the others are in its trials."""
    yield Column(
        "latency_load_fps",
        int,
        lambda row: getattr(row.middle_latency, "load_fps", None),
        meaning="Load at which the latency was measured, per direction.",
    )
    yield Column(
        "latency_reference", str, lambda row: getattr(row.middle_latency, "reference", None)
    )
    yield from latency_columns(lambda row: row.middle_latency)


def _compliance(standard: str) -> CaseColumn:
    def found(record: CaseRecord) -> Value:
        levels = (one.level.value for one in record.compliance if one.standard.value == standard)
        return next(levels, None)

    return _recorded(f"compliance_{slug(standard).lower()}", str, found)


def _cycles_per_frame(row: CaseRow) -> Value:
    """Return what a frame cost the switch at the load that the case came to."""
    view = row.view
    if view.record is None:
        return None
    return Measured(view.label, view.record, view.standing_trials).cycles.middle


def _clean_share(goal: GoalResult) -> Value:
    return share(Fraction(goal.clean.share)) if goal.clean else None


def _fact(case: CaseView, section: str, name: str) -> Value:
    facts = case.header.environment.get(section)
    value = facts.get(name) if isinstance(facts, dict) else None
    return value if isinstance(value, str) else None


def _sender(case: CaseView, section: str) -> Value:
    """Return the kind of what sends, if it is in this section."""
    found, kind = case.asked.sender
    return kind if found == section else None


def _directions(case: CaseView) -> Value:
    return len(case.start.plan.directions) if case.start else None


def _mean_frame_size(row: CaseRow) -> Value:
    return float(row.frame_size.mean)


def _criteria(record: CaseRecord, *, met: bool) -> Value:
    return sum(check.met is met for check in record.checks) if record.checks else None


def _rate(row: CaseRow) -> int | None:
    """Return the rate that stands for the case; None where loads were several, or none."""
    rates = row.rates_fps
    return rates[0] if len(rates) == 1 else None


def _line_rate_percent(row: CaseRow) -> Value:
    rate = _rate(row)
    found = None if rate is None else row.line_share(rate)
    return None if found is None else float(100 * found)


def _bps(row: CaseRow, layer: int) -> Value:
    rate = _rate(row)
    return None if rate is None else row.bps(rate, layer)
