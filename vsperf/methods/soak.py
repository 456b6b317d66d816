"""A soak: hours at one load, looked at every second, and what was lost when.

Of hours of seconds parts of the time and the greatest losses are kept, in memory that does not
grow. Two kinds of frames are missing while a trial runs: those that are lost, since later ones
arrived, and those that a full port has not taken so far, which a generator catches up with if it
can. Each kind has an account of its own, or one would hide behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from vsperf.records.trial import Purpose, Second, Trial
from vsperf.search.base import BudgetExhausted
from vsperf.search.fixed import load_result

SHORTEST_NS = 10 * NANOSECONDS
DAY_NS = 24 * 3600 * NANOSECONDS
NOT_THE_SWITCH = (Limit.GENERATOR, Limit.HOST)
"""What these lose in hours says nothing of the switch."""
PARTS = 12
"""The time is told in so many equal parts."""
LOST, REFUSED = range(2)
"""The accounts of missing frames."""
HELD_UP_NS = 1_000_000
"""What was due in so much time is on its way to the port at any moment, and refused by nobody."""


@dataclass
class Part:
    """A part of the time."""

    until_ns: int
    seconds: int = 0
    missing: list[int] = field(default_factory=lambda: [0, 0])
    kept_ns: int = 0
    """For which polling threads were kept from running."""
    _latencies: int = 0
    _latency_ns: int = 0
    _tail_ns: int = 0
    _frames: int = 0
    _cycles: int = 0
    _counts: bool = False

    @property
    def lost(self) -> int:
        """Frames that are missing from this part on, of both kinds."""
        return sum(self.missing)

    def add(self, second: Second, news: Sequence[int]) -> None:
        """Add a second to the part, and what is missing since then."""
        self.seconds += 1
        self.missing = [old + new for old, new in zip(self.missing, news, strict=True)]
        self.kept_ns += _kept_ns(second)
        found = [way.latency for way in second.sample.directions if way.latency is not None]
        if found:
            self._latencies += 1
            self._latency_ns += max(one.p50_ns for one in found)
            self._tail_ns += max(one.p99_ns for one in found)
        for pmd in second.switch.pmds if second.switch is not None else ():
            if pmd.busy_cycles is None or pmd.idle_cycles is None:
                continue
            self._frames += pmd.frames
            self._cycles += pmd.busy_cycles
            self._counts = self._counts or pmd.busy_cycles + pmd.idle_cycles > 0

    @property
    def latency_ns(self) -> float | None:
        """Mean of the seconds' medians, worse direction."""
        return self._latency_ns / self._latencies if self._latencies else None

    @property
    def tail_ns(self) -> float | None:
        """Mean of the seconds' 99th percentiles, worse direction."""
        return self._tail_ns / self._latencies if self._latencies else None

    @property
    def cycles(self) -> float | None:
        """Busy cycles of the switch for a frame."""
        return self._cycles / self._frames if self._frames and self._counts else None


@dataclass
class Stretch:
    """Seconds in a row in which frames were lost."""

    begin_ns: int
    end_ns: int
    missing: list[int] = field(default_factory=lambda: [0, 0])
    kept_ns: int = 0

    @property
    def lost(self) -> int:
        """Frames that are missing since then, of both kinds."""
        return sum(self.missing)

    def grow(self, until_ns: int, news: Sequence[int], kept_ns: int) -> None:
        self.end_ns = until_ns
        self.missing = [old + new for old, new in zip(self.missing, news, strict=True)]
        self.kept_ns += kept_ns


@dataclass
class Hours:
    """What is kept of all seconds."""

    duration_ns: int
    most_events: int
    load_fps: int = 0
    """Of each direction."""
    parts: list[Part] = field(default_factory=list)
    seconds: int = 0
    events_seen: int = 0
    _kept: list[Stretch] = field(default_factory=list)
    _current: Stretch | None = None
    _missing: tuple[int, ...] = (0, 0)
    """Before the second that comes next, by account."""
    _until_ns: int = 0

    def __post_init__(self) -> None:
        whole = self.duration_ns
        self.parts = [Part(whole * number // PARTS) for number in range(1, PARTS + 1)]

    def add(self, second: Second) -> None:
        """Add a second: its loss is what is missing more than at the end of the one before."""
        at_ns, so_far = second.sample.elapsed_ns, self._missing_by(second)
        grown = [now - then for now, then in zip(so_far, self._missing, strict=True)]
        news = [max(0, frames) for frames in grown]
        begin_ns, self._until_ns, self._missing = self._until_ns, at_ns, so_far
        for account, frames in enumerate(grown):
            self._take_back(account, -frames)
        part = next((part for part in self.parts if at_ns <= part.until_ns), self.parts[-1])
        part.add(second, news)
        self.seconds += 1
        if not any(news):
            self._current = None
            return
        if self._current is None:
            self._current = Stretch(begin_ns, at_ns)
            self.events_seen += 1
            self._keep(self._current)
        self._current.grow(at_ns, news, _kept_ns(second))

    def settle(self, lost: int) -> None:
        """Take back what was refused in the last second, and was not missing when all was counted.

        `lost` is what is missing then, all directions.
        """
        left = max(0, lost - self._missing[LOST])
        self._take_back(REFUSED, self._missing[REFUSED] - left)

    def _missing_by(self, second: Second) -> tuple[int, ...]:
        """Return what is missing so far by account, all directions."""
        held_up = self.load_fps * HELD_UP_NS // NANOSECONDS
        ways = second.sample.directions
        return (
            sum(way.lost_frames or 0 for way in ways),
            sum(max(0, (way.refused_frames or 0) - held_up) for way in ways),
        )

    def _take_back(self, account: int, frames: int) -> None:
        """Take back what was missing for a while, from the latest on."""
        stretches: Sequence[Stretch | Part] = self._kept
        for holders in (stretches, self.parts):
            left = max(0, frames)
            for one in reversed(holders):
                taken = min(left, one.missing[account])
                one.missing[account] -= taken
                left -= taken
        unlost = [one for one in self._kept if not one.lost]
        self.events_seen -= len(unlost)
        self._kept = [one for one in self._kept if one.lost]
        if self._current is not None and not self._current.lost:
            self._current = None

    @property
    def events(self) -> list[Stretch]:
        """The greatest losses, the greatest first."""
        return sorted(self._kept, key=lambda one: -one.lost)[: self.most_events]

    def _keep(self, stretch: Stretch) -> None:
        """Keep a stretch; the least of many are let go, but for the one that may still grow."""
        if len(self._kept) >= 2 * self.most_events:
            self._kept = sorted(self.events, key=lambda one: one.begin_ns)
        self._kept.append(stretch)


def _kept_ns(second: Second) -> int:
    return sum(thread.kept_ns for thread in second.threads)


class Soak(WithThroughput):
    """One long trial at a share of the throughput; each second of it is recorded."""

    summary: ClassVar[str] = "hours at one load: what is lost when, and what drifts"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.SECONDS})
    """It looks at each second."""

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
