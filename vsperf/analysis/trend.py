"""A testcase over all stored runs: where its numbers changed, and what differed there."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from vsperf.analysis.answers import (
    Finding,
    alone_in_all,
    in_regime,
    more_is_better,
    names_of_draws,
    parted,
)
from vsperf.analysis.comparison import findings_in
from vsperf.analysis.difference import Sample, answers_in
from vsperf.analysis.environment import (
    Contrast,
    case_facts,
    contrasts,
    ground_of,
    run_facts,
    settings,
    together,
)
from vsperf.analysis.segments import Segment, differ_by_regime, segments_of
from vsperf.config.suggest import testcase_meant
from vsperf.errors import UsageError
from vsperf.quantities.unit import Unit
from vsperf.records.files.index import CaseEntry, Filter, Index
from vsperf.records.files.reader import header_of
from vsperf.records.files.view import CaseView
from vsperf.records.regime import Regime
from vsperf.records.result import SearchResult
from vsperf.records.run import Outcome, PlannedCase, RunHeader

Key = tuple[str, str, str, Unit]
"""A case, its testbed, a number, and its unit."""
BY_REGIME, OVER_DRAWS = "near, and far", "over draws"


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """What one run found."""

    case: CaseView
    """One of its repeats; without trials."""
    sample: Sample

    @property
    def run(self) -> str:
        return self.case.run

    @property
    def no_answer(self) -> str:
        """Why no change is found from it; empty where it is an answer."""
        return "" if self.sample.answered else self.sample.findings[-1].no_answer

    @property
    def facts(self) -> Mapping[str, str | None]:
        """All that is known of what was around it, settings included."""
        case = self.case
        return {
            **run_facts(case.header),
            **case_facts(case.start, case.record),
            **settings(case.planned),
        }


@dataclass(frozen=True, slots=True)
class Step:
    """The begin of another stretch."""

    place: int
    """Of the first run after it."""
    cut: bool
    """Whether the ground changed, so that the numbers have nothing to do with each other."""
    before: float
    after: float
    share: float | None
    """By how much the level changed; None across a cut."""
    contrasts: tuple[Contrast, ...]
    """What differs from the last run before it that has an answer."""


@dataclass(frozen=True, slots=True)
class Trend:
    """One number of one case on one testbed, the oldest run first."""

    label: str
    testbed: str
    name: str
    unit: Unit
    points: tuple[TrendPoint, ...]
    segments: tuple[Segment, ...]
    steps: tuple[Step, ...]
    told_by: str = ""
    """Which other numbers tell it closer, so that it has no levels: those by regime, where how much
    of the time CPUs were near decides it, or those over draws, where it is one of them."""
    undrawn: tuple[CaseView, ...] = ()
    """The same case in runs that have no point, since it did not come to this number."""

    @property
    def simulated(self) -> bool:
        return self.points[0].case.simulated

    @property
    def answers(self) -> tuple[TrendPoint, ...]:
        """What changes are found from."""
        return tuple(point for point in self.points if not point.no_answer)

    def worse(self, step: Step) -> bool:
        """Whether the numbers are worse from a step on."""
        return step.share is not None and (step.share < 0) == more_is_better(self.name, self.unit)


@dataclass(frozen=True, slots=True)
class Trends:
    """All series of a testcase."""

    found: tuple[Trend, ...]
    left_out: int = 0
    """Simulated runs that were not looked at, since there are real ones."""
    numberless: tuple[CaseView, ...] = ()
    """Cases of which there is no series, since none of them came to a number in any run."""

    @property
    def undrawn(self) -> tuple[CaseView, ...]:
        """Return what is in no series that it would be in had it come to a number, each once."""
        told = (*(case for trend in self.found for case in trend.undrawn), *self.numberless)
        return tuple({(case.run, case.key): case for case in told}.values())


def trends(results: Path, wanted: Filter, metric: str | None = None) -> Trends:
    """Return how the numbers of some cases went over all runs that are stored.

    A model and reality never make one series: where there is both, the model is left out unless
    `wanted` asks for it.
    """
    with Index.open(results) as index:
        index.refresh()
        entries = index.cases(wanted)
        stored = () if entries else index.cases()
    if not entries:
        names = list(dict.fromkeys(entry.testcase for entry in stored))
        lists = "`vsperf results --cases` lists what there is; 'phy2phy_*' fits several"
        asked = wanted.testcase or ""
        raise UsageError(
            f"no stored run has a case {wanted.testcase!r} that fits",
            fix=lists if asked in names else testcase_meant(asked, names, lists),
        )
    kinds = {entry.simulated for entry in entries}
    kept = [entry for entry in entries if len(kinds) == 1 or not entry.simulated]
    left_out = len({entry.run for entry in entries} - {entry.run for entry in kept})
    kept.sort(key=lambda entry: (entry.started_at, entry.run))
    views = list(_views(results, kept))
    found = tuple(_series(views, metric))
    if not found:
        raise UsageError(
            f"no case {wanted.testcase!r} came to a number" + (f" {metric!r}" if metric else ""),
            fix=f"{left_out} simulated {'run is' if left_out == 1 else 'runs are'} left out beside "
            "real ones: --simulated shows them"
            if left_out
            else "`vsperf results --cases` says how each ended, and what it found",
        )
    followed = {(trend.label, trend.testbed) for trend in found}
    numberless = (
        view
        for view in views
        if (view.label, view.header.testbed) not in followed and _failed(view)
    )
    return Trends(found, left_out, () if metric else tuple(numberless))


def _views(results: Path, entries: Iterable[CaseEntry]) -> Iterator[CaseView]:
    """Yield cases by what the index knows of them: no trial is read."""
    run, planned = "", dict[str, PlannedCase]()
    header: RunHeader | None = None
    for entry in entries:
        if entry.run != run:
            header = header_of(results / entry.run)
            run, planned = entry.run, {case.key: case for case in header.cases}
            header = header.model_copy(update={"cases": ()})
        assert header is not None
        folder = results / run
        yield CaseView(
            folder,
            header,
            planned[entry.key],
            record=entry.record,
            attempt=entry.attempt,
            refuted=entry.refuted or "",
        )


def _failed(view: CaseView) -> bool:
    """Whether it came to no number that can be used; one without the one asked for may be well."""
    return view.result is None or view.outcome not in (Outcome.PASS, Outcome.FAIL)


def _series(every: Sequence[CaseView], metric: str | None) -> Iterator[Trend]:
    places = [(view.label, view.header.testbed, _ground(view)) for view in every]
    results: dict[tuple[str, str, str], list[SearchResult]] = {}
    for view, place in zip(every, places, strict=True):
        results.setdefault(place, []).extend([] if view.result is None else [view.result])
    parts = {place: parted(found) for place, found in results.items()}
    boundaries = {
        (view.run, view.key): parts[place] for view, place in zip(every, places, strict=True)
    }
    known: dict[Key, dict[str, list[tuple[CaseView, Finding]]]] = {}
    for view in every:
        for finding in findings_in(view, boundary=boundaries[view.run, view.key]):
            key = (view.label, view.header.testbed, finding.name, finding.unit)
            known.setdefault(key, {}).setdefault(view.run, []).append((view, finding))
    for key, runs in known.items():
        if metric not in (None, key[2]):
            continue
        points = tuple(
            TrendPoint(found[-1][0], answers_in(Sample(tuple(finding for _, finding in found))))
            for found in runs.values()
        )
        label, testbed, *_ = key
        drawn = {(view.run, view.key) for found in runs.values() for view, _ in found}
        undrawn = tuple(
            view
            for view in every
            if (view.label, view.header.testbed) == (label, testbed)
            and (view.run, view.key) not in drawn
            and _failed(view)
        )
        trend = _trend(key, points, _told_by(key, known))
        met = [
            alone_in_all((one.result for one, _ in found), boundaries[last.run, last.key])
            for found in runs.values()
            for last, _ in found[-1:]
        ]
        if differ_by_regime(trend.segments, met):
            trend = _trend(key, points, BY_REGIME)
        yield replace(trend, undrawn=undrawn)


def _told_by(key: Key, known: Mapping[Key, Collection[str]]) -> str:
    """Say which other numbers tell a number closer, by the runs that have each of them."""
    label, testbed, name, unit = key

    def all_have(*others: str) -> bool:
        told = (run for one in others for run in known.get((label, testbed, one, unit), ()))
        return set(told).issuperset(known[key])

    if all_have(*(in_regime(name, one) for one in Regime)):
        return BY_REGIME
    return OVER_DRAWS if all_have(*names_of_draws(name).values()) else ""


def _trend(key: Key, points: tuple[TrendPoint, ...], told_by: str) -> Trend:
    medians = [point.sample.median for point in points]
    ground = [_ground(point.case) for point in points]
    answered = [not point.no_answer for point in points]
    segments = segments_of(medians, ground, levels=not told_by, answered=answered)
    steps = [_step(points, before, after) for before, after in pairwise(segments)]
    return Trend(*key, points, segments, tuple(steps), told_by)


def _ground(case: CaseView) -> str:
    """Return what has to be the same for two numbers to have to do with each other."""
    ground = ground_of(case.header.environment, simulated=case.simulated)
    return json.dumps([case.planned.id, ground], sort_keys=True, default=str)


def _step(points: tuple[TrendPoint, ...], before: Segment, after: Segment) -> Step:
    share = None if after.cut or before.mean <= 0 else after.mean / before.mean - 1
    earlier = points[before.begin : after.begin]
    last = next((one for one in reversed(earlier) if not one.no_answer), earlier[-1])
    around = [[last.facts], [points[after.begin].facts]]
    told = together(contrasts(around))
    return Step(after.begin, after.cut, before.mean, after.mean, share, told)
