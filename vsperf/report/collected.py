"""What was seen around the trials of a case, as tables; of a file that is damaged, that it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vsperf.errors import StoreError
from vsperf.record.trial import Trial
from vsperf.report.page import CollectedPart, Table
from vsperf.stats.cached import cached
from vsperf.stats.collected import NAMES, Saw, saw, title_of
from vsperf.store.series import StoredSeries, series_of


def sights(run: Path, case: str, attempt: int, trials: Sequence[Trial]) -> tuple[Saw, ...]:
    """Return what parts of the cache did, then what each collector saw in an attempt at a case.

    Of collectors, those of whole cases come first.
    """
    series = series_of(run, case, max(1, attempt))
    found = sorted(series, key=lambda one: (one.header.heavy, one.header.collector))
    parts = cached(trials)
    return (*(() if parts is None else (parts,)), *(_sight(one) for one in found))


def collected_parts(
    run: Path, case: str, attempt: int, trials: Sequence[Trial]
) -> tuple[CollectedPart, ...]:
    """Return a table for each of them, or what it has to say instead."""
    return tuple(
        CollectedPart(
            f"{one.title[0].upper()}{one.title[1:]}",
            Table(NAMES, one.rows) if one.rows else None,
            one.notes,
        )
        for one in sights(run, case, attempt, trials)
    )


def _sight(stored: StoredSeries) -> Saw:
    try:
        return saw(stored.header, stored.samples(), stored.notes(), stored.own_trials())
    except StoreError as error:
        header = stored.header
        return Saw(title_of(header.collector, heavy=header.heavy), (), (str(error),))
