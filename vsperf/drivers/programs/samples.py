"""How long requests took, of times with how often each occurred; in integers. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from vsperf.records.exchange import RoundTrips


def round_trips(counted: Iterable[tuple[int, int]], unit_ns: int = 1) -> RoundTrips | None:
    """Return least, mean and percentiles: the first time that so many did not exceed."""
    rows = sorted((time, count) for time, count in counted if count > 0)
    total = sum(count for _, count in rows)
    if not total:
        return None

    def at(share: int) -> int:
        needed, seen = -(-total * share // 100), 0
        for time, count in rows:
            seen += count
            if seen >= needed:
                return time * unit_ns
        return rows[-1][0] * unit_ns

    return RoundTrips(
        mean_ns=sum(time * count for time, count in rows) * unit_ns // total,
        least_ns=rows[0][0] * unit_ns,
        p50_ns=at(50),
        p90_ns=at(90),
        p99_ns=at(99),
        most_ns=rows[-1][0] * unit_ns,
    )
