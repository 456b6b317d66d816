"""What repeats of one measurement say together."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from vsperf.quantities.unit import Unit
from vsperf.records.result import Figure, Limit, Spread


def spread_of(values: Sequence[float]) -> Spread:
    """Return how far values lie apart; there is at least one."""
    return Spread(
        runs=len(values),
        minimum=min(values),
        maximum=max(values),
        deviation=statistics.stdev(values) if len(values) > 1 else None,
    )


def mean_of(
    name: str,
    unit: Unit,
    values: Sequence[float],
    reason: str,
    at: str = "",
    limit: Limit | None = None,
) -> Figure:
    """Return the mean of repeats as a figure."""
    return Figure(
        name=name,
        unit=unit,
        value=statistics.mean(values),
        spread=spread_of(values),
        limit=limit,
        reason=reason,
        at=at,
    )
