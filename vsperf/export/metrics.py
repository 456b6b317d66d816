"""What formats for time series share: which columns are metrics, and what tells series apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, TypeVar

from vsperf.export.columns import Column, FreeNames, Value, slug
from vsperf.store.view import CaseView

T = TypeVar("T")
TELLING: Final = frozenset(
    {"run", "case", "label", "testcase", "testbed", "preset", "simulated", "hostname", "trial"}
)
"""Columns that tell series apart, and so are no values of them."""


def metrics(columns: Iterable[Column[T]]) -> tuple[Column[T], ...]:
    """Return the columns that are numbers; those with what tells series apart are none."""
    return tuple(one for one in columns if one.kind in (int, float) and one.name not in TELLING)


def telling(case: CaseView) -> dict[str, str]:
    """Return what tells the series of a case from others: names and values, none of them empty."""
    found = {
        "run": case.run,
        "case": case.key,
        "testcase": case.testcase,
        "testbed": case.header.testbed,
        "preset": case.header.preset,
        "simulated": "true" if case.simulated else "false",
    }
    names = FreeNames(found)
    for name, value in sorted(case.labels.items()):
        found[names.free(f"label_{slug(name)}")] = value
    return {name: value for name, value in found.items() if value}


def values(columns: Iterable[Column[T]], row: T) -> Iterator[tuple[str, Value]]:
    """Yield the values of a row that there are."""
    for column in columns:
        value = column.value(row)
        if value is not None:
            yield column.name, value


def moment(text: str | None) -> datetime | None:
    """Return when something was, as recorded; None where that is no time."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def moment_of(case: CaseView) -> datetime | None:
    """Return when a case was over, or else when it was begun, or its run was."""
    over = case.record.finished_at if case.record else None
    begun = case.start.started_at if case.start else None
    return moment(over) or moment(begun) or moment(case.header.started_at)
