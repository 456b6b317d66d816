"""What a column of a table is: a name with its unit, a kind, and how its value is found.

Missing is None and never 0. Names of columns never depend on values other than names: goals,
figures, labels.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property, partial
from typing import Generic, TypeVar

from vsperf.analysis.summary import CaseRow
from vsperf.analysis.why import Measured
from vsperf.output.export.latency import PERCENTILES, Latency, latency_of, percentile_name
from vsperf.records.files.view import CaseView
from vsperf.records.result import Figure, GoalResult, latency_trials
from vsperf.records.trial import Trial


class Moment(str):
    """A moment as records have it, ISO 8601; a format with types makes a time of it."""

    __slots__ = ()


Value = int | float | str | bool | None
Kind = type[int] | type[float] | type[str] | type[bool] | type[Moment]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """One column of a table."""

    name: str
    kind: Kind
    of: Callable[[T], Value]

    def value(self, row: T) -> Value:
        """Return the value of a row, of the column's kind."""
        found = self.of(row)
        if found is None or (isinstance(found, float) and not math.isfinite(found)):
            return None
        return self.kind(found)


class CaseData:
    """A case with what is computed of it, at most once."""

    def __init__(self, view: CaseView) -> None:
        self.view = view

    @cached_property
    def row(self) -> CaseRow:
        """The case as summaries have it."""
        view = self.view
        return CaseRow(
            view.planned, view.record, latency=(), begun=view.attempt > 0, refuted=view.refuted
        )

    @cached_property
    def goals(self) -> Mapping[str, GoalResult]:
        """The answers by goal; of several to one goal the first."""
        found = self.view.result.goals if self.view.result else ()
        return {goal.goal: goal for goal in reversed(found)}

    @cached_property
    def figures(self) -> Mapping[tuple[str, str], Figure]:
        """The figures by name and unit; of several with both the first."""
        found = self.view.result.figures if self.view.result else ()
        return {(one.name, one.unit.value): one for one in reversed(found)}

    @cached_property
    def levels(self) -> Mapping[str, str]:
        """How it stands to each standard; of several words on one the first."""
        found = self.view.record.compliance if self.view.record else ()
        return {one.standard.value: one.level.value for one in reversed(found)}

    @cached_property
    def latency_trial(self) -> Trial | None:
        """The latency trial that stands for the case: the middle one of those that are valid.

        None where the answer to the goal that loads refer to is not to be believed.
        """
        if self.row.goals and not self.row.rates_fps:
            return None
        fitting = [
            trial
            for trial in latency_trials(self.view.trials, self.view.result)
            if any(way.latency_histogram for way in trial.directions)
        ]
        return fitting[len(fitting) // 2] if fitting else None

    @cached_property
    def cycles_per_frame(self) -> float | None:
        """What a frame cost the switch at the load that the case came to."""
        record = self.view.record
        if record is None:
            return None
        return Measured(self.view.label, record, self.view.trials).cycles.middle

    @cached_property
    def middle_latency(self) -> Latency | None:
        """The latency that stands for the case."""
        trial = self.latency_trial
        return latency_of(trial) if trial else None


class TrialData:
    """A trial of a case with what is computed of it, at most once."""

    def __init__(self, case: CaseData, trial: Trial) -> None:
        self.case = case
        self.trial = trial

    @cached_property
    def latency(self) -> Latency | None:
        """What its frames took; None where it was not measured."""
        return latency_of(self.trial)


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

    def column(name: str, kind: Kind, part: Callable[[Latency], Value]) -> Column[T]:
        def found(row: T) -> Value:
            latency = of(row)
            return part(latency) if latency else None

        return Column(name, kind, found)

    yield column("latency_frames", int, lambda found: found.frames)
    yield column("latency_min_ns", int, lambda found: found.min_ns)
    yield column("latency_mean_ns", float, lambda found: found.mean_ns)
    for one in PERCENTILES:
        yield column(percentile_name(one), int, partial(_percentile, one))
    yield column("latency_max_ns", int, lambda found: found.max_ns)


def _percentile(one: float, latency: Latency) -> Value:
    return latency.percentiles_ns[one]


def time_of(value: Value) -> datetime | None:
    """Return a moment as a time in UTC; None of what is none, as in a damaged record."""
    try:
        found = datetime.fromisoformat(str(value)) if value is not None else None
    except ValueError:
        return None
    if found is None:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


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
    return tuple(Column(names.free(one.name), one.kind, one.of) for one in columns)


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
