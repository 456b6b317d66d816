"""`vsperf results`: stored runs and results, found through the index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.text import Text

from vsperf.analysis.answers import headlines
from vsperf.analysis.summary import BUSY, outcome_look, outcome_text, too_busy
from vsperf.cli.output import say
from vsperf.cli.selection import complete_testcase
from vsperf.cli.stored import json_option, results_option, say_json, took_text
from vsperf.cli.tables import console, print_table
from vsperf.errors import ExitCode
from vsperf.output.table import NOTHING, Cell, Column, Table
from vsperf.records.files.index import CaseEntry, Filter, Index, RunEntry
from vsperf.records.files.reader import RunState
from vsperf.records.flags import Flag
from vsperf.records.meaning import how_far
from vsperf.records.run import Outcome, labels_text, parse_labels

LIMIT = 50
"""Rows of a table when nobody asks for more."""
SIMULATED = " (SIMULATED)"


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
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only runs with this label; repeatable.",
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
    most = limit if limit is not None else None if as_json else LIMIT
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
            limit=None if most is None else most + 1,
        )
        found_cases = index.cases(wanted) if wants_cases else ()
        found_runs = () if wants_cases else index.runs(wanted)
        more = most is not None and max(len(found_cases), len(found_runs)) > most
        found_cases, found_runs = found_cases[:most], found_runs[:most]
        if as_json:
            rows = [one.as_json() for one in found_cases] + [one.as_json() for one in found_runs]
            say_json(rows)
        elif found_cases or found_runs:
            out = console()
            if len({entry.run for entry in found_cases}) == 1:
                first = found_cases[0]
                out.print(Text(first.run, "cyan").append(f": testbed {_testbed(first)}", "default"))
            if wants_cases:
                print_table(out, _cases(found_cases))
            else:
                print_table(out, _runs(found_runs, index))
        else:
            click.echo(f"nothing stored in {results} fits")
    if more and not as_json:
        click.echo(f"and more; --limit shows more than {most}")
    for problem in broken:
        say(f"not readable: {problem}", err=True)
    return ExitCode.OK


def _runs(entries: Sequence[RunEntry], index: Index) -> Table:
    """Show when runs were, how long they took, what their first case came to, how all ended."""
    first = {entry.run: index.cases(Filter(run=entry.run, limit=1)) for entry in entries}

    def result(entry: RunEntry) -> str:
        return ("".join(map(_headline, first[entry.run])) or NOTHING) + SIMULATED * entry.simulated

    def ended(entry: RunEntry) -> str:
        # Of most runs no case is marked, and no other record of them has to be read.
        marked = index.cases(Filter(run=entry.run, flag=Flag.TOO_BUSY, limit=1))
        cases = index.cases(Filter(run=entry.run)) if marked else ()
        return _ended(entry, busy=too_busy(one.record for one in cases if one.record) is not None)

    columns = [
        Column[RunEntry]("run", of=lambda entry: Cell(entry.run, "name")),
        Column[RunEntry]("started", of=lambda entry: f"{entry.started_at[11:16]}Z"),
        Column[RunEntry]("took", of=_took),
        Column[RunEntry]("testbed", of=lambda entry: entry.testbed, rank=2),
        Column[RunEntry]("preset", of=lambda entry: entry.preset, rank=3),
        Column[RunEntry]("cases", of=lambda entry: entry.cases, rank=4),
        Column[RunEntry]("first result", of=result, below=True),
        Column[RunEntry]("outcome", of=ended, below=True),
    ]
    if any(entry.labels for entry in entries):
        columns.append(Column("labels", of=lambda entry: labels_text(entry.labels), below=True))
    return Table.made("runs", columns, entries)


def _took(entry: RunEntry) -> str | None:
    told = entry.exit_code is not None or bool(entry.outcomes)
    return took_text(entry.took_s, told=told)


def _headline(case: CaseEntry) -> str:
    found = headlines(case.record.result) if case.record and case.record.result else []
    return f"{case.label.removeprefix(f'{case.testcase}-')}: {found[0]}" if found else ""


def _ended(entry: RunEntry, *, busy: bool) -> str:
    outcomes = ", ".join(f"{count} {name}" for name, count in entry.outcomes.items()) + BUSY * busy
    if entry.state is RunState.FINISHED:
        return outcomes or "–"
    return f"{outcomes}, {entry.state}" if outcomes else entry.state


def _cases(entries: Sequence[CaseEntry]) -> Table:
    repeated = {(entry.run, entry.label) for entry in entries if entry.repeat > 1}

    def name(entry: CaseEntry) -> str:
        again = (entry.run, entry.label) in repeated
        return f"{entry.label} #{entry.repeat}" if again else entry.label

    columns = [
        Column[CaseEntry]("case", of=name, below=True),
        Column[CaseEntry]("result, per direction", of=_results, below=True),
        Column[CaseEntry]("limit", of=lambda entry: entry.limit or None),
        Column[CaseEntry]("outcome", of=_outcome),
    ]
    if len({entry.run for entry in entries}) > 1:
        columns.insert(0, Column("run", of=_run_name))
        columns.insert(4, Column("testbed", of=lambda entry: entry.testbed, rank=1))
    return Table.made("cases", columns, entries)


def _run_name(entry: CaseEntry) -> Cell:
    return Cell(entry.run + SIMULATED * entry.simulated, "name")


def _results(entry: CaseEntry) -> str | None:
    found = headlines(entry.record.result) if entry.record and entry.record.result else []
    return "\n".join(found) or None


def _outcome(entry: CaseEntry) -> Cell:
    if entry.record is not None:
        return Cell(outcome_text(entry.record), outcome_look(entry.record))
    return Cell(how_far(begun=entry.attempt > 0, refuted=entry.refuted), "aside")


def _testbed(entry: CaseEntry) -> str:
    return entry.testbed + SIMULATED * entry.simulated
