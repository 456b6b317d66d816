"""`vsperf report`: what runs found, as a page that can be read, printed and sent."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vsperf.cli.reporting import compared, tell, telling
from vsperf.cli.stored import complete_run, results_option, say_of
from vsperf.errors import ExitCode, UsageError
from vsperf.output.report.form import Form, form_of
from vsperf.records.files.chosen import find_runs
from vsperf.records.files.reader import header_of

if TYPE_CHECKING:
    from vsperf.output.report.interactive import Library
    from vsperf.output.report.page import Compared

STANDARD_OUTPUT = "-"


@click.command(
    epilog="Examples:\n\n\b\n"
    "  vsperf report latest                    # report.html, of the last run\n"
    "  vsperf report k7f3 m4xq -o both.pdf     # two runs; needs chromium\n"
    "  vsperf report latest --format md -o -   # for a merge request, to stdout\n"
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", shell_complete=complete_run)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Where to write it; - is stdout.  [default: report.html, .md or .pdf]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([form.value for form in Form]),
    help="html: one page without network; md: for merge requests and job pages; pdf: "
    "printed by chromium.  [default: as FILE ends, else html]",
)
@click.option(
    "--interactive",
    is_flag=True,
    help="Let figures of html be pointed at and zoomed. Scripts make the page some 2 MB larger; "
    "needs the Python package plotly.",
)
@results_option
def command(
    runs: tuple[str, ...], output: str | None, form: str | None, interactive: bool, results: Path
) -> int:
    """Write a report of RUN...: what was found, and all that defends it or speaks against it.

    RUN is an id, the last letters of one, a path, `latest`, or KEY=VALUE for all runs with that
    label. Records are only read, and a run that was cut short, or is still going on, has a report
    that says so.
    """
    folders = find_runs(results, runs)
    headers = [header_of(folder) for folder in folders]
    to_stdout = output == STANDARD_OUTPUT
    target = None if output is None or to_stdout else Path(output)
    chosen = form_of(target, form)
    library = _library(chosen) if interactive else None
    told = compared(results, folders)
    if to_stdout:
        _print(folders, chosen, library, told)
        say_of(*headers)
        return ExitCode.OK
    written = target or Path(f"report.{chosen.value}")
    from vsperf.output.report.target import write_report

    found = write_report(folders, written, chosen, telling(), library, told)
    tell(written, found)
    say_of(*headers)
    return ExitCode.OK


def _library(form: Form) -> Library:
    """Return what makes a page interactive, before anything is written."""
    if form is not Form.HTML:
        raise UsageError(
            f"a report in the format {form.value} cannot be interactive",
            why="only a page of HTML has scripts",
            fix="leave out --interactive, or take --format html",
        )
    from vsperf.output.report.interactive import library

    return library()


def _print(folders: Sequence[Path], form: Form, library: Library | None, told: Compared) -> None:
    from vsperf.output.report.write import write_html, write_markdown

    if form is Form.PDF:
        raise UsageError("a PDF is not printed to stdout", fix="name a file: -o report.pdf")
    if form is Form.MARKDOWN:
        write_markdown(folders, sys.stdout, telling(), told)
    else:
        write_html(folders, sys.stdout, telling(), library, told)
