"""`vsperf list`: what can be run, and which folder it was found in."""

from __future__ import annotations

import json

import click
from rich.table import Table
from rich.text import Text

from vsperf.cli.problems import print_problems
from vsperf.cli.selection import hidden_text, library
from vsperf.cli.stored import json_option
from vsperf.cli.tables import console
from vsperf.errors import ExitCode

KINDS = ("testcases", "testbeds", "presets", "topologies")


@click.command(
    epilog="Examples:\n\n\b\n  vsperf list\n  vsperf list testbeds\n"
    "  vsperf list --tag rfc2544 --json\n"
)
@click.argument("kind", type=click.Choice(KINDS), default="testcases")
@click.option("--tag", "tags", multiple=True, help="Only testcases with this tag.")
@json_option
def command(kind: str, tags: tuple[str, ...], as_json: bool) -> int:
    """List testcases (or testbeds, presets, topologies) and the folders they come from.

    Folders are searched in this order, and the first that has a name wins: those of $VSPERF_PATH,
    the current directory, ~/.config/vsperf, and what was installed with vsperf. Each may hold
    conf/ and testcases/.
    """
    places = library()
    entries = [
        entry
        for entry in getattr(places, kind)().values()
        if not tags or set(tags) & set(entry.tags)
    ]
    if as_json:
        rows = [
            {
                "name": entry.name,
                "title": entry.title,
                "tags": list(entry.tags),
                "path": str(entry.path),
                "shadowed": [str(path) for path in entry.found.shadowed],
                "problems": [problem.what for problem in entry.problems],
            }
            for entry in entries
        ]
        folders = [{"path": str(f.path), "role": f.role} for f in places.folders]
        click.echo(json.dumps({"folders": folders, kind: rows}, indent=2))
        return ExitCode.OK
    out = console()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("name", "title", "tags", "from"):
        table.add_column(column, overflow="fold")
    for entry in entries:
        title = Text("broken, see below", "red") if entry.problems else Text(entry.title)
        origin = places.shown(entry.path) + "".join(
            f", hides {path}" for path in map(places.shown, entry.found.shadowed)
        )
        table.add_row(Text(entry.name, "cyan"), title, " ".join(entry.tags), Text(origin, "dim"))
    out.print(table)
    if (line := hidden_text(places.hidden(kind))) is not None:
        out.print(line, style="yellow", markup=False, soft_wrap=True)
    for folder in places.folders:
        out.print(f"searched: {folder.path} ({folder.role})", style="dim", soft_wrap=True)
    print_problems(problem for entry in entries for problem in entry.problems)
    return ExitCode.OK
