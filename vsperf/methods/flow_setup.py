"""Flow set-up: how many flows that it has never seen a switch takes in a second."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Literal

from pydantic import Field

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.method import MADE_TO_FORGET
from vsperf.methods.base import (
    Bench,
    TrialOptions,
    burst_ns,
    probe_on,
    refused,
    repeated,
    spread_of,
)
from vsperf.methods.range import Rates, Width, WithinRange
from vsperf.quantities.human import human_count, human_fps, human_share
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Rate, Ratio
from vsperf.records.histogram import merge, percentiles_ns
from vsperf.records.result import Figure, Limit, SearchResult
from vsperf.records.trial import Purpose, Trial
from vsperf.search.base import Loads, Probe
from vsperf.search.fixed import load_result
from vsperf.search.highest import HighestPassing

LEAST_LOOKED_UP = Fraction(9, 10)
"""Share of the frames that the switch must have looked up in its rules; below, the answer is on its
caches."""
LEAST_FLOWS = 1000
LATER = 10
"""The first frame of a flow is held against the one of this number."""


@dataclass
class _NewFlows:
    """Trials whose every frame is the first of its flow, by the number of their rate."""

    probe: Probe
    rates: Rates
    lossy: dict[int, list[Trial]] = field(default_factory=dict)
    passed: dict[int, Trial] = field(default_factory=dict)

    def lost(self, number: int) -> int:
        rate = self.rates.of(number)
        trial = self.probe(rate, burst_ns(self.rates.loads.flows, rate))
        missing = max(way.lost_frames for way in trial.directions)
        if missing > 0:
            self.lossy.setdefault(number, []).append(trial)
        else:
            self.passed[number] = trial
        return missing


class FlowSetup(WithinRange):
    """The highest rate of new flows, one frame each, that loses none of them."""

    summary: ClassVar[str] = "new flows in a second that a switch takes without loss"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset(
        {Ability.LATENCY, Ability.LATENCY_RANGES}
    )
    """The first frames of flows are measured apart from later ones."""

    kind: Literal["flow_setup"]
    min_load: Rate = Rate.parse("1kfps")
    """Lowest load that is tried."""
    max_load: Rate = Rate.parse("100%")
    """Highest load that is tried."""
    width: Width = Ratio.parse("2%")
    """By how much two rates differ, as a share of the lower one."""
    repeats: int = Field(default=3, ge=1, le=1000)
    """Searches, each from the beginning."""
    max_repeats: int = Field(default=2, ge=0, le=100)
    """How often a rate that lost frames is tried again."""

    @property
    def done_to_switch(self) -> str | None:
        return MADE_TO_FORGET

    def metrics(self) -> Mapping[str, Unit]:
        return {
            "flow_setup_rate": Unit.PER_SECOND,
            "first_frame_latency": Unit.NANOSECONDS,
            "later_frame_latency": Unit.NANOSECONDS,
        }

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the rates, and how many flows a trial can have that are new."""
        flows = int(case.traffic.flows)
        if flows < LEAST_FLOWS:
            raise refused(
                f"{flows} flows are too few to tell how fast new ones are set up",
                "each is new only once in a trial",
                "--set traffic.flows=4096, and rules that tell them apart: vswitch.flows=l4",
            )
        return replace(super().offers(case, generator_cap), flows=flows)

    def run(self, bench: Bench) -> SearchResult:
        """Look for the highest rate again and again, each trial on a switch that saw no flow."""
        tried = _NewFlows(probe_on(bench, TrialOptions(cold=True)), Rates(bench.loads, self.width))
        search = HighestPassing(1, tried.rates.top, self.max_repeats, bench.loads.flows)
        searches = repeated(self.repeats, lambda: search.run(tried.lost))
        found = searches.found
        if not found:
            return SearchResult(complete=False)
        figure = self._figure(bench.loads, tried, found)
        if figure.value is None:
            return searches.as_result((figure,))
        rates = [tried.rates.of(number) for number, _ in found if number]
        of = "flow set-up rate" if len({*rates}) == 1 else "lowest flow set-up rate of a search"
        rate = max(1, min(rates) // 2)
        latencies = repeated(1, lambda: _latencies(bench, rate, f"half of the {of}"), least=0)
        return SearchResult(
            figures=(figure, *(one for found in latencies.found for one in found)),
            complete=searches.in_time and latencies.in_time,
            spoiled=searches.spoiled or latencies.spoiled,
        )

    def _figure(
        self, loads: Loads, tried: _NewFlows, found: Sequence[tuple[int, int | None]]
    ) -> Figure:
        passed = [tried.passed[number] for number, _ in found if number]
        lossy = [
            trial for _, number in found if number is not None for trial in tried.lossy[number]
        ]
        ways = _ways((*passed, *lossy)[0])
        rates = [float(tried.rates.of(number) * ways) if number else 0.0 for number, _ in found]
        end = load_result(loads, lossy or passed)
        limit, reason = end.limit, end.reason
        cached = _not_looked_up(passed)
        open_ended = any(number is None for _, number in found)
        if not passed:
            reason = f"{tried.rates.even_lowest} {reason}"
        return Figure(
            name="flow_setup_rate",
            unit=Unit.PER_SECOND,
            value=None if cached or not passed else statistics.mean(rates),
            lower=statistics.mean(rates) if open_ended and not cached else None,
            spread=spread_of(rates) if passed else None,
            limit=Limit.UNKNOWN if cached else limit,
            reason=cached or reason,
            at=f"{human_count(loads.flows)} new flows each way in a trial, one frame each",
        )


def _latencies(bench: Bench, rate: int, reference: str) -> tuple[Figure, ...]:
    """Return how long the first frame of a flow is on its way, and a later one of the same flow.

    Flows take turns, so the first frames of all come before any second one.
    """
    flows = bench.loads.flows
    first, later = (0, flows - 1), ((LATER - 1) * flows, LATER * flows - 1)
    options = TrialOptions(Purpose.LATENCY, reference, cold=True, latency_ranges=(first, later))
    trial = probe_on(bench, options)(rate, burst_ns(LATER * flows, rate))
    found = []
    for number, name, frames in ((0, "first", "first"), (1, "later", f"{LATER}th")):
        ways = [way.range_histograms for way in trial.directions]
        merged = merge(ranges[number] for ranges in ways if len(ranges) > number)
        summary = percentiles_ns(merged, (50.0,))
        found.append(
            Figure(
                name=f"{name}_frame_latency",
                unit=Unit.NANOSECONDS,
                value=None if summary is None else summary[50.0],
                reason=f"median of the {frames} frames of all flows"
                if summary is not None
                else f"no {frames} frame of a flow came back",
                at=f"{human_fps(rate)}, {reference}",
            )
        )
    return tuple(found)


def _ways(trial: Trial) -> Fraction:
    """Return how many directions are offered the load, one that has a share of it as that."""
    sent = [way.intended_frames for way in trial.directions]
    return Fraction(sum(sent), max(sent))


def _not_looked_up(trials: Sequence[Trial]) -> str | None:
    """Return that caches knew the flows that were to be new, if they did and somebody counted."""
    for trial in trials:
        if trial.switch is None:
            continue
        hits = [pmd.hits for pmd in trial.switch.pmds if "upcall" in pmd.hits]
        if not hits:
            continue  # a switch without caches, or one that does not say what they answered
        set_up = sum(one.get("upcall", 0) for one in hits)
        looked_up = set_up + sum(one.get("lost", 0) for one in hits)
        share = looked_up / max(1, trial.sent_frames)
        if share < LEAST_LOOKED_UP:
            return (
                f"the switch looked up {human_share(share)} of the flows in its rules, and knew "
                "the others: its rules do not tell them apart; --set vswitch.flows=l4"
            )
        share = set_up / looked_up
        if share < LEAST_LOOKED_UP:
            return (
                f"the switch set up {human_share(share)} of the flows that it looked up, and has "
                "no room for the others; --set traffic.flows=4096, or less"
            )
    return None
