"""What a bridge knows after frames from so many addresses: RFC 2889, sections 5.7 and 5.8.

Where a switch with two ports sends a frame does not tell whether it knew the address: there is one
port only that it can leave by. So the switch is asked, and what it says is held against what was
sent.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vsperf.config.case import CaseSpec
from vsperf.config.method import MADE_TO_FORGET
from vsperf.methods.base import (
    Bench,
    Method,
    TrialOptions,
    burst_ns,
    probe_on,
    refused,
    repeated,
    spread_of,
)
from vsperf.methods.compliance import Findings
from vsperf.quantities.unit import Unit
from vsperf.records.result import Compliance, Figure, Limit, SearchResult, Standard
from vsperf.records.switch import AddressCounts
from vsperf.records.trial import Trial
from vsperf.search.base import Loads, Probe
from vsperf.search.fixed import load_result
from vsperf.search.highest import HighestPassing, Lost

LEAST = 2
UNTOLD = "the switch does not say which addresses it knows"


def addresses_of(case: CaseSpec) -> int:
    """Return how many addresses frames of a case come from; refuse what would say nothing."""
    traffic, many = case.traffic, int(case.traffic.flows)
    if getattr(case.vswitch, "flows", None) != "learn":
        raise refused(
            "the switch is told where to forward, and learns no address",
            "its rules look at other things, and its table of addresses stays empty",
            "--set vswitch.flows=learn, with a switch that knows it",
        )
    if traffic.vary != "mac" or many < LEAST:
        raise refused(
            f"the frames of {many} flows that differ by {traffic.vary} come from one address",
            "what is learned are source MAC addresses",
            "--set traffic.vary=mac, and as many flows as there are to be addresses",
        )
    if traffic.direction == "both":
        raise refused(
            "frames in both directions come from twice as many addresses",
            "the table has no room apart for each port, so the number would be of both",
            "--set traffic.direction=forward",
        )
    if case.trial.learning:
        raise refused(
            "learning frames before a trial bring addresses of their own",
            "the switch would know more than the trial told it",
            "--set trial.learning=false",
        )
    return many


def told(trial: Trial) -> AddressCounts | None:
    """Return what the switch said of its addresses after a trial."""
    return trial.switch.addresses if trial.switch is not None else None


def unknown(trial: Trial) -> int:
    """Return how many addresses of a trial, of one frame each, are not known after it.

    Of a switch that says nothing, as in the rehearsal of a plan: how many cannot be.
    """
    counts = told(trial)
    return trial.lost_frames if counts is None else trial.intended_frames - counts.known


class DoesNotFitError(Exception):
    """More addresses came than a table holds, where it has to hold all."""

    def __init__(self, most: int, addresses: int) -> None:
        super().__init__(
            f"a table of {most:,} does not hold the {addresses:,} addresses of a trial; lower "
            "traffic.flows"
        )


@dataclass
class AddressTrials:
    """Trials whose every frame comes from another address, on a switch that knows none."""

    bench: Bench
    all_fit: bool = False
    """Whether the table has to hold all addresses of a trial, for an answer to mean anything."""
    probe: Probe = field(init=False)
    short: dict[int, list[Trial]] = field(default_factory=dict)
    """Trials after which addresses were unknown, by what was tried."""

    def __post_init__(self) -> None:
        self.probe = probe_on(self.bench, TrialOptions(cold=True))

    def unknown(self, tried: int, addresses: int, load_fps: int) -> int:
        """Make a trial and return how many addresses are unknown after it."""
        trial = self.probe(load_fps, burst_ns(addresses, load_fps))
        counts = told(trial)
        if self.all_fit and counts is not None and counts.evicted:
            raise DoesNotFitError(counts.most, addresses)
        if (missing := unknown(trial)) > 0:
            self.short.setdefault(tried, []).append(trial)
        return missing

    @property
    def untold(self) -> bool:
        """Whether the switch ever said nothing."""
        return any(told(trial) is None for trial in self.probe.trials)

    def why(self, failed: Sequence[int], top: str) -> tuple[Limit, str]:
        """Return what kept the bounds that failed from passing; `top` is all there is to try."""
        loads = self.bench.loads
        trials = [trial for one in failed for trial in self.short[one]]
        if not trials:
            capped = loads.reference is None and loads.maximum == loads.generator_cap
            return (Limit.GENERATOR if capped else Limit.SETTING), f"{top} passed"
        return blamed(loads, max(trials, key=_telling))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The number that is looked for."""

    name: str
    unit: Unit
    at: str
    top: str
    """All there is to try, for people."""
    repeats: int
    value: Callable[[int], int]
    """Returns what a number of the search stands for."""
    even_lowest: str = ""
    """Words for the reason why not even the lowest number passed; empty where that is 0."""

    def none(self, reason: str, limit: Limit = Limit.UNKNOWN) -> Figure:
        return Figure(
            name=self.name,
            unit=self.unit,
            value=None,
            limit=limit,
            reason=reason,
            at=self.at,
        )


def answer(
    tried: AddressTrials, search: HighestPassing, missing: Lost, wanted: Wanted
) -> SearchResult:
    """Search again and again, and return the mean of what was found."""
    try:
        searches = repeated(wanted.repeats, lambda: search.run(missing))
    except DoesNotFitError as error:
        return SearchResult(figures=(wanted.none(str(error)),))
    found = searches.found
    if not found:
        return SearchResult(complete=False)
    if tried.untold:
        figure = wanted.none(UNTOLD)
    else:
        failed = [number for _, number in found if number is not None]
        passed = [wanted.value(number) if number else 0 for number, _ in found]
        limit, reason = tried.why(failed, wanted.top)
        if wanted.even_lowest and not any(passed):
            figure = wanted.none(f"{wanted.even_lowest} {reason}", limit)
        else:
            figure = Figure(
                name=wanted.name,
                unit=wanted.unit,
                value=statistics.mean(passed),
                lower=None if len(failed) == len(found) else statistics.mean(passed),
                spread=spread_of(passed),
                limit=limit,
                reason=reason,
                at=wanted.at,
            )
    return searches.as_result((figure,))


def _telling(trial: Trial) -> tuple[int, int, int]:
    """Return how much a trial says on the switch, of those after which addresses are unknown.

    First comes what left the table again, last a trial of which the generator was short.
    """
    counts = told(trial)
    left = counts.evicted + counts.expired if counts is not None else 0
    return left, -_short(trial), unknown(trial)


def _short(trial: Trial) -> int:
    return sum(way.short_frames for way in trial.directions)


def blamed(loads: Loads, trial: Trial) -> tuple[Limit, str]:
    """Return who kept a switch from knowing the addresses of a trial, and all that was counted."""
    counts = told(trial)
    assert counts is not None  # who said nothing is not asked why
    words = [f"{counts.known:,} of {trial.intended_frames:,} addresses were known in the end"]
    of_ways = {
        "frames refused by a full port": sum(way.refused_frames or 0 for way in trial.directions),
        "frames that the generator was too slow for": _short(trial),
        "frames lost": sum(way.sent_frames - way.good_frames for way in trial.directions),
        f"evicted from a table of {counts.most:,}": counts.evicted,
        "expired": counts.expired,
    }
    words += [f"{count:,} {what}" for what, count in of_ways.items() if count > 0]
    if trial.lost_frames > 0 and not counts.evicted:
        return load_result(loads, [trial]).limit, ", ".join(words)
    if not (counts.evicted or counts.expired):
        words.append("none of them left the table again")
    return Limit.DUT, ", ".join(words)


class AddressMethod(Method):
    """Asks a switch that knew no address which ones it knows after a trial."""

    @property
    def done_to_switch(self) -> str | None:
        return MADE_TO_FORGET

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        found = Findings()
        found.breaking.append(
            "the switch was asked what it knows; no test frames were looked for at other ports"
        )
        if not result.whole:
            found.breaking.append(f"{result.ended} before the search did")
        return (found.verdict(Standard.RFC2889),)
