"""System recovery, RFC 2544 section 26.5: how long loss goes on when an overload ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.methods.base import Bench, TrialOptions, mean_of, one_rhythm, probe_on, repeated
from vsperf.methods.compliance import FULL_NS, NOT_ITS_OWN, Findings, evidence, unnumbered
from vsperf.methods.prerequisite import TIME_OVER, WithThroughput, unanswered, why_not
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_fps
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Duration, Ratio
from vsperf.records.result import Compliance, Figure, Limit, SearchResult, Standard
from vsperf.records.trial import RateStep, Trial
from vsperf.search.base import Loads
from vsperf.search.fixed import load_result

NAME = "recovery_time"
LESS = "overload_share"
"""How much of the overload that was wanted could be offered, where it was not all."""
CALM = Fraction(1, 10)
"""Share of the lower load at whose end nothing may be lost: else nobody saw that it was over."""
NOT_OF_THE_SWITCH = (Limit.GENERATOR, Limit.HOST, Limit.UNCOUNTED)
"""Where frames of the overload were lost by these, so were the last ones."""
STANDARD_OVERLOAD, STANDARD_AFTER = Fraction(1, 10), Fraction(1, 2)


class SystemRecovery(WithThroughput):
    """Offers more than the throughput, then half of that, and waits for the last loss."""

    summary: ClassVar[str] = "how long loss goes on when an overload ends (RFC 2544, 26.5)"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.STEPS, Ability.LAST_LOSS})
    """The load changes, and the last loss has to be known."""

    kind: Literal["recovery"]
    overload: Ratio = Ratio(STANDARD_OVERLOAD)
    """By how much the first load exceeds the throughput, as a share of it."""
    after: Ratio = Ratio(STANDARD_AFTER)
    """The second load, as a share of the first."""
    duration: TrialDuration
    """Of each of the two loads."""
    repeats: int = Field(default=5, ge=1, le=1000)
    """Trials; the answer is the mean over them."""

    @model_validator(mode="after")
    def _overloads(self) -> Self:
        if not self.overload.value:
            raise ValueError("overload must be above 0")
        if not 0 < self.after.value < 1:
            raise ValueError("after must lie between 0 and 100%")
        return self

    def metrics(self) -> Mapping[str, Unit]:
        return {**super().metrics(), NAME: Unit.NANOSECONDS}

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        one_rhythm(case)
        return super().offers(case, generator_cap)

    def run(self, bench: Bench) -> SearchResult:
        """Look for the throughput, exceed it, and see how long that is felt, again and again."""
        reference = self.reference(bench)
        wanted = round(reference.fps * (1 + self.overload.value))
        over = min(bench.loads.maximum, wanted)
        none = why_not(reference)
        if none is None and over <= reference.fps:
            top = f"{bench.loads.top}, {human_fps(bench.loads.maximum)}"
            none = f"not meaningful: {top}, is forwarded without loss, so nothing overloads it"
        if none is not None:
            return unanswered(reference, NAME, Unit.NANOSECONDS, none)
        below = max(1, round(over * self.after.value))
        length_ns = self.duration.ns
        options = TrialOptions(
            reference=f"{over / reference.fps:.0%} of {reference.text}, then {self.after} of that",
            steps=(RateStep(over, length_ns), RateStep(below, length_ns)),
        )
        probe = probe_on(bench, options)
        trials = repeated(self.repeats, lambda: probe(over, 2 * length_ns))
        if not trials.found:
            return unanswered(reference, NAME, Unit.NANOSECONDS, TIME_OVER)
        at = f"{human_fps(over)}, then {human_fps(below)}"
        figures = (
            _figure(trials.found, at, load_result(bench.loads, trials.found).limit),
            *_less(bench.loads, over, wanted),
        )
        return trials.as_result(figures, goals=reference.goals)

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        found = Findings()
        self.refers_to_full(found, result)
        if self.overload.value != STANDARD_OVERLOAD:
            found.breaking.append(f"{self.overload} above the throughput instead of 10%")
        if self.after.value != STANDARD_AFTER:
            found.breaking.append(f"{self.after} of the overload afterwards instead of 50%")
        if self.duration.ns < FULL_NS:
            found.breaking.append(f"{Duration(self.duration.ns)} of overload instead of 60s")
        if less := next((one.at for one in result.figures if one.name == LESS), None):
            found.breaking.append(f"the overload was {less}")
        time = next((one for one in result.figures if one.name == NAME), None)
        if time is not None and time.limit in NOT_OF_THE_SWITCH:
            found.breaking.append(NOT_ITS_OWN[time.limit])
        unnumbered(found, result)
        evidence(found, case, sister_sizes)
        if self.repeats < 2 or not result.whole:
            found.weakening.append("not repeated")
        return (found.verdict(Standard.RFC2544),)


def _less(loads: Loads, over: int, wanted: int) -> Iterator[Figure]:
    """Yield that the overload was less than asked for; that of a line that is full is excused."""
    if over < min(wanted, loads.line_rate):
        share = over / wanted
        at = f"{human_fps(over)} instead of {human_fps(wanted)}"
        yield Figure(name=LESS, unit=Unit.RATIO, value=share, at=at, reason=f"it is {loads.top}")


def _figure(trials: Sequence[Trial], at: str, limit: Limit) -> Figure:
    """Return the time from the change of load to the last loss, worse direction."""
    calm = [trial for trial in trials if not _overloaded(trial)]
    times = [[way.recovery_ns() for way in trial.directions] for trial in trials]
    known = [[time for time in ways if time is not None] for ways in times]
    lower_ns = trials[0].duration_ns // 2
    lasting = [ways for ways in known if any(time > lower_ns * (1 - CALM) for time in ways)]
    reason = "from the first frame of the lower load to the last that was lost"
    if calm:
        reason = f"in {len(calm)} of {len(trials)} trials nothing was lost above the throughput"
    elif any(len(ways) < len(all_ways) for ways, all_ways in zip(known, times, strict=True)):
        reason = "nobody can tell when the last frame was lost"
    elif lasting:
        reason = (
            f"in {len(lasting)} of {len(trials)} trials frames were lost to the end of the lower "
            "load: it is no overload that ends there, or search.duration is too short"
        )
    else:
        worst = [max(ways) for ways in known]
        return mean_of(NAME, Unit.NANOSECONDS, worst, reason, at, limit)
    return Figure(name=NAME, unit=Unit.NANOSECONDS, value=None, reason=reason, at=at)


def _overloaded(trial: Trial) -> bool:
    """Whether the first load was too much for a direction."""
    return any(way.offered_frames > way.good_frames for way in trial.directions)
