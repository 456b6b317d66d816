"""Broadcast forwarding and latency of RFC 2889 section 5.10: frames that are for everybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.methods.base import Bench, TrialOptions, median_of, probe_on, refused, repeated
from vsperf.methods.compliance import Findings, fewer_sizes, unnumbered
from vsperf.methods.prerequisite import (
    ABOVE,
    TIME_OVER,
    Reference,
    WithThroughput,
    lost_at_it,
    trials_with_loss,
    unanswered,
    why_not,
)
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_fps
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration
from vsperf.records.histogram import merge, percentiles_ns
from vsperf.records.result import Compliance, Figure, SearchResult, Standard
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import Loads

SHORTEST_NS, LONGEST_NS = 1 * NANOSECONDS, 300 * NANOSECONDS
SHARES = {
    "typical_latency": (50.0, "median of the trials' medians"),
    "worst_case_latency": (99.9, "median of the trials' 99.9th percentiles"),
}


class BroadcastForwarding(WithThroughput):
    """The throughput of broadcast frames, and their latency at it."""

    summary: ClassVar[str] = "throughput and latency of broadcast frames (RFC 2889)"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.LATENCY})
    """Latency is a part of its answer."""

    kind: Literal["broadcast"]
    throughput_duration: TrialDuration = Duration.parse("1s")
    """Length of the trials in which the throughput is looked for."""
    throughput_sum: TrialDuration = Duration.parse("5s")
    """Trial time at a load after which it is decided."""
    duration: TrialDuration = Duration.parse("5s")
    """Length of a trial in which latency is measured."""
    repeats: int = Field(default=3, ge=1, le=1000)
    """Trials in which latency is measured."""

    def metrics(self) -> Mapping[str, Unit]:
        return {**super().metrics(), **dict.fromkeys(SHARES, Unit.NANOSECONDS)}

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        if case.traffic.destination != "broadcast":
            raise refused(
                f"the frames are {case.traffic.destination}, not broadcast",
                "what is asked is how frames for everybody fare",
                "--set traffic.destination=broadcast",
            )
        return super().offers(case, generator_cap)

    def run(self, bench: Bench) -> SearchResult:
        """Look for the throughput, and measure latency at it again and again."""
        reference = self.reference(bench)
        if (none := why_not(reference)) is not None:
            return _unanswered(reference, none)
        options = TrialOptions(Purpose.LATENCY, reference.text)
        probe = probe_on(bench, options)
        trials = repeated(self.repeats, lambda: probe(reference.fps, self.duration.ns))
        if not trials.found:
            return _unanswered(reference, TIME_OVER)
        at = f"{human_fps(reference.fps)}, {reference.text} of broadcast frames"
        figures = (*_latencies(trials.found, at), *trials_with_loss(trials.found, at))
        return trials.as_result(figures, goals=reference.held_against(trials.found))

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        found = Findings()
        self.refers(found, result)
        if case.traffic.direction == "both":
            found.breaking.append("both ends send, not one")
        if not SHORTEST_NS <= self.throughput_duration.ns <= LONGEST_NS:
            found.breaking.append(f"trials of {self.throughput_duration} instead of 1 s to 300 s")
        unnumbered(found, result)
        lost_at_it(found, result, ABOVE)
        if not result.whole:
            found.weakening.append(f"{result.ended} before {self.repeats} trials of the latency")
        fewer_sizes(found, case, sister_sizes)
        found.weakening.append("frames for all ports have one port to leave by")
        return (found.verdict(Standard.RFC2889),)


def _unanswered(reference: Reference, why: str) -> SearchResult:
    found = [unanswered(reference, name, Unit.NANOSECONDS, why) for name in SHARES]
    figures = tuple(figure for one in found for figure in one.figures)
    return found[0].model_copy(update={"figures": figures})


def _latencies(trials: Sequence[Trial], at: str) -> Iterator[Figure]:
    """Yield the median over the trials of each share of the frames' latencies."""
    merged = [merge(way.latency_histogram for way in trial.directions) for trial in trials]
    known = [one for one in merged if one is not None]
    for name, (share, reason) in SHARES.items():
        values = [float(percentiles_ns(one, (share,))[share]) for one in known]
        yield median_of(
            name, Unit.NANOSECONDS, values, reason, none="no trial has a latency", at=at
        )
