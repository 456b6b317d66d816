"""One side of a comparison: a run, or all runs with a label or a tag, taken together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import UsageError
from vsperf.record.labels import parse_label
from vsperf.store.baselines import read_baseline
from vsperf.store.folders import resolve
from vsperf.store.index import Filter, Index
from vsperf.store.view import CaseView, RunView, open_run

TAG = "tag:"


@dataclass(frozen=True, slots=True)
class Side:
    """Some runs under one name, and what was planned in them; trials stay on disk."""

    name: str
    """As it was asked for, or the run's id."""
    runs: tuple[RunView, ...]
    cases: tuple[CaseView, ...]


def side(results: Path, text: str) -> Side:
    """Return what a word of the command line stands for.

    `tag:NAME` is all that was measured of testcases with a tag, `KEY=VALUE` all runs with a label;
    anything else means a run as everywhere.
    """
    if text.startswith(TAG):
        return _found(results, text, Filter(tag=text.removeprefix(TAG)))
    if "=" in text and "/" not in text:
        return _found(results, text, Filter(labels=(parse_label(text),)))
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


def _found(results: Path, text: str, wanted: Filter) -> Side:
    with Index.open(results) as index:
        index.refresh()
        cases = index.cases(wanted)
    if not cases:
        raise UsageError(
            f"no stored run fits {text!r}",
            why="a label is written KEY=VALUE, and given by `vsperf run --label`; a tag is written "
            "tag:NAME, and stands in a testcase",
            fix="`vsperf results` lists the runs there are",
        )
    folders = [results / run for run in sorted({case.run for case in cases})]
    testcases = frozenset(case.testcase for case in cases) if wanted.tag else None
    return side_of(text, folders, testcases)
