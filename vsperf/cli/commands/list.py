"""`vsperf list`: what can be run, and which folder it was found in."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from vsperf.cli.output import say
from vsperf.cli.problems import print_problems
from vsperf.cli.selection import hidden_text, library
from vsperf.cli.stored import json_option, say_json
from vsperf.cli.tables import GAP, STYLES, WIDE, console, print_table
from vsperf.cli.terminal import INDENT, between_words, fitting
from vsperf.config.lookup import Entry, Library, subject_of
from vsperf.config.suggest import did_you_mean
from vsperf.errors import ExitCode, UsageError
from vsperf.output.table import Cell, Table, columns

KINDS = ("testcases", "testbeds", "presets", "topologies")


ASKS = (
    "with titles: vsperf list WORD, as latency or vm; all of them: vsperf list --long",
    "all on one: vsperf show NAME; measure it: vsperf run NAME",
)
"""What to do with a name, below all of them."""


def complete_word(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete kinds and names of testcases."""
    return [name for name in (*KINDS, *library().testcases()) if name.startswith(incomplete)]


@click.command(
    epilog="Examples:\n\n\b\n  vsperf list                  # all names, by groups\n"
    "  vsperf list latency          # what has this in its name, title or tags\n"
    "  vsperf list vm               # a group, with titles\n"
    "  vsperf list 'pvp_*' --names\n  vsperf list --tag rfc2544 --json\n  vsperf list testbeds\n"
)
@click.argument(
    "words", nargs=-1, metavar=f"[{'|'.join(KINDS)}] [WORD...]", shell_complete=complete_word
)
@click.option(
    "--tag",
    "tags",
    multiple=True,
    help="Only testcases with this tag; repeatable, and then with each of them.",
)
@click.option("--names", is_flag=True, help="Print names alone, one a line.")
@click.option("--long", "titles", is_flag=True, help="Print titles of all testcases, too.")
@json_option
def command(
    words: tuple[str, ...], tags: tuple[str, ...], names: bool, titles: bool, as_json: bool
) -> int:
    """List testcases (or testbeds, presets, topologies) and the folders they come from.

    WORD... narrows them down: names, or patterns such as 'pvp_*'; or a group, or what is a part of
    a name, a title or a tag, each of which has to fit then.

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
        say_json({"folders": folders, kind: rows})
        return ExitCode.OK
    if names:
        for entry in entries:
            say(entry.name.replace("\n", "\\n"))  # a name of others is one line
        return ExitCode.OK
    out = console()
    if out.is_terminal and kind == KINDS[0] and not (patterns or tags or titles):
        print_groups(out, entries)
    else:
        print_entries(out, places, entries)
    if (line := hidden_text(places.hidden(kind))) is not None:
        out.print(line, style="yellow")
    for folder in places.folders:
        out.print(f"searched: {folder.path} ({folder.role})", style="dim")
    print_problems(problem for entry in entries for problem in entry.problems)
    return ExitCode.OK


def chosen(
    found: Mapping[str, Entry], kind: str, words: Sequence[str], tags: Sequence[str]
) -> list[Entry]:
    """Return those of a kind that a name or pattern and all other words fit, and all tags."""
    patterns = [word for word in words if fnmatch.filter(found, word)]
    parts = [word for word in words if word not in patterns]
    left = [
        entry
        for name, entry in found.items()
        if not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)
    ]
    groups = {_folder(entry).casefold() for entry in found.values()}
    for part in map(str.casefold, parts):
        # a group is all that is in it, and not what has its name in a longer one
        left = [
            entry
            for entry in left
            if (_folder(entry).casefold() == part if part in groups else _has(entry, part))
        ]
        if not left:
            beside = " together with the words before it" if len(words) > 1 else ""
            raise UsageError(
                f"no {kind} fit {part!r}{beside}",
                fix=did_you_mean(
                    part,
                    [*KINDS, *found],
                    "a word is a name, or a part of a name, a title or a tag",
                ),
            )
    known = _tags(found.values())
    for tag in tags:
        if tag not in known:
            raise UsageError(
                f"no {kind} have the tag {tag!r}",
                fix=did_you_mean(tag, known, f"known tags: {', '.join(known) or 'none'}"),
            )
    return [entry for entry in left if set(tags) <= set(entry.tags)]


def _has(entry: Entry, part: str) -> bool:
    """Tell whether something of what is known of an entry has this part."""
    return any(part in text.casefold() for text in (entry.name, entry.title, *entry.tags))


def _tags(entries: Iterable[Entry]) -> list[str]:
    return sorted({tag for entry in entries for tag in entry.tags})


def print_groups(out: Console, entries: Sequence[Entry]) -> None:
    """Print names alone, by folder, so that all of them can be looked over."""
    for folder, members in groupby(sorted(entries, key=_place), key=_place):
        some = list(members)
        subject = subject_of(folder)
        head = Text(folder.name, "bold").append(f"  {subject}" if subject else "", "not bold")
        out.print(fitting(head, out, INDENT))
        columns_of_names = _columns(some, out.width)
        widths = [max(len(entry.name) for entry in column) for column in columns_of_names]
        for row in zip_longest(*columns_of_names):
            line = Text(INDENT)
            for entry, width in zip(row, widths, strict=True):
                if entry is not None:
                    style = "FAIL" if entry.problems else "name"
                    line.append(f"{_cells(entry)[0].text:<{width + GAP}}", STYLES[style])
            line.rstrip()
            out.print(line)
    out.print()
    for ask in ASKS:
        out.print(fitting(Text(ask), out, INDENT))


def _columns(entries: Sequence[Entry], width: int) -> list[Sequence[Entry]]:
    """Return them in as many columns, each read downwards, as lines of this width have room for."""
    for down in range(1, len(entries)):
        found = [entries[first : first + down] for first in range(0, len(entries), down)]
        widths = (max(len(entry.name) for entry in column) + GAP for column in found)
        if len(INDENT) + sum(widths) - GAP <= width:
            return found
    return [entries]


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


def _place(entry: Entry) -> Path:
    return entry.path.parent


def _folder(entry: Entry) -> str:
    return _place(entry).name


def _origin(places: Library, entry: Entry) -> str:
    hidden = (f", hides {path}" for path in map(places.shown, entry.found.shadowed))
    return places.shown(entry.path) + "".join(hidden)
