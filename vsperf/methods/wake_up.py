"""Waking up: what a silence costs the frames that end it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.methods.base import (
    Bench,
    TrialOptions,
    burst_ns,
    equal_loads,
    one_rhythm,
    probe_on,
    repeated,
    spread_of,
)
from vsperf.methods.prerequisite import TIME_OVER, WithThroughput, unanswered, why_not
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_count, human_fps
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration, Ratio
from vsperf.records.histogram import merge, percentiles_ns
from vsperf.records.result import Figure, SearchResult, load_at, none_lost
from vsperf.records.trial import Purpose, RateStep, Trial
from vsperf.search.base import Loads

WOKEN, AWAKE, LOST = "wake_up_latency", "awake_latency", "lost"
SHORTEST_NS = 1_000_000
MEDIAN = 50.0


class WakeUp(WithThroughput):
    """Frames, a silence, and frames again: how much later the first of them arrives."""

    summary: ClassVar[str] = "what a silence costs the frames that end it"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset(
        {Ability.STEPS, Ability.LATENCY, Ability.LATENCY_RANGES}
    )
    """The load changes, and some frames are measured apart from others."""

    kind: Literal["wake_up"]
    throughput_duration: TrialDuration = Duration.parse("1s")
    """Length of the trials in which the throughput is looked for."""
    throughput_sum: TrialDuration = Duration.parse("5s")
    """Trial time at a load after which it is decided."""
    load: Ratio = Ratio.parse("50%")
    """Share of the throughput at which frames come before the silence and after it."""
    silence: Duration = Duration.parse("100ms")
    """How long nothing comes but one frame each way, at its beginning; it goes into a second
    without a rest."""
    frames: Annotated[int, Field(ge=100, le=10_000_000), Counted] = 10_000
    """So many each way before the silence, and as many after it."""
    repeats: int = Field(default=10, ge=1, le=1000)
    """Trials, each with one silence; the answers are medians over them."""

    @model_validator(mode="after")
    def _is_silent(self) -> Self:
        if self.silence.ns < SHORTEST_NS or NANOSECONDS % self.silence.ns:
            raise ValueError("silence: a part of a second from 1ms on, such as 10ms, 250ms or 1s")
        if not self.load.value:
            raise ValueError("load must be above 0")
        return self

    def metrics(self) -> Mapping[str, Unit]:
        times = dict.fromkeys((WOKEN, AWAKE), Unit.NANOSECONDS)
        return {**super().metrics(), **times, LOST: Unit.FRAMES}

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the range; both ways fall silent together."""
        one_rhythm(case)
        why = "as many frames are to come each way before the silence as after it"
        equal_loads(case, why)
        return super().offers(case, generator_cap)

    def run(self, bench: Bench) -> SearchResult:
        """Look for the throughput; then let a share of it pause, again and again."""
        reference = self.reference(bench)
        if (none := why_not(reference)) is not None:
            return unanswered(reference, WOKEN, Unit.NANOSECONDS, none)
        fps = load_at(reference.fps, self.load.value)
        burst = RateStep(fps, burst_ns(self.frames, fps))
        silent = RateStep(NANOSECONDS // self.silence.ns, self.silence.ns)
        text = f"{self.load} of {reference.text}, with a silence of {self.silence}"
        options = TrialOptions(
            Purpose.LATENCY,
            text,
            steps=(burst, silent, burst),
            latency_ranges=_ranges(burst.frames, silent.frames),
        )
        length_ns = 2 * burst.duration_ns + silent.duration_ns
        probe = probe_on(bench, options)
        trials = repeated(self.repeats, lambda: probe(fps, length_ns))
        if not trials.found:
            return unanswered(reference, WOKEN, Unit.NANOSECONDS, TIME_OVER)
        at = f"{human_fps(fps)}, {text}"
        figures = (
            _latency(trials.found, 1, WOKEN, "of the first frame after the silence", at),
            _latency(trials.found, 0, AWAKE, "of the frames just before it", at),
            _lost(trials.found, at),
        )
        return trials.as_result(figures, goals=reference.goals)


def _ranges(before: int, silent: int) -> tuple[tuple[int, int], ...]:
    """Return which frames are measured: a tenth before the silence, and the first one after it."""
    first = before + silent
    return ((before - before // 10, before - 1), (first, first))


def _latency(trials: Sequence[Trial], which: int, name: str, whose: str, at: str) -> Figure:
    """Return the median over the trials, of both directions together."""
    ranges = [
        merge(way.range_histograms[which] for way in trial.directions if way.range_histograms)
        for trial in trials
    ]
    known = [float(percentiles_ns(one, (MEDIAN,))[MEDIAN]) for one in ranges if one is not None]
    gone = len(trials) - len(known)
    reason = f"median of the trials' medians {whose}"
    if gone:
        reason += f"; in {gone} of {len(trials)} trials none of them came back"
    return Figure(
        name=name,
        unit=Unit.NANOSECONDS,
        value=statistics.median(known) if known and not gone else None,
        spread=spread_of(known) if known else None,
        reason=reason,
        at=at,
    )


def _lost(trials: Sequence[Trial], at: str) -> Figure:
    """Return the loss of the worst trial and direction; what none of all trials proves, if so."""
    lost = [max(way.lost_frames for way in trial.directions) for trial in trials]
    ways = [way for trial in trials for way in trial.directions]
    due = max(ways, key=lambda way: way.lost_frames).intended_frames
    sent = [[way.sent_frames for way in trial.directions] for trial in trials]
    in_all = min(map(sum, zip(*sent, strict=True)))
    return Figure(
        name=LOST,
        unit=Unit.FRAMES,
        value=max(lost),
        spread=spread_of([float(one) for one in lost]),
        reason=f"of {human_count(due)} frames in the worst trial, worse direction"
        if max(lost)
        else none_lost(in_all),
        at=at,
    )
