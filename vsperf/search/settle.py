"""From bounds that do not stand yet to bounds that do: which load is tried next, and until when.

A search leads to an interval. What its later trials say may take a bound back, or clean time may
leave too little of one. Then it goes on from there: at loads in between, those that are known
already first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from vsperf.records.trial import Trial
from vsperf.search.base import Probe
from vsperf.search.classify import Bound, Bounds, DurationRule, Rule, bounds_among, failed
from vsperf.search.verdict import Question, finished

STEPS = 20
"""Trials that lead to an interval anywhere in the range of loads, for a goal."""
UNSEEN = 3
"""Trials in turn that a view sees nothing of, after which it is not made for more of them."""


@dataclass
class Seen:
    """The trials of a probe by their load, as they are."""

    probe: Probe
    looked_at: int = 0
    by_load: dict[int, list[Trial]] = field(default_factory=dict)
    views: int = 0
    """How often all of them came to be seen in another way."""

    def __post_init__(self) -> None:
        self.look()

    def look(self) -> None:
        """Take in the trials that are new."""
        new = self.probe.trials[self.looked_at :]
        self.looked_at += len(new)
        for trial in new:
            if (seen := self.of(trial)) is not None:
                self.by_load.setdefault(trial.load_fps, []).append(seen)

    def of(self, trial: Trial) -> Trial | None:
        """Return how a trial is seen; None where it says nothing."""
        return trial

    @property
    def trials(self) -> list[Trial]:
        return [trial for group in self.by_load.values() for trial in group]


@dataclass
class Judged:
    """What the loads are to a question, by all that is seen."""

    question: Question
    seen: Seen
    _known: dict[int, tuple[int, int]] = field(default_factory=dict)
    _decided: dict[int, Bound] = field(default_factory=dict)
    _lossy: set[int] = field(default_factory=set)
    _looked: tuple[int, int] = (0, 0)

    def _look(self) -> None:
        """Judge the loads of which more is seen than before."""
        self.seen.look()
        if self._looked == (now := (self.seen.views, self.seen.looked_at)):
            return
        self._looked = now
        rule = self.question.rule
        for load, group in self.seen.by_load.items():
            if self._known.get(load) == (state := (self.seen.views, len(group))):
                continue
            self._known[load] = state
            self._decided[load] = rule.bound(group)
            if any(failed(one, rule.loss_ratio) for one in group):
                self._lossy.add(load)
            else:
                self._lossy.discard(load)

    @property
    def decided(self) -> dict[int, Bound]:
        self._look()
        return self._decided

    @property
    def lossy(self) -> set[int]:
        """Loads at which a trial failed."""
        self._look()
        return self._lossy

    @property
    def bounds(self) -> Bounds:
        """Of the question, so far."""
        return bounds_among(self.decided)

    @property
    def finished(self) -> bool:
        return finished(self.question, self.bounds)


@dataclass(frozen=True, slots=True)
class Settling:
    """Makes trials until the bounds of questions are final, one question after the other."""

    probe: Probe
    duration_ns: int
    """Of a full-length trial."""
    most: int
    """Trials that the probe may have in the end."""

    def settle(
        self, asked: Judged, hopeless: Callable[[], str | None] = lambda: None
    ) -> str | None:
        """Return None once the bounds are final, or why they are not.

        Where nothing is seen of trials the next one would be at the same load, and so on for ever.
        """
        leading, unseen = Leading(asked), 0
        while not asked.finished:
            if (why := hopeless() or self.too_many) is not None:
                return why
            if unseen >= UNSEEN:
                return f"of {unseen} trials in turn nobody knows what of their time counts"
            self.go_on(leading)
            unseen = 0 if asked.seen.of(self.probe.trials[-1]) is not None else unseen + 1
        return hopeless()

    @property
    def too_many(self) -> str | None:
        """Say so if there are as many trials as there may be."""
        made = len(self.probe.trials)
        return f"{made} trials did not suffice" if made >= self.most else None

    def go_on(self, leading: Leading) -> None:
        """Make the next trial for a question."""
        self.probe(leading.next_load(), self.duration_ns)


@dataclass
class Leading:
    """Single trials lead to where an answer is, so that time is spent there alone.

    They may be of a time that is over: where an end of the interval to which they lead moves when
    it is tried again, the next load divides what is sure instead.
    """

    asked: Judged
    quick: Judged = field(init=False)
    """The same question, decided by the first full-length trial at a load."""
    last_end: tuple[int, Bound] | None = None
    """The one that was tried again last, and what it was then."""

    def __post_init__(self) -> None:
        self.quick = by_one_trial(self.asked)

    @property
    def finished(self) -> bool:
        """Whether they lead to an interval that is narrow."""
        return self.quick.finished

    def next_load(self) -> int:
        """Return the load to try next."""
        if self.last_end is not None:
            load, end = self.last_end
            if self.quick.decided[load] is not end:
                self.last_end = None
                return next_load(self.asked)
        if not self.finished:
            return next_load(self.quick)
        self.last_end = self._undecided()
        return next_load(self.asked) if self.last_end is None else self.last_end[0]

    def _undecided(self) -> tuple[int, Bound] | None:
        """Return an end that more trials are to decide: one that suffices, if the other is sure."""
        known, found = self.asked.bounds, self.quick.bounds
        ends = [(found.lower, Bound.LOWER), (found.upper, Bound.UPPER)]
        decided, narrow = self.asked.decided, self.asked.question.narrow
        if known.lower is not None and found.upper is not None and narrow(known.lower, found.upper):
            ends.reverse()
        return next(
            ((load, end) for load, end in ends if load is not None and decided[load] is not end),
            None,
        )


def least_trials(questions: Iterable[Question]) -> int:
    """Return how many trials questions may need from anywhere in the range of loads."""
    return sum(STEPS + 2 * at_a_bound(one.rule) for one in questions)


def at_a_bound(rule: Rule) -> int:
    """Return how many full-length trials decide a load at most, if all of their time counts."""
    return -(-rule.sum_ns // rule.final_ns) if isinstance(rule, DurationRule) else 1


def by_one_trial(asked: Judged) -> Judged:
    """Return the same question, decided by the first full-length trial at a load."""
    question = asked.question
    return Judged(replace(question, rule=_by_one_trial(question.rule)), asked.seen)


def _by_one_trial(rule: Rule) -> Rule:
    return replace(rule, sum_ns=1) if isinstance(rule, DurationRule) else rule


def next_load(judged: Judged) -> int:
    """Return the load to try next: one that is known already, if it divides the interval well.

    The highest of those below the first failure comes first, then that failure: they are where the
    answer is most likely, and what is known of them is not wasted.
    """
    loads, narrow, bounds = judged.question.loads, judged.question.narrow, judged.bounds
    lower = bounds.lower if bounds.lower is not None else loads.minimum - 1
    upper = bounds.upper if bounds.upper is not None else loads.maximum + 1
    tried = [load for load in judged.decided if lower < load < upper]
    first = min((load for load in tried if load in judged.lossy), default=upper)
    likely = max((load for load in tried if load < first), default=first)
    if bounds.upper is None:
        return likely if likely in tried else loads.above(bounds.lower)
    if bounds.lower is None and narrow(loads.minimum, upper):
        return loads.minimum
    if likely in tried and (
        narrow(likely, upper) or (bounds.lower is not None and narrow(lower, likely))
    ):
        return likely
    margin = (upper - lower) // 10
    if likely in tried and lower + margin <= likely <= upper - margin:
        return likely
    return loads.between(max(lower, loads.minimum), upper)
