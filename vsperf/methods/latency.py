"""Latency by the book: RFC 2544 section 26.2, and what RFC 8219 makes of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.methods.base import Bench, TrialOptions, mean_of, median_of, probe_on, repeated
from vsperf.methods.compliance import Findings, evidence, fewer_sizes, too_short, unnumbered
from vsperf.methods.prerequisite import (
    ABOVE,
    TIME_OVER,
    WithThroughput,
    lost_at_it,
    refers_to_another_search,
    trials_with_loss,
    unanswered,
    why_not,
)
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_fps
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration, Ratio
from vsperf.records.histogram import merge, percentiles_ns, summary
from vsperf.records.result import Compliance, Figure, SearchResult, Standard, load_at
from vsperf.records.trial import Purpose, Trial

LEAST_REPEATS = 20
"""RFC 2544, section 26.2."""
STREAM_NS, TAG_NS = 120 * NANOSECONDS, 60 * NANOSECONDS
LEAST_FRAMES = 500
"""RFC 8219, section 7.2: so many tagged frames."""
TYPICAL, WORST_CASE = 50.0, 99.9
TAGGED, TYPICAL_LATENCY = "tagged_latency", "typical_latency"
MEAN_LATENCY = "mean_latency"
WORST_LATENCY, VARIATION = "worst_case_latency", "delay_variation"


class LatencyByTag(WithThroughput):
    """Latency at the throughput, of one tagged frame and of all frames after it."""

    summary: ClassVar[str] = "latency at the throughput, by tagged frames (RFC 2544, RFC 8219)"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.LATENCY, Ability.LATENCY_FROM})
    """Frames from a moment on are measured, and the first of them by itself."""

    kind: Literal["latency"]
    load: Ratio = Ratio.parse("100%")
    """Share of the throughput that is offered."""
    duration: TrialDuration
    """Length of a trial; the standard asks for 120 s."""
    tag_after: Duration
    """When the tagged frame leaves; the standard asks for 60 s."""
    repeats: int = Field(default=20, ge=1, le=1000)
    """Trials, each with a tagged frame; the standard asks for 20."""

    @model_validator(mode="after")
    def _leaves_frames_to_tag(self) -> Self:
        if self.tag_after >= self.duration:
            raise ValueError("tag_after must lie within the duration of a trial")
        if not self.load.value:
            raise ValueError("load must be above 0")
        return self

    def metrics(self) -> Mapping[str, Unit]:
        names = (TAGGED, TYPICAL_LATENCY, WORST_LATENCY, VARIATION, MEAN_LATENCY)
        return {**super().metrics(), **dict.fromkeys(names, Unit.NANOSECONDS)}

    def run(self, bench: Bench) -> SearchResult:
        """Look for the throughput, and send the stream again and again."""
        reference = self.reference(bench)
        if (none := why_not(reference)) is not None:
            return unanswered(reference, TAGGED, Unit.NANOSECONDS, none)
        share = f"{self.load} of {reference.text}"
        options = TrialOptions(Purpose.LATENCY, share, latency_after_ns=self.tag_after.ns)
        load = load_at(reference.fps, self.load.value)
        probe = probe_on(bench, options)
        trials = repeated(self.repeats, lambda: probe(load, self.duration.ns))
        if not trials.found:
            return unanswered(reference, TAGGED, Unit.NANOSECONDS, TIME_OVER)
        at = f"{human_fps(load)}, {share}"
        goals = reference.held_against(trials.found)
        return trials.as_result(self._figures(trials.found, at), goals=goals)

    def _figures(self, trials: Sequence[Trial], at: str) -> Iterator[Figure]:
        """Yield what the trials come to; where all frames count none is tagged."""
        if self.tag_after.ns:
            yield _tagged(trials, at)
        yield from _distributed(trials, at)
        yield from trials_with_loss(trials, at)

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        rfc2544, rfc8219 = Findings(), Findings()
        for found in (rfc2544, rfc8219):
            self.refers_to_full(found, result)
            if self.load.value != 1:
                found.breaking.append(f"at {self.load} of the throughput, not at all of it")
            if self.duration.ns < STREAM_NS:
                found.breaking.append(f"streams of {self.duration} instead of 120s")
            if self.tag_after.ns < TAG_NS:
                found.breaking.append(f"frames tagged after {self.tag_after} instead of 60s")
            if self.repeats < LEAST_REPEATS or not result.whole:
                found.breaking.append(f"fewer than {LEAST_REPEATS} trials")
            lost_at_it(found, result, ABOVE)
        unnumbered(rfc2544, result, TAGGED)
        unnumbered(rfc8219, result, TYPICAL_LATENCY, WORST_LATENCY, VARIATION)
        rfc2544.weakening.append("the tagged frames went where all others did, to no new network")
        fewer_sizes(rfc8219, case, sister_sizes)
        evidence(rfc2544, case, sister_sizes)
        return (
            rfc2544.verdict(Standard.RFC2544),
            rfc8219.verdict(Standard.RFC8219),
            self._tst009(result).verdict(Standard.TST009),
        )

    def _tst009(self, result: SearchResult) -> Findings:
        """Return where the delay of all frames and its variation leave TST 009."""
        found = refers_to_another_search(self, result)
        too_short(found, self.duration.ns)
        if not result.whole:
            found.breaking.append(f"{result.ended} before the last trial did")
        unnumbered(found, result, MEAN_LATENCY, WORST_LATENCY, VARIATION)
        lost_at_it(found, result, ", and the loss was not verified")
        if self.load.value != 1:
            found.weakening.append(f"at {self.load} of the throughput, not at all of it")
        if self.tag_after.ns:
            found.weakening.append(f"frames of the first {self.tag_after} do not count for it")
        return found


def _tagged(trials: Sequence[Trial], at: str) -> Figure:
    """Return the latency of the tagged frames, the mean of all of them (RFC 2544, 26.2)."""
    found = [[way.first_latency_ns for way in trial.directions] for trial in trials]
    known = [statistics.mean(times) for ways in found if (times := _all_known(ways))]
    if len(known) < len(trials):
        gone = f"{len(trials) - len(known)} of {len(trials)}"
        reason = f"in {gone} trials a tagged frame did not come back"
        return Figure(name=TAGGED, unit=Unit.NANOSECONDS, value=None, reason=reason, at=at)
    reason = (
        "the first frame after the tag, mean of all directions; from handing it over whole to "
        "finding it whole, so what RFC 1242 has for devices that store and that forward bits is "
        "within"
    )
    return mean_of(TAGGED, Unit.NANOSECONDS, known, reason, at)


def _all_known(times: Sequence[int | None]) -> list[int]:
    """Return the times of all directions; none where one of them is missing."""
    known = [time for time in times if time is not None]
    return known if len(known) == len(times) else []


def _distributed(trials: Sequence[Trial], at: str) -> Iterator[Figure]:
    """Yield medians over the trials of what RFC 8219 asks of all frames after the tag."""
    typical, worst, variation = list[float](), list[float](), list[float]()
    means = list[float]()
    for trial in trials:
        merged = merge(way.latency_histogram for way in trial.directions)
        if merged is None or (all_frames := summary(merged)).count < LEAST_FRAMES:
            continue
        shares = percentiles_ns(merged, (TYPICAL, WORST_CASE))
        typical.append(shares[TYPICAL])
        means.append(all_frames.mean_ns)
        worst.append(shares[WORST_CASE])
        variation.append(shares[WORST_CASE] - all_frames.minimum_ns)
    told = (
        (TYPICAL_LATENCY, typical, "median of the trials' medians"),
        (WORST_LATENCY, worst, "median of the trials' 99.9th percentiles"),
        (VARIATION, variation, "median of 99.9th percentile less minimum"),
        (MEAN_LATENCY, means, "median of the trials' means"),
    )
    for name, values, reason in told:
        few = f"no trial had {LEAST_FRAMES} frames after the tag"
        yield median_of(name, Unit.NANOSECONDS, values, reason, none=few, at=at)
