"""`vsperf plot`: figures of stored runs, as files or as the numbers that are drawn."""

from __future__ import annotations

import csv
import fnmatch
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem
from rich.text import Text

from vsperf.cli.output import say
from vsperf.cli.stored import complete_run, json_option, results_option, say_json
from vsperf.cli.tables import console
from vsperf.cli.terminal import fitting
from vsperf.errors import ExitCode, UsageError
from vsperf.records.files.chosen import find_runs
from vsperf.records.files.view import CaseView, views

if TYPE_CHECKING:
    from vsperf.output.figures.plot import Plot

MANY = 20
"""Files that are written without a word of what that takes."""


def complete_plot(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete names of plots, with what they show."""
    from vsperf.output.figures.plot import all_plots

    return [
        CompletionItem(plot.name, help=plot.title)
        for plot in all_plots()
        if plot.name.startswith(incomplete)
    ]


def complete_table(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of published tables."""
    from vsperf.output.figures.published import names

    return [name for name in names() if name.startswith(incomplete)]


@click.command(
    epilog="Examples:\n\n\b\n"
    "  vsperf plot --list                                # what can be drawn\n"
    "  vsperf plot throughput latest -o tput.png         # a line for each switch\n"
    "  vsperf plot search latest --case '*-64B'          # of one case: search.svg\n"
    "  vsperf plot throughput k7f3 m4xq --beside plugfest_2017\n"
    "  vsperf plot latency latest --data > latency.csv   # the numbers alone\n"
)
@click.argument("name", required=False, shell_complete=complete_plot)
@click.argument("runs", nargs=-1, metavar="RUN...", shell_complete=complete_run)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to draw it: .svg, .png or .pdf.  [default: NAME.svg]",
)
@click.option("--list", "listing", is_flag=True, help="List the plots, and published tables.")
@click.option(
    "--data", is_flag=True, help="Print the numbers instead, as CSV; as JSON with --json."
)
@click.option("--case", "glob", metavar="GLOB", help="Only these cases, such as '*-64B'.")
@click.option(
    "--by",
    multiple=True,
    metavar="TRAIT",
    help="What makes a line: switch, generator, testbed, topology, flows, size, workers, testcase, "
    "run, a label, or a value of the testcase; repeatable.  [default: all that differ]",
)
@click.option(
    "--beside",
    multiple=True,
    metavar="TABLE",
    shell_complete=complete_table,
    help="Draw published numbers, too, hollow or dotted, with their source; repeatable.",
)
@results_option
@json_option
def command(
    name: str | None,
    runs: tuple[str, ...],
    output: Path | None,
    listing: bool,
    data: bool,
    glob: str | None,
    by: tuple[str, ...],
    beside: tuple[str, ...],
    results: Path,
    as_json: bool,
) -> int:
    """Draw the plot NAME of RUN..., from their records alone.

    RUN is an id, the last letters of one, a path, `latest`, or KEY=VALUE for all runs with that
    label. A plot of single cases makes a file for each, called by the case. Simulated numbers are
    hatched and say SIMULATED.
    """
    from vsperf.output.figures.plot import Options, drawings, named
    from vsperf.output.figures.published import known
    from vsperf.output.figures.render import format_of

    if listing:
        _print_list(as_json=as_json)
        return ExitCode.OK
    if name is None or not runs:
        raise UsageError(
            "a plot needs a name and a run",
            fix="`vsperf plot --list` names the plots; `vsperf plot throughput latest` draws one",
        )
    plot = named(name)
    target = output or Path(f"{name}.svg")
    format_of(target)  # a wrong one is better known before than after
    for table in beside:
        known(table)
    cases = _cases(find_runs(results, runs), glob)
    found = [one for _, one in drawings(cases, [plot.name], Options(by, beside))]
    if not found:
        raise _nothing_to_draw(plot, _cases(find_runs(results, runs), glob))
    if data:
        _print_data(name, found, as_json=as_json)
    else:
        _write(found, target)
    return ExitCode.OK


def _nothing_to_draw(plot: Plot, cases: Iterable[CaseView]) -> UsageError:
    """Say what is missing: numbers of cases that there are, or else other cases."""
    from vsperf.output.compare_text import first_of

    without: dict[str, list[str]] = {}
    for case in cases:
        if why := plot.missing(case):
            without.setdefault(why, []).append(f"{case.label} of {case.run.rpartition('-')[2]}")
    what = f"there is nothing to draw for {plot.name}"
    takes = f"it takes {plot.needs or 'records of something else'}"
    if not without:
        why = f"of {plot.title}, these records hold nothing, or so little that a number says it"
        return UsageError(what, why=why, fix=takes)
    named = "; ".join(f"{first_of(labels)} ({why})" for why, labels in without.items())
    return UsageError(
        what,
        why=f"there is no number to be drawn of {named}",
        fix="measure again on a quiet machine, or for longer: `vsperf run … --wait 30m --preset "
        f"standard`; {takes}",
    )


def _cases(folders: Sequence[Path], glob: str | None) -> Iterator[CaseView]:
    """Yield the cases that are wanted; one that none fits is an error."""
    fitting, seen = False, list[str]()
    for case in itertools.chain.from_iterable(views(folder) for folder in folders):
        if glob is None or any(fnmatch.fnmatchcase(one, glob) for one in (case.label, case.key)):
            fitting = True
            yield case
        else:
            seen.append(case.label)
    if not fitting and glob is not None:
        shown = ", ".join(dict.fromkeys(seen[:8]))
        raise UsageError(f"no case fits {glob!r}", fix=f"there are: {shown or 'none'}")


def _write(found: Sequence[Any], target: Path) -> None:
    """Write each drawing to a file; several are called by their titles."""
    from vsperf.output.figures.render import save

    paths = [target] if len(found) == 1 else paths_of(found, target)
    if len(paths) > MANY:
        say(f"drawing {len(paths)} files; --case GLOB chooses some", err=True)
    for drawing, path in zip(found, paths, strict=True):
        save(drawing, path)
        say(str(path))


def paths_of(found: Sequence[Any], target: Path) -> list[Path]:
    """Return a path for each drawing, none twice."""
    paths: dict[Path, None] = {}
    numbers: dict[str, int] = {}
    for drawing in found:
        about = re.sub(r"[^A-Za-z0-9._+-]+", "_", drawing.title.rpartition(", ")[2]).strip("._")
        stem = f"{target.stem}-{about[:120]}"
        path = target.with_name(f"{stem}{target.suffix}")
        while path in paths:
            numbers[stem] = numbers.get(stem, 1) + 1  # on from where the last one ended
            path = target.with_name(f"{stem}.{numbers[stem]}{target.suffix}")
        paths[path] = None
    return list(paths)


def _print_list(*, as_json: bool) -> None:
    from vsperf.output.figures.plot import all_plots
    from vsperf.output.figures.published import names

    plots = all_plots()
    if as_json:
        listed = [{"name": p.name, "title": p.title, "of": p.scope.value} for p in plots]
        say_json({"plots": listed, "tables": names()})
        return
    out = console()
    width = max(len(plot.name) for plot in plots) + 2
    for scope, heading in (("cases", "of all cases together"), ("case", "of each case")):
        out.print(heading)
        for plot in plots:
            if plot.scope.value == scope:
                line = Text(f"  {plot.name:{width}}{plot.title}")
                out.print(fitting(line, out, " " * (width + 2)))
    out.print(f"published tables, for --beside\n  {', '.join(names())}")


def _print_data(name: str, found: Sequence[Any], *, as_json: bool) -> None:
    """Print every point, with units and what it belongs to; what is not known is empty."""
    from vsperf.output.export.csv_tables import field
    from vsperf.output.figures.plot import COLUMNS, rows

    every = (row for drawing in found for row in rows(name, drawing))
    if as_json:
        say_json(list(every))
        return
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for row in every:
        out.writerow([field(row[column]) for column in COLUMNS])
