"""`vsperf export`: runs in forms that other programs read."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from vsperf.cli.output import say
from vsperf.cli.stored import complete_run, results_option, say_of
from vsperf.cli.tables import console
from vsperf.cli.terminal import fitting
from vsperf.errors import ExitCode, UsageError
from vsperf.output.export.base import Watch
from vsperf.output.export.catalog import LIKE, format_names, load_format, opened, shown, targets
from vsperf.records.files.chosen import find_runs
from vsperf.records.files.reader import RunState
from vsperf.records.files.view import CaseView, RunView, open_run

NAMES = 18
"""Places of a format's name in their list."""


def complete_format(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the names of formats."""
    return [name for name in format_names() if name.startswith(incomplete) and LIKE not in name]


@click.command(
    epilog="Examples:\n\n\b\n"
    "  vsperf export csv latest -o tables          # cases.csv and trials.csv\n"
    "  vsperf export csv latest --table cases      # only one of them, printed\n"
    "  vsperf export csv --like vsperf latest -o result.csv\n"
    "  vsperf export junit latest -o junit.xml     # for the page of a pipeline\n"
    "  vsperf export parquet k7f3 m4xq -o tables   # two runs in one table\n"
    "  vsperf export --list\n"
)
@click.argument("form", metavar="FORMAT", required=False, shell_complete=complete_format)
@click.argument("names", metavar="RUN...", nargs=-1, shell_complete=complete_run)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Where to; a folder where the format makes several files. Without it, or as -, print.",
)
@click.option("--table", metavar="NAME", help="Only this one of several, such as cases.")
@click.option(
    "--like", metavar="PROGRAM", help="As another program: `vsperf` for columns of OPNFV VSPERF."
)
@click.option("--list", "listing", is_flag=True, help="List the formats.")
@results_option
def command(
    form: str | None,
    names: tuple[str, ...],
    output: Path | None,
    table: str | None,
    like: str | None,
    listing: bool,
    results: Path,
) -> int:
    """Write RUN... in a FORMAT that other programs read.

    Each RUN is an id, the last letters of one, a path, `latest`, or KEY=VALUE for all runs with
    that label. Runs that are not finished are exported as far as they came. What was not measured
    is empty, never 0.
    """
    if listing:
        _list()
        return ExitCode.OK
    if form is None or not names:
        raise UsageError(
            "there is nothing to export" if form else "no format was named",
            fix="vsperf export FORMAT RUN..., such as: vsperf export csv latest -o tables; "
            "`vsperf export --list` names the formats",
        )
    made = load_format(form if like is None else f"{form}{LIKE}{like}")
    wanted = targets(made.tables, table, None if output == Path("-") else output)
    if made.binary and None in wanted.values() and sys.stdout.isatty():
        raise UsageError(f"{form} is nothing for a terminal", fix="name a place: `-o FILE`")
    runs = [open_run(folder) for folder in find_runs(results, names)]
    with _progress(form, runs) as watch, opened(wanted, sys.stdout.buffer) as outputs:
        made.write(runs, outputs, watch)
    for path in wanted.values():
        if path is not None:
            say(f"wrote {path}", err=True)
    for run in runs:
        say_of(run.header)
        if run.state is RunState.RUNNING:
            say(f"{run.run} is still running: this holds what was stored by now", err=True)
        if run.simulated:
            say(f"{run.run} is SIMULATED: its numbers come from a model", err=True)
    return ExitCode.OK


def _list() -> None:
    out = console()
    for name in format_names():
        try:
            told = load_format(name).summary
        except UsageError as error:
            told = f"cannot be loaded: {error.problems[0].why}"
        line = Text(f"  {shown(name):<{NAMES}} {told}")
        out.print(fitting(line, out, (NAMES + 3) * " "))


@contextlib.contextmanager
def _progress(form: str, runs: list[RunView]) -> Iterator[Watch]:
    """Show on a terminal how many cases are done; a pipe hears nothing of it."""
    total = sum(len(run.header.cases) for run in runs)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cases"),
    )
    out = console(stderr=True)
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(f"{form}: cases", total=total)

        def watch(cases: Iterator[CaseView]) -> Iterator[CaseView]:
            for case in cases:
                yield case
                bar.advance(task)

        yield watch
