"""After a search: all of its trials are asked what the answer is, until both agree.

What a load is to a goal follows from all trials there, whoever asked for them. So each bound is
tried once more at the end, to see whether it still stands, and these trials count like any other.
Where they take a bound back, the search goes on from there, and what it finds is tried again. When
the time is over, or a trial stays invalid, the answer is what the trials say by then.

A switch may change while it is measured: it tires, warms up, throttles, or its machine moves. One
trial that goes the other way is an accident more often than a change, so it is repeated until one
stands by the bound or the bound falls. A bound that neither falls nor is stood by has changed. The
result says so, and of one accident, too, that trials of a load disagree.

Searches come to an upper bound from overload, and a switch may stay tired from that for as long as
much is offered. So it rests before the bound is tried again: it is offered next to nothing for a
second. Whether a load passes after a rest is what somebody asks who does not begin with overload.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vsperf.errors import InvalidTrialError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.regime import boundary_of
from vsperf.records.result import (
    CleanResult,
    GoalResult,
    Limit,
    PartialResult,
    RegimeResult,
    SearchResult,
    View,
)
from vsperf.records.trial import Trial
from vsperf.search.base import Budget, BudgetExhausted, Probe, Search
from vsperf.search.classify import Bound, Bounds, DurationRule, Rule, failed
from vsperf.search.clean import TIME_OVER, Cleaned, clean_answer, not_to_be_had, settled
from vsperf.search.regimes import InRegime, Regimes, told_by_regime
from vsperf.search.settle import Judged, Seen, Settling, at_a_bound, least_trials
from vsperf.search.verdict import BY_REGIME, Question, answer, finished
from vsperf.search.verify import verify_upper

REST_NS = NANOSECONDS
"""For so long a switch is offered next to nothing before its upper bound is tried again."""
TRIALS = 3
"""That must all speak against a bound,"""
TRIALS_AGAINST_A_SHARE = 5
"""and where the goal lets up to half of the time be lossy: there every second trial may."""
NOT_TRIED = (Limit.BUDGET, Limit.GENERATOR, Limit.UNKNOWN)
"""Limits of which a bound is not the switch's, or in doubt already."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A search whose answer is held against all of its trials."""

    search: Search
    questions: Mapping[str, Question]
    """What each goal asks."""
    duration_ns: int
    """Of a full-length trial."""
    by_regime: bool = True
    """Whether no more is asked of all trials together than they say once regimes have answers."""

    def run(self, probe: Probe) -> SearchResult:
        """Search, and go on until the answer and the trials agree.

        The search ends where its trials turn out to be of two regimes: to it they would contradict
        each other. What they say of each is gone on from.
        """
        probe.ended = lambda: boundary_of(probe.trials) is not None
        result = self.search.run(probe)
        if probe.ended():
            result = SearchResult(goals=())
        probe.ended = None
        return self.agreed(probe, result, len(probe.trials))

    def agreed(self, probe: Probe, result: SearchResult, searched: int = 0) -> SearchResult:
        """Go on from what was found until its answer is that of all trials of the probe.

        A search that took many trials itself (`searched`) may take as many again. What goes on from
        an answer may not: what led there took its share of them.
        """
        more = 2 * max(least_trials(self.questions.values()), searched)
        return Agreement(self, probe, result, len(probe.trials) + more).reach()

    def stands(self, probe: Probe, result: SearchResult) -> bool:
        """Whether the answers that were found are still those of all trials of the probe."""
        return Agreement(self, probe, result, len(probe.trials)).stands


Bounded = GoalResult | CleanResult | RegimeResult


@dataclass(frozen=True, slots=True)
class Tried:
    """A bound that was tried again: what a trial says of it may be another thing in clean time."""

    goal: str
    view: View
    load_fps: int
    is_upper: bool


@dataclass
class Agreement:
    """An answer and its trials on the way to agree."""

    asked: Confirmed
    probe: Probe
    first: SearchResult
    """What the search itself came to."""
    most: int
    """Trials that there may be in the end."""
    questions: list[Question] = field(init=False)
    """Strictest goal first."""
    raw: Seen = field(init=False)
    clean: Cleaned = field(init=False)
    stopped: dict[str, str | None] = field(default_factory=dict)
    """By goal: what kept it from an answer in clean time; None where nothing did."""
    verified: dict[tuple[str, int], tuple[bool | None, bool]] = field(default_factory=dict)
    """By goal and upper bound: what came of trying it again."""
    closing: Probe = field(init=False)
    """Makes the trials that try a bound again."""
    against: dict[Tried, int] = field(default_factory=dict)
    """By bounds that were tried: closing trials that go against it."""
    in_time: bool = True
    """Whether the time sufficed for final bounds."""
    spoiled: str = ""
    """Which trial stayed invalid and ended it; empty when none did."""
    regimes: Regimes = field(init=False)
    judged: dict[tuple[str, int], Judged] = field(default_factory=dict)
    """What loads are, by goal and by how trials are seen."""
    answers: dict[tuple[str, int], tuple[int, GoalResult]] = field(default_factory=dict)
    """What was said last, and of how many trials."""

    def __post_init__(self) -> None:
        """Take in what the search has found."""
        asked = self.asked.questions
        self.questions = sorted(asked.values(), key=lambda one: one.rule.loss_ratio)
        self.raw, self.clean = Seen(self.probe), Cleaned(self.probe)
        self.regimes = Regimes.of(self.questions, self.clean)
        self.closing = Probe(self.probe, Budget())
        for goal in self.first.goals:
            if goal.upper_fps is not None:
                flags = goal.flags
                stood = False if Flag.UPPER_NOT_REPRODUCED in flags else None
                found = stood, not goal.cut_short and Flag.OUT_OF_BUDGET in flags
                self.verified[goal.goal, goal.upper_fps] = found

    def reach(self) -> SearchResult:
        """Go on until nothing moves a bound, the time is over, or a trial stays invalid."""
        if self.first.complete:
            settling = Settling(self.probe, self.asked.duration_ns, self.most)
            reserved_ns = 2 * (self.asked.duration_ns + self.probe.overhead_ns)
            try:
                self._go_on(settling, reserved_ns)
                ended = self.suffices and self.regimes.cut_short
            except BudgetExhausted:
                ended = not self.suffices or self.regimes.cut_short or not self._settled()
            except InvalidTrialError as error:
                self.spoiled = str(error)  # what was found before is not lost for that
                ended = self.suffices and self.regimes.cut_short
            if ended:
                self.in_time = all(self._final(one, self.raw) for one in self.questions)
        else:
            self.in_time = False
        self.answers.clear()  # they were given before it was known whether the time sufficed
        return self._result()

    @property
    def stands(self) -> bool:
        """Whether what was said first is what all trials say."""
        if not self.first.complete:
            return False
        for goal in self.first.goals:
            question = self.asked.questions[goal.goal]
            told: list[tuple[Seen, GoalResult | PartialResult]] = [(self.raw, goal)]
            if goal.clean is not None and goal.clean.limit is not None:
                told.append((self.clean, goal.clean))
            by_regime = {one.regime: one for one in goal.regimes if one.limit is not None}
            told += [
                (one, by_regime[one.regime]) for one in self.regimes.seen if one.regime in by_regime
            ]
            for seen, one in told:
                now = self._told(question, seen)
                if (now.lower_fps, now.upper_fps) != (one.lower_fps, one.upper_fps):
                    return False
        return True

    def _go_on(self, settling: Settling, reserved_ns: int) -> None:
        while True:
            if self.regimes.known:
                settling = self.regimes.ask(settling, alone=self.asked.by_regime)
            with self.probe.budget.holding_back(reserved_ns):
                for question in self.questions:
                    if not self.suffices:
                        settling.settle(self._judged(question, self.raw), self.regimes.news)
                    self._verify(question)
                if self.clean.known and not self.suffices:
                    for question in self.questions:
                        judged = self._judged(question, self.clean)
                        why = settled(judged, self._why_not_now, settling)
                        self.stopped[question.goal] = why
            if self.regimes.news() is not None:
                self.stopped.clear()
                continue
            if len(self.probe.trials) >= settling.most:
                return
            if not self._close() and self.regimes.news() is None and self._settled():
                return

    @property
    def suffices(self) -> bool:
        """Whether regimes have answers, and nobody refers to that of all trials together."""
        return self.asked.by_regime and self.regimes.suffice

    def _why_not_now(self) -> str | None:
        return self.clean.hopeless() or self.regimes.news()

    def _settled(self) -> bool:
        """Whether no goal is left to settle: trying one's bound again may move another's."""
        if self.suffices:
            return all(self.regimes.settled(one.goal) for one in self.questions)
        return all(
            self._final(one, self.raw)
            and self.regimes.settled(one.goal)
            and (
                not self.clean.known
                or self._final(one, self.clean)
                or self.stopped.get(one.goal) is not None
            )
            for one in self.questions
        )

    def _verify(self, question: Question) -> None:
        """Try an upper bound again that has moved since, unless regimes are to be asked first."""
        rule, upper = question.rule, self._bounds(question, self.raw).upper
        if upper is None or (question.goal, upper) in self.verified:
            return
        left = self.suffices and not self._final(question, self.raw)
        if left or self.regimes.news() is not None:
            return
        if isinstance(rule, DurationRule):
            found = verify_upper(rule, self.probe, rule.final_ns, question.repeats_upper)
            if self.regimes.news() is None:  # else what it came to may be the machine's
                self.verified[question.goal, upper] = found

    def _close(self) -> bool:
        """Try the bounds again that were not, yet; return whether one has moved.

        Those in a regime are if the machine is in it. The lower bounds are tried last: they are the
        result, so it is for them that nothing later should be unknown.
        """
        answers = [
            (question, seen, found)
            for question in self.questions
            for seen, found in self._views(question)
        ]
        rested = False
        upper = [(question, seen, found.upper_fps, True) for question, seen, found in answers]
        lower = [(question, seen, found.lower_fps, False) for question, seen, found in answers]
        for question, seen, load_fps, is_upper in (*upper, *lower):
            if load_fps is None:
                continue
            if self.regimes.news() is not None:
                break  # what speaks against a bound may be the machine's
            tried = Tried(question.goal, self._view(seen), load_fps, is_upper)
            if tried in self.against:
                continue
            if is_upper and not rested:
                lowest = question.loads.minimum
                self.probe.let_rest(lowest, min(REST_NS, self.asked.duration_ns))
                rested = True
            self._try(question, seen, tried)
        return any(
            not self._final(question, seen)
            or self._ends(question, seen) != (found.lower_fps, found.upper_fps)
            for question, seen, found in answers
        )

    def _try(self, question: Question, seen: Seen, tried: Tried) -> None:
        """Count closing trials against a bound until one stands by it, or it falls.

        Goals share them. One of which nobody knows the clean time says nothing of clean bounds, and
        neither may the next.
        """
        rule, judged, load_fps = question.rule, self._judged(question, seen), tried.load_fps
        bound = Bound.UPPER if tried.is_upper else Bound.LOWER
        most, number = max(_enough(rule), at_a_bound(rule)), 0
        while number < most and judged.decided.get(load_fps) is bound:
            if self.regimes.news() is not None:
                self.against.pop(tried, None)
                return
            made = self._closed_at(load_fps, seen)
            trial = (
                made[number]
                if number < len(made)
                else self.closing(load_fps, self.asked.duration_ns)
            )
            self.against[tried] = number
            as_seen = seen.of(trial)
            if as_seen is None and isinstance(seen, InRegime):
                self.against.pop(tried)  # the machine was moved: it was not tried there
                return
            if as_seen is None or failed(as_seen, rule.loss_ratio) is tried.is_upper:
                return
            number += 1
            self.against[tried] = number

    def _closed_at(self, load_fps: int, seen: Seen) -> list[Trial]:
        """Return the closing trials at a load that may say something of a view."""
        made = [one for one in self.closing.trials if one.load_fps == load_fps]
        return [one for one in made if not isinstance(seen, InRegime) or seen.of(one) is not None]

    def _views(self, question: Question) -> Iterator[tuple[Seen, GoalResult | CleanResult]]:
        """Yield the answers to a goal whose bounds are the switch's, and how trials are seen.

        Where both have the same bounds, those of clean time are tried with the others.
        """
        goal = self._told(question, self.raw)
        tried = goal.limit not in NOT_TRIED and Flag.LEFT_TO_REGIMES not in goal.flags
        if tried:
            yield self.raw, goal
        here = self.regimes.here() if self.suffices else None
        if here is not None and self.regimes.why_not(question.goal, here) is None:
            there = self._told(question, here)
            if there.limit not in NOT_TRIED and self._final(question, here):
                yield here, there
        if not self.clean.known or self._why_not_clean(question) is not None:
            return
        clean = self._told(question, self.clean)
        if clean.limit not in NOT_TRIED and not (
            tried and (clean.lower_fps, clean.upper_fps) == (goal.lower_fps, goal.upper_fps)
        ):
            yield self.clean, clean

    def _view(self, seen: Seen) -> View:
        if isinstance(seen, InRegime):
            return View(seen.regime.value)
        return View.ALL if seen is self.raw else View.CLEAN

    def _judged(self, question: Question, seen: Seen) -> Judged:
        key = question.goal, id(seen)
        if key not in self.judged:
            self.judged[key] = Judged(question, seen)
        return self.judged[key]

    def _bounds(self, question: Question, seen: Seen) -> Bounds:
        return self._judged(question, seen).bounds

    def _ends(self, question: Question, seen: Seen) -> tuple[int | None, int | None]:
        bounds = self._bounds(question, seen)
        return bounds.lower, bounds.upper

    def _final(self, question: Question, seen: Seen) -> bool:
        return finished(question, self._bounds(question, seen))

    def _told(self, question: Question, seen: Seen) -> GoalResult:
        """Return what is to be said of a goal by now."""
        seen.look()
        key, made = (question.goal, id(seen)), len(self.probe.trials)
        if (known := self.answers.get(key)) is None or known[0] != made:
            trials: Sequence[Trial] = self.probe.trials if seen is self.raw else seen.trials
            known = made, answer(self._ended(question, seen), trials)
            self.answers[key] = known
        return known[1]

    def _ended(self, question: Question, seen: Seen) -> Question:
        """Return the question with what its search came to."""
        if seen is not self.raw:
            return question
        question = replace(question, left_to_regimes=self.suffices)
        upper = self._bounds(question, seen).upper
        stood, unverified = (
            (None, False)
            if upper is None
            else self.verified.get((question.goal, upper), (None, False))
        )
        return question.ended(stood, unverified, complete=self.in_time)

    def _result(self) -> SearchResult:
        by_goal = {question.goal: self._goal(question) for question in self.questions}
        goals = tuple(by_goal[name] for name in self.asked.questions)
        unverified = any(Flag.OUT_OF_BUDGET in goal.flags for goal in goals)
        complete = self.in_time and not unverified
        spoiled = self.spoiled or self.first.spoiled
        news = {"goals": goals, "complete": complete, "spoiled": spoiled}
        return self.first.model_copy(update=news)

    def _goal(self, question: Question) -> GoalResult:
        goal, clean = self._told(question, self.raw), None
        if self.clean.known:
            clean = clean_answer(question, self.clean, self._why_not_clean(question))
        there = tuple(self._of_regimes(question))
        doubted = (
            self._doubted(question, View.ALL, goal)
            or (clean is not None and self._doubted(question, View.CLEAN, clean))
            or (self.suffices and any(Flag.CHANGED_SINCE in one.flags for one in there))
        )
        said = {Flag.CHANGED_SINCE: doubted, Flag.FEWER_REPEATS: bool(self.spoiled)}
        news = [flag for flag, so in said.items() if so and flag not in goal.flags]
        flags, reason = (*goal.flags, *news), goal.reason
        if self.spoiled and not self._final(question, self.raw):
            reason = f"{reason}; {not_to_be_had(self.spoiled)}"
        update = {"clean": clean, "flags": flags, "reason": reason, "regimes": there}
        return told_by_regime(goal.model_copy(update=update))

    def _of_regimes(self, question: Question) -> Iterator[RegimeResult]:
        for one in self.regimes.answers(question.goal, self.spoiled):
            if self._doubted(question, View(one.regime.value), one):
                yield one.model_copy(update={"flags": (*one.flags, Flag.CHANGED_SINCE)})
            else:
                yield one

    def _why_not_clean(self, question: Question) -> str | None:
        if (why := self.clean.hopeless()) is not None or self._final(question, self.clean):
            return why
        ended = not_to_be_had(self.spoiled) if self.spoiled else TIME_OVER
        if self.suffices:
            return BY_REGIME
        return self.stopped.get(question.goal) or ended

    def _doubted(self, question: Question, view: View, told: Bounded) -> bool:
        """Whether closing trials speak against a bound that there is in the end."""
        ends = ((told.upper_fps, True), (told.lower_fps, False))
        tried = [
            Tried(question.goal, view, load, upper) for load, upper in ends if load is not None
        ]
        return any(self.against.get(one, 0) >= _enough(question.rule) for one in tried)


def _enough(rule: Rule) -> int:
    """Return how many closing trials must speak against a bound to say that it has changed."""
    tolerant = isinstance(rule, DurationRule) and rule.exceed_ratio > 0
    return TRIALS_AGAINST_A_SHARE if tolerant else TRIALS
