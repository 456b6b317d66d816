"""Generators side by side: what each of them did on the same switch, or why that is not known."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from vsperf.analysis.answers import findings_of
from vsperf.analysis.collected import digest
from vsperf.analysis.difference import Sample, samples_of, scatter_of
from vsperf.analysis.sides import Side, why_empty
from vsperf.records.files.series import StoredSeries, series_of
from vsperf.records.files.view import CaseView
from vsperf.records.flags import Flag
from vsperf.records.histogram import merged_percentiles_ns
from vsperf.records.result import Limit
from vsperf.records.series import Value
from vsperf.records.trial import Purpose, Trial

# How evenly generators sent, as a collector such as `pacing` saw it.

JUDGED_BY = "gap_off_p99_ns"
"""What the less even direction is known by; who collects it is a pacing monitor."""


def pace_of(case: CaseView) -> Mapping[str, Value] | str:
    """Return what a pacing monitor saw of a case, the median of its trials; or why nothing."""
    collected = series_of(case.folder, case.key, max(1, case.attempt))
    found = next((one for one in collected if one.header.quantity(JUDGED_BY)), None)
    if found is None:
        return "no pacing monitor was asked: --set collect=pacing"
    if seen := _rows_of_monitor(found):
        return _middle(seen)
    *_, said = (
        "its pacing monitor had no trial that can be believed",
        *(n.text for n in found.notes()),
    )
    return said


def _rows_of_monitor(found: StoredSeries) -> Sequence[Mapping[str, Value]]:
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
    """Return the median of each number that all of them have."""
    every = [name for name in found[0] if all(name in one for one in found)]
    return {name: statistics.median(one[name] for one in found) for name in every}


GENERATOR = "generator"
UNMARKED = (Flag.UNCHECKED, Flag.COUNTED_BY_SWITCH)
"""Of trials whose frames nobody looked at."""
RESERVED = (
    *(Flag.UNTIMED, Flag.UNPACED, Flag.COUNTED_BY_SWITCH, Flag.LATENCY_SAMPLED, Flag.UNCHECKED),
    *(Flag.SHARED_CPU, Flag.EMULATED),
)
"""What makes a generator's numbers others than its neighbours', whatever they are."""
Column = Literal["checked", "loss_free", "scatter", "floor", "pacing", "beside", "per_cpu"]


@dataclass(frozen=True, slots=True)
class GeneratorRow:
    """One generator in one case, over its repeats: medians, each None where `missing` says why."""

    label: str
    generator: str
    repeats: int
    """Those that came to an end with a result."""
    checked_fps: float | None
    """The most frames per second and direction that came through a trial, each looked at."""
    loss_free: Sample | None
    limits: tuple[Limit, ...]
    """What kept the repeats from more."""
    scatter: float | None
    """How far repeats lie apart: standard deviation of the first number, as a share."""
    floor_ns: float | None
    """Median latency at the lightest load that it was measured at."""
    pace: dict[str, float] | None
    """What a pacing monitor saw of its gaps and its schedule, by the names of that collector."""
    beside_ns: float | None
    """What a trial takes beside its traffic: setting up, draining, reading counters."""
    per_cpu_fps: float | None
    """The generator's cap without a switch, per direction, shared out among its CPUs."""
    missing: dict[Column, str]
    reservations: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the trials of one repeat tell."""

    checked_fps: float | None
    unmarked: bool
    floor_ns: int | None
    beside_ns: float | None
    flags: frozenset[Flag]


def generator_rows(sides: Sequence[Side]) -> tuple[GeneratorRow, ...]:
    """Return a row for each case and generator that it was planned with; reads all trials."""
    labels = dict.fromkeys(side.label(case) for side in sides for case in side.cases)
    groups = (
        (label, side.name, [case for case in side.cases if side.label(case) == label])
        for label in labels
        for side in sides
    )
    return tuple(_row(label, name, cases) for label, name, cases in groups if cases)


def _row(label: str, name: str, cases: Sequence[CaseView]) -> GeneratorRow:
    done = [case for case in cases if case.result is not None]
    seen = [_seen(case) for case in done]
    loss_free, first = _loss_free(done), _first(done)
    caps = [cap for case in done if (cap := _per_cpu(case)) is not None]
    checked = [one.checked_fps for one in seen if one.checked_fps is not None]
    floors = [one.floor_ns for one in seen if one.floor_ns is not None]
    beside = [one.beside_ns for one in seen if one.beside_ns is not None]
    paces = [pace_of(case) for case in done]
    pace = middle_of([one for one in paces if not isinstance(one, str)])
    lies_apart = scatter_of([first.values]) if first is not None and _settled(first) else None
    reasons: dict[Column, str | None] = {
        "checked": _unless(checked, _why_unchecked(seen)),
        "loss_free": None if loss_free is not None else _why_no_rate(done),
        "scatter": None if lies_apart is not None else _why_no_scatter(first),
        "floor": _unless(floors, "no latency was measured"),
        "pacing": None if pace else next((one for one in paces if isinstance(one, str)), None),
        "beside": _unless(beside, "no trial can be believed"),
        "per_cpu": _unless(caps, "it was not calibrated without a switch"),
    }
    if not done:
        reasons = dict.fromkeys(reasons, why_empty(cases[-1]))
    flags = {flag for one in seen for flag in one.flags}
    return GeneratorRow(
        label=label,
        generator=name,
        repeats=len(done),
        checked_fps=_median(checked),
        loss_free=loss_free,
        limits=tuple(dict.fromkeys(_limits(done))),
        scatter=None if lies_apart is None else lies_apart.share,
        floor_ns=_median(floors),
        pace=pace,
        beside_ns=_median(beside),
        per_cpu_fps=_median(caps),
        missing={column: why for column, why in reasons.items() if why is not None},
        reservations=tuple(flag for flag in RESERVED if flag in flags),
    )


def _seen(case: CaseView) -> _Seen:
    """Go through the trials of a case once: they are read from disk."""
    rates: list[Fraction] = []
    beside: list[int] = []
    latencies: list[tuple[int, tuple[str, ...]]] = []
    flags: set[Flag] = set(case.record.flags) if case.record is not None else set()
    unmarked = False
    for trial in case.standing_trials:
        if not trial.valid or trial.purpose not in (Purpose.SEARCH, Purpose.LATENCY):
            continue
        flags.update(trial.flags)
        unmarked = unmarked or _unmarked(trial)
        beside.append(trial.elapsed_ns - trial.duration_ns)
        if not _unmarked(trial):
            rates.append(trial.forwarding_fps)
        if texts := tuple(
            way.latency_histogram for way in trial.directions if way.latency_histogram is not None
        ):
            latencies.append((trial.load_fps, texts))
    return _Seen(
        checked_fps=float(max(rates)) if rates else None,
        unmarked=unmarked,
        floor_ns=_floor(latencies),
        beside_ns=_median(beside),
        flags=frozenset(flags),
    )


def _unmarked(trial: Trial) -> bool:
    return any(flag in trial.flags for flag in UNMARKED)


def _floor(latencies: Sequence[tuple[int, tuple[str, ...]]]) -> int | None:
    """Return the median latency at the lightest load."""
    if not latencies:
        return None
    lightest = min(load for load, _ in latencies)
    found = [text for load, texts in latencies if load == lightest for text in texts]
    percentiles = merged_percentiles_ns(found, (50.0,))
    return None if percentiles is None else percentiles[50.0]


def _loss_free(done: Iterable[CaseView]) -> Sample | None:
    """Return the rates at which nothing was lost; None where nobody searched for one."""
    found = []
    for case in done:
        assert case.result is not None  # by the caller
        names = {one.goal for one in case.result.goals if Fraction(one.loss_ratio) == 0}
        found += [one for one in findings_of(case.result) if one.name in names]
    return next(iter(samples_of(found).values()), None)


def _first(done: Iterable[CaseView]) -> Sample | None:
    """Return the number that the method answers first, which repeats are held together by."""
    every = (one for case in done if case.result for one in findings_of(case.result))
    return next(iter(samples_of(every).values()), None)


def _settled(sample: Sample) -> bool:
    """Whether how far its repeats lie apart says anything: bounds alone may all be too low."""
    return sample.count > 1 and not sample.open_ended


def _limits(done: Iterable[CaseView]) -> Iterator[Limit]:
    for case in done:
        if case.record is not None and case.record.limit is not None:
            yield case.record.limit


def _per_cpu(case: CaseView) -> int | None:
    around = case.record.conditions if case.record is not None else None
    known = around.calibration if around is not None else None
    return None if known is None else known.per_cpu_fps


def _why_unchecked(seen: Sequence[_Seen]) -> str:
    if any(one.unmarked for one in seen):
        return "it does not look at each frame"
    return "no trial can be believed"


def _why_no_rate(done: Sequence[CaseView]) -> str:
    if any(case.result is not None and case.result.goals for case in done):
        return "there is no lower bound"
    return "the method searches none"


def _why_no_scatter(first: Sample | None) -> str:
    if first is None:
        return "there is no number"
    if first.count < 2:
        return "it was not repeated"
    return "its number is only known to be as high or higher" if first.open_ended else "it is 0"


def _unless(found: Sequence[float], why: str) -> str | None:
    return None if found else why


def _median(found: Sequence[float]) -> float | None:
    return statistics.median(found) if found else None
