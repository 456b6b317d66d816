"""Numbers that others published, to stand beside ours and be clearly told apart from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from vsperf.analysis.summary import CaseRow
from vsperf.errors import UsageError
from vsperf.output.case_tables import column_case
from vsperf.output.figures.drawing import Bars, Look, Point, Points
from vsperf.output.table import Table, columns
from vsperf.records.result import amount, heading

ONLY_SIZES = "made elsewhere by other methods: it shows the size of things, and no difference"


@dataclass(frozen=True, slots=True)
class Published:
    """What published tables add to one plot."""

    series: tuple[tuple[str, tuple[Point, ...]], ...] = ()
    """Name with its source, and points in the units of the plot."""
    sources: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Say where hollow markers and hatched bars come from; empty if there are none."""
        return _said(self.sources)

    def points(self, first: int) -> tuple[Points, ...]:
        """Return them as points, which nobody joins; `first` is the colour of the first one."""
        return tuple(
            Points(name, points, Look.PUBLISHED, color=first + number)
            for number, (name, points) in enumerate(self.series)
        )

    def bars(self, first: int) -> tuple[Bars, ...]:
        return tuple(
            Bars(name, points, Look.PUBLISHED, color=first + number)
            for number, (name, points) in enumerate(self.series)
        )


def _said(sources: Sequence[str]) -> str:
    told = f"Hollow or dotted: published by others and not measured here. {' '.join(sources)}"
    return told if sources else ""


def names() -> tuple[str, ...]:
    """Return the names of all published tables."""
    found = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in found if name.endswith(".yaml")))


def sources() -> dict[str, str]:
    """Return where each published table comes from."""
    return {name: str(_content(name)["source"]) for name in names()}


def beside(tables: Sequence[str], plot: str, of: str = "") -> Published:
    """Return what these published tables hold for a plot; nothing where they hold none.

    Where a plot has several quantities, `of` is the name of the figure that is meant: of series
    that name none all are frames, as most plots are.
    """
    series: list[tuple[str, tuple[Point, ...]]] = []
    sources: list[str] = []
    for table in tables:
        content = _content(table)
        listed = content.get("plots", {}).get(plot, ())
        found = [one for one in listed if one.get("of", "") == of]
        series += [(f"{one['name']} ({content['short']})", _points(one)) for one in found]
        if found:
            notes = dict.fromkeys(one["note"] for one in found if one.get("note"))
            sources.append(" ".join((f"{content['short']}: {content['source']}.", *notes)))
    return Published(tuple(series), tuple(sources))


@dataclass(frozen=True, slots=True)
class Told:
    """A number of one table, of what testcases ask that repeat the report."""

    metric: str
    value: float
    of: str
    short: str
    source: str


def told_of(testcase: str, kind: str, tables: Sequence[str] | None = None) -> Iterator[Told]:
    """Yield what tables have of a testcase: `numbers`, or `ratios` of a switch to the first one."""
    for table in names() if tables is None else tables:
        content = _content(table)
        if testcase not in content.get("testcases", ()):
            continue
        for one in content.get(kind, ()):
            for metric, value in one.items():
                if metric != "of":
                    short, source = str(content["short"]), str(content["source"])
                    yield Told(metric, float(value), str(one["of"]), short, source)


def source_of(tables: Sequence[str], kind: str) -> str:
    """Say where what tables hold of a kind comes from."""
    contents = [_content(table) for table in tables]
    return _said([f"{one['short']}: {one['source']}." for one in contents if kind in one])


def published_table(rows: Sequence[CaseRow]) -> Table | None:
    """Return our figures beside published ones, where cases repeat a report; else None."""
    case, found, sources = column_case(rows), [], list[str]()
    for row in rows:
        label = case.cell(row)
        known = {figure.name: figure for figure in row.figures if figure.value is not None}
        for one in told_of(row.testcase, "numbers"):
            if (ours := known.get(one.metric)) is not None:
                value, what = amount(one.value, ours.unit), heading(one.metric)
                found.append((label, what, ours.text, value, f"{one.of} ({one.short})"))
                sources.append(f"{one.short}: {one.source}.")
                label = ""
    about = " ".join(dict.fromkeys(sources))
    heads = (*columns(case.name, "figure"), *columns("here", "published", right=(0, 1)))
    title = f"Published by others, {ONLY_SIZES}. {about}"
    return Table(title, (*heads, *columns("of")), tuple(found), keys=2) if found else None


def ratio_notes(testcases: Sequence[str]) -> Iterator[str]:
    """Yield what others published of a switch to the first one, where testcases repeat that."""
    for testcase in testcases:
        told = tuple(told_of(testcase, "ratios"))
        if told:
            each = ", ".join(f"{heading(one.metric)} {one.value:g} {one.of}" for one in told)
            yield (
                f"published of what {testcase} asks, as factors of the first switch: {each} "
                f"({told[0].source}); {ONLY_SIZES}"
            )


def _points(one: dict[str, Any]) -> tuple[Point, ...]:
    return tuple(Point(float(x), float(y)) for x, y in one["points"])


def known(table: str) -> None:
    """Refuse a name that no published table has."""
    if table not in names():
        raise UsageError(
            f"there is no published table {table!r}", fix=f"known tables: {', '.join(names())}"
        )


@cache
def _content(table: str) -> dict[str, Any]:
    import yaml

    known(table)
    text = files(__name__).joinpath(f"{table}.yaml").read_text("utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content
