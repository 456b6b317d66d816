"""What the repeats of a run say together, as rows of texts."""

from __future__ import annotations

from collections.abc import Sequence

from vsperf.analysis.repeats import Series, series_of
from vsperf.analysis.summary import CaseRow
from vsperf.records.result import amount, heading

NAMES = ("case", "repeated", "runs", "median", "lowest", "highest", "s", "s / mean", "mean, 95 %")
MEANING = (
    "repeats: rates are the highest loads that passed; s is the standard deviation, and the last "
    "column holds the mean of all repeats there could be, at 95 %, cut at 0 "
    "where no such number lies below, if they scatter normally and do not depend on each other: "
    "a state of the machine that lasts longer than all of them is not in it, and few repeats of "
    "states that last for some are held too narrow; "
    "≥ where a repeat is only a lower bound, and then nothing is averaged"
)

DEPEND = "– (they depend on each other)"


def repeat_rows(rows: Sequence[CaseRow]) -> list[tuple[str, ...]]:
    """Return what each number did over the repeats of its case; nothing where none was repeated."""
    cases: dict[str, list[CaseRow]] = {}
    for row in rows:
        if row.record is not None and row.record.result is not None:
            cases.setdefault(row.planned.id, []).append(row)
    found = []
    for group in cases.values():
        label = group[0].planned.label
        for series in series_of([row.result for row in group]) if len(group) > 1 else ():
            found.append((label, heading(series.name), *_cells(series)))
            label = ""
    return found


def _cells(series: Series) -> list[str]:
    def shown(value: float | None, *, is_bound: bool = False) -> str:
        least = "≥ " if is_bound else ""
        return "–" if value is None else f"{least}{amount(value, series.unit)}"

    def ending(value: float) -> str:
        return shown(value, is_bound=series.is_bound(value))

    deviation, mean = series.deviation, series.mean
    share = "–" if deviation is None or not mean else f"{deviation / abs(mean):.1%}"
    ends, together = series.confidence, series.together
    return [
        f"{len(series.values)}" + (f", {len(series.bounds)} of them ≥" if series.bounds else ""),
        shown(series.median, is_bound=series.median_is_bound),
        ending(min(series.values)),
        ending(max(series.values)),
        shown(deviation),
        share,
        (DEPEND if together is None else "–")
        if ends is None
        else f"{shown(ends[0])} … {shown(ends[1])}" + _as_one(together),
    ]


def _as_one(together: int | None) -> str:
    """Say that repeats were found to depend on each other, if they were."""
    return "" if together == 1 else f", {together} neighbours as one, since they depend"
