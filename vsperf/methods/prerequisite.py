"""Methods that measure at the throughput of the switch, or above it: first they look for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

from pydantic import model_validator

from vsperf.config.case import CaseSpec
from vsperf.config.method import Contradiction, Goal
from vsperf.methods.base import Bench, probe_on, refused
from vsperf.methods.compliance import FULL_NS, Findings, undetermined
from vsperf.methods.range import TrialDuration, WithinRange
from vsperf.quantities.human import human_fps
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import FrameSize, LinkSpeed, Rate, Ratio
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.result import Figure, GoalResult, Limit, SearchResult
from vsperf.records.trial import Trial
from vsperf.search.base import Loads, Probe
from vsperf.search.classify import Bound, DurationRule, by_load, failed
from vsperf.search.confirm import Confirmed
from vsperf.search.mlr import MlrGoal, MultipleLossRatio

GOAL = "throughput"
NO_LOSS = Ratio.parse("0")
HALF = Fraction(1, 2)
LOSSY = "trials_with_loss"
ABOVE = ": it is above the throughput"
UNBELIEVED = (Limit.UNKNOWN, Limit.BUDGET)


@dataclass(frozen=True, slots=True)
class Reference:
    """The throughput that a method refers to."""

    fps: int
    """Per direction."""
    goal: GoalResult | None
    """How it was found; None where it was given."""
    rule: DurationRule | None = None
    """What made it one, likewise."""
    trials: tuple[Trial, ...] = ()
    """In which it was looked for."""

    @property
    def losses(self) -> tuple[Fraction, ...]:
        """What each trial at that load lost, as a share."""
        return tuple(one.loss_ratio for one in self.trials if one.load_fps == self.fps)

    @property
    def text(self) -> str:
        return "the throughput" if self.goal is not None else "the throughput given"

    @property
    def goals(self) -> tuple[GoalResult, ...]:
        """What a result says of it."""
        return () if self.goal is None else (self.goal,)

    def held_against(
        self, later: Sequence[Trial], taken_back: Flag = Flag.REFUTED
    ) -> tuple[GoalResult, ...]:
        """Return what a result says of it once it was offered again, for longer or more often.

        A trial at it is one like those that found it, and may take it back by the same rule. It is
        not looked for anew, as what was measured there refers to it: it is said instead, by the
        flag `taken_back`.
        """
        lossy = [one for one in later if failed(one, NO_LOSS.value)]
        if self.goal is None or self.rule is None or not lossy:
            return self.goals
        loads = by_load((*self.trials, *later))
        below = (group for load, group in loads.items() if load <= self.fps)
        fallen = any(self.rule.bound(group) is Bound.UPPER for group in below)
        flag = taken_back if fallen else Flag.UNSTABLE
        at = human_fps(lossy[0].load_fps)
        trials = f"{len(lossy)} of {len(later)} trials" if len(later) > 1 else "a trial"
        told = f"{self.goal.reason}; later {trials} at {at} lost frames"
        there = loads[lossy[0].load_fps]
        disagree = any(not failed(one, NO_LOSS.value) for one in there)
        said = (flag,) if disagree or flag is not Flag.UNSTABLE else ()
        flags = tuple(dict.fromkeys((*self.goal.flags, *said)))
        return (self.goal.model_copy(update={"flags": flags, "reason": told}),)


class WithThroughput(WithinRange):
    """Looks for the throughput first, unless it is given, and refers to it."""

    repeats_upper: ClassVar[int] = 2
    """How often the upper bound of the throughput is tried again."""

    min_load: Rate = Rate.parse("9001fps")
    """Lowest load that is tried."""
    max_load: Rate = Rate.parse("100%")
    """Highest load that is tried."""
    throughput: Rate | None = None
    """What was measured before with the same frames, flows and directions; it is looked for when
    not given."""
    throughput_duration: TrialDuration
    """Length of the trials in which it is looked for."""
    throughput_sum: TrialDuration
    """Trial time at a load after which it is decided; where it is longer than one trial, up to
    half of the trials may lose frames: what a machine that others use, too, needs."""
    throughput_width: Ratio = Ratio.parse("1%")
    """Relative width of the interval at which the search ends."""

    @model_validator(mode="after")
    def _sum_holds_a_trial(self) -> Self:
        if self.throughput_sum < self.throughput_duration:
            raise ValueError("throughput_sum must hold at least one trial of throughput_duration")
        return self

    def asked(self) -> Mapping[str, Goal]:
        """Return the throughput as a goal, if it is looked for."""
        return {} if self.throughput is not None else {GOAL: Goal(loss_ratio=NO_LOSS)}

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield that the throughput cannot be what is given, too."""
        yield from super().contradictions(size, link)
        if self.throughput is None:
            return
        line = link.frames_per_second(size)
        if self.throughput.frames_per_second(size, link) > line:
            yield Contradiction(
                "throughput",
                f"{self.throughput} is more than the line rate",
                f"with frames of {size} on {link} that is {float(line):.0f} fps",
            )

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the range, and the throughput if it is given."""
        loads = super().offers(case, generator_cap)
        if self.throughput is None:
            return loads
        size, link = case.traffic.frame_size, case.slowest_link
        given = int(self.throughput.frames_per_second(size, link))
        if not 1 <= given <= loads.line_rate:
            raise refused(
                f"{self.throughput} cannot be a throughput",
                f"at {size} one lies between 1 frame per second and the line rate of {link}, "
                f"{loads.line_rate} frames per second",
                "give search.throughput as it was measured, or leave it out",
            )
        return replace(loads, reference=given)

    def reference(self, bench: Bench) -> Reference:
        """Return the throughput, looked for if need be; 0 where it has no lower bound."""
        if bench.loads.reference is not None:
            return Reference(bench.loads.reference, None)
        probe = probe_on(bench)
        goal = self.looked_for(bench.loads, probe)
        return Reference(goal.lower_fps or 0, goal, self.rule, tuple(probe.trials))

    def refers(self, found: Findings, result: SearchResult) -> None:
        """Add why the throughput that it refers to is not the switch's, if it is not."""
        if self.throughput is None:
            undetermined(found, next(iter(result.goals), None))
        else:
            found.weakening.append("the throughput was given, not measured here")

    def refers_to_full(self, found: Findings, result: SearchResult) -> None:
        """Add that, too, where the throughput has to be the one of RFC 2544, by full trials."""
        self.refers(found, result)
        if self.throughput is None and self.throughput_duration.ns < FULL_NS:
            found.weakening.append(
                f"the throughput is from trials of {self.throughput_duration} instead of 60s"
            )

    @property
    def rule(self) -> DurationRule:
        """What makes a load the throughput, or not."""
        several = self.throughput_sum.ns > self.throughput_duration.ns
        return DurationRule(
            NO_LOSS.value,
            HALF if several else Fraction(0),
            self.throughput_duration.ns,
            self.throughput_sum.ns,
        )

    def looked_for(self, loads: Loads, probe: Probe) -> GoalResult:
        """Look for the throughput, by trials of the same options."""
        width = self.throughput_width.value
        goals = {GOAL: MlrGoal(self.rule, self.throughput_duration.ns, width)}
        search = MultipleLossRatio(goals, loads, self.repeats_upper)
        confirmed = Confirmed(search, search.questions, search.duration_ns, by_regime=False)
        return confirmed.run(probe).goals[0]


def refers_to_another_search(method: WithThroughput, result: SearchResult) -> Findings:
    """Return how a throughput that is referred to stands to TST 009."""
    found = Findings()
    method.refers_to_full(found, result)
    if method.throughput is None:
        found.weakening.append(
            "the throughput was looked for by a multiple loss ratio search, not by one of its own"
        )
    return found


def trials_with_loss(trials: Sequence[Trial], at: str) -> Iterator[Figure]:
    """Yield how many trials at the throughput lost frames, if any did: it was none then."""
    lossy = sum(any(way.lost_frames > 0 for way in trial.directions) for trial in trials)
    if lossy:
        reason = f"of {len(trials)}: what is offered is more than passes without loss"
        yield Figure(name=LOSSY, unit=Unit.COUNT, value=lossy, reason=reason, at=at)


def lost_at_it(found: Findings, result: SearchResult, so: str) -> None:
    """Add that trials lost frames at what was to be the throughput, if any did, and what of it."""
    lossy = next((one.value for one in result.figures if one.name == LOSSY), None)
    if lossy:
        found.breaking.append(f"frames were lost in {lossy:.0f} trials{so}")


TIME_OVER = "the time ended before the first trial at it"


def unanswered(
    reference: Reference,
    name: str,
    unit: Unit,
    reason: str,
    at: str = "",
    *,
    limit: Limit | None = Limit.UNKNOWN,
) -> SearchResult:
    """Return that a method has no answer but the throughput, and why.

    What it is for was not measured, which is no pass. `limit` is another one where that there is no
    number is the answer.
    """
    goal = reference.goal
    in_time = reason != TIME_OVER and (goal is None or not goal.cut_short)
    figure = Figure(name=name, unit=unit, value=None, reason=reason, at=at, limit=limit)
    return SearchResult(goals=reference.goals, figures=(figure,), complete=in_time)


def why_not(reference: Reference) -> str | None:
    """Return why nothing can refer to a throughput, if nothing can."""
    goal = reference.goal
    if goal is None:
        return None
    if worst(goal.flags) is Severity.INVALID or goal.limit in UNBELIEVED:
        return f"the throughput is not known: {goal.reason}"
    if not reference.fps:
        return "there is no throughput to refer to: no lower bound"
    return None
