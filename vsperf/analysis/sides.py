"""One side of a comparison: runs taken together, or what was measured there of one switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vsperf.config.document import COMPARABLE
from vsperf.config.noise import NOISE, QUIET
from vsperf.errors import UsageError
from vsperf.records.files.baselines import read_baseline
from vsperf.records.files.chosen import is_label, labelled
from vsperf.records.files.folders import resolve
from vsperf.records.files.index import Filter, Index
from vsperf.records.files.view import CaseView, RunView, open_run
from vsperf.records.meaning import how_far
from vsperf.records.run import Outcome

TAG = "tag:"
LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Side:
    """Some runs under one name, and what was planned in them; trials stay on disk."""

    name: str
    """As it was asked for, or the run's id."""
    runs: tuple[RunView, ...]
    cases: tuple[CaseView, ...]
    by: str = ""
    """The section that tells this side from others, such as `vswitch`; empty where it is runs."""

    def label(self, case: CaseView) -> str:
        """Return what a case has in common with its counterparts on other sides."""
        return case.planned.label_without(self.by) if self.by else case.label

    def of(self, section: str, name: str) -> Side:
        """Return what there is in it of one driver."""
        cases = [case for case in self.cases if case.planned.driver(section) == name]
        kept = {case.run for case in cases}
        runs = [run for run in self.runs if run.run in kept]
        return replace(self, name=name, runs=tuple(runs), cases=tuple(cases), by=section)

    def drivers(self, section: str) -> tuple[str, ...]:
        """Return what the drivers of its cases are called, in the order of the cases."""
        found = (case.planned.driver(section) for case in self.cases)
        return tuple(dict.fromkeys(name for name in found if name is not None))


def apart(sides: Sequence[Side], section: str) -> tuple[Side, ...]:
    """Return a side for each driver that there is in some sides together."""
    runs = {run.run: run for one in sides for run in one.runs}
    cases = {(case.run, case.key): case for one in sides for case in one.cases}
    every = Side(sides[0].name, tuple(runs.values()), tuple(cases.values()))
    names = every.drivers(section)
    if section == NOISE:  # what it costs is said against the quiet case
        names = tuple(sorted(names, key=lambda name: name != QUIET))
    return tuple(every.of(section, name) for name in names)


def side(results: Path, text: str) -> Side:
    """Return what a word of the command line stands for.

    `tag:NAME` is all that was measured of testcases with a tag, `KEY=VALUE` all runs with a label,
    `vswitch:NAME` what the latest run measured of a switch, `vswitch:NAME@SIDE` what another side
    did; anything else means a run as everywhere.
    """
    section, colon, rest = text.partition(":")
    if colon and section in COMPARABLE:
        name, _, where = rest.partition("@")
        return _of_driver(side(results, where or LATEST), section, name)
    if text.startswith(TAG):
        return _tagged(results, text)
    if is_label(text):
        return side_of(text, labelled(results, text))
    folder = resolve(results, text)
    return side_of(folder.name, [folder])


def baseline_side(results: Path, name: str) -> Side:
    """Return the side that a baseline stands for."""
    return side_of(name, [read_baseline(results, name).folder])


def side_of(name: str, folders: Sequence[Path], wanted: frozenset[str] | None = None) -> Side:
    """Return the runs in some folders as one side; of all testcases, or of the wanted ones."""
    runs = tuple(open_run(folder) for folder in folders)
    cases = (case for run in runs for case in run.cases())
    return Side(name, runs, tuple(c for c in cases if wanted is None or c.testcase in wanted))


def why_empty(case: CaseView) -> str:
    """Say why there is no number of a case."""
    if case.refuted:
        return case.refuted
    if case.record is None:
        return how_far(begun=case.attempt > 0, refuted=None)
    if case.record.outcome is Outcome.PASS:
        return "no number"
    return f"{case.record.outcome.value}: {case.record.reason}"


def _of_driver(whole: Side, section: str, name: str) -> Side:
    found = whole.of(section, name)
    if not found.cases:
        known = ", ".join(whole.drivers(section)) or "none"
        raise UsageError(
            f"{whole.name} measured no {section} {name!r}",
            fix=f"there are: {known}; of another run: {section}:NAME@RUN",
        )
    return found


def _tagged(results: Path, text: str) -> Side:
    with Index.open(results) as index:
        index.refresh()
        cases = index.cases(Filter(tag=text.removeprefix(TAG)))
    if not cases:
        raise UsageError(
            f"no stored run fits {text!r}",
            why="a tag is written tag:NAME, and stands in a testcase",
            fix="`vsperf results` lists the runs there are",
        )
    folders = [results / run for run in dict.fromkeys(case.run for case in reversed(cases))]
    return side_of(text, folders, frozenset(case.testcase for case in cases))
