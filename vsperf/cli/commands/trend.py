"""`vsperf trend`: a testcase over all stored runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from vsperf.analysis.trend import BY_REGIME, OVER_DRAWS, Trend, trends
from vsperf.cli.output import say
from vsperf.cli.selection import complete_testcase
from vsperf.cli.stored import json_option, results_option, say_json
from vsperf.cli.tables import console, print_label, print_titled
from vsperf.errors import ExitCode
from vsperf.output.trend_text import (
    changes,
    of_changes,
    of_no_answers,
    of_one_run,
    of_undrawn,
    overview_table,
    trend_data,
    trend_table,
    unchanged,
)
from vsperf.quantities.human import counted
from vsperf.records.files.query import Filter
from vsperf.records.run import parse_labels
from vsperf.trust.printable import vsperf_command

LIMIT = 20
"""Runs of a table when nobody asks for more."""


@click.command(
    epilog="Examples:\n\n\b\n"
    "  vsperf trend phy2phy_tput\n"
    "  vsperf trend 'phy2phy_tput-64B*' --metric ndr --since 2026-11-01\n"
    "  vsperf trend pvp_tput --label branch=main --json\n"
)
@click.argument("testcase", shell_complete=complete_testcase)
@click.option("--metric", metavar="NAME", help="Only this number, such as ndr or burst.")
@click.option("--testbed", metavar="NAME", help="Only runs on this testbed.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="KEY=VALUE",
    help="Only runs with this label; repeatable.",
)
@click.option("--since", metavar="DATE", help="Only runs from this day on, such as 2026-11-01.")
@click.option("--simulated", is_flag=True, help="Only simulated runs; else real ones come first.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=LIMIT,
    show_default=True,
    help="Runs of each table, the last ones.",
)
@results_option
@json_option
def command(
    testcase: str,
    metric: str | None,
    testbed: str | None,
    labels: tuple[str, ...],
    since: str | None,
    simulated: bool,
    limit: int,
    results: Path,
    as_json: bool,
) -> int:
    """Follow TESTCASE over all stored runs, and say since when it is slower or faster.

    TESTCASE is a name or a pattern on testcases or cases. A series is cut where something else is
    measured from then on: other settings, or another machine. A change names the first run after
    it, and what differs from the run before: packages, kernel, settings, labels.
    """
    wanted = Filter(
        testcase=testcase,
        testbed=testbed,
        labels=tuple(parse_labels(labels).items()),
        since=since,
        simulated=True if simulated else None,
    )
    found = trends(results, wanted, metric)
    if as_json:
        say_json([trend_data(one) for one in found.found])
        return ExitCode.OK
    out = console()
    print_label(out, simulated=found.found[0].simulated)
    followed = [trend for trend in found.found if len(trend.points) > 1]
    if len(followed) > 1:
        _print_overview(out, followed)
    for trend in followed if len(followed) == 1 else ():
        _print_runs(out, trend, limit)
    if singles := [trend for trend in found.found if len(trend.points) == 1]:
        for line in of_one_run(singles):
            out.print(line)
    for line in (*of_no_answers(found.found), *of_undrawn(found.undrawn)):
        out.print(f"! {line}")
    if found.left_out:
        left_out = counted(found.left_out, "simulated run")
        say(f"! left out: {left_out}; --simulated shows what models did")
    return ExitCode.OK


def _print_overview(out: Console, found: Sequence[Trend]) -> None:
    """Print a line of each of several series; the runs of one stand there if it is asked for."""
    table = overview_table(found)
    changed = sum(any(not step.cut for step in trend.steps) for trend in found)
    out.print(f"{changed} of {len(found)} numbers changed")
    print_titled(out, table)
    for line in of_changes(found):
        out.print(f"! {line}")
    first = next((trend for trend in found if trend.steps), found[0])
    again = vsperf_command("trend", first.label, "--metric", first.name)
    out.print(f"run by run: {again}", style="dim")


def _print_runs(out: Console, trend: Trend, limit: int) -> None:
    """Print what each run found, and where that changed."""
    table = trend_table(trend, limit)
    print_titled(out, table)
    if len(trend.points) > limit:
        before = counted(len(trend.points) - limit, "run")
        out.print(f"and {before} before; --limit shows more")
    for line in changes(trend):
        out.print(f"! {line}")
    if trend.told_by:
        why = {
            BY_REGIME: "how long CPUs were near each other decides it",
            OVER_DRAWS: "it is the draw of one deployment of several",
        }
        out.print(f"{why[trend.told_by]}: see it {trend.told_by}")
    elif not trend.steps:
        out.print(unchanged(trend))
