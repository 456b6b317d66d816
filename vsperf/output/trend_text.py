"""A trend in words and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vsperf.analysis.environment import Contrast
from vsperf.analysis.trend import Step, Trend
from vsperf.output.compare_text import value_text
from vsperf.output.table import Cell, Column, Table
from vsperf.records.result import amount, heading

SHOWN = 6
"""Differences that are told of a change."""


def trend_table(trend: Trend, limit: int) -> Table:
    """Return the last runs of a series, a change in the row of the first run after it."""
    steps = {step.place: step for step in trend.steps}
    first = max(0, len(trend.points) - limit)
    rows = []
    for place, point in enumerate(trend.points[first:], start=first):
        step = steps.get(place)
        rows.append(
            (
                point.run,
                point.case.header.started_at[:16].replace("T", " "),
                value_text(point.sample),
                str(point.sample.count),
                "" if step is None else Cell(step_text(trend, step), _mark(trend, step)),
            )
        )
    heads: tuple[Column[Any], ...] = (
        Column("run"),
        Column("begun (UTC)", below=True),
        Column(heading(trend.name), align="right"),
        Column("repeats", align="right", rank=1),
        Column("change", breaks=True),
    )
    return Table(title(trend), heads, tuple(rows), "changes")


def _mark(trend: Trend, step: Step) -> str:
    return "" if step.cut else "worse" if trend.worse(step) else "better"


def title(trend: Trend) -> str:
    """Say what a series is of."""
    return f"{trend.label}, {heading(trend.name)}, testbed {trend.testbed}"


def step_text(trend: Trend, step: Step) -> str:
    """Say what happened at a step, in a few words."""
    if step.share is None:
        return "cut: other settings or host"
    word = "worse" if trend.worse(step) else "better"
    return f"{100 * step.share:+.2f} %, {word}"


def changes(trend: Trend) -> Iterator[str]:
    """Yield a sentence on each change: since which run, by how much, and what differed there."""
    for step in trend.steps:
        point = trend.points[step.place]
        levels = f"{amount(step.before, trend.unit)} → {amount(step.after, trend.unit)}"
        what = "cut" if step.share is None else f"{step_text(trend, step)} ({levels})"
        yield f"{point.run}: {what}; {differing(step.contrasts)}"


def differing(found: Sequence[Contrast]) -> str:
    """Say what differs between two runs, what matters most first."""
    if not found:
        return "nothing that was recorded differs from the run before"
    told = [f"{one.name} {one.text(0)} → {one.text(1)}" for one in found[:SHOWN]]
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "; ".join([*told, *more])


def trend_data(trend: Trend) -> dict[str, Any]:
    """Return a series as plain data; shares are of one."""
    return {
        "case": trend.label,
        "testbed": trend.testbed,
        "number": trend.name,
        "unit": trend.unit.value,
        "simulated": trend.simulated,
        "runs": [
            {
                "run": point.run,
                "started_at": point.case.header.started_at,
                "labels": dict(point.case.labels),
                "median": point.sample.median,
                "is_lower_bound": point.sample.median_is_open,
                "values": list(point.sample.values),
            }
            for point in trend.points
        ],
        "changes": [
            {
                "first_run": trend.points[step.place].run,
                "cut": step.cut,
                "before": step.before,
                "after": step.after,
                "share": step.share,
                "worse": trend.worse(step) if step.share is not None else None,
                "differing": [
                    {"name": one.name, "before": one.values[0][0], "after": one.values[1][0]}
                    for one in step.contrasts
                ],
            }
            for step in trend.steps
        ],
    }
