"""What cells of several tables have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vsperf.record.figure import amount
from vsperf.stats.sample import Sample


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
