"""The MLRsearch library, given goals, and answered with trials.

Only a search imports it, and that in a tenth of the time: while it is imported the library looks at
its callers ten times, and for each has `inspect` find and read the sources of all that is loaded,
of which it uses nothing: as much work as the rest of a short command.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from types import FrameType
from typing import Any

from vsperf.errors import ComponentError
from vsperf.records.flags import Flag
from vsperf.records.trial import Trial
from vsperf.search.base import Loads, Probe
from vsperf.search.mlr import MlrGoal


@contextmanager
def without_sources() -> Iterator[None]:
    """Have `inspect.stack` tell of frames, and of nothing else."""
    whole, quick = inspect.stack, _frames
    replaced: Any = inspect
    replaced.stack = quick
    try:
        yield
    finally:
        replaced.stack = whole


def _frames(context: int = 1) -> list[tuple[FrameType]]:
    """Return the frame of the caller and those of its callers, each first in its entry."""
    found, frame = [], sys._getframe(1)
    while frame is not None:
        found.append((frame,))
        frame = frame.f_back  # type: ignore[assignment]
    return found


with without_sources():
    from MLRsearch import (
        AbstractMeasurer,
        Config,
        MeasurementResult,
        MultipleLossRatioSearch,
        SearchGoal,
    )

__all__ = ["Measurer", "SearchGoal", "goal_of", "search"]


@dataclass
class Measurer(AbstractMeasurer):  # type: ignore[misc]  # the library has no types
    """Answers the library's questions with trials of the probe."""

    probe: Probe
    loads: Loads
    loosest: Fraction
    """Greatest loss that any goal allows."""
    asked: list[tuple[float, Trial]] = field(default_factory=list)
    """Each trial with the load that the library had asked for."""
    measuring: bool = False
    """True while a trial is under way, so also after one that raised."""

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        """Make a trial at the nearest whole load, and tell what its worse direction lost.

        A duration is rounded up, lest the sum of trials should miss its target by a nanosecond.
        """
        self.measuring = True
        load = min(max(round(intended_load), self.loads.minimum), self.loads.maximum)
        trial = self.probe(load, math.ceil(intended_duration))
        self.measuring = False
        self.asked.append((intended_load, trial))
        intended, bad = self._counts(trial)
        return MeasurementResult(
            intended_duration=float(trial.duration_ns),
            intended_load=intended_load,
            intended_count=intended,
            offered_count=intended,
            forwarding_count=intended - bad,
        )

    def _counts(self, trial: Trial) -> tuple[int, int]:
        """Return intended and missing frames, unsent ones included.

        A trial whose load was not offered must fail every goal, as it does in `classify.failed`.
        """
        direction = trial.worst_direction
        intended, bad = direction.intended_frames, direction.lost_frames
        if Flag.SHORT_OFFER in trial.flags:
            bad = max(bad, math.floor(self.loosest * intended) + 1)
        return intended, bad


def goal_of(goal: MlrGoal, widest: Fraction) -> SearchGoal:
    """Return a goal in the library's terms, with a width of at most `widest`.

    `fail_fast` is off: it would end the search of all goals when one fails everywhere.
    """
    return SearchGoal(
        loss_ratio=float(goal.rule.loss_ratio),
        exceed_ratio=float(goal.rule.exceed_ratio),
        relative_width=float(min(goal.width, widest)),
        initial_trial_duration=float(goal.initial_ns),
        final_trial_duration=float(goal.rule.final_ns),
        duration_sum=float(goal.rule.sum_ns),
        fail_fast=False,
    )


def search(measurer: Measurer, goals: Iterable[SearchGoal]) -> Mapping[SearchGoal, Any]:
    """Let the library search until it has found all goals; time is limited by the probe."""
    config = Config(
        goals=dict.fromkeys(goals),
        min_load=float(measurer.loads.minimum),
        max_load=float(measurer.loads.maximum),
        search_duration_max=math.inf,
        warmup_duration=None,
    )
    try:
        found: Mapping[SearchGoal, Any] = MultipleLossRatioSearch(config=config).search(
            measurer, debug=lambda text: None
        )
    except RuntimeError as error:
        if measurer.measuring:
            raise
        raise ComponentError(
            "the MLRsearch library gave up",
            why=str(error),
            fix="`search.kind: rfc2544` needs no library; please report this with the record",
        ) from error
    return found
