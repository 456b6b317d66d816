"""Figures and curves as tables: of any method, by what they say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsperf.analysis.summary import CaseRow
from vsperf.records.result import Axis, Curve, amount, heading


def figure_tables(
    rows: Sequence[CaseRow], label: Callable[[CaseRow], RenderableType], named: str
) -> Iterator[RenderableType]:
    """Yield a table of all figures, and one for each curve; `label` names a case.

    `named` is what its names are, such as `frame`.
    """
    if any(row.figures for row in rows):
        yield _figures(rows, label, named)
    for row in rows:
        for curve in row.curves:
            at = f", {curve.at}" if curve.at else ""
            title = Text(f"{row.planned.label}: {heading(curve.name)}{at}", "bold")
            yield Group(title, _curve(curve))


def _figures(
    rows: Sequence[CaseRow], label: Callable[[CaseRow], RenderableType], named: str
) -> Table:
    repeated = any(figure.spread_text for row in rows for figure in row.figures)
    table = _table()
    table.add_column(named)
    table.add_column("figure")
    table.add_column("value", justify="right", no_wrap=True)
    if repeated:
        table.add_column("lowest … highest")
    table.add_column("measured at, and why")
    for row in rows:
        case = label(row)
        for figure in row.figures:
            why = "; ".join(part for part in (figure.at, figure.reason) if part)
            spread = [figure.spread_text] if repeated else []
            table.add_row(case, heading(figure.name), figure.text, *spread, why)
            case = ""
    return table


def _curve(curve: Curve) -> Table:
    table = _table()
    axes = (curve.x, *curve.columns)
    for axis in axes:
        table.add_column(heading(axis.name), justify="right", no_wrap=True)
    for point in curve.points:
        table.add_row(*(_cell(value, axis) for value, axis in zip(point, axes, strict=True)))
    return table


def _cell(value: float | None, axis: Axis) -> str:
    return "–" if value is None else amount(value, axis.unit)


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
