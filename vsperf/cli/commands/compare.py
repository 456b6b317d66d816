"""`vsperf compare`: what differs between runs, and what changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from vsperf.analysis.comparison import Comparison, Row, compare
from vsperf.analysis.sides import Side, apart, baseline_side, side
from vsperf.cli.output import say
from vsperf.cli.selection import QuantityType
from vsperf.cli.stored import complete_baseline, complete_run, results_option
from vsperf.cli.tables import console, print_label, print_table, print_titled
from vsperf.config.document import COMPARABLE
from vsperf.errors import ExitCode, RecordingError, UsageError
from vsperf.output.compare_data import comparison_data
from vsperf.output.compare_page import html_page, markdown, picture_of
from vsperf.output.compare_text import (
    MOST_SIDES,
    change_tables,
    environment_table,
    first_of,
    generators_table,
    headline,
    meanings,
    notes,
    sides_table,
)
from vsperf.output.report.form import by_ending
from vsperf.quantities.units import Ratio
from vsperf.trust.named_files import written

LIMIT = 50
"""Rows of a table when nobody asks for more."""
FORMATS = ("table", "json", "md", "html")
BY_ENDING = {".json": "json", ".md": "md", ".html": "html", ".htm": "html"}
"""The format of a file whose name ends like this."""
TO_A_FILE = " html, md or json"
WIDE = "the interval is too wide to tell whether it"
BUSY = "the machine was too busy to tell whether it"
HALF = "with a lower bound alone on one side nobody can tell whether it"
BOUNDED = "with lower bounds alone on both sides nobody can tell whether it"
MOVED = (
    "with CPUs near each other on one side, and far, or both, on the other, nobody can tell "
    "whether it"
)
DEPENDENT = "as repeats depend on each other, nobody can tell whether it"
DRAWN = "as nobody knows how far single deployments lie apart, nobody can tell whether it"
REMEDIES = {
    WIDE: "more repeats narrow it",
    DRAWN: "`--repeat 4`, or search.draws=4 of a throughput, on both sides tells",
    MOVED: "measure again, until both sides met the same",
    HALF: "more time, a quiet machine or a generator that can do more tells",
    DEPENDENT: "further runs of each side, an hour later, tell",
    BUSY: "measure again when it is quiet: `--wait 30m`",
    BOUNDED: "a quiet machine or a generator that can do more tells",
}
"""By why nobody can tell, in the order in which these are said."""


@click.command(
    epilog="Examples:\n\n\b\n"
    "  vsperf compare k7f3 latest\n"
    "  vsperf compare --baseline main latest --only-changed --fail-above 3%\n"
    "  vsperf compare job=41 job=42 -o change.html  # a page with a picture\n"
    "  vsperf compare latest --by vswitch           # the switches of one run\n"
    "  vsperf compare vswitch:vpp vswitch:ovs-dpdk@k7f3\n"
)
@click.argument("sides", nargs=-1, required=True, metavar="SIDE...", shell_complete=complete_run)
@click.option(
    "--baseline",
    metavar="NAME",
    shell_complete=complete_baseline,
    help="Hold them against this baseline.",
)
@click.option(
    "--by",
    type=click.Choice(COMPARABLE),
    help="Compare what the SIDEs measured of each of these, all of them taken together.",
)
@click.option("--only-changed", is_flag=True, help="Leave out what did not change.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=LIMIT,
    show_default=True,
    help="Rows of a table on the terminal, the greatest change first.",
)
@click.option("--latency", is_flag=True, help="Compare latency, too; reads all trials.")
@click.option(
    "--anyway", is_flag=True, help="Compare other frames, topologies or hosts all the same."
)
@click.option(
    "--fail-above",
    type=QuantityType(Ratio),
    metavar="SHARE",
    help="Exit with 1 if a number got worse by more for sure, such as 3%; with 5 if nobody can "
    "tell.",
)
@click.option(
    "--format",
    "wanted",
    type=click.Choice(FORMATS),
    help="What to write; without it as the file's name ends, and else a table.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "-o",
    "output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file: a page with a picture (.html), .md or .json.",
)
@results_option
def command(
    sides: tuple[str, ...],
    baseline: str | None,
    by: str | None,
    only_changed: bool,
    limit: int,
    latency: bool,
    anyway: bool,
    fail_above: Ratio | None,
    wanted: str | None,
    as_json: bool,
    output: Path | None,
    results: Path,
) -> int:
    """Say what differs around the SIDEs, and what changed from the first to each other one.

    A SIDE is a run (an id, its last letters, a path, `latest`), KEY=VALUE for all runs with that
    label, tag:NAME for all that was measured of testcases with that tag, or vswitch:NAME[@SIDE]
    for one switch of the latest run, or of another side; several runs of one side count as
    repeats. A change is shown where it is more than chance.
    """
    form = _form(output, "json" if as_json else wanted)
    every = _sides(results, sides, baseline, by)
    if len(every) > MOST_SIDES:
        raise UsageError(
            f"no more than {MOST_SIDES} sides can be compared",
            why=f"these are {len(every)}, and each has a letter",
            fix="name fewer; runs with one label, as revision=4f2c1ab, are one side",
        )
    found = compare(every, anyway=anyway, latency=latency)
    asked = None if fail_above is None else float(fail_above)
    text = _text(found, form, only_changed, asked)
    if text is not None:
        _write(text, output)
    else:
        _print(found, only_changed, limit, asked)
    return _exit_code(found, fail_above, quiet=form != "table")


def _form(output: Path | None, asked: str | None) -> str:
    """Return what is to be written: what is asked for, or what the file's name says, or a table."""
    if output is None:
        return asked or "table"
    if asked == "table":
        raise UsageError("a table is not written to a file", fix=f"add --format{TO_A_FILE}")
    return asked or by_ending(output, BY_ENDING, "comparison", TO_A_FILE)


def _sides(
    results: Path, texts: Sequence[str], baseline: str | None, by: str | None
) -> tuple[Side, ...]:
    """Return what is to be compared, at least two sides."""
    first = [] if baseline is None else [baseline_side(results, baseline)]
    if by is not None:
        return _taken_apart([side(results, text) for text in texts], by, baseline)
    if len(first) + len(texts) < 2:
        raise UsageError(
            "there is nothing to compare with",
            why="one side was given, and no --baseline",
            fix=f"name another side, or `vsperf compare --baseline NAME {texts[0]}`",
        )
    return (*first, *(side(results, text) for text in texts))


def _taken_apart(sides: Sequence[Side], by: str, baseline: str | None) -> tuple[Side, ...]:
    if baseline is not None:
        raise UsageError(
            "--by and --baseline exclude each other",
            why=f"with --by {by} the sides are what was measured of each {by}",
            fix="leave one of them out",
        )
    found = apart(sides, by)
    if len(found) < 2:
        only = found[0].name if found else "none"
        fix = f"measure several in turns: `vsperf run … --{by} {only},OTHER`"
        if any(case.rounds for one in sides for case in one.cases):
            fix = "switches that take turns within a case are compared by `vsperf show RUN`"
        names = ", ".join(one.name for one in sides)
        raise UsageError(f"there is one {by} in {names}: {only}", fix=fix)
    return found


def _text(found: Comparison, wanted: str, only_changed: bool, asked: float | None) -> str | None:
    match wanted:
        case "json":
            return json.dumps(comparison_data(found, only_changed=only_changed), indent=2) + "\n"
        case "md":
            return markdown(found, only_changed=only_changed, asked=asked)
        case "html":
            return html_page(found, only_changed=only_changed, asked=asked)
        case _:
            return None


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    with RecordingError.if_refused(
        f"{output} cannot be written", fix="choose another file with -o"
    ):
        with written(output) as file:
            file.write(text.encode())
        say(f"comparison: {output}", err=True)


def _print(found: Comparison, only_changed: bool, limit: int, asked: float | None) -> None:
    out = console()
    print_label(out, simulated=found.simulated)
    head = headline(found, asked)
    out.print(f"{head.word}: {head.text}")
    print_table(out, sides_table(found), blocks=True)
    out.print()
    environment = environment_table(found)
    if environment.rows:
        print_table(out, environment, blocks=True)
    else:
        out.print("nothing that was recorded of host, software and settings differs")
    if found.generators:
        own = generators_table(found.generators)
        out.print()
        print_titled(out, own, blocks=True)
    for table in change_tables(found, only_changed=only_changed):
        out.print()
        out.print(table.title, style="bold")
        if table.rows:
            print_table(out, table.first(limit), blocks=True)
            if len(table.rows) > limit:
                out.print(f"and {len(table.rows) - limit} more, none with a greater change")
        else:
            out.print("no change" if found.rows else "no number on either side")
    out.print()
    for meaning in meanings(found):
        out.print(meaning, style="dim")
    for line in notes(found):
        out.print(f"! {line}")
    pictured = "" if picture_of(found) is None else ", with a picture of it"
    out.print(f"as a page{pictured}: the same with -o change.html", style="dim")


def _exit_code(found: Comparison, fail_above: Ratio | None, *, quiet: bool) -> ExitCode:
    """Return 1 if something got worse by more for sure, 5 if that cannot be told of all."""
    if fail_above is None:
        return ExitCode.OK
    worse = found.worsened(float(fail_above))
    if worse:
        names = ", ".join(dict.fromkeys(f"{row.label} {row.name}" for row in worse))
        say(f"worse by more than {fail_above}: {names}", err=quiet)
        return ExitCode.CRITERION_MISSED
    base = found.sides[0]
    asked = {base.label(case) for case in base.cases}
    gaps = (gap for gap in found.gaps if gap.side > 0 and gap.label in asked)
    missing = list(dict.fromkeys(f"{gap.label} {gap.name}".rstrip() for gap in gaps))
    if missing:
        say(f"no number to judge: {first_of(missing)}", err=quiet)
    undecided = found.undecided(float(fail_above))
    by_reason: dict[str, list[str]] = {}
    for row in undecided:
        by_reason.setdefault(_why_open(row), []).append(f"{row.label} {row.name}")
    for text, remedy in REMEDIES.items():
        if text in by_reason:
            names = first_of(by_reason[text])
            say(f"{text} is worse by more than {fail_above}: {names}; {remedy}", err=quiet)
    return ExitCode.INVALID_RESULT if missing or undecided else ExitCode.OK


def _why_open(row: Row) -> str:
    """Say why nobody can tell of a number whether it is worse; of several reasons, the first."""
    sides = range(1, len(row.samples))
    if any(row.elsewhere(number) for number in sides):
        return MOVED
    if any(row.too_busy(number) for number in sides):
        return BUSY
    if any(row.bounded_below(number) for number in sides):
        return BOUNDED
    if any(row.dependent(number) for number in sides):
        return DEPENDENT
    if any(row.worse(number) and not row.surely(number) for number in sides):
        return DRAWN
    return HALF if any(one and one.median_is_open for one in row.samples) else WIDE
