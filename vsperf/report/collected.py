"""What collectors saw of a case, as tables; of a file that is damaged, that it is."""

from __future__ import annotations

from pathlib import Path

from vsperf.errors import StoreError
from vsperf.report.page import CollectedPart, Table
from vsperf.stats.collected import NAMES, Saw, saw
from vsperf.store.series import StoredSeries, series_of


def sights(run: Path, case: str, attempt: int) -> tuple[Saw, ...]:
    """Return what each collector saw in an attempt at a case; those of whole cases come first."""
    found = [_sight(one) for one in series_of(run, case, max(1, attempt))]
    return tuple(sorted(found, key=lambda one: (one.heavy, one.collector)))


def collected_parts(run: Path, case: str, attempt: int) -> tuple[CollectedPart, ...]:
    """Return for each collector a table, or what it has to say instead."""
    return tuple(
        CollectedPart(
            f"{one.title[0].upper()}{one.title[1:]}",
            Table(NAMES, one.rows) if one.rows else None,
            one.notes,
        )
        for one in sights(run, case, attempt)
    )


def _sight(stored: StoredSeries) -> Saw:
    try:
        return saw(stored.header, stored.samples(), stored.notes(), stored.own_trials())
    except StoreError as error:
        header = stored.header
        return Saw(header.collector, header.heavy, (), 0, (str(error),))
