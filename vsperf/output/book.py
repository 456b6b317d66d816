"""What a notebook works with: runs and cases as tables, comparisons, trends and plots.

Nothing is kept between two calls, so a cell that is run again sees what was stored meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from vsperf.analysis.answers import headlines
from vsperf.analysis.comparison import Comparison, compare
from vsperf.analysis.sides import apart, baseline_side, side
from vsperf.analysis.trend import Trend, trends
from vsperf.errors import UsageError
from vsperf.output.compare_page import html_tables, simulated_note
from vsperf.output.frames import case_table, second_table, trial_table
from vsperf.output.table import Table, columns, html_table
from vsperf.output.trend_text import changes, trend_table
from vsperf.records.files.folders import resolve, run_folders
from vsperf.records.files.query import Filter
from vsperf.records.files.view import CaseView, RunView, open_run
from vsperf.records.meaning import how_far

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = ("case", "outcome", "result, per direction", "limit")
ALL = 1_000_000


def open_results(folder: str | PathLike[str] = "results") -> Results:
    """Open a folder of runs; a copy of one will do."""
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(
            f"there is no folder {path}", fix="name the folder that `vsperf run --results` filled"
        )
    return Results(path)


@dataclass(frozen=True, slots=True)
class Answer:
    """Something to look at in a notebook, and its text elsewhere."""

    title: str
    html: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"<{self.title}>"


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a run."""

    view: CaseView
    """All that was recorded of it: its record, its plan, its trials."""

    def _repr_html_(self) -> str:
        view, record = self.view, self.view.record
        told = {
            "run": view.run,
            "outcome": _outcome(view),
            "why": record.reason if record else "",
            "result, per direction": "; ".join(_found(view)),
            "limit": (record.limit or "") if record else "",
            "flags": ", ".join(record.flags) if record else "",
            "trials": str(record.trials if record else len(view.trials)),
        }
        rows = tuple((name, value) for name, value in told.items() if value)
        table = _html(view.label, (view.label, ""), rows)
        return f"{simulated_note(view.simulated)}{table}"

    def __repr__(self) -> str:
        kind = ", SIMULATED" if self.view.simulated else ""
        return f"<case {self.view.label} of {self.view.run}: {_outcome(self.view)}{kind}>"


@dataclass(frozen=True, slots=True)
class Run:
    """One stored run."""

    view: RunView

    @property
    def name(self) -> str:
        """Its id."""
        return self.view.run

    def cases(self) -> DataFrame:
        """Return one row for each planned case."""
        return case_table([self.view])

    def trials(self) -> DataFrame:
        """Return one row for each trial."""
        return trial_table([self.view])

    def seconds(self) -> DataFrame:
        """Return one row for each second of long trials, and direction."""
        return second_table([self.view])

    def case(self, name: str) -> Case:
        """Return a case by its key or its label; of several repeats the first."""
        found = next((one for one in self.view.cases() if name in (one.key, one.label)), None)
        if found is None:
            known = ", ".join(dict.fromkeys(one.label for one in self.view.cases()))
            raise UsageError(f"{self.name} has no case {name!r}", why=f"it has {known}")
        return Case(found)

    def _repr_html_(self) -> str:
        rows = tuple(_row(case) for case in self.view.cases())
        told = ", ".join(f"{name}={value}" for name, value in self.view.labels.items())
        about = [self.view.header.testbed, self.view.header.preset, self.view.state.value, told]
        title = f"{self.name} ({', '.join(part for part in about if part)})"
        table = _html(title, COLUMNS, rows)
        return f"{simulated_note(self.view.simulated)}<p>{escape(title)}</p>{table}"

    def __repr__(self) -> str:
        kind = ", SIMULATED" if self.view.simulated else ""
        return f"<run {self.name}: {len(self.view.header.cases)} cases{kind}>"


@dataclass(frozen=True, slots=True)
class Results:
    """A folder of runs. RUN is an id, its last letters, a path or `latest`, as everywhere."""

    folder: Path

    def __repr__(self) -> str:
        return f"<results: {len(run_folders(self.folder))} runs>"

    def runs(self) -> tuple[Run, ...]:
        """Return all runs, the oldest first."""
        folders = run_folders(self.folder)
        found = [Run(open_run(folder)) for folder in folders]
        return tuple(sorted(found, key=lambda run: (run.view.header.started_at, run.name)))

    def run(self, run: str = "latest") -> Run:
        """Return one run."""
        return Run(open_run(resolve(self.folder, run)))

    def cases(self, *runs: str) -> DataFrame:
        """Return one row for each case of these runs, or of all."""
        return case_table(self._views(runs))

    def trials(self, *runs: str) -> DataFrame:
        """Return one row for each trial of these runs, or of all."""
        return trial_table(self._views(runs))

    def seconds(self, *runs: str) -> DataFrame:
        """Return one row for each second of long trials of these runs, or of all."""
        return second_table(self._views(runs))

    def compare(
        self,
        *sides: str,
        baseline: str | None = None,
        by: str | None = None,
        anyway: bool = False,
        latency: bool = False,
    ) -> Compared:
        """Compare sides as `vsperf compare` does; `by="vswitch"` those that each switch makes."""
        first = [] if baseline is None else [baseline_side(self.folder, baseline)]
        every = [*first, *(side(self.folder, text) for text in sides)]
        if by is not None and every:
            every = list(apart(every, by))
        if len(every) < 2:
            raise UsageError(
                "there is nothing to compare with", fix="name two sides, or a baseline"
            )
        return Compared(compare(every, anyway=anyway, latency=latency))

    def trend(self, testcase: str, metric: str | None = None) -> tuple[Followed, ...]:
        """Follow a testcase over all runs as `vsperf trend` does."""
        found = trends(self.folder, Filter(testcase=testcase), metric)
        return tuple(Followed(one) for one in found.found)

    def plot(self, name: str, *runs: str) -> Answer:
        """Draw a plot as `vsperf plot` does."""
        from vsperf.output.figures.plot import drawings
        from vsperf.output.figures.render import svg

        cases = (case for view in self._views(runs) for case in view.cases())
        found = drawings(cases, [name])
        if not found:
            raise UsageError(f"these runs say nothing that {name!r} could show")
        return Answer(f"plot {name}", "".join(f"<div>{svg(one)}</div>" for _, one in found))

    def _views(self, runs: Sequence[str]) -> tuple[RunView, ...]:
        if not runs:
            return tuple(run.view for run in self.runs())
        return tuple(open_run(resolve(self.folder, run)) for run in runs)

    def _repr_html_(self) -> str:
        rows = tuple(
            (
                run.name,
                run.view.header.testbed + (" (SIMULATED)" if run.view.simulated else ""),
                str(len(run.view.header.cases)),
                run.view.state.value,
            )
            for run in self.runs()
        )
        return _html(str(self.folder), ("run", "testbed", "cases", "state"), rows)


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison, to look at."""

    found: Comparison
    """All of it as data."""

    def _repr_html_(self) -> str:
        return html_tables(self.found)

    def __repr__(self) -> str:
        changed = sum(row.changed for row in self.found.rows)
        names = " and ".join(self.found.names)
        return f"<comparison of {names}: {changed} of {len(self.found.rows)} numbers changed>"


@dataclass(frozen=True, slots=True)
class Followed:
    """A trend, to look at."""

    found: Trend
    """All of it as data."""

    def _repr_html_(self) -> str:
        table = trend_table(self.found, ALL)
        told = "".join(f"<li>{escape(line)}</li>" for line in changes(self.found))
        note = simulated_note(self.found.simulated)
        return f"{note}<p>{escape(table.title)}</p>{html_table(table, inline=True)}<ul>{told}</ul>"

    def __repr__(self) -> str:
        steps = len(self.found.steps)
        return f"<trend of {self.found.label} {self.found.name}: {steps} changes>"


def _html(title: str, names: Sequence[str], rows: tuple[tuple[str, ...], ...]) -> str:
    return html_table(Table(title, columns(*names), rows), inline=True)


def _row(case: CaseView) -> tuple[str, ...]:
    limit = case.record.limit if case.record else None
    return (case.label, _outcome(case), "; ".join(_found(case)) or "–", limit or "–")


def _outcome(case: CaseView) -> str:
    if case.record is not None:
        return case.record.outcome.value
    return how_far(begun=case.attempt > 0, refuted=case.refuted)


def _found(case: CaseView) -> list[str]:
    return headlines(case.result) if case.result else []
