"""Latency percentiles as findings: they lie in the trials of a case, and not in its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsperf.record.result import SearchResult
from vsperf.record.trial import Trial
from vsperf.stats.findings import Basis, Finding
from vsperf.stats.summary import latency_rows
from vsperf.unit import Unit


def latencies_of(trials: Sequence[Trial], result: SearchResult) -> Iterator[Finding]:
    """Yield the percentiles of each load that latency was measured at."""
    for row in latency_rows(trials, result):
        for percent, value in row.percentiles_ns.items():
            name = f"p{percent:g} at {row.reference}"
            yield Finding(name, Unit.NANOSECONDS, value, value, value, None, Basis.NOTHING)
