"""Reset time, RFC 6201: how long frames stay away when a switch or its VNFs start anew."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.method import RESTARTED, Contradiction
from vsperf.config.topology import Topology
from vsperf.methods.base import SHARE_BEFORE, Bench, TrialOptions, mean_of, probe_on, repeated
from vsperf.methods.compliance import NOT_ITS_OWN, Findings, unnumbered
from vsperf.methods.events import RESETS, EventName, without_vnfs, word_of
from vsperf.methods.prerequisite import TIME_OVER, Reference, WithThroughput, unanswered, why_not
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_fps, human_ns
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration, Ratio
from vsperf.records.result import Compliance, Figure, Limit, SearchResult, Standard, load_at
from vsperf.records.trial import Trial, to_vnfs
from vsperf.search.fixed import stood_still

UNITS: Mapping[str, Unit] = {
    "time": Unit.NANOSECONDS,
    "lost_time": Unit.NANOSECONDS,
    "difference": Unit.NANOSECONDS,
    "lost": Unit.FRAMES,
}
"""Of what is told of each event."""
SHORTEST_NS = 4 * NANOSECONDS
BEFORE_NS = 15 * NANOSECONDS
"""RFC 6201, section 4: for so long frames are forwarded before the reset."""


class ResetTime(WithThroughput):
    """How long frames stay away after each event, by their loss and by their time stamps."""

    summary: ClassVar[str] = "how long frames stay away when switch or VNFs restart (RFC 6201)"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.SILENCE})
    """The time without frames has to be known."""

    kind: Literal["reset"]
    events: Annotated[tuple[EventName, ...], Field(min_length=1)] = RESETS
    """What is done: a restart of the switch in good order, one after a kill, a reboot of all
    VNFs."""
    load: Ratio = Ratio.parse("100%")
    """Share of the throughput that is offered meanwhile."""
    duration: TrialDuration
    """Length of a trial; the event comes after a quarter of it."""
    repeats: int = Field(default=3, ge=1, le=1000)
    """Trials of each event."""

    @model_validator(mode="after")
    def _leaves_time(self) -> Self:
        if self.duration.ns < SHORTEST_NS:
            raise ValueError("duration must be at least 4s, of which an event leaves three parts")
        if not self.load.value:
            raise ValueError("load must be above 0")
        if len(set(map(word_of, self.events))) != len(self.events):
            raise ValueError("each event is named once, and no two begin with the same word")
        return self

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        for event in self.events:
            yield from without_vnfs(event, topology, "events")

    @property
    def done_to_switch(self) -> str | None:
        return None if all(map(to_vnfs, self.events)) else RESTARTED

    def metrics(self) -> Mapping[str, Unit]:
        figures = {
            f"{word_of(event)}_{name}": unit
            for event in self.events
            for name, unit in UNITS.items()
        }
        return {**super().metrics(), **figures}

    def run(self, bench: Bench) -> SearchResult:
        """Look for the throughput, and do each event, again and again."""
        reference = self.reference(bench)
        first = f"{word_of(self.events[0])}_time"
        if (none := why_not(reference)) is not None:
            return unanswered(reference, first, Unit.NANOSECONDS, none)
        load = load_at(reference.fps, self.load.value)
        figures: list[Figure] = []
        in_time, spoiled = True, ""
        for event in self.events:
            probe = probe_on(
                bench, TrialOptions(reference=f"{self.load} of {reference.text}", event=event)
            )
            trials = repeated(
                self.repeats,
                partial(probe, load, self.duration.ns),
                least=0 if figures else 1,
            )
            figures += self._figures(event, trials.found, reference) if trials.found else ()
            in_time, spoiled = in_time and trials.in_time, spoiled or trials.spoiled
        if not figures:
            return unanswered(reference, first, Unit.NANOSECONDS, TIME_OVER)
        return SearchResult(
            goals=reference.goals, figures=tuple(figures), complete=in_time, spoiled=spoiled
        )

    def _figures(
        self, event: str, trials: Sequence[Trial], reference: Reference
    ) -> Iterator[Figure]:
        """Yield both times of an event, and what lies between them."""
        word = word_of(event)
        at = f"{human_fps(trials[0].load_fps)}, {self.load} of {reference.text}"
        away = [trial.outage_ns for trial in trials]
        silent = [outage for outage in away if outage is not None]
        if len(silent) < len(away):
            gone = len(away) - len(silent)
            yield Figure(
                name=f"{word}_time",
                unit=Unit.NANOSECONDS,
                value=None,
                limit=Limit.UNKNOWN,
                reason=f"no frame came back in {gone} of {len(away)} trials",
                at=at,
            )
            return
        lost = [max(way.lost_frames for way in trial.directions) for trial in trials]
        by_loss = [float(trial.loss_ratio * trial.duration_ns) for trial in trials]
        between = [one - other for one, other in zip(by_loss, silent, strict=True)]
        limit = Limit.VNF if to_vnfs(event) else Limit.DUT
        gap_ns = NANOSECONDS / trials[0].load_fps
        by_stamps = (
            f"by time stamps: the longest time without a frame; they come {human_ns(gap_ns)} apart"
        )
        if (still := stood_still(trials, silent)) is not None:
            limit, by_stamps = Limit.HOST, f"{by_stamps}; {still}"
        yield mean_of(f"{word}_time", Unit.NANOSECONDS, silent, by_stamps, at, limit)
        reason = "by loss: frames lost, at the load offered to their direction"
        yield mean_of(f"{word}_lost_time", Unit.NANOSECONDS, by_loss, reason, at, limit)
        reason = "by loss less by time stamps: " + _apart(statistics.mean(between), gap_ns)
        yield mean_of(f"{word}_difference", Unit.NANOSECONDS, between, reason, at)
        reason = "lost by the worse direction"
        yield mean_of(f"{word}_lost", Unit.FRAMES, lost, reason, at)

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        found = Findings()
        self.refers_to_full(found, result)
        if self.load.value != 1:
            found.breaking.append(f"{self.load} of the throughput is offered, not all of it")
        before_ns = self.duration.ns // SHARE_BEFORE
        if before_ns < BEFORE_NS:
            found.breaking.append(f"{Duration(before_ns)} of traffic before the event, not 15s")
        if case.traffic.frame_size.bytes != case.traffic.frame_size.MINIMUM:
            found.weakening.append("the frames are not the smallest")
        if Limit.HOST in {one.limit for one in result.figures}:
            found.breaking.append(NOT_ITS_OWN[Limit.HOST])
        unnumbered(found, result)
        if not result.whole:
            found.breaking.append(f"{result.ended} before every event was seen often enough")
        return (found.verdict(Standard.RFC6201),)


def _apart(difference_ns: float, gap_ns: float) -> str:
    """Say what lies between both methods; the time by stamps has one gap more than frames lost."""
    if abs(difference_ns) <= math.ceil(gap_ns):
        return f"no more than the {human_ns(gap_ns)} between two frames, so both say the same"
    if difference_ns < 0:
        return "below 0, as frames were kept and came later"
    return "above 0, as frames were lost beside the outage"
