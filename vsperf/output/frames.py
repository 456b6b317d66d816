"""Runs as tables of pandas: units in the names, and missing where nothing was measured.

The columns are those of `vsperf export csv`. Whole numbers stay whole: what is missing is missing
there, too, and neither 0 nor a number with a point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from vsperf.analysis.summary import CaseRow
from vsperf.errors import StoreError
from vsperf.output.export.case_columns import case_columns
from vsperf.output.export.columns import time_of, trials_of
from vsperf.output.export.trial_columns import trial_columns
from vsperf.output.table import Column, Moment
from vsperf.records.files.view import CaseView, RunView
from vsperf.records.trial import DirectionSample, Second

if TYPE_CHECKING:
    from pandas import DataFrame

TYPES: dict[type, str] = {
    **{int: "Int64", float: "Float64", bool: "boolean", str: "string"},
    Moment: "datetime64[us, UTC]",
}
"""What pandas calls a column that can miss values, by what the others are."""
SECONDS: dict[str, type] = {
    "run": str,
    "simulated": bool,
    "case": str,
    "elapsed_ns": int,
    "direction": str,
    "sent_frames": int,
    "received_frames": int,
    "refused_frames": int,
    "lost_frames": int,
    "latency_min_ns": int,
    "latency_p50_ns": int,
    "latency_p99_ns": int,
    "latency_p99_9_ns": int,
    "latency_max_ns": int,
}
ROWS = 10_000
"""So many rows are turned into columns at a time: as objects they take several times the memory."""


def case_table(runs: Sequence[RunView]) -> DataFrame:
    """Return one row for each planned case."""
    columns = case_columns(runs)
    rows = (CaseRow.of(view) for run in runs for view in run.cases())
    return _table(columns, rows)


def trial_table(runs: Sequence[RunView]) -> DataFrame:
    """Return one row for each trial of the last attempt at each case."""
    columns = trial_columns(runs)
    rows = (row for run in runs for view in run.cases() for row in trials_of(CaseRow.of(view)))
    return _table(columns, rows)


def second_table(runs: Sequence[RunView]) -> DataFrame:
    """Return one row for each second and direction of long trials."""
    rows = (
        row
        for run in runs
        for view in run.cases()
        for second in view.standing_seconds
        for row in _second(view, second)
    )
    return _of_rows({name: TYPES[kind] for name, kind in SECONDS.items()}, rows)


def _table(columns: Sequence[Column[Any]], rows: Iterable[Any]) -> DataFrame:
    """Return a table; of each row only its values are kept."""
    types = {column.name: TYPES[column.kind] for column in columns}
    return _of_rows(types, ([_value(column, row) for column in columns] for row in rows))


def _value(column: Column[Any], row: Any) -> object:
    found = column.value(row)
    return time_of(found) if column.kind is Moment else found


def _of_rows(types: dict[str, str], rows: Iterable[Sequence[object]]) -> DataFrame:
    from pandas import DataFrame, concat

    left, parts = iter(rows), []
    while values := list(islice(left, ROWS)):
        try:
            parts.append(DataFrame(values, columns=list(types)).astype(types))
        except (OverflowError, TypeError, ValueError) as error:
            raise StoreError(
                "a record holds a value that a table of pandas has no room for", why=str(error)
            ) from error
    return (
        concat(parts, ignore_index=True) if parts else DataFrame(columns=list(types)).astype(types)
    )


def _second(view: CaseView, second: Second) -> Iterator[tuple[object, ...]]:

    for way in second.sample.directions:
        yield (
            *(view.run, view.simulated, view.key, second.sample.elapsed_ns, way.name),
            *(way.sent_frames, way.received_frames, way.refused_frames, way.lost_frames),
            *_latency(way),
        )


def _latency(way: DirectionSample) -> tuple[int | None, ...]:
    found = way.latency
    if found is None:
        return (None,) * 5
    return (found.min_ns, found.p50_ns, found.p99_ns, found.p999_ns, found.max_ns)
