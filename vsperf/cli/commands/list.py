"""`vsperf list`: what can be run, and which folder it was found in."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import click
from rich.console import Console
from rich.text import Text

from vsperf.cli.output import say
from vsperf.cli.problems import print_problems
from vsperf.cli.selection import hidden_text, library
from vsperf.cli.stored import json_option
from vsperf.cli.tables import GAP, STYLES, WIDE, console, print_table
from vsperf.cli.terminal import between_words
from vsperf.config.lookup import Entry, Library
from vsperf.config.suggest import did_you_mean
from vsperf.errors import ExitCode, UsageError
from vsperf.output.table import Cell, Table, columns

KINDS = ("testcases", "testbeds", "presets", "topologies")


def complete_word(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete kinds and names of testcases."""
    return [name for name in (*KINDS, *library().testcases()) if name.startswith(incomplete)]


@click.command(
    epilog="Examples:\n\n\b\n  vsperf list\n  vsperf list --names\n  vsperf list testbeds\n"
    "  vsperf list 'pvp_*'\n  vsperf list --tag rfc2544 --json\n"
)
@click.argument(
    "words", nargs=-1, metavar=f"[{'|'.join(KINDS)}] [NAME...]", shell_complete=complete_word
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    help="Only testcases with this tag; repeatable, and then with each of them.",
)
@click.option("--names", is_flag=True, help="Print names alone, one a line.")
@json_option
def command(words: tuple[str, ...], tags: tuple[str, ...], names: bool, as_json: bool) -> int:
    """List testcases (or testbeds, presets, topologies) and the folders they come from.

    NAME... narrows them down: names, or patterns such as 'pvp_*'.

    Folders are searched in this order, and the first that has a name wins: those of $VSPERF_PATH,
    the current directory, ~/.config/vsperf, and what was installed with vsperf. Each may hold
    conf/ and testcases/.
    """
    kind, patterns = (KINDS[0], words)
    if words and words[0] in KINDS:
        kind, patterns = words[0], words[1:]
    places = library()
    entries = chosen(getattr(places, kind)(), kind, patterns, tags)
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
    if names:
        for entry in entries:
            say(entry.name.replace("\n", "\\n"))  # a name of others is one line
        return ExitCode.OK
    out = console()
    print_entries(out, places, entries)
    if (line := hidden_text(places.hidden(kind))) is not None:
        out.print(line, style="yellow")
    for folder in places.folders:
        out.print(f"searched: {folder.path} ({folder.role})", style="dim")
    print_problems(problem for entry in entries for problem in entry.problems)
    return ExitCode.OK


def chosen(
    found: Mapping[str, Entry], kind: str, patterns: Sequence[str], tags: Sequence[str]
) -> list[Entry]:
    """Return those of a kind that a name or pattern fits, and that carry all tags."""
    for pattern in patterns:
        if not fnmatch.filter(found, pattern):
            otherwise = f"a part of a name is written like '*{pattern}*'"
            part = any(pattern in name for name in found)
            raise UsageError(
                f"no {kind} fit {pattern!r}",
                fix=otherwise if part else did_you_mean(pattern, [*KINDS, *found], otherwise),
            )
    known = _tags(found.values())
    for tag in tags:
        if tag not in known:
            raise UsageError(
                f"no {kind} have the tag {tag!r}",
                fix=did_you_mean(tag, known, f"known tags: {', '.join(known) or 'none'}"),
            )
    return [
        entry
        for name, entry in found.items()
        if set(tags) <= set(entry.tags)
        and (not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns))
    ]


def _tags(entries: Iterable[Entry]) -> list[str]:
    return sorted({tag for entry in entries for tag in entry.tags})


def print_entries(out: Console, places: Library, entries: Sequence[Entry]) -> None:
    """Print everything where it fits, and names and titles by folder where it does not."""
    if out.width >= WIDE:
        rows = (
            (*_cells(entry), " ".join(entry.tags), Cell(_origin(places, entry), "aside"))
            for entry in entries
        )
        heads = (*columns("name", breaks=False), *columns("title", "tags", "from"))
        print_table(out, Table("library", heads, tuple(rows)), blocks=True)
        return
    width = max((len(entry.name) for entry in entries), default=0)
    for folder, some in groupby(sorted(entries, key=_folder), key=_folder):
        out.print(Text(folder, "bold"))
        for entry in some:
            name, title = _cells(entry)
            line = Text.assemble((f"{name.text:<{width}}", STYLES[name.style]), GAP * " ")
            line.append(title.text, STYLES.get(title.style, ""))
            out.print(between_words(line, out.width, (width + GAP) * " "))
        out.print()
    if tags := _tags(entries):
        text = Text(f"tags (--tag TAG): {', '.join(tags)}")
        out.print(between_words(text, out.width))


def _cells(entry: Entry) -> tuple[Cell, Cell]:
    title = Cell("broken, see below", "FAIL") if entry.problems else Cell(entry.title)
    return Cell(entry.name, "name"), title


def _folder(entry: Entry) -> str:
    return entry.path.parent.name


def _origin(places: Library, entry: Entry) -> str:
    hidden = (f", hides {path}" for path in map(places.shown, entry.found.shadowed))
    return places.shown(entry.path) + "".join(hidden)
