"""Errors for people: what, where with the line and a caret, why, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable

import click

from vsperf.errors import Location, Problem
from vsperf.trust.printable import printable

WIDEST_LINE = 120


def print_problems(problems: Iterable[Problem]) -> None:
    """Print all problems to stderr, each once."""
    for problem in dict.fromkeys(problems):
        click.echo(_rendered(problem), err=True)


def _rendered(problem: Problem) -> str:
    lines = [
        click.style("error: ", fg="red", bold=True)
        + click.style(printable(problem.what), bold=True)
    ]
    if problem.where is not None:
        lines += _place(problem.where)
    if problem.why:
        lines.append(f"  why: {printable(problem.why)}")
    if problem.fix:
        lines.append(click.style("  fix: ", fg="green") + printable(problem.fix))
    return "\n".join(lines)


def _place(where: Location) -> list[str]:
    lines = [f"   at: {printable(str(where))}"]
    if where.text is None:
        return lines
    column = max(where.column or 1, 1)
    cut = max(0, column - WIDEST_LINE // 2) if len(where.text) > WIDEST_LINE else 0
    shown = where.text[cut : cut + WIDEST_LINE].replace("\t", " ")
    shown = printable(shown)
    gutter = f"{where.line if where.line is not None else '':>5} | "
    lines.append(click.style(gutter, dim=True) + shown)
    lines.append(" " * (len(gutter) - 2) + click.style("| ", dim=True) + _caret(column - cut))
    return lines


def _caret(column: int) -> str:
    return " " * (column - 1) + click.style("^", fg="red", bold=True)
