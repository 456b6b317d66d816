"""A table as plain text: the same for a terminal, a page and a merge request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vsperf.analysis.difference import Sample
from vsperf.records.result import amount


@dataclass(frozen=True, slots=True)
class Grid:
    """Some columns and rows of text, ready to be shown; whoever shows it escapes it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    """Columns that are aligned to the right."""
    marks: tuple[str, ...] = ()
    """For each row what stands out in it: `worse`, `better`, or nothing."""

    def first(self, count: int) -> Grid:
        """Return the table with so many rows at most."""
        return replace(self, rows=self.rows[:count], marks=self.marks[:count])


# What cells of several tables have in common.


def value_text(sample: Sample | None) -> str:
    """Write what the repeats of one side found: the interval in the middle."""
    if sample is None:
        return "–"
    low, high = sample.resolved
    if math.isinf(high):
        return f"≥ {amount(low, sample.unit)}"
    if low == high:
        return amount(low, sample.unit)
    first, last = amount(low, sample.unit), amount(high, sample.unit)
    number, _, unit = first.partition(" ")
    return f"{number if last.endswith(f' {unit}') else first} … {last}"


def common_prefix(labels: Sequence[str]) -> str:
    """Return the name of the testcase that all labels begin with, with its dash; else nothing."""
    names = {label.partition("-")[0] for label in labels}
    return f"{names.pop()}-" if len(names) == 1 else ""
