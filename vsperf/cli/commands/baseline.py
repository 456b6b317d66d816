"""`vsperf baseline`: names for runs that others are held against."""

from __future__ import annotations

from pathlib import Path

import click

from vsperf.cli.output import say
from vsperf.cli.stored import complete_baseline, complete_run, json_option, results_option, say_json
from vsperf.cli.tables import console, print_table
from vsperf.errors import ExitCode
from vsperf.output.table import Table, columns
from vsperf.records.files.baselines import baselines, remove_baseline, set_baseline
from vsperf.records.files.folders import resolve
from vsperf.records.files.view import open_run


@click.group(
    epilog="Examples:\n\n\b\n"
    "  vsperf baseline set main k7f3\n"
    "  vsperf baseline list\n"
    "  vsperf baseline remove main\n"
)
def command() -> None:
    """Keep names for runs that others are held against.

    `vsperf compare --baseline NAME` and `expect: [{metric: ndr, baseline: NAME, drop: 3%}]` refer
    to them. They lie in the folder of the runs, and name a run without copying it.
    """


@command.command(name="set", epilog="Example:\n\n\b\n  vsperf baseline set main latest\n")
@click.argument("name", shell_complete=complete_baseline)
@click.argument("run", shell_complete=complete_run)
@results_option
def set_command(name: str, run: str, results: Path) -> int:
    """Let NAME stand for RUN from now on."""
    found = open_run(resolve(results, run))
    cases = list(found.cases())
    kept = set_baseline(results, name, found.folder)
    say(f"{kept.name} is {kept.run} from now on")
    without = [case.label for case in cases if case.result is None or case.result.empty]
    if without:
        say(f"! nothing can be held against its cases without a result: {', '.join(without)}")
    return ExitCode.OK


@command.command(name="list", epilog="Example:\n\n\b\n  vsperf baseline list --json\n")
@results_option
@json_option
def list_command(results: Path, as_json: bool) -> int:
    """List all baselines."""
    found = baselines(results)
    if as_json:
        rows = [
            {"name": one.name, "run": one.run, "set_at": one.set_at, "there": one.there}
            for one in found
        ]
        say_json(rows)
    elif found:
        gone = ("", "the run is gone")
        cells = tuple(
            (one.name, one.run, one.set_at[:16].replace("T", " "), gone[not one.there])
            for one in found
        )
        heads = (*columns("baseline", "run", "set (UTC)", breaks=False), *columns(""))
        print_table(console(), Table("baselines", heads, cells), blocks=True)
    else:
        say(f"no baseline in {results}; `vsperf baseline set NAME RUN` makes one")
    return ExitCode.OK


@command.command(name="remove", epilog="Example:\n\n\b\n  vsperf baseline remove main\n")
@click.argument("name", shell_complete=complete_baseline)
@results_option
def remove_command(name: str, results: Path) -> int:
    """Forget NAME; its run stays."""
    remove_baseline(results, name)
    say(f"{name} is no baseline any more; its run stays")
    return ExitCode.OK
