"""The first screen of a report: what was measured on what, the answer, the verdict, the doubts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vsperf import __version__
from vsperf.analysis.summary import CaseRow, first_remedy
from vsperf.output.case_tables import (
    CaseColumn,
    column_case,
    effort_columns,
    first_figures,
    goal_columns,
    hit_columns,
    latency_columns,
    legend,
    limit_lines,
    load_columns,
    outcome_cell,
    rate_columns,
    regime_columns,
    repeats_table,
    rests_on,
    switch_columns,
)
from vsperf.output.report.account import told
from vsperf.output.report.case_part import Teller, asked_of, cost_part
from vsperf.output.report.doubts import criteria_of, held_text
from vsperf.output.report.environment import (
    host_text,
    moment,
    run_parts,
    short_host,
    switch_version,
)
from vsperf.output.report.page import (
    Brief,
    CasePart,
    Concern,
    Criterion,
    Doubt,
    Fact,
    Number,
    Overview,
    Standing,
)
from vsperf.output.report.verdict import trust_of, verdict_of
from vsperf.output.table import NOTHING, Cell, Column, Row, Table
from vsperf.quantities.human import counted, human_seconds
from vsperf.quantities.quantity import UnitError
from vsperf.quantities.units import FrameSize
from vsperf.records.files.reader import RunState
from vsperf.records.files.view import RunView
from vsperf.records.result import Level, Limit
from vsperf.records.words import meaning
from vsperf.trust.printable import vsperf_command

# A report in three lines: what was measured, which standards that meets, and its worth.

STANDS = {
    Level.UNCONDITIONAL: "complies with {}",
    Level.CONDITIONAL: "complies with {} in all that it must, not in all that it should",
    Level.NOT: "does not comply with {}",
}
COMPLIANCE = {True: ("compliance", "what it deviates in"), False: ("", "")}
"""Where a report that was held against standards says more."""
FEW = 3
"""So many frame sizes are named one by one."""


def brief_of(
    facts: Mapping[str, str],
    frames: Sequence[str],
    rows: Sequence[CaseRow],
    concerns: Sequence[Concern],
    standings: Sequence[tuple[Standing, str]],
    *,
    simulated: bool,
) -> tuple[Brief, ...]:
    """Return what is to be known before anything else."""
    return (
        Brief(
            "What was measured?",
            _measured(facts, frames, simulated=simulated),
            "cases",
            "case by case",
        ),
        Brief("By which standard?", _standards(standings, rows), *COMPLIANCE[bool(standings)]),
        Brief(
            "Can it be trusted?", trust_of(rows, concerns, simulated=simulated), "concerns", "why"
        ),
    )


def _measured(facts: Mapping[str, str], frames: Sequence[str], *, simulated: bool) -> str:
    sizes = f"frames of {', '.join(frames)}" if frames else ""
    if len(frames) > FEW:
        sized = all(map(_bytes, frames))
        extent = f"frame sizes from {frames[0]} to {frames[-1]}" if sized else "kinds of frames"
        sizes = f"{len(frames)} {extent}"
    vnfs = f"with VNFs ({facts['vnfs']})" if "vnfs" in facts else ""
    where = f"on {facts['host']}" if facts.get("host") else ""
    links = f"over links that are {facts['links']}" if "links" in facts else ""
    switch = f"a model ({facts.get('switch', '?')})" if simulated else facts.get("switch", "")
    parts = (switch, vnfs, sizes, links, where)
    return f"{', '.join(part for part in parts if part)}."


def _bytes(text: str) -> int | None:
    """Return how large frames are; None of a mix of them."""
    try:
        return FrameSize.parse(text).bytes
    except UnitError:
        return None


def _standards(standings: Sequence[tuple[Standing, str]], rows: Sequence[CaseRow]) -> str:
    """Say how the gravest case stands to each standard, and if cases stand to none."""
    levels = list(Level)
    found: dict[str, Level] = {}
    for standing, _ in standings:
        level = Level(standing.level)
        known = found.get(standing.standard, level)
        found[standing.standard] = max(level, known, key=levels.index)
    said = [
        words.format(", ".join(name for name, stands in found.items() if stands is level))
        for level, words in STANDS.items()
        if level in found.values()
    ]
    return f"It {'; '.join(said)}.{held_text(rows)}" if said else "It was held against none."


# What the words of a report mean, for whoever reads the first one.

OTHERS = ("load", "fps", "note", "suspect", "invalid", "clean")
"""Words that stand in every report, whatever its columns."""


def glossary_of(columns: Iterable[str]) -> tuple[Fact, ...]:
    """Return what the words of a report with these columns mean."""
    found = ((word, meaning(word)) for word in dict.fromkeys((*columns, *OTHERS)))
    return tuple(Fact(word, text) for word, text in found if text is not None)


LABEL: Final = Column[CaseRow]("case", of=lambda row: row.planned.label)
IN_DETAILS = "compliance"
"""The column of what each case says itself."""
HEADLINES = 4
"""Cases at most whose first answer stands in large letters: the first and the last one; of several
runs the first one of each."""


@dataclass(slots=True)
class Gathered:
    """What the first screen needs of each case: a few words, and no trial."""

    rows: list[CaseRow] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    tops: dict[str, list[tuple[str, Number]]] = field(default_factory=dict)
    """First and last answer of each run, each with the name of its case."""
    criteria: list[Criterion] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    asked: dict[Fact, None] = field(default_factory=dict)
    switches: dict[str, dict[str, dict[str, None]]] = field(default_factory=dict)
    """Which there are; of each the versions that it told, and in which runs."""

    def frames(self) -> list[str]:
        """Return the frames that were asked for: sizes by size, whichever run was first; mixes."""
        asked = [fact.value for fact in self.asked if fact.name == "frames"]
        return sorted(asked, key=lambda text: _bytes(text) or float("inf"))

    def add(self, row: CaseRow, part: CasePart) -> None:
        """Take in a case."""
        case = row.view
        self.rows.append(row)
        self.labels.append(part.short)
        self.anchors.append(part.anchor)
        self.runs.append(case.run)
        self.criteria += criteria_of(case.record, part.short)
        self.titles.setdefault(case.testcase, part.title)
        self.asked |= dict.fromkeys(asked_of(case.asked))
        if (switch := told(lambda: case.planned.driver("vswitch"), None)) is not None:
            versions = self.switches.setdefault(switch, {})
            if version := switch_version(case.record.conditions if case.record else None):
                versions.setdefault(version, {})[case.run] = None
        if part.numbers:
            tops = self.tops.get(case.run, [])
            self.tops[case.run] = [*tops[:1], (part.short, part.numbers[0])]

    @property
    def headlines(self) -> list[tuple[str, Number]]:
        """The answers that stand for all: of each of several runs the same one."""
        if len(self.tops) == 1:
            return next(iter(self.tops.values()))
        return [tops[0] for tops in self.tops.values()]


def overview_of(runs: Sequence[RunView], gathered: Gathered, teller: Teller) -> Overview:
    """Return the first screen, once all cases have been gone through."""
    results = _results(gathered, teller.runs)
    simulated = any(run.simulated for run in runs)
    names = list(gathered.titles)
    facts = _facts(runs, gathered, teller.runs)
    concerns = (*_standing(runs, simulated), *teller.concerns.all())
    standings = teller.concerns.standings()
    return Overview(
        title=_title(gathered, runs),
        subtitle=", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else ""),
        simulated=simulated,
        verdict=verdict_of(runs, gathered.rows, gathered.criteria),
        brief=_with(
            teller.compared.before,
            brief_of(
                {
                    **{fact.name: fact.value for fact in facts},
                    "host": " and on ".join(_each_once(short_host(run.header) for run in runs)),
                },
                gathered.frames(),
                gathered.rows,
                concerns,
                standings,
                simulated=simulated,
            ),
        ),
        answers=tuple(_answer(label, number) for label, number in gathered.headlines[:HEADLINES]),
        more=counted(len(gathered.headlines) - HEADLINES, "more run")
        if len(gathered.headlines) > HEADLINES
        else "",
        facts=facts,
        concerns=concerns,
        first=first_remedy(gathered.rows, (one.doubt.remedy for one in concerns)),
        criteria=tuple(gathered.criteria),
        words=glossary_of(results.names),
        results=results,
        legend=tuple(told(lambda: _legend(gathered.rows, simulated), [])),
        repeats=_repeats(gathered, teller.runs),
        costs=tuple(
            cost_part(one, teller.common, single=len(runs) == 1) for one in teller.compared.costs
        ),
        pictures=teller.pictures.of_all(),
        runs=tuple(run_parts(runs)),
        standings=standings,
        vsperf=__version__,
        compact=teller.compact,
    )


def _with(before: Brief | None, brief: tuple[Brief, ...]) -> tuple[Brief, ...]:
    return brief if before is None else (*brief, before)


def _title(gathered: Gathered, runs: Sequence[RunView]) -> str:
    if len(gathered.titles) == 1:
        return next(iter(gathered.titles.values()))
    if gathered.titles:
        return f"{len(gathered.titles)} testcases"
    return runs[0].run


def _answer(label: str, number: Number) -> Number:
    name = f"{label}: {number.name}"
    return replace(number, name=name)


def _began(run: RunView, names: Mapping[str, str]) -> str:
    """Say when a run began, and which it was of several."""
    labels = "".join(f", {name}={value}" for name, value in run.labels.items())
    about = f" ({names[run.run]}{labels})" if names else ""
    return f"{moment(run.header.started_at)}{about}"


def _each_once(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]


def _switch(kind: str, versions: Mapping[str, Iterable[str]], names: Mapping[str, str]) -> str:
    """Name a switch with the version that it told; where runs had several, with those of each."""
    told_of = [
        f"{version} of {', '.join(names.get(run, run) for run in runs)}"
        if names and len(versions) > 1
        else version
        for version, runs in versions.items()
    ]
    return f"{kind} ({'; '.join(told_of)})" if told_of else kind


def _facts(
    runs: Sequence[RunView], gathered: Gathered, names: Mapping[str, str]
) -> tuple[Fact, ...]:
    """Say what was measured on what."""
    head = runs[0].header
    asked: dict[str, list[str]] = {}
    for fact in gathered.asked:
        asked.setdefault(fact.name, []).append(fact.value)
    switches = (_switch(name, found, names) for name, found in gathered.switches.items())
    measured = sum(row.record.measured_ns for row in gathered.rows if row.record is not None)
    took = human_seconds(measured / 1e9) + (" of the model's time" if head.simulated else "")
    made = sum(row.record.trials for row in gathered.rows if row.record is not None)
    trials = counted(made, "trial")
    known = {
        "switch": ", ".join(switches),
        "vnfs": ", ".join(asked.get("vnfs", ())),
        "generator": ", ".join(asked.get("generator", ())),
        "program": ", ".join(asked.get("program", ())),
        "noise": "; ".join(asked.get("noise", ())),
        "links": ", ".join(asked.get("links", ())),
        "frames": ", ".join(gathered.frames()),
        "flows": ", ".join(asked.get("flows", ())),
        "testbed": ", ".join(dict.fromkeys(run.header.testbed for run in runs))
        + f"; preset {', '.join(dict.fromkeys(run.header.preset for run in runs))}",
        "host": "; ".join(_each_once(host_text(run.header) for run in runs)),
        "when": f"{', '.join(_began(run, names) for run in runs)}; {trials} in {took}",
    }
    return tuple(Fact(name, value) for name, value in known.items() if value)


def _standing(runs: Sequence[RunView], simulated: bool) -> tuple[Concern, ...]:
    """Say what is wrong with runs as a whole."""
    found = []
    if simulated:
        text = "Every number comes from a model of a switch, and says nothing of a real one."
        doubt = Doubt(0, "simulated", "These numbers come from a model", text)
        found.append(Concern(doubt, ""))
    for run in runs:
        if run.state is RunState.INTERRUPTED:
            resume = vsperf_command("run", "--resume", run.run)
            text = f"It did not come to its end. Go on with: {resume}"
            doubt = Doubt(0, "incomplete", f"{run.run} was interrupted", text)
            found.append(Concern(doubt, ""))
        if run.state is RunState.RUNNING:
            text = "The report shows what was stored when it was made."
            doubt = Doubt(0, "incomplete", f"{run.run} is still running", text)
            found.append(Concern(doubt, ""))
        if run.torn:
            text = "The machine or vsperf stopped while it was written; nothing of it is counted."
            doubt = Doubt(0, "incomplete", f"The last record of {run.run} was cut off", text)
            found.append(Concern(doubt, ""))
    return tuple(found)


def _results(gathered: Gathered, names: Mapping[str, str]) -> Table:
    """Return a row for each case, which leads to what is said of it."""
    columns = tuple(replace(one, meaning=meaning(one.name) or "") for one in _columns(gathered))
    found = zip(gathered.anchors, gathered.runs, gathered.rows, strict=True)
    rows: tuple[Row, ...] = tuple(
        (
            Cell(first, link=anchor),
            *_of_run(run, names),
            *cells,
            outcome_cell(row, "open"),
        )
        for anchor, run, row in found
        for first, *cells in (_cells(columns, row),)
    )
    first, *others = columns
    outcome = Column[CaseRow]("outcome", meaning=meaning("outcome") or "")
    return Table("results", (first, *_run_column(names), *others, outcome), rows, "results")


def _run_column(names: Mapping[str, str]) -> list[CaseColumn]:
    return [Column("run", meaning=meaning("run") or "")] if names else []


def _of_run(run: str, names: Mapping[str, str]) -> list[str]:
    """Return the cell of the run that a row is of, where there are several."""
    return [names[run]] if run in names else []


def _columns(gathered: Gathered) -> list[CaseColumn]:
    rows = gathered.rows
    if not any(row.record is not None for row in rows):
        return [LABEL]
    nothing: list[CaseColumn] = []

    def block(make: Callable[[Sequence[CaseRow]], list[CaseColumn]]) -> list[CaseColumn]:
        return told(lambda: make(rows), nothing)

    case = told(lambda: column_case(rows), LABEL)
    rates = block(rate_columns) if told(lambda: any(row.rates_fps for row in rows), True) else []
    bounds = [*block(goal_columns), *block(load_columns), *block(first_figures)]
    latency = latency_columns() if any(row.latency for row in rows) else []
    effort = [column for column in block(effort_columns) if column.name != IN_DETAILS]
    return [
        case,
        *block(switch_columns),
        *block(regime_columns),
        *bounds,
        *block(hit_columns),
        *rates,
        Column("limit", of=_limit_of),
        *latency,
        *effort,
    ]


def _limit_of(row: CaseRow) -> str:
    """Say what limited the answers of a case, in lines and words as in the terminal."""
    if row.loads:
        return "\n".join(_named(load.limit) for load in row.loads)
    if row.goals and not row.figures:
        return limit_lines(row, _named)
    record = row.record.limit if row.record is not None else None
    limits = row.result.limits or ((Limit(record),) if record else ())
    return "\n".join(dict.fromkeys(map(_named, limits))) or NOTHING


def _named(limit: Limit) -> str:
    return limit.value


def _cells(columns: Sequence[CaseColumn], row: CaseRow) -> tuple[str, ...]:
    return tuple(told(lambda column=column: str(column.cell(row)), "?") for column in columns)  # type: ignore[misc]


def _legend(rows: Sequence[CaseRow], simulated: bool) -> list[str]:
    measured = [row for row in rows if row.record is not None]
    looked, assumed = rests_on(measured)
    return [
        *legend(rows, measured, simulated),
        *([f"each answer rests on {looked}, and assumes:"] if looked else ()),
        *(f"{one}: {one.meaning}" for one in assumed),
    ]


def _repeats(gathered: Gathered, names: Mapping[str, str]) -> Table | None:
    """Return what repeats did within their run: those of another run are none of theirs."""
    tables = {}
    for run in dict.fromkeys(gathered.runs):
        rows = [row for row, of in zip(gathered.rows, gathered.runs, strict=True) if of == run]
        if (found := repeats_table(rows)) is not None:
            tables[run] = found
    if not tables:
        return None
    every = next(iter(tables.values()))
    told_of = ((run, row) for run, table in tables.items() for row in table.rows)
    whole = tuple((*row[:1], *_of_run(run, names), *row[1:]) for run, row in told_of)
    heads = (*every.columns[:1], *_run_column(names), *every.columns[1:])
    return replace(every, columns=heads, rows=whole)
