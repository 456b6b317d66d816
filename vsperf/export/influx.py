"""InfluxDB line protocol: a point for each case, and one for each trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import BinaryIO, ClassVar, Final, TypeVar

from vsperf.export.base import Format, Watch, all_cases, text_of
from vsperf.export.case_columns import case_columns
from vsperf.export.columns import CaseData, Column, TrialData, Value
from vsperf.export.metrics import TELLING, moment, moment_of, telling, values
from vsperf.export.trial_columns import trial_columns
from vsperf.printable import printable
from vsperf.store.view import RunView

T = TypeVar("T")
MOST: Final = 2**63 - 1
"""Integers have 64 bits; what is more is no field."""
EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
WORDS: Final = frozenset({"outcome", "limit", "flags", "purpose", "valid"})
"""Columns beside the numbers that a reader of time series filters by."""


class InfluxLines(Format):
    """Measurements `vsperf_case` and `vsperf_trial`; times are in nanoseconds."""

    summary = "line protocol of InfluxDB: a point for each case and each trial"
    tables: ClassVar[Mapping[str, str]] = {"lines": "vsperf.lp"}

    def write(self, runs: Sequence[RunView], outputs: Mapping[str, BinaryIO], watch: Watch) -> None:
        of_case, of_trial = _fields(case_columns(runs)), _fields(trial_columns(runs))
        output = outputs["lines"]
        for view in watch(all_cases(runs)):
            if not view.attempt:
                continue  # nothing was measured, and a point needs a field
            case, tags = CaseData(view), telling(view)
            found = values(of_case, case)
            text_of(output, _point("vsperf_case", tags, found, moment_of(view)))
            for trial in view.trials:
                own = {**tags, "trial": str(trial.index)}
                found = values(of_trial, TrialData(case, trial))
                when = moment(trial.started_at)
                text_of(output, _point("vsperf_trial", own, found, when))


def _fields(columns: Sequence[Column[T]]) -> tuple[Column[T], ...]:
    return tuple(
        one
        for one in columns
        if one.name not in TELLING and (one.kind in (int, float) or one.name in WORDS)
    )


def _point(
    name: str, tags: Mapping[str, str], found: Iterable[tuple[str, Value]], when: datetime | None
) -> str:
    """Return a line; empty where there is no field."""
    fields = [(key, _field(value)) for key, value in found]
    written = ",".join(f"{key}={value}" for key, value in fields if value)
    if not written:
        return ""
    series = ",".join([name, *(f"{key}={_tag(value)}" for key, value in tags.items())])
    time = "" if when is None else f" {(when - EPOCH) // timedelta(microseconds=1) * 1000}"
    return f"{series} {written}{time}\n"


def _tag(value: str) -> str:
    """Return a tag's value. The protocol has no word for a line's end, nor for a last backslash."""
    text = printable(value).replace("\n", "\\n").replace("\t", "\\t").rstrip("\\")
    for one in (",", "=", " "):
        text = text.replace(one, f"\\{one}")
    return text or "-"


def _field(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}i" if abs(value) <= MOST else ""
        case float():
            return repr(value)
        case _:
            text = printable(str(value)).replace("\\", "\\\\").replace('"', '\\"')
            return '"' + text.replace("\n", " ") + '"'
