"""What outputs show of a case beside its record: latency at shares of an answer, and no loss.

All outputs take both from one place, which is asked here for what is printed. What they should be
is read from the trials once more, by code that shares nothing with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reread_figures import Spread, latencies_of
from reread_goals import share_of
from reread_trials import believed, missing_of, stands

from vsperf.analysis.summary import CaseRow, Latency
from vsperf.records.files.view import CaseView
from vsperf.records.result import GoalResult
from vsperf.records.trial import Purpose, Trial

Against = tuple[str, tuple[str, ...]]


def shown_differs(case: CaseView) -> Iterator[Against]:
    """Yield what is shown of a case that was answered, and where its trials say otherwise."""
    goals = case.record.result.goals if case.record and case.record.result else ()
    row = CaseRow.of(case)
    own = own_latency(goals, case.trials)
    if row.latency or own:
        yield "latency at its loads", tuple(latency_differs(row.latency, own))
    frames = own_lossless(goals, case.trials)
    if row.lossless or frames:
        same = dict(row.lossless) == frames
        told = () if same else (f"printed {dict(row.lossless)}, by all trials {frames}",)
        yield "frames without loss", told


@dataclass(frozen=True, slots=True)
class Timed:
    """A trial that tells latency."""

    at: str
    """What its load refers to, or else the load."""
    load_fps: int
    lost: int
    spread: Spread


def own_latency(goals: Sequence[GoalResult], trials: Sequence[Trial]) -> list[Timed]:
    """Return latency at each share of what was found in the end, by load."""
    bounds = {one.goal: one.lower_fps for one in goals}
    found: list[Timed] = []
    for one in believed(trials):
        if one.purpose is not Purpose.LATENCY or not _refers(one, bounds):
            continue
        spread = latencies_of(way.latency_histogram for way in one.directions)
        if spread is not None:
            lost = sum(map(missing_of, one.directions))
            found.append(Timed(one.reference or str(one.load_fps), one.load_fps, lost, spread))
    return sorted(found, key=lambda one: one.load_fps)


def _refers(trial: Trial, bounds: Mapping[str, int | None]) -> bool:
    """Whether the load of a trial is that share of the answer which it is said to be."""
    share, _, goal = (trial.reference or "").partition(" of ")
    if goal not in bounds:
        return True
    bound = bounds[goal]
    return bound is not None and max(1, round(bound * share_of(share))) == trial.load_fps


def latency_differs(printed: Sequence[Latency], own: Sequence[Timed]) -> Iterator[str]:
    """Say where latency that is shown is not that of the trials at its loads."""
    told = [(one.at, one.load_fps, one.lost_frames) for one in printed]
    made = [(one.at, one.load_fps, one.lost) for one in own]
    if told != made:
        yield f"printed at {told}, by all trials at {made}"
        return
    for one, timed in zip(printed, own, strict=True):
        for percentile, time_ns in one.percentiles_ns.items():
            if time_ns != (found := timed.spread.at(percentile)):
                yield f"p{percentile:g} at {one.at} printed {time_ns} ns, by its trial {found} ns"


def own_lossless(goals: Sequence[GoalResult], trials: Sequence[Trial]) -> dict[str, int]:
    """Return by goal how many frames were sent at its lower bound, where none was ever lost."""
    found = {}
    for goal in goals:
        made = [
            one
            for one in believed(trials)
            if one.load_fps == goal.lower_fps
            and one.event is None
            and not any(way.steps for way in one.directions)
            and (one.purpose is Purpose.LATENCY or one.reference is None)
        ]
        lost = any(missing_of(way) for one in made for way in one.directions)
        if made and not lost and stands(goal.flags):
            ways = zip(*(one.directions for one in made), strict=False)
            found[goal.goal] = min(sum(way.sent_frames for way in way_of) for way_of in ways)
    return found
