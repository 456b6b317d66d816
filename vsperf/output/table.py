"""A table as data, whoever shows it: a terminal, a page, Markdown, or a file of values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Any, Generic, Literal, TypeVar

from vsperf.trust.printable import printable

T = TypeVar("T")


class Moment(str):
    """A moment as records have it, ISO 8601; a format with types makes a time of it."""

    __slots__ = ()


Value = int | float | str | bool | None
Kind = type[int] | type[float] | type[str] | type[bool] | type[Moment]
NOTHING = "–"
"""What a cell says that has nothing to say."""
INDENT = "  "
"""Before what stands below something else."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text that looks like something, or leads somewhere; a plain `str` is one, too."""

    text: str
    style: str = ""
    """What it means, such as `worse`, `PASS` or `aside`; whoever shows it knows how that looks."""
    link: str = ""
    """A place of the same page."""

    def __str__(self) -> str:
        return self.text


Row = tuple[str | Cell, ...]


@dataclass(frozen=True)
class Column(Generic[T]):
    """What stands below a heading, and how it is found of what a row is about."""

    name: str
    """With its unit where cells are bare numbers."""
    kind: Kind = str
    of: Callable[[T], Value | Cell] = field(default=lambda _: None)
    """Never called of a column whose cells are written already."""
    align: Literal["", "left", "right"] = ""
    """Where its cells stand; empty is what is usual where it is shown."""
    rank: int = 0
    """Of columns that do not fit, those of the highest rank are left out; with 0, never."""
    breaks: bool = False
    """Whether its cells may be broken, between words, where there is little room."""
    least: int = 12
    """Places that it gets at least then; with a word in each line nobody reads it."""
    below: bool = False
    """Whether its cells go below those of the first column where there is little room."""
    meaning: str = ""

    def value(self, row: T) -> Value:
        """Return the value of a row, of the column's kind; missing is None, and never 0."""
        found = self.of(row)
        if isinstance(found, Cell):
            return found.text
        if found is None or (isinstance(found, float) and not math.isfinite(found)):
            return None
        return self.kind(found)

    def cell(self, row: T) -> str | Cell:
        """Return the same as people read it."""
        found = self.of(row)
        return found if isinstance(found, Cell) else NOTHING if found is None else str(found)


def columns(
    *names: str,
    right: Container[int] = (),
    others: Literal["", "left"] = "",
    breaks: bool = True,
) -> tuple[Column[Any], ...]:
    """Return the headings of cells that are written already; `right` are places of numbers.

    A number is never broken: its unit stays with it.
    """
    return tuple(
        Column(name, align="right", breaks=False)
        if place in right
        else Column(name, align=others, breaks=breaks)
        for place, name in enumerate(names)
    )


@dataclass(frozen=True, slots=True)
class Table:
    """Headings, and rows of cells; whoever shows it escapes it."""

    title: str
    columns: tuple[Column[Any], ...]
    rows: tuple[Row, ...]
    look: str = ""
    """How a page shows it, such as `changes`."""
    of: int | None = None
    """How many rows there would be; None where all of them are there."""
    keys: int = 1
    """How many of the first columns say together which row it is."""

    @classmethod
    def made(cls, title: str, columns: Sequence[Column[T]], items: Iterable[T]) -> Table:
        """Return a row for each item."""
        rows = (tuple(column.cell(item) for column in columns) for item in items)
        return cls(title, tuple(columns), tuple(rows))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The rows, without how they look."""
        return tuple(tuple(map(str, row)) for row in self.rows)

    @property
    def count_text(self) -> str:
        """How many rows there are, in words that go on with what each of them is."""
        shown = f"{len(self.rows):,}"
        return f"all {shown}" if self.of is None else f"{shown} of {self.of:,}"

    def first(self, count: int) -> Table:
        """Return so many rows at most."""
        return replace(self, rows=self.rows[:count])

    def only(self, places: Sequence[int]) -> Table:
        """Return these columns."""
        rows = tuple(tuple(row[place] for place in places) for row in self.rows)
        heads = tuple(self.columns[place] for place in places)
        keys = max(1, sum(place < self.keys for place in places))
        return replace(self, columns=heads, rows=rows, keys=keys)

    def stacked(self, places: Sequence[int]) -> Table:
        """Return it with the lines of these columns below those of the first one, in their order.

        Each line has a row of its own then, and so has each part of one that `;` divides.
        """
        if not places:
            return self
        left = [place for place in range(len(self.columns)) if place not in places]
        kept = self.only(left)
        first, *others = kept.columns
        name = ", ".join((first.name, *(self.columns[place].name for place in places)))
        rows: list[Row] = []
        for row in self.rows:
            lines = [_lines(row[place]) for place in left]
            lines[0] += [one for place in places for one in _under(row[place])]
            rows += zip_longest(*lines, fillvalue="")
        return replace(kept, columns=(replace(first, name=name), *others), rows=tuple(rows))

    def without(self, nothing: str, names: Collection[str]) -> Table:
        """Return it without those of these columns in which each cell says nothing."""
        places = (
            place
            for place, name in enumerate(self.names)
            if name not in names or any(str(row[place]) != nothing for row in self.rows)
        )
        return self.only(tuple(places))


def _under(cell: str | Cell) -> Iterator[str]:
    for line in str(cell).splitlines():
        first, *others = line.replace("; ", ";\n").splitlines()
        yield f"{INDENT}{first}"
        yield from (f"{INDENT}{INDENT}{other}" for other in others)


def _lines(cell: str | Cell) -> list[str | Cell]:
    if isinstance(cell, Cell):
        return [replace(cell, text=line) for line in cell.text.split("\n")]
    return [*cell.split("\n")]


# As HTML.

LOOKS = {
    "worse": "bad",
    "better": "good",
    "PASS": "good",
    "FAIL": "bad",
    "ERROR": "bad",
    "INVALID": "bad",
    "SKIP": "open",
    "ABORTED": "open",
}
"""What pages call that which a cell means."""


BLOCKS = ("changes", "differs")
"""Looks of tables of a comparison, whose rows are blocks of lines where there is little room."""


def html_table(table: Table, *, inline: bool = False) -> str:
    """Return a table for a page; whatever its texts hold is shown, and never run.

    `inline` is for a page that is somebody else's, and knows none of our styles.
    """

    def attributes(column: Column[Any], cell: str | Cell = "") -> str:
        if inline:
            return ' style="text-align: right"' if column.align == "right" else ""
        style = LOOKS.get(cell.style, cell.style) if isinstance(cell, Cell) else ""
        words = " ".join(one for one in ("words" * (column.align == "left"), style) if one)
        return f' class="{_escaped(words)}"' * bool(words)

    def named(column: Column[Any]) -> str:
        """Say the heading in the cell: where there is little room, a row is a block of lines."""
        wanted = table.look in BLOCKS and column.name and not inline
        return f' data-name="{_escaped(column.name)}"' * bool(wanted)

    def heading(column: Column[Any]) -> str:
        if not column.name:
            return "<td></td>"
        meaning = f' title="{_escaped(column.meaning)}"' * bool(column.meaning)
        return f'<th scope="col"{attributes(column)}{meaning}>{_escaped(column.name)}</th>'

    def row(cells: Sequence[str | Cell]) -> Iterator[str]:
        for place, (column, cell) in enumerate(zip(table.columns, cells, strict=True)):
            tag, scope = ("td", "") if place else ("th", ' scope="row"')
            text = _escaped(str(cell))
            if isinstance(cell, Cell) and cell.link:
                text = f'<a href="#{_escaped(cell.link)}">{text}</a>'
            yield f"<{tag}{scope}{named(column)}{attributes(column, cell)}>{text}</{tag}>"

    look = f' class="{table.look}"' * bool(table.look)
    head = "".join(map(heading, table.columns))
    body = "".join(f"<tr>{''.join(row(cells))}</tr>\n" for cells in table.rows)
    return f"<table{look}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"


def _escaped(text: str) -> str:
    from markupsafe import escape

    return str(escape(printable(text)))


# As Markdown.

MARKS = re.compile(r"([\\`*_\[\]|~#])")
"""What Markdown reads as something else than itself, in the middle of a line."""
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
"""Angle brackets begin HTML, and @ calls people."""
LINKS = re.compile(r"://|www\.", re.IGNORECASE)


def markdown_table(table: Table) -> str:
    """Return the lines of a table. A row is a line, so a cell with several takes several rows."""
    rules = ("---:" if column.align == "right" else ":---" for column in table.columns)
    rows = (zip_longest(*(cell.split("\n") for cell in row), fillvalue="") for row in table.texts)
    head, *body = (
        f"| {' | '.join(map(escape_markdown, line))} |"
        for line in (table.names, *chain.from_iterable(rows))
    )
    return "\n".join((head, f"| {' | '.join(rules)} |", *body))


def escape_markdown(text: str) -> str:
    """Return a text that Markdown shows as it is, within a line or a cell."""
    line = " ".join(printable(text).split())
    line = MARKS.sub(r"\\\1", line)
    for one, entity in ENTITIES.items():
        line = line.replace(one, entity)
    return LINKS.sub(_unlinked, line)


def _unlinked(found: re.Match[str]) -> str:
    return found[0].replace(":", "&#58;").replace(".", "&#46;")
