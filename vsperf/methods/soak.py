"""A soak: hours at one load, looked at every second, and what was lost when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.methods.base import Bench, TrialOptions, probe_on
from vsperf.methods.prerequisite import (
    TIME_OVER,
    WithThroughput,
    refers_to_another_search,
    unanswered,
    why_not,
)
from vsperf.methods.range import TrialDuration
from vsperf.methods.seconds import Hours, Stretch
from vsperf.quantities.human import human_count, human_fps, human_ns
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Ratio
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.result import (
    Axis,
    Compliance,
    Curve,
    Figure,
    Limit,
    SearchResult,
    Standard,
    load_at,
    none_lost,
)
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import BudgetExhausted
from vsperf.search.fixed import load_result

SHORTEST_NS = 10 * NANOSECONDS
DAY_NS = 24 * 3600 * NANOSECONDS
NOT_THE_SWITCH = (Limit.GENERATOR, Limit.HOST)
"""What these lose in hours says nothing of the switch."""


class Soak(WithThroughput):
    """One long trial at a share of the throughput; each second of it is recorded."""

    summary: ClassVar[str] = "hours at one load: what is lost when, and what drifts"

    kind: Literal["soak"]
    load: Ratio = Ratio.parse("50%")
    """Share of the throughput that is offered."""
    duration: TrialDuration
    """How long; a day is what people mean by a soak."""
    events: int = Field(default=20, ge=1, le=1000)
    """How many losses are told one by one, the greatest of them; all are counted."""

    @model_validator(mode="after")
    def _is_long(self) -> Self:
        if self.duration.ns < SHORTEST_NS:
            raise ValueError("a soak lasts at least 10s")
        if not self.load.value:
            raise ValueError("load must be above 0")
        return self

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return that it looks at each second."""
        return super().asks_generator | {Ability.SECONDS}

    def metrics(self) -> Mapping[str, Unit]:
        return {
            **super().metrics(),
            "lost": Unit.FRAMES,
            "loss_ratio": Unit.RATIO,
            "loss_events": Unit.COUNT,
            "latency_drift": Unit.NANOSECONDS,
            "cycles_drift": Unit.COUNT,
        }

    def run(self, bench: Bench) -> SearchResult:
        """Look for the throughput, and offer a share of it for hours."""
        reference = self.reference(bench)
        if (none := why_not(reference)) is not None:
            return unanswered(reference, "lost", Unit.FRAMES, none)
        load = load_at(reference.fps, self.load.value)
        hours = Hours(self.duration.ns, self.events, load)
        options = TrialOptions(
            purpose=Purpose.LATENCY,
            reference=f"{self.load} of {reference.text}",
            on_second=hours.add,
            given=True,  # nobody repeats hours for a flag: it is said instead
        )
        try:
            trial = probe_on(bench, options)(load, self.duration.ns)
        except BudgetExhausted:
            return unanswered(reference, "lost", Unit.FRAMES, TIME_OVER)
        if trial.directions:
            hours.settle(trial.lost_frames)
        # What hours lose is the answer, and stands: it is the throughput that is in doubt.
        later = [trial] if trial.valid else []
        goals = reference.held_against(later, Flag.UNSTABLE)
        at = f"{human_fps(load)}, {self.load} of {reference.text}, for {self.duration}"
        return SearchResult(
            goals=goals,
            figures=self._figures(bench, trial, hours, at),
            curves=(_over_time(hours), *_losses(hours)),
        )

    def _figures(self, bench: Bench, trial: Trial, hours: Hours, at: str) -> tuple[Figure, ...]:
        against = tuple(flag for flag in trial.flags if flag.severity is Severity.INVALID)
        if not trial.directions:
            why = f"the generator failed after {human_count(hours.seconds)} seconds: {trial.error}"
            gone = Figure(
                name="lost", unit=Unit.FRAMES, value=None, at=at, reason=why, flags=against
            )
            return (gone, *_seen(hours, against))
        limit = load_result(bench.loads, [trial])
        lost = max(way.lost_frames for way in trial.directions)
        due = trial.worst_direction.intended_frames
        whole = Figure(
            name="lost",
            unit=Unit.FRAMES,
            value=lost,
            at=at,
            limit=limit.limit,
            reason=f"in the worse direction; {limit.reason}",
            flags=against,
        )
        ratio = Figure(
            name="loss_ratio",
            unit=Unit.RATIO,
            value=float(trial.loss_ratio),
            limit=limit.limit,
            reason=f"of {human_count(due)} frames, worse direction"
            if any(way.lost_frames for way in trial.directions)
            else none_lost(min(way.sent_frames for way in trial.directions)),
            flags=against,
        )
        return (whole, ratio, *_seen(hours, against))

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        """Hold it against what TST 009 has of long duration; how long it is to last, RFC 8204 says.

        A loss does not break it: to find one, and when it was, is what hours are for.
        """
        found = refers_to_another_search(self, result)
        whole = next((one for one in result.figures if one.name == "lost"), None)
        if whole is None or not result.complete:
            found.breaking.append("the time ended before the trial did")
        elif whole.value is None:
            found.breaking.append(f"there is no loss to tell: {whole.reason}")
        elif worst(whole.flags) is Severity.INVALID:
            found.breaking.append(f"the trial is invalid: {', '.join(whole.flags)}")
        elif whole.value and whole.limit in NOT_THE_SWITCH:
            found.breaking.append(f"the {whole.limit} lost frames, not the switch")
        if self.duration.ns < DAY_NS:
            found.weakening.append(f"{self.duration} of traffic instead of 24h (RFC 8204)")
        if self.load.value != 1:
            found.weakening.append(f"at {self.load} of the throughput, not at all of it")
        return (found.verdict(Standard.TST009),)


def _seen(hours: Hours, against: tuple[Flag, ...]) -> Iterator[Figure]:
    """Yield what the seconds say, which is no more to be believed than their trial."""
    for figure in (_events(hours), *_drifts(hours)):
        yield figure.model_copy(update={"flags": against})


def _events(hours: Hours) -> Figure:
    return Figure(
        name="loss_events",
        unit=Unit.COUNT,
        value=hours.events_seen,
        reason=f"stretches of seconds with loss, in {human_count(hours.seconds)} seconds seen",
    )


def _drifts(hours: Hours) -> tuple[Figure, ...]:
    """Return how far the last part of the time lies from the first one."""
    parts = [part for part in hours.parts if part.seconds]
    if len(parts) < 2:
        return ()
    first, last = parts[0], parts[-1]
    found = []
    if first.latency_ns is not None and last.latency_ns is not None:
        reason = (
            f"median of a second, from {human_ns(first.latency_ns)} in the first part of the time "
            f"to {human_ns(last.latency_ns)} in the last"
        )
        drift = last.latency_ns - first.latency_ns
        found.append(
            Figure(name="latency_drift", unit=Unit.NANOSECONDS, value=drift, reason=reason)
        )
    if first.cycles is not None and last.cycles is not None:
        reason = (
            f"cycles of the switch for a frame, from {first.cycles:.0f} in the first part of the "
            f"time to {last.cycles:.0f} in the last"
        )
        found.append(
            Figure(
                name="cycles_drift",
                unit=Unit.COUNT,
                value=last.cycles - first.cycles,
                reason=reason,
            )
        )
    return tuple(found)


def _over_time(hours: Hours) -> Curve:
    """Return how it went, in equal parts of the time."""
    return Curve(
        name="over_time",
        x=Axis(name="until", unit=Unit.NANOSECONDS),
        columns=(
            Axis(name="lost", unit=Unit.FRAMES),
            Axis(name="p50", unit=Unit.NANOSECONDS),
            Axis(name="p99", unit=Unit.NANOSECONDS),
            Axis(name="cycles_per_frame", unit=Unit.COUNT),
            Axis(name="kept_from_running", unit=Unit.NANOSECONDS),
        ),
        points=tuple(
            (part.until_ns, part.lost, part.latency_ns, part.tail_ns, part.cycles, part.kept_ns)
            for part in hours.parts
            if part.seconds
        ),
    )


def _losses(hours: Hours) -> tuple[Curve, ...]:
    """Return when frames were lost, and for how long threads were kept from running then."""
    if not hours.events:
        return ()
    told = sorted(hours.events, key=_begin)
    every = "all of them" if hours.events_seen == len(told) else "the greatest of them"
    return (
        Curve(
            name="losses",
            x=Axis(name="at", unit=Unit.NANOSECONDS),
            columns=(
                Axis(name="for", unit=Unit.NANOSECONDS),
                Axis(name="lost", unit=Unit.FRAMES),
                Axis(name="kept_from_running", unit=Unit.NANOSECONDS),
            ),
            points=tuple(
                (one.begin_ns, one.end_ns - one.begin_ns, one.lost, one.kept_ns) for one in told
            ),
            at=every,
        ),
    )


def _begin(stretch: Stretch) -> int:
    return stretch.begin_ns
