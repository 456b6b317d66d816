"""`vsperf results`: stored runs and results, found through the index."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from vsperf.analysis.answers import headlines
from vsperf.cli.notes import OUTCOME_STYLES
from vsperf.cli.output import say
from vsperf.cli.selection import complete_testcase
from vsperf.cli.stacked import stacked
from vsperf.cli.stored import json_option, results_option
from vsperf.cli.tables import Column, console
from vsperf.errors import ExitCode
from vsperf.quantities.human import human_seconds
from vsperf.records.files.index import CaseEntry, Filter, Index, RunEntry
from vsperf.records.files.reader import RunState
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
            rows = [one.as_json() for one in found_cases] + [one.as_json() for one in found_runs]
            click.echo(json.dumps(rows, indent=2))
        elif found_cases or found_runs:
            out = console()
            if len({entry.run for entry in found_cases}) == 1:
                first = found_cases[0]
                out.print(Text(first.run, "cyan").append(f": testbed {_testbed(first)}", "default"))
            if wants_cases:
                out.print(_cases(found_cases, out.width))
            else:
                out.print(_runs(found_runs, index, out.width))
        else:
            click.echo(f"nothing stored in {results} fits")
    if more and not as_json:
        click.echo(f"and more; --limit shows more than {shown}")
    for problem in broken:
        say(f"not readable: {problem}", err=True)
    return ExitCode.OK


def _runs(entries: Sequence[RunEntry], index: Index, width: int) -> Table:
    """Show when runs were, how long they took, what their first case came to, how all ended."""
    first = {entry.run: index.cases(Filter(run=entry.run, limit=1)) for entry in entries}
    found = [
        ("".join(map(_headline, first[entry.run])) or "–") + SIMULATED * entry.simulated
        for entry in entries
    ]
    columns = [
        Column("run", [Text(entry.run, "cyan") for entry in entries]),
        Column("started", [entry.started_at[11:16] for entry in entries]),
        Column("took", [_took(entry) for entry in entries]),
        Column("testbed", [entry.testbed for entry in entries], rank=2),
        Column("preset", [entry.preset for entry in entries], rank=3),
        Column("cases", [str(entry.cases) for entry in entries], rank=4),
        Column("first result", found),
        Column("outcome", [_ended(entry) for entry in entries]),
    ]
    if any(entry.labels for entry in entries):
        texts = [labels_text(entry.labels) for entry in entries]
        columns.append(Column("labels", texts, rank=1, breaks=True))
    return stacked(columns, ("first result", "outcome"), width)


def _took(entry: RunEntry) -> str:
    return "–" if entry.took_s is None else human_seconds(entry.took_s)


def _headline(case: CaseEntry) -> str:
    found = headlines(case.record.result) if case.record and case.record.result else []
    return f"{case.label.removeprefix(f'{case.testcase}-')}: {found[0]}" if found else ""


def _ended(entry: RunEntry) -> str:
    outcomes = ", ".join(f"{count} {name}" for name, count in entry.outcomes.items())
    if entry.state is RunState.FINISHED:
        return outcomes or "–"
    return f"{outcomes}, {entry.state}" if outcomes else entry.state


def _cases(entries: Sequence[CaseEntry], width: int) -> Table:
    results = [
        "\n".join(headlines(entry.record.result)) if entry.record and entry.record.result else ""
        for entry in entries
    ]
    columns = [
        Column("case", [entry.label for entry in entries]),
        Column("result, per direction", [text or "–" for text in results]),
        Column("limit", [str(entry.limit or "–") for entry in entries]),
        Column("outcome", [_outcome(entry) for entry in entries]),
    ]
    if len({entry.run for entry in entries}) > 1:
        names = [Text(entry.run, "cyan").append(SIMULATED * entry.simulated) for entry in entries]
        columns.insert(0, Column("run", names))
        columns.insert(4, Column("testbed", [entry.testbed for entry in entries], rank=1))
    below = [one.name for one in columns[1:] if one.name in ("case", "result, per direction")]
    return stacked(columns, below, width)


def _outcome(entry: CaseEntry) -> Text:
    if entry.outcome:
        return Text(entry.outcome.value, OUTCOME_STYLES[entry.outcome])
    return Text(how_far(begun=entry.attempt > 0, refuted=entry.refuted), "dim")


def _testbed(entry: CaseEntry) -> str:
    return entry.testbed + SIMULATED * entry.simulated
