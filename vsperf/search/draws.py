"""What was found on one deployment, asked again on another: a short search from the known bounds.

A switch that is deployed twice differs from itself, for as long as it lives, by more than the width
of an interval. So a goal is asked again by the same rule on what was made anew, from trials there
alone, and seen in the same part of their time: in clean time where the first answer has one, and
near or far where it has one for each. Of a trial in the other regime nobody could tell what is the
deployment's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from vsperf.errors import InvalidTrialError
from vsperf.quantities.human import percent
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.clean import LEAST, CleanTrial, clean_share, in_clean_time, kept_silent
from vsperf.records.regime import Boundary, Regime, boundary_of, regime_of
from vsperf.records.result import Draw, Draws, GoalResult, PartialResult, View
from vsperf.records.trial import Trial
from vsperf.search.base import BudgetExhausted, Loads, Probe
from vsperf.search.classify import Bounds, DurationRule
from vsperf.search.clean import not_to_be_had
from vsperf.search.regimes import STEP_NS
from vsperf.search.settle import (
    Judged,
    Leading,
    Seen,
    Settling,
    at_a_bound,
    by_one_trial,
    least_trials,
)
from vsperf.search.verdict import Question, answer, finished
from vsperf.search.verify import verify_upper

WIDTH = Fraction(1, 50)
"""Of an interval on a further deployment, where the goal's own is narrower: deployments differ by
more, and a narrower one costs trials."""
HELD_NS = 15 * NANOSECONDS
"""For so long trials may be held back on a deployment until its CPUs are where they are to be."""
FEW_LOADS = 3
"""So many are tried by one trial, where a deployment is much like the first."""


def first_of(goal: GoalResult) -> tuple[View, Draw] | None:
    """Return in which part of the time a goal is to be asked again, and its answer there.

    None where no answer of the first deployment is the deployment's: where the machine moved its
    CPUs, that of all trials is of no distance.
    """
    by_share = sorted(goal.regimes, key=lambda one: Fraction(one.share), reverse=True)
    views: list[tuple[View, PartialResult | GoalResult]] = [
        (View(one.regime.value), one) for one in by_share
    ]
    if not views:
        views = [*([] if goal.clean is None else [(View.CLEAN, goal.clean)]), (View.ALL, goal)]
    for view, one in views:
        found = Draw(
            deployment=1,
            lower_fps=one.lower_fps,
            upper_fps=one.upper_fps,
            limit=one.limit,
            reason=one.reason,
        )
        if found.told:
            return view, found
    return None


@dataclass
class OnDeployment(Seen):
    """Trials on another deployment, as far as they can be held against those on the first."""

    view: View = View.ALL
    first: Sequence[Trial] = ()
    """Those on the first that count."""
    boundary: Boundary | None = field(init=False)
    """Between regimes, by the first deployment's; where these are of one, by all together."""
    wanted: Regime | None = field(init=False, default=None)
    """The regime of trials that count; None where all do."""
    _moved: bool = field(init=False)
    _silent: bool = field(init=False)
    _cleaned: bool = field(init=False)

    def __post_init__(self) -> None:
        """Learn from the first deployment what its answer is from."""
        self.boundary = boundary_of(self.first)
        self._moved = self.boundary is not None
        if self.view in (View.NEAR, View.FAR):
            self.wanted = Regime(self.view.value)
        elif self._moved:  # in trials that the answer does not rest on, such as those of latency
            self.wanted = self._mostly(self.boundary)
        self._silent = kept_silent(self.first)
        self._cleaned = self.view is not View.ALL and (
            self.view is View.CLEAN or clean_share(self.first) is not None
        )
        super().__post_init__()

    def look(self) -> None:
        """Take in the trials that are new, or all of them, if they say otherwise of regimes now."""
        if self.looked_at == len(self.probe.trials):
            return
        if not self._moved:
            boundary = boundary_of((*self.first, *self.probe.trials))
            if boundary != self.boundary:
                self.boundary, self.wanted = boundary, self._mostly(boundary)
                self.looked_at = 0
                self.views += 1
                for group in self.by_load.values():
                    group.clear()
        super().look()

    def _mostly(self, boundary: Boundary | None) -> Regime | None:
        """Return the one regime of the first deployment."""
        if boundary is None:
            return None
        found = Counter(regime_of(one, boundary) for one in self.first)
        found.pop(None, None)
        return found.most_common(1)[0][0] if found else None

    def of(self, trial: Trial) -> Trial | None:
        """Return how a trial is seen; None where it cannot be held against the first deployment."""
        wanted, boundary = self.wanted, self.boundary
        if boundary is not None and wanted is not None and regime_of(trial, boundary) is not wanted:
            return None
        if not self._cleaned:
            return trial
        left = in_clean_time(trial, self._silent)
        return left if isinstance(left, CleanTrial) else None

    @property
    def hopeless(self) -> str | None:
        """Say so if less of their time was clean than what stands for something."""
        share = clean_share(self.trials) if self._cleaned else None
        if share is None or share >= LEAST:
            return None
        return f"only {percent(share)} of the time was clean"

    @property
    def elsewhere(self) -> Regime | None:
        """The regime in which the machine is, if it is not the one that is asked in."""
        self.look()
        if self.boundary is None or self.wanted is None or self.probe.whereabouts is None:
            return None
        trip = self.probe.whereabouts.round_trip_ns()
        here = self.wanted if trip is None else self.boundary.of(trip)
        return None if here is self.wanted else here


@dataclass
class Again:
    """A goal on its way to an answer on another deployment."""

    question: Question
    first: Draw
    seen: OnDeployment
    duration_ns: int
    """Of a full-length trial."""
    _held_ns: int = 0

    @property
    def probe(self) -> Probe:
        """Makes trials on the deployment."""
        return self.seen.probe

    def answer(self, deployment: int) -> Draw:
        """Search until the interval is narrow, or say why there is none."""
        question, why, complete = self._coarser(), None, True
        try:
            why = self._settle(question)
            if why is None:
                question = self._verified(question)
        except BudgetExhausted:
            complete = False
        except InvalidTrialError as error:
            why = not_to_be_had(str(error))
        why = self.seen.hopeless or why
        if why is not None or not self.seen.trials:
            return Draw(deployment=deployment, reason=why or "the time ended before any trial")
        if not complete:
            question = question.ended(complete=False)
        found = answer(question, self.seen.trials)
        return Draw(
            deployment=deployment,
            lower_fps=found.lower_fps,
            upper_fps=found.upper_fps,
            limit=found.limit,
            reason=found.reason,
        )

    def _coarser(self) -> Question:
        own = self.question.narrow
        return replace(
            self.question,
            narrow=lambda lower, upper: own(lower, upper) or upper - lower <= WIDTH * upper,
        )

    def _settle(self, question: Question) -> str | None:
        """Try loads around the known bounds, and farther ones as long as the answer is beyond."""
        most = len(self.probe.trials) + least_trials([question])
        settling, apart = Settling(self.probe, self.duration_ns, most), WIDTH / 2
        while True:
            known = by_one_trial(Judged(question, self.seen)).bounds
            near = replace(question, loads=self._around(question.loads, apart, known))
            asked = Judged(near, self.seen)
            leading = Leading(asked)
            while not leading.finished:  # single trials lead there, and time is spent there alone
                if (why := settling.too_many or self._held_back()) is not None:
                    return why
                bounds, lowest = leading.quick.bounds, near.loads.minimum
                beyond = bounds.lower is None and bounds.upper is not None
                self.probe(lowest if beyond else leading.next_load(), self.duration_ns)
            if finished(question, leading.quick.bounds):
                while not asked.finished:
                    if (why := settling.too_many or self._held_back()) is not None:
                        return why
                    settling.go_on(leading)
                if finished(question, asked.bounds):
                    return None
            apart *= 2

    def _around(self, loads: Loads, apart: Fraction, here: Bounds) -> Loads:
        """Return the loads that are not much farther than the known bounds.

        Bounds that another goal has left here are among them, a lower one above and an upper one
        below, too: or the same load would be tried time and again, and never be beyond them.
        """
        lower = self.first.lower_fps or loads.minimum
        upper = self.first.upper_fps or lower
        left = [one for one in (here.lower, here.upper) if one is not None]
        lowest = max(loads.minimum, min([int(lower * (1 - apart)), *left]))
        highest = min(loads.maximum, max([int(upper * (1 + apart)), *left]))
        if loads.step is not None:
            lowest = loads.maximum - -(-(loads.maximum - lowest) // loads.step) * loads.step
            highest = loads.maximum - (loads.maximum - highest) // loads.step * loads.step
        return replace(loads, minimum=max(loads.minimum, lowest), maximum=highest)

    def _held_back(self) -> str | None:
        """Hold the next trial back until it is one that counts, or say why it is given up."""
        while (here := self.seen.elsewhere) is not None:
            if self._held_ns + STEP_NS > HELD_NS:
                return f"its CPUs were {here.words}, and not as on the first deployment"
            self.probe.hold(STEP_NS)
            self._held_ns += STEP_NS
        return None

    def _verified(self, question: Question) -> Question:
        """Try an upper bound again that rests on one trial, as the first search did."""
        rule = question.rule
        if self.seen.view is not View.ALL or not isinstance(rule, DurationRule):
            return question
        stood, unverified = verify_upper(rule, self.probe, rule.final_ns, question.repeats_upper)
        return question.ended(stood, unverified, complete=True)


def drawn(
    goals: Sequence[GoalResult],
    questions: Mapping[str, Question],
    probe: Probe,
    first: Sequence[Trial],
    duration_ns: int,
    which: tuple[int, int],
) -> tuple[GoalResult, ...]:
    """Return the answers to goals with those on another deployment, the strictest asked first.

    `first` are the trials that the answers are from; `which` deployment it is, and of how many.
    """
    deployment, wanted = which
    found: dict[str, GoalResult] = {}
    for goal in sorted(goals, key=lambda one: Fraction(one.loss_ratio)):
        told = first_of(goal)
        if told is None:
            continue
        view, known = told
        seen = OnDeployment(probe, view=view, first=first)
        again = Again(questions[goal.goal], known, seen, duration_ns)
        before = goal.draws.made if goal.draws is not None else (known,)
        draws = Draws(asked=wanted, view=view, made=(*before, again.answer(deployment)))
        found[goal.goal] = goal.model_copy(update={"draws": draws})
    return tuple(found.get(goal.goal, goal) for goal in goals)


def expected_ns(questions: Sequence[Question], duration_ns: int, overhead_ns: int) -> int:
    """Return about how long goals take on another deployment that is much like the first.

    The first one finds the loads, and others have an end in common with it.
    """
    trials = sum(at_a_bound(one.rule) for one in questions)
    trials += FEW_LOADS + at_a_bound(questions[0].rule)
    return trials * (duration_ns + overhead_ns)
