"""Errors for people: what, where with the line and a caret, why, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click
from rich.text import Text

from vsperf.cli.terminal import PlainConsole, between_words, breaks_lines
from vsperf.errors import Location, Problem
from vsperf.trust.printable import printable

WIDEST_LINE = 120
"""Of a file that is shown; less on a terminal that has less."""
INDENT = " " * len("error: ")


def print_problems(problems: Iterable[Problem]) -> None:
    """Print all problems to stderr, each once; lines are broken where they have to fit."""
    out = PlainConsole(stderr=True)
    width = out.width if breaks_lines(out) else None
    for problem in dict.fromkeys(problems):
        click.echo("\n".join(_rendered(problem, width)), err=True)


def _rendered(problem: Problem, width: int | None) -> Iterator[str]:
    what = _broken("error: ", problem.what, width)
    yield click.style("error: ", fg="red", bold=True) + click.style(what, bold=True)
    if problem.where is not None:
        yield from _place(problem.where, width)
    if problem.why:
        yield f"  why: {_broken('  why: ', problem.why, width)}"
    if problem.fix:
        yield click.style("  fix: ", fg="green") + _broken("  fix: ", problem.fix, width)


def _broken(label: str, text: str, width: int | None) -> str:
    """Return a text as it stands behind a label."""
    line = f"{label}{printable(text)}"
    return (between_words(Text(line), width, INDENT).plain if width else line)[len(label) :]


def _place(where: Location, width: int | None) -> Iterator[str]:
    yield f"   at: {printable(str(where))}"
    if where.text is None:
        return
    gutter = f"{where.line if where.line is not None else '':>5} | "
    widest = min(WIDEST_LINE, max(1, width - len(gutter))) if width else WIDEST_LINE
    column = max(where.column or 1, 1)
    cut = max(0, column - widest // 2) if len(where.text) > widest else 0
    shown = printable(where.text[cut : cut + widest].replace("\t", " "))
    yield click.style(gutter, dim=True) + shown
    caret = " " * (column - cut - 1) + click.style("^", fg="red", bold=True)
    yield " " * (len(gutter) - 2) + click.style("| ", dim=True) + caret
