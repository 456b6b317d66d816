"""Reports as commands make them: what is asked for, and what is said on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vsperf.cli.output import say
from vsperf.cli.problems import print_problems
from vsperf.errors import ExitCode, VsperfError
from vsperf.output.report.form import Form, form_of

if TYPE_CHECKING:
    from vsperf.output.report.page import Compared, Overview

BESIDE_THE_RECORDS = "report.html"
"""The report of a run that names no other."""
OFTEN = 25
"""Cases between two words on how far it is."""


def wanted_form(report: str | None) -> Form | None:
    """Return what a run's report is to be, before anything is measured; None where none is."""
    return None if report is None else form_of(Path(report), None)


def write_after(folder: Path, report: str, form: Form) -> int:
    """Write the report of a run that is over; whatever comes of it, the records stand."""
    from vsperf.output.report.target import write_report

    target = folder / report if report == BESIDE_THE_RECORDS else Path(report)
    try:
        found = compared(folder.parent, [folder])
        tell(target, write_report([folder], target, form, telling(), compared=found))
    except VsperfError as error:
        print_problems(error.problems)
        return error.exit_code
    return ExitCode.OK


def compared(results: Path, folders: Sequence[Path]) -> Compared:
    """Return for the report of these runs what noise cost, and how they stand to earlier ones."""
    from vsperf.output.before import before_of
    from vsperf.output.quiet import costs_of
    from vsperf.output.report.page import Compared

    return Compared(costs_of(folders), before_of(results, folders))


def telling() -> Callable[[int, int], None]:
    """Return what says on stderr how far a report of many cases is."""

    def progress(done: int, total: int) -> None:
        if total > OFTEN and (done % OFTEN == 0 or done == total):
            end = "\n" if done == total else "\r"
            if sys.stderr.isatty():
                click.echo(f"case {done} of {total}{end}", err=True, nl=False)

    return progress


def tell(target: Path, found: Overview | None) -> None:
    """Say where the report is, and how it came out."""
    size = target.stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.0f} kB"
    word = ""
    if found is not None:
        word = f"{found.verdict.word}{', SIMULATED' if found.simulated else ''}; "
    say(f"report: {target} ({word}{shown})", err=True)
