"""Numbers that others published, to be drawn beside ours and clearly told apart from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from vsperf.errors import UsageError
from vsperf.output.figures.drawing import Bars, Look, Point, Points


@dataclass(frozen=True, slots=True)
class Published:
    """What published tables add to one plot."""

    series: tuple[tuple[str, tuple[Point, ...]], ...] = ()
    """Name with its source, and points in the units of the plot."""
    sources: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Say where hollow markers and hatched bars come from; empty if there are none."""
        if not self.sources:
            return ""
        return (
            f"Hollow or dotted: published by others and not measured here. {' '.join(self.sources)}"
        )

    def points(self, first: int) -> tuple[Points, ...]:
        """Return them as points, which nobody joins; `first` is the colour of the first one."""
        return tuple(
            Points(name, points, Look.PUBLISHED, color=first + number)
            for number, (name, points) in enumerate(self.series)
        )

    def bars(self, first: int) -> tuple[Bars, ...]:
        """Return them as bars."""
        return tuple(
            Bars(name, points, Look.PUBLISHED, color=first + number)
            for number, (name, points) in enumerate(self.series)
        )


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


def _points(one: dict[str, Any]) -> tuple[Point, ...]:
    return tuple(Point(float(x), float(y)) for x, y in one["points"])


def known(table: str) -> None:
    """Refuse a name that no published table has."""
    if table not in names():
        raise UsageError(
            f"there is no published table {table!r}", fix=f"known tables: {', '.join(names())}"
        )


def _content(table: str) -> dict[str, Any]:
    import yaml

    known(table)
    text = files(__name__).joinpath(f"{table}.yaml").read_text("utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content
