"""`vsperf results`: stored runs and results, found through the index."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from vsperf.cli.notes import OUTCOME_STYLES
from vsperf.cli.output import say
from vsperf.cli.selection import complete_testcase
from vsperf.cli.stored import json_option, results_option
from vsperf.cli.tables import console
from vsperf.errors import ExitCode
from vsperf.record.labels import labels_text, parse_labels
from vsperf.record.meaning import how_far
from vsperf.record.run import Outcome
from vsperf.stats.answers import headlines
from vsperf.store.index import CaseEntry, Filter, Index, RunEntry

LIMIT = 50
"""Rows of a table when nobody asks for more."""


@click.command(
    epilog="Examples:\n\n\b\n  vsperf results                          # runs, newest first\n"
    "  vsperf results latest                   # cases of the last run\n"
    "  vsperf results --testcase 'phy2phy_*' --outcome FAIL --since 2026-11-01\n"
    "  vsperf results --label revision=4f2c1ab --cases --json\n"
)
@click.argument("run", required=False)
@click.option("--cases", is_flag=True, help="List cases instead of runs.")
@click.option(
    "--testcase", metavar="GLOB", shell_complete=complete_testcase, help="Only these testcases."
)
@click.option(
    "--outcome",
    type=click.Choice([outcome.value for outcome in Outcome], case_sensitive=False),
    help="Only cases that ended so.",
)
@click.option("--testbed", metavar="NAME", help="Only this testbed.")
@click.option("--tag", help="Only testcases with this tag.")
@click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", help="Only runs with this label."
)
@click.option("--since", metavar="DATE", help="Only runs from this day on, such as 2026-11-01.")
@click.option(
    "--limit", type=click.IntRange(1), help="Show at most so many.  [default: 50; JSON: all]"
)
@results_option
@json_option
def command(
    run: str | None,
    cases: bool,
    testcase: str | None,
    outcome: str | None,
    testbed: str | None,
    tag: str | None,
    labels: tuple[str, ...],
    since: str | None,
    limit: int | None,
    results: Path,
    as_json: bool,
) -> int:
    """List stored runs, or the cases of RUN, or with --cases the cases of all runs.

    RUN is an id, the last letters of one, a path, or `latest`.
    """
    shown = limit if limit is not None else None if as_json else LIMIT
    wants_cases = cases or run is not None or outcome is not None
    with Index.open(results) as index:
        broken = index.refresh()
        wanted = Filter(
            run=index.resolve(run).name if run else None,
            testcase=testcase,
            outcome=Outcome(outcome) if outcome else None,
            testbed=testbed,
            tag=tag,
            labels=tuple(parse_labels(labels).items()),
            since=since,
            limit=None if shown is None else shown + 1,
        )
        found_cases = index.cases(wanted) if wants_cases else ()
        found_runs = () if wants_cases else index.runs(wanted)
    more = shown is not None and max(len(found_cases), len(found_runs)) > shown
    found_cases, found_runs = found_cases[:shown], found_runs[:shown]
    if as_json:
        rows = [case.as_json() for case in found_cases] + [entry.as_json() for entry in found_runs]
        click.echo(json.dumps(rows, indent=2))
    elif found_cases or found_runs:
        console().print(_cases(found_cases) if wants_cases else _runs(found_runs))
    else:
        click.echo(f"nothing stored in {results} fits")
    if more and not as_json:
        click.echo(f"and more; --limit shows more than {shown}")
    for problem in broken:
        say(f"not readable: {problem}", err=True)
    return ExitCode.OK


def _runs(entries: Sequence[RunEntry]) -> Table:
    named = any(entry.labels for entry in entries)
    more = ("labels",) if named else ()
    table = _table("run", "testbed", "preset", "cases", "outcomes", "state", *more)
    for entry in entries:
        outcomes = ", ".join(f"{count} {name}" for name, count in entry.outcomes.items())
        table.add_row(
            Text(entry.run, "cyan"),
            _testbed(entry),
            entry.preset,
            str(entry.cases),
            outcomes or "–",
            entry.state,
            *([labels_text(entry.labels)] if named else []),
        )
    return table


def _cases(entries: Sequence[CaseEntry]) -> Table:
    table = _table("run", "case", "result, per direction", "limit", "testbed", "outcome")
    for entry in entries:
        result = entry.record.result if entry.record else None
        found = headlines(result) if result else []
        outcome = entry.outcome
        table.add_row(
            Text(entry.run, "cyan"),
            entry.label,
            "\n".join(found) or "–",
            entry.limit or "–",
            _testbed(entry),
            Text(outcome.value, OUTCOME_STYLES[outcome])
            if outcome
            else Text(how_far(begun=entry.attempt > 0, refuted=entry.refuted), "dim"),
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "run")
    return table


def _testbed(entry: RunEntry | CaseEntry) -> str:
    return f"{entry.testbed} (SIMULATED)" if entry.simulated else entry.testbed
