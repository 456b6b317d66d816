"""Trials of one regime, and a search that asks in the regime in which the machine is.

A hypervisor moves CPUs, and a switch has another throughput when they are far from each other. A
load that passed near and failed far has not contradicted itself. So each goal is answered once more
in each regime, from its trials alone, and from their clean time where it is known. What is asked
next is asked in the regime in which the machine is. Where nothing is left to ask there, trials are
held back until the other one comes, for a share of the time that was announced; what is not
answered by then has no answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from vsperf.quantities.human import human_fps, percent
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.clean import LEAST, clean_share
from vsperf.records.flags import Flag
from vsperf.records.regime import Boundary, Regime, boundary_of, regime_of, shares_of
from vsperf.records.result import GoalResult, Limit, RegimeResult
from vsperf.records.trial import Trial
from vsperf.search.base import BudgetExhausted, Probe
from vsperf.search.clean import PARTIAL, Cleaned, not_to_be_had
from vsperf.search.settle import Judged, Leading, Seen, Settling, least_trials
from vsperf.search.verdict import Question, answer, decided_of, passed_in

HELD = Fraction(3, 10)
"""Of its time a search may hold trials back."""
STEP_NS = NANOSECONDS // 4
"""Of a wait, until it is looked again where the CPUs are."""
SELDOM = Fraction(1, 10)
"""A regime in which less of the time was is not waited for."""
MOVED = Fraction(1, 4)
"""Where so many trials end in another regime than they began, too many others left theirs unseen
and came back,"""
FEW_MOVED = 4
"""unless they are as few as chance makes them."""
TIME_OVER = "the time ended before trials in this regime sufficed"
BLAMED = (Limit.DUT, Limit.VNF, Limit.UNCOUNTED)
"""Limits that say whose loss it was."""


@dataclass
class InRegime(Seen):
    """What is left in clean time of the trials of a probe that were made in one regime."""

    regime: Regime = Regime.NEAR
    cleaned: Cleaned | None = None
    """How trials are seen in clean time; they are taken as they are where nobody knows of any."""
    boundary: Boundary | None = None
    """By all trials together; None where there is one regime."""
    in_clean_time: bool = False
    """Whether anybody knows of clean time,"""
    silent: bool = False
    """and whether silent slots are left out."""

    def look(self) -> None:
        """Take in the trials that are new, or all of them, if they are seen in another way now."""
        if self.looked_at == len(self.probe.trials):
            return
        boundary, cleaned = boundary_of(self.probe.trials), self.cleaned
        clean = boundary is not None and cleaned is not None and cleaned.known
        now = boundary, clean, clean and cleaned is not None and cleaned.silent
        if now != (self.boundary, self.in_clean_time, self.silent):
            self.boundary, self.in_clean_time, self.silent = now
            self.looked_at = 0
            self.views += 1
            for group in self.by_load.values():
                group.clear()
        super().look()

    def of(self, trial: Trial) -> Trial | None:
        """Return a trial of this regime, or what is left of it."""
        if self.boundary is None or regime_of(trial, self.boundary) is not self.regime:
            return None
        if self.cleaned is None or not self.in_clean_time:
            return trial
        return self.cleaned.of(trial)

    @property
    def known(self) -> bool:
        """Whether there are two regimes."""
        self.look()
        return self.boundary is not None

    @property
    def share(self) -> Fraction:
        """Of the time in which the machine was in it."""
        if self.boundary is None:
            return Fraction(0)
        return shares_of(self.probe.trials, self.boundary)[self.regime]

    @property
    def hopeless(self) -> str | None:
        """Say so if trials do not tell of a regime, or too little of their time was clean."""
        self.look()
        if self.boundary is None:
            return "there is one regime"
        known = [one for one in self.probe.trials if len(one.round_trips_ns) == 2]
        moved = sum(regime_of(one, self.boundary) is None for one in known)
        if moved >= FEW_MOVED and moved >= MOVED * len(known):
            return (
                f"the CPUs were moved in {moved} of {len(known)} trials: "
                "nobody can tell in which others they were, and came back"
            )
        share = self.clean_share
        if share is None or share >= LEAST:
            return None
        return f"only {percent(share)} of the time was clean"

    @property
    def clean_share(self) -> Fraction | None:
        """Of the sending time of its trials; None where nobody knows of clean time."""
        return clean_share(self.trials) if self.in_clean_time else None


def regime_here(probe: Probe, boundary: Boundary | None) -> Regime | None:
    """Return the regime in which the machine is, if anybody can tell."""
    if probe.whereabouts is None or boundary is None:
        return None
    trip = probe.whereabouts.round_trip_ns()
    return None if trip is None else boundary.of(trip)


@dataclass
class ByRegime:
    """Asks in the regime in which the machine is, until each question is answered in both."""

    settling: Settling
    asked: Sequence[tuple[InRegime, Judged]]
    """The strictest question first, in each regime."""
    unanswered: dict[tuple[str, Regime], str] = field(default_factory=dict)
    """By goal and regime: what kept it from an answer, where something did."""

    @property
    def probe(self) -> Probe:
        """Where trials are made."""
        return self.settling.probe

    def settle(self) -> None:
        """Make trials until nothing is left to ask, or say why something is."""
        leading = [Leading(judged) for _, judged in self.asked]
        try:
            while left := [
                (seen, leads)
                for (seen, judged), leads in zip(self.asked, leading, strict=True)
                if seen.hopeless is None and not judged.finished
            ]:
                if (why := self.settling.too_many) is not None:
                    break
                here = regime_here(self.probe, left[0][0].boundary)
                if here is None:
                    why = "nobody could tell any more where the CPUs were"
                    break
                mine = next((one for one in left if one[0].regime is here), None)
                if mine is not None:
                    self.settling.go_on(mine[1])
                elif (why := self._why_not_hold(left[0][0])) is None:
                    self.probe.hold(STEP_NS)
                else:
                    break
            else:
                return
        except BudgetExhausted:
            why = TIME_OVER
        self.unanswered |= {
            (judged.question.goal, seen.regime): why
            for seen, judged in self.asked
            if seen.hopeless is None and not judged.finished
        }

    def _why_not_hold(self, wanted: InRegime) -> str | None:
        """Return why no trial is to be held back until a regime comes."""
        share = wanted.share
        if share < SELDOM:
            return f"the CPUs were so for only {percent(share)} of the time"
        trials = self.probe.trials
        held = sum(one.held.ns for one in trials if one.held is not None) + self.probe.held_ns
        whole = sum(one.elapsed_ns for one in trials) + held + STEP_NS
        if held + STEP_NS > HELD * whole:
            return (
                f"the CPUs were not so again in the {percent(HELD)} of the search's time for which "
                "trials may be held back"
            )
        return None


@dataclass
class Regimes:
    """What the trials of a search say of each goal in each regime."""

    questions: Sequence[Question]
    seen: tuple[InRegime, ...]
    asked: Sequence[tuple[InRegime, Judged]]
    unanswered: dict[tuple[str, Regime], str] | None = None
    """By goal and regime: what kept it from an answer there; None where nobody has asked yet."""

    @classmethod
    def of(cls, questions: Sequence[Question], cleaned: Cleaned) -> Regimes:
        """Return them as nobody has asked yet; the strictest question comes first."""
        seen = tuple(InRegime(cleaned.probe, regime=one, cleaned=cleaned) for one in Regime)
        return cls(
            questions,
            seen,
            [(one, Judged(question, one)) for question in questions for one in seen],
        )

    @property
    def known(self) -> bool:
        """Whether trials are of two regimes."""
        return all(one.known for one in self.seen)

    def news(self) -> str | None:
        """Say so where trials turned out to be of two regimes in which nothing was asked yet."""
        return "there are two regimes" if self.unanswered is None and self.known else None

    def ask(self, settling: Settling, *, alone: bool) -> Settling:
        """Ask in each regime, and leave as much time as may be for what all trials say together.

        Where regimes are to suffice alone and the time ends first, nothing is left for that: it
        would tell nothing of a switch.
        """
        if self.unanswered is None:
            more = len(self.seen) * least_trials(self.questions)
            settling = replace(settling, most=settling.most + more)
        budget = settling.probe.budget
        with budget.holding_back(budget.left_ns or 0):
            self._settle(settling)
        if alone and self.cut_short:
            self._settle(settling)
        return settling

    def _settle(self, settling: Settling) -> None:
        turns = ByRegime(settling, self.asked)
        turns.settle()
        self.unanswered = turns.unanswered

    @property
    def cut_short(self) -> bool:
        """Whether the time ended before an answer in one of them."""
        return TIME_OVER in (self.unanswered or {}).values()

    def here(self) -> InRegime | None:
        """Return how trials are seen in the regime that the machine is in."""
        here = regime_here(self.seen[0].probe, self.seen[0].boundary)
        return next((one for one in self.seen if one.regime is here), None)

    @property
    def suffice(self) -> bool:
        """Whether each goal is answered in one of them at least."""
        answered = {
            judged.question.goal
            for seen, judged in self.asked
            if self.why_not(judged.question.goal, seen) is None and judged.finished
        }
        return self.known and all(one.goal in answered for one in self.questions)

    def settled(self, goal: str) -> bool:
        """Whether a goal is answered in each regime, or it is known why it is not."""
        return not self.known or all(
            self.why_not(goal, seen) is not None or judged.finished
            for seen, judged in self.asked
            if judged.question.goal == goal
        )

    def answers(self, goal: str, spoiled: str) -> tuple[RegimeResult, ...]:
        """Return what it came to in each regime; a trial that stayed invalid may have ended it."""
        ended = not_to_be_had(spoiled) if spoiled else TIME_OVER
        return tuple(
            regime_answer(
                judged.question,
                seen,
                self.why_not(goal, seen) or (None if judged.finished else ended),
            )
            for seen, judged in self.asked
            if judged.question.goal == goal and self.known
        )

    def why_not(self, goal: str, seen: InRegime) -> str | None:
        """Return what kept a goal from an answer in a regime, where something did."""
        return seen.hopeless or (self.unanswered or {}).get((goal, seen.regime))


def regime_answer(question: Question, seen: InRegime, why_not: str | None) -> RegimeResult:
    """Return the answer in a regime, or that there is none, and why."""
    trips = [trip for one in seen.trials for trip in one.round_trips_ns]
    found: dict[str, Any] = {"reason": why_not}
    if why_not is None:
        found = answer(question, seen.trials).model_dump(include=PARTIAL)
    elif why_not == TIME_OVER and (known := decided_of(question, seen.trials)):
        found = {"reason": f"{why_not}; {known}"}
    return RegimeResult(
        regime=seen.regime,
        share=str(seen.share),
        least_ns=min(trips),
        most_ns=max(trips),
        clean=None if seen.clean_share is None else str(seen.clean_share),
        **found,
    )


def told_by_regime(goal: GoalResult) -> GoalResult:
    """Return an answer whose limit is the machine, where a load failed in one regime only.

    That the upper bound was not reproduced says no more than that, either.
    """
    doubt = Flag.UPPER_NOT_REPRODUCED
    unclear = doubt in goal.flags or Flag.LEFT_TO_REGIMES in goal.flags
    if not (goal.limit in BLAMED or unclear):
        return goal
    if (one := passed_in(goal)) is None:
        return goal
    reason = (
        f"what made the upper bound fail is the machine's: while the CPUs of generator and switch "
        f"were {one.regime.words} ({one.least_ns} to {one.most_ns} ns there and back), "
        f"{human_fps(one.lower_fps or 0)} passed"
    )
    flags = tuple(flag for flag in goal.flags if flag is not doubt)
    return goal.model_copy(update={"limit": Limit.HOST, "reason": reason, "flags": flags})
