"""How evenly generators sent, as a collector such as `witness` saw it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from vsperf.record.series import Value
from vsperf.stats.growth import digest
from vsperf.store.series import StoredSeries, series_of
from vsperf.store.view import CaseView

JUDGED_BY = "gap_off_p99_ns"
"""What the less even direction is known by; who collects it is a witness."""


def pace_of(case: CaseView) -> Mapping[str, Value] | str:
    """Return what a witness saw of a case, the median of its trials; or why there is nothing."""
    collected = series_of(case.folder, case.key, max(1, case.attempt))
    found = next((one for one in collected if one.header.quantity(JUDGED_BY)), None)
    if found is None:
        return "no witness was asked: --set collect=witness"
    if seen := _seen(found):
        return _middle(seen)
    *_, said = ("its witness had no trial that can be believed", *(n.text for n in found.notes()))
    return said


def _seen(found: StoredSeries) -> Sequence[Mapping[str, Value]]:
    """Return of each trial what is told of its less even direction, where all frames were seen."""
    trials: dict[int, dict[str, dict[str, Value]]] = {
        one.trial.index: {} for one in found.own_trials() if one.trial.valid
    }
    for (trial, of, name), course in digest(found.header, found.samples()).courses.items():
        if trial in trials:
            trials[trial].setdefault(of, {})[name] = course.last
    return [
        max(ways.values(), key=lambda one: one[JUDGED_BY])
        for ways in trials.values()
        if ways and all(JUDGED_BY in values for values in ways.values())
    ]


def middle_of(repeats: Sequence[Mapping[str, Value]]) -> dict[str, float] | None:
    """Return the median of each number over repeats, and how many they are; None without any."""
    return {"repeats": len(repeats), **_middle(repeats)} if repeats else None


def _middle(found: Sequence[Mapping[str, Value]]) -> dict[str, Value]:
    return {name: statistics.median(one[name] for one in found) for name in found[0]}
