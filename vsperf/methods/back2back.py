"""Back-to-back frames, RFC 9004: the longest burst without loss, and the buffer behind it."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.config.traffic import FULL
from vsperf.methods.base import Bench, burst_ns, one_rhythm, probe_on, refused, repeated, spread_of
from vsperf.methods.compliance import FULL_NS, NOT_ITS_OWN, Findings, fewer_sizes, too_short
from vsperf.methods.prerequisite import TIME_OVER, Reference, WithThroughput, unanswered, why_not
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_count, human_fps, human_share
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Count, Duration
from vsperf.records.result import Compliance, Figure, Limit, LoadResult, SearchResult, Standard
from vsperf.records.trial import Trial
from vsperf.search.base import Loads, Probe
from vsperf.search.fixed import load_result
from vsperf.search.highest import HighestPassing

LONGEST_NS = 30 * NANOSECONDS
"""RFC 9004: no burst is longer than that."""
LEAST_DRAIN_NS = 2 * NANOSECONDS
NOT_THE_BUFFER = (Limit.GENERATOR, Limit.HOST)
"""Where these end a burst, a longer one might have had room."""
TIMES = ("buffer_time", "implied_buffer_time")
SLOW = "_slow_bursts"
"""How the names of numbers end that are reckoned with the rate of slow bursts, which is not what
section 5.4 of RFC 9004 has: neither are they held against such as are."""


@dataclass(frozen=True, slots=True)
class BufferTime:
    """What a burst says of the buffer in front of what forwards (RFC 9004, section 5.4).

    The standard reckons with the theoretical rate of the link, at which its bursts come. Where they
    come slower, a buffer fills by what their own rate has more than is forwarded: with the other
    rate it would seem larger than it is.
    """

    burst: float
    """Average length [frames]."""
    throughput_fps: float
    actual_fps: float
    """The rate of the bursts."""

    @property
    def implied_ns(self) -> float:
        """As if nothing were forwarded while the burst comes in."""
        return self.burst / self.actual_fps * NANOSECONDS

    @property
    def corrected_ns(self) -> float:
        """Without what is forwarded meanwhile."""
        return self.implied_ns * (1 - self.throughput_fps / self.actual_fps)

    @property
    def frames(self) -> float:
        """How many frames wait in the buffer at the end of the burst."""
        return self.burst * (1 - self.throughput_fps / self.actual_fps)


@dataclass
class _Bursts:
    """Bursts at one rate, and what became of each."""

    probe: Probe
    rate_fps: int
    lossy: dict[int, list[Trial]] = field(default_factory=dict)
    """By length, those that lost frames."""

    def lost(self, frames: int) -> int:
        trial = self.probe(self.rate_fps, burst_ns(frames, self.rate_fps))
        missing = max(way.lost_frames for way in trial.directions)
        if missing > 0:
            self.lossy.setdefault(frames, []).append(trial)
        return missing


class BackToBack(WithThroughput):
    """The longest burst at the highest rate that loses nothing, several times."""

    summary: ClassVar[str] = "longest burst without loss, and the buffer behind it (RFC 9004)"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.BRIEF})
    """A burst lasts no longer than it has frames."""

    kind: Literal["back2back"]
    repeats: int = Field(default=5, ge=1, le=1000)
    """Searches, each from the beginning; the standard's predecessor asks for 50."""
    step: Count = Count(100)
    """Distance of two burst lengths [frames]."""
    max_burst: TrialDuration = Duration(2 * NANOSECONDS)
    """The longest burst, as a time at the rate of the bursts; at most 30s."""
    max_repeats: int = Field(default=0, ge=0, le=100)
    """How often a burst that lost frames is tried again (TST 009, loss verification)."""
    loss_threshold: Annotated[int, Field(ge=0), Counted] = 0
    """Lost frames above which nothing is tried again."""

    @model_validator(mode="after")
    def _bursts_end(self) -> Self:
        if self.max_burst.ns > LONGEST_NS:
            raise ValueError("max_burst is at most 30s (RFC 9004)")
        if self.max_repeats and not self.loss_threshold:
            raise ValueError(
                "max_repeats needs a loss_threshold above 0: what lost more is not tried again"
            )
        return self

    def metrics(self) -> Mapping[str, Unit]:
        times = dict.fromkeys(TIMES, Unit.NANOSECONDS)
        derived = {"buffered": Unit.FRAMES, **times}
        slow = {f"{name}{SLOW}": unit for name, unit in derived.items()}
        return {**super().metrics(), "burst": Unit.FRAMES, **derived, **slow}

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        one_rhythm(case)
        if case.traffic.mixed_sizes:
            raise refused(
                f"a burst has frames of one size, not {case.traffic.size_label}",
                "RFC 9004 allows no mix: how many frames a buffer holds depends on their size",
                "give traffic.frame_size, and no mix",
            )
        if case.traffic.reverse_load < FULL:
            raise refused(
                f"bursts come at one rate, not at {case.traffic.reverse_load} of it in reverse",
                "how long a burst is, and how much of it waits, follow from its rate",
                "leave traffic.reverse_load out, or measure each direction alone: "
                "--set traffic.direction=reverse",
            )
        return super().offers(case, generator_cap)

    def run(self, bench: Bench) -> SearchResult:
        """Look for the throughput, then for the longest burst, again and again."""
        reference = self.reference(bench)
        rate = bench.loads.maximum
        if (none := why_not(reference)) is not None:
            return unanswered(reference, "burst", Unit.FRAMES, none, _at(bench))
        if (none := _meaningless(reference, bench.loads)) is not None:
            limit = Limit.GENERATOR if _fell_short(reference, bench.loads) else None
            return unanswered(reference, "burst", Unit.FRAMES, none, _at(bench), limit=limit)
        bursts = _Bursts(probe_on(bench), rate)
        longest = rate * self.max_burst.ns // NANOSECONDS
        search = HighestPassing(int(self.step), longest, self.max_repeats, self.loss_threshold)
        searches = repeated(self.repeats, lambda: search.run(bursts.lost))
        if not searches.found:
            return unanswered(reference, "burst", Unit.FRAMES, TIME_OVER, _at(bench))
        figures = self._figures(bench, reference, bursts, searches.found)
        return searches.as_result(figures, goals=reference.goals)

    def _figures(
        self,
        bench: Bench,
        reference: Reference,
        bursts: _Bursts,
        found: Sequence[tuple[int, int | None]],
    ) -> tuple[Figure, ...]:
        """Return the burst and what follows from it."""
        lengths = [passed for passed, _ in found]
        unbounded = sum(failed is None for _, failed in found)
        if unbounded:
            return (
                Figure(
                    name="burst",
                    unit=Unit.FRAMES,
                    value=None,
                    spread=spread_of(lengths),
                    limit=Limit.UNKNOWN,
                    reason=f"the longest burst allowed, {human_count(max(lengths))} frames in "
                    f"{self.max_burst}, passed in {unbounded} of {len(found)} searches, so this "
                    "says nothing on a buffer; raise search.max_burst, up to 30s",
                    at=_at(bench),
                ),
            )
        ends = {failed for _, failed in found if failed is not None}
        lossy = [trial for frames in sorted(ends) for trial in bursts.lossy[frames]]
        worst = load_result(bench.loads, lossy)
        if not any(lengths):
            return (self._too_long(bench, worst),)
        mean = statistics.mean(lengths)
        buffer = BufferTime(mean, reference.fps, bench.loads.maximum)
        of = f"{reference.text} of {human_fps(reference.fps)}"
        corrected, implied = TIMES
        times = (
            (corrected, buffer.corrected_ns, f"corrected for what is forwarded meanwhile, {of}"),
            (implied, buffer.implied_ns, "as if nothing were forwarded meanwhile"),
        )
        slow = SLOW if _slow(bench.loads) else ""
        # What ended the bursts was not the switch: it might have kept more.
        bounds = worst.limit in NOT_THE_BUFFER
        return (
            Figure(
                name="burst",
                unit=Unit.FRAMES,
                value=mean,
                lower=mean if bounds else None,
                spread=spread_of(lengths),
                limit=worst.limit,
                reason=worst.reason,
                at=_at(bench),
            ),
            *(
                Figure(
                    name=f"{name}{slow}",
                    unit=Unit.NANOSECONDS,
                    value=time,
                    lower=time if bounds else None,
                    reason=reason,
                    at=_at(bench),
                )
                for name, time, reason in times
            ),
            Figure(
                name=f"buffered{slow}",
                unit=Unit.FRAMES,
                value=buffer.frames,
                lower=buffer.frames if bounds else None,
                reason="frames that wait at the end of the burst",
                at=_at(bench),
            ),
        )

    def _too_long(self, bench: Bench, worst: LoadResult) -> Figure:
        """Return what is known where even the shortest burst lost frames: of a buffer nothing."""
        switch = worst.limit not in NOT_THE_BUFFER
        hint = (
            "so this says nothing on a buffer; a smaller search.step tries shorter bursts"
            if int(self.step) > 1
            else "so this says nothing on a buffer"
        )
        return Figure(
            name="burst",
            unit=Unit.FRAMES,
            value=None,
            upper=int(self.step) if switch else None,
            limit=worst.limit,
            reason=f"even {self.step} frames lose some, {hint}: {worst.reason}",
            at=_at(bench),
        )

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        found = Findings()
        self.refers(found, result)
        if self.throughput is None:
            too_short(found, self.throughput_duration.ns)
            if self.throughput_sum.ns not in (FULL_NS, 2 * FULL_NS):
                found.weakening.append(
                    f"a load is decided after {self.throughput_sum}, not after one trial (RFC "
                    "2544) or two (TST 009)"
                )
        burst = next(iter(result.figures), None)
        if burst is None or burst.value is None:
            found.breaking.append("there is no burst length")
        elif burst.limit in NOT_THE_BUFFER:
            found.breaking.append(f"the {burst.limit} limited the burst")
        elif burst.limit is Limit.UNCOUNTED:
            found.breaking.append(NOT_ITS_OWN[burst.limit])
        if any(figure.name.endswith(SLOW) for figure in result.figures):
            found.breaking.append(
                "the bursts came slower than the line rate, with which section 5.4 reckons: "
                f"{burst.at if burst else ''}"
            )
        if not result.whole:
            found.weakening.append(f"{result.ended} before {self.repeats} searches")
        drain = case.trial.shortest_drain
        if drain.ns < LEAST_DRAIN_NS:
            found.weakening.append(f"wait for late frames {drain} instead of 2s")
        fewer_sizes(found, case, sister_sizes)
        if case.traffic.replay is not None:
            found.breaking.append("frames of a capture file, not frames of one size")
        return (found.verdict(Standard.RFC9004),)


def _at(bench: Bench) -> str:
    return f"bursts at {human_fps(bench.loads.maximum)}, {bench.loads.top}"


def _slow(loads: Loads) -> bool:
    """Whether there is a cable that frames could follow each other faster on than they do."""
    return not loads.virtual and loads.maximum < loads.line_rate


def _meaningless(reference: Reference, loads: Loads) -> str | None:
    """Return why no burst can fill a buffer, if none can."""
    top = f"{loads.top}, {human_fps(loads.maximum)},"
    if _fell_short(reference, loads):
        most = human_fps(reference.fps)
        return f"not meaningful: the generator offered no more than {most}, so {top} never came"
    if reference.fps < loads.maximum:
        return None
    if reference.goal is None:
        return f"not meaningful: by the throughput given, {top} is forwarded without loss"
    lossy = [loss for loss in reference.losses if loss]
    if not lossy:
        return f"not meaningful: {top} is forwarded without loss" if reference.losses else None
    passed, made = len(reference.losses) - len(lossy), len(reference.losses)
    return (
        f"not meaningful: of {top} nothing was lost in {passed} of {made} trials, "
        f"and up to {human_share(max(lossy))} in the others"
    )


def _fell_short(reference: Reference, loads: Loads) -> bool:
    """Whether what failed above the throughput was not sent, so that no burst comes at its rate."""
    goal = reference.goal
    return goal is not None and goal.upper_fps is None and reference.fps < loads.maximum
