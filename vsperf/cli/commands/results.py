"""`vsperf results`: stored runs and results, found through the index."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from vsperf.cli.selection import complete_testcase, json_option, results_option
from vsperf.cli.tables import OUTCOME_STYLES, console
from vsperf.errors import ExitCode
from vsperf.record.run import Outcome
from vsperf.store.index import CaseEntry, Filter, Index, RunEntry
from vsperf.units import human_fps


@click.command(
    epilog="Examples:\n\n\b\n  vsperf results                          # runs, newest first\n"
    "  vsperf results latest                   # cases of the last run\n"
    "  vsperf results --testcase 'phy2phy_*' --outcome FAIL --since 2026-11-01\n"
    "  vsperf results --cases --json\n"
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
@click.option("--since", metavar="DATE", help="Only runs from this day on, such as 2026-11-01.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@results_option
@json_option
def command(
    run: str | None,
    cases: bool,
    testcase: str | None,
    outcome: str | None,
    testbed: str | None,
    since: str | None,
    limit: int,
    results: Path,
    as_json: bool,
) -> int:
    """List stored runs, or the cases of RUN, or with --cases the cases of all runs.

    RUN is an id, the last letters of one, a path, or `latest`.
    """
    with Index.open(results) as index:
        broken = index.refresh()
        wanted = Filter(
            run=index.resolve(run).name if run else None,
            testcase=testcase,
            outcome=Outcome(outcome) if outcome else None,
            testbed=testbed,
            since=since,
            limit=limit,
        )
        by_case = cases or run is not None or outcome is not None
        found = index.cases(wanted) if by_case else index.runs(wanted)
    if as_json:
        click.echo(json.dumps([entry.as_json() for entry in found], indent=2))
    elif found:
        console().print(_table(found))
    else:
        click.echo(f"nothing stored in {results} fits")
    for problem in broken:
        click.echo(f"not readable: {problem}", err=True)
    return ExitCode.OK


def _table(entries: tuple[CaseEntry, ...] | tuple[RunEntry, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    if isinstance(entries[0], RunEntry):
        for column in ("run", "testbed", "preset", "cases", "outcomes", "state"):
            table.add_column(column)
        for entry in entries:
            assert isinstance(entry, RunEntry)
            bed = f"{entry.testbed} (simulated)" if entry.simulated else entry.testbed
            outcomes = ", ".join(f"{count} {name}" for name, count in entry.outcomes.items())
            table.add_row(
                Text(entry.run, "cyan"), bed, entry.preset, str(entry.cases), outcomes, entry.state
            )
        return table
    for column in ("run", "case", "NDR ≥", "limit", "testbed", "outcome"):
        table.add_column(column)
    for entry in entries:
        assert isinstance(entry, CaseEntry)
        bed = f"{entry.testbed} (simulated)" if entry.simulated else entry.testbed
        lower = "–" if entry.lower_fps is None else human_fps(entry.lower_fps)
        ended = entry.outcome
        style = OUTCOME_STYLES[ended] if ended else "dim"
        table.add_row(
            Text(entry.run, "cyan"),
            entry.label,
            lower,
            entry.limit or "–",
            bed,
            Text(ended.value if ended else "not run", style),
        )
    return table
