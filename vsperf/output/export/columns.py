"""What columns of exports have in common: their names, their kinds, and how values are found.

Missing is None and never 0. Names of columns never depend on values other than names: goals,
figures, labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, partial
from typing import Final, TypeVar

from vsperf.analysis.summary import EXPORTED, CaseRow, Latency, latency_of
from vsperf.output.table import Column, Kind, Value
from vsperf.quantities.unit import RATES, Unit
from vsperf.records.flags import Severity, worst
from vsperf.records.result import Figure
from vsperf.records.trial import Trial

T = TypeVar("T")
CAME_THROUGH: Final = (*RATES, Unit.RATIO)
"""Units of rates, and of the shares of them that were kept or lost."""


class TrialData:
    """A trial of a case with what is computed of it, at most once."""

    def __init__(self, case: CaseRow, trial: Trial, *, stands: bool = True) -> None:
        self.case = case
        self.trial = trial
        self.stands = stands
        """Whether no part died behind it, so that it may say something of what was found."""

    @cached_property
    def latency(self) -> Latency | None:
        """What its frames took; None where it was not measured."""
        return latency_of(self.trial)


def trials_of(case: CaseRow) -> Iterator[TrialData]:
    """Yield all trials of a case, those included that were made before a part died."""
    died = case.view.died
    for place, trial in enumerate(case.view.trials):
        yield TrialData(case, trial, stands=place >= died)


def is_told(row: CaseRow, figure: Figure) -> bool:
    """Whether a figure of a case is used; of one that is not its flags say why, and JSON has it.

    How much more would have come through on a machine that was too busy nobody can tell.
    """
    untold = row.too_busy and figure.unit in CAME_THROUGH
    return not untold and worst(figure.flags) is not Severity.INVALID


def as_specified(of: Callable[[T], Value]) -> Callable[[T], Value]:
    """Return a function that finds nothing where a recorded specification does not say enough.

    It is any JSON: of another version, written by hand, or damaged.
    """

    def found(row: T) -> Value:
        try:
            return of(row)
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
            return None

    return found


def latency_columns(of: Callable[[T], Latency | None]) -> Iterator[Column[T]]:
    """Yield what is said of a latency."""

    def column(name: str, kind: Kind, part: Callable[[Latency], Value], meaning: str) -> Column[T]:
        def found(row: T) -> Value:
            latency = of(row)
            return part(latency) if latency else None

        return Column(name, kind, found, meaning=meaning)

    yield column(
        "latency_frames", int, lambda found: found.summary.count, "Frames whose latency is known."
    )
    yield column(
        "latency_min_ns", int, lambda found: found.summary.minimum_ns, "Least latency of a frame."
    )
    yield column(
        "latency_mean_ns", float, lambda found: found.summary.mean_ns, "Mean latency of frames."
    )
    for one in EXPORTED:
        name = f"latency_p{one:g}_ns".replace(".", "_")
        told = f"Latency that {one:g} % of the frames did not exceed."
        yield column(name, int, partial(_percentile, one), told)
    yield column(
        "latency_max_ns", int, lambda found: found.summary.maximum_ns, "Most latency of a frame."
    )


def _percentile(one: float, latency: Latency) -> Value:
    return latency.percentiles_ns[one]


def time_of(value: Value) -> datetime | None:
    """Return a moment as a time in UTC; None of what is none, as in a damaged record."""
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(str(value))
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # also of the last day of all years, west of Greenwich
        return None


def plain(value: Value) -> str:
    """Return a value as text: empty where there is none, numbers exactly."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return repr(value)


def joined(words: Iterable[str]) -> str | None:
    """Return words in one field; None where there are none."""
    return "; ".join(words) or None


def slug(text: str) -> str:
    """Return a name made of what names of columns are made of."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")


def share(ratio: Fraction | None) -> float | None:
    """Return a share as a number that tables can hold."""
    return None if ratio is None else float(ratio)


def unique(columns: Sequence[Column[T]]) -> tuple[Column[T], ...]:
    """Return columns of which no two have one name, as those of labels `a.b` and `a_b` had."""
    names = FreeNames()
    return tuple(replace(one, name=names.free(one.name)) for one in columns)


class FreeNames:
    """Gives names of which no two are the same, with a number behind one that is taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = dict.fromkeys(taken, 2)
        """Names, each with the number that is tried behind it next: it only grows."""

    def free(self, name: str) -> str:
        """Take a name, or the first one with a number behind it that is free."""
        found = name
        while found in self._taken:
            found = f"{name}_{self._taken[name]}"
            self._taken[name] += 1
        self._taken[found] = 2
        return found
