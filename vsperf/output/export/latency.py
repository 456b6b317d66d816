"""Latency of a trial in plain numbers, all directions together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vsperf.records.histogram import merge, percentiles_ns, summary
from vsperf.records.trial import Trial

PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99)


@dataclass(frozen=True, slots=True)
class Latency:
    """What the frames of one trial took."""

    frames: int
    min_ns: int
    mean_ns: float
    max_ns: int
    percentiles_ns: dict[float, int]


def latency_of(trial: Trial) -> Latency | None:
    """Return the latency of a trial; None where it was not measured."""
    merged = merge(way.latency_histogram for way in trial.directions)
    if merged is None:
        return None
    found = summary(merged)
    return Latency(
        frames=found.count,
        min_ns=found.minimum_ns,
        mean_ns=found.mean_ns,
        max_ns=found.maximum_ns,
        percentiles_ns=percentiles_ns(merged, PERCENTILES),
    )


def percentile_name(percentile: float) -> str:
    """Return the name of a percentile's column, such as latency_p99_9_ns."""
    return f"latency_p{percentile:g}_ns".replace(".", "_")
