"""What every method has in common: it asks a bench for trials until it has its answer.

A method is one class. Its fields are its settings, and what it does is pure but for the trials that
it asks for: so the engine measures by it, a plan rehearses it, and a test plays it on a model.
"""

from __future__ import annotations

import statistics
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Generic, Protocol, TypeVar

from vsperf.config.case import CaseSpec
from vsperf.config.method import MethodSpec
from vsperf.errors import InvalidTrialError, Problem, SpecError
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.result import Compliance, Curve, Figure, GoalResult, Limit, SearchResult, Spread
from vsperf.records.trial import Purpose, RateStep, Second, Trial
from vsperf.search.base import Budget, BudgetExhausted, Loads, Probe, Whereabouts

T = TypeVar("T")
OnSecond = Callable[[Second], None]
SHARE_BEFORE = 4
"""An event comes after one part in so many of its trial."""


def spread_of(values: Sequence[float]) -> Spread:
    """Return how far values lie apart; there is at least one."""
    return Spread(
        runs=len(values),
        minimum=min(values),
        maximum=max(values),
        deviation=statistics.stdev(values) if len(values) > 1 else None,
    )


def mean_of(
    name: str,
    unit: Unit,
    values: Sequence[float],
    reason: str,
    at: str = "",
    limit: Limit | None = None,
) -> Figure:
    """Return the mean of repeats as a figure."""
    return Figure(
        name=name,
        unit=unit,
        value=statistics.mean(values),
        spread=spread_of(values),
        limit=limit,
        reason=reason,
        at=at,
    )


def median_of(
    name: str, unit: Unit, values: Sequence[float], reason: str, none: str, at: str
) -> Figure:
    """Return the median of trials as a figure; `none` says why there is no value."""
    return Figure(
        name=name,
        unit=unit,
        value=statistics.median(values) if values else None,
        spread=spread_of(values) if values else None,
        reason=reason if values else none,
        at=at,
    )


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """In which way a trial is made, and what happens beside it."""

    purpose: Purpose = Purpose.SEARCH
    reference: str | None = None
    """What the load refers to, such as `50% of ndr`."""
    event: str | None = None
    """What is done to the switch or the VNFs in the middle of it."""
    cold: bool = False
    """Whether the switch forgets before it which flows it has seen, and which addresses."""
    rules_per_second: int = 0
    """So many rules that no frame matches are added to the switch and taken out, all the while."""
    steps: tuple[RateStep, ...] = ()
    """Loads that follow each other without a pause, in place of one."""
    latency_after_ns: int = 0
    """Only frames that leave from then on count for latency; the first of them is told apart."""
    latency_ranges: tuple[tuple[int, int], ...] = ()
    """Up to four ranges of frames of each direction, from 0, with latencies of their own."""
    on_second: OnSecond | None = None
    """Told about once a second, while frames are sent, how it goes; each is recorded as well."""
    given: bool = False
    """Whether the trial is handed over whatever is to be said against it, and not repeated."""

    @property
    def untouched(self) -> bool:
        """Whether nothing is done to the switch or the VNFs."""
        return self.event is None and not self.cold and not self.rules_per_second


PLAIN = TrialOptions()
"""A trial of a search, with nothing beside it."""
RESTING = TrialOptions(Purpose.WARM_UP, "rest after overload", given=True)
"""Little is offered for a while, for whoever tired under overload; nothing follows from it."""


class Bench(Protocol):
    """What a method may do. Each trial has been judged before it is seen."""

    @property
    def loads(self) -> Loads:
        """What may be offered."""

    @property
    def budget(self) -> Budget:
        """The time there is."""

    @property
    def overhead_ns(self) -> int:
        """What a trial is expected to take beyond its duration."""

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        """Make a trial; who asks for it has it paid (`probe_on`)."""


def probe_on(bench: Bench, options: TrialOptions = PLAIN) -> Probe:
    """Return the probe of a search on a bench, whose trials are all made with the same options."""
    return Probe(
        partial(bench.trial, options=options),
        bench.budget,
        bench.overhead_ns,
        rest=partial(bench.trial, options=RESTING),
        whereabouts=bench if isinstance(bench, Whereabouts) else None,
    )


@dataclass(frozen=True, slots=True)
class Repeats(Generic[T]):
    """What something came to each time, and why it was not done as often as asked."""

    found: tuple[T, ...]
    in_time: bool = True
    """Whether the time sufficed."""
    spoiled: str = ""
    """Which trial could not be believed in the end; empty when none was like that."""

    def as_result(
        self,
        figures: Iterable[Figure] = (),
        curves: Iterable[Curve] = (),
        goals: tuple[GoalResult, ...] = (),
    ) -> SearchResult:
        """Return what follows from them, and why they are not all, if so."""
        told = {"figures": tuple(figures), "curves": tuple(curves), "goals": goals}
        return SearchResult(**told, complete=self.in_time, spoiled=self.spoiled)


def repeated(times: int, once: Callable[[], T], least: int = 1) -> Repeats[T]:
    """Do something as often as asked, or as the time allows and its trials can be believed.

    A trial that stays invalid before it was done `least` times leaves nothing to go by: raised.
    """
    found: list[T] = []
    try:
        while len(found) < times:
            found.append(once())
    except BudgetExhausted:
        return Repeats(tuple(found), in_time=False)
    except InvalidTrialError as error:
        if len(found) < least:
            raise
        return Repeats(tuple(found), spoiled=str(error))
    return Repeats(tuple(found))


def burst_ns(frames: int, load_fps: int) -> int:
    """Return the length of a trial that sends so many frames per direction at a load."""
    return -(-frames * NANOSECONDS // load_fps)


class Method(MethodSpec):
    """A method, ready to be asked."""

    summary: ClassVar[str]
    """One line for lists."""
    trusts_single_trials: ClassVar[bool] = False
    """Whether one trial decides what a load is."""
    of_time: ClassVar[bool] = True
    """Whether a part of the time of a trial says what its load is, so that clean time does, and
    where CPUs were meanwhile."""

    @abstractmethod
    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the loads that a case may offer; refuse what leaves none.

        Nothing is searched above what the generator was seen to do without a switch.
        """

    def offered(self, loads: Loads) -> Iterable[int]:
        """Return the loads that it will offer, as far as they are known before.

        Where one follows from what became of another, both ends of their range stand for them.
        """
        return loads.fixed or (loads.minimum, loads.maximum)

    def rounds_ns(self, case: CaseSpec) -> tuple[int, ...]:
        """Return the lengths of its rounds, where it makes these instead of trials.

        They do not depend on what is found, so nothing needs to be rehearsed.
        """
        return ()

    @property
    def rounds_anew(self) -> int:
        """Before how many of its rounds everything is deployed; none where once is enough."""
        return 0

    @abstractmethod
    def run(self, bench: Bench) -> SearchResult:
        """Ask for trials until there is an answer, or the time is over."""

    def reconsidered(
        self, result: SearchResult, bench: Bench, trials: Sequence[Trial]
    ) -> SearchResult:
        """Return what was found once trials after it say something of loads, too.

        `trials` are all that were made on the bench.
        """
        del bench, trials
        return result

    @property
    def deployments(self) -> int:
        """On how many deployments it asks, one after the other."""
        return 1

    def asks_again(self, result: SearchResult) -> bool:
        """Whether there is anything in a result that another deployment can be asked."""
        del result
        return False

    def drawing_ns(self, bench: Bench) -> int:
        """Return about how long the trials take on all deployments but the first."""
        del bench
        return 0

    def drawn(
        self, result: SearchResult, bench: Bench, first: Sequence[Trial], deployment: int
    ) -> SearchResult:
        """Return what was found with what another deployment says of it; the bench is on that.

        `first` are the trials on the first one, which the result is from.
        """
        del bench, first, deployment
        return result

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        """Return how a case stands to each standard that knows the method; here there is none.

        `sister_sizes` are the frame sizes [B] of all cases of the testcase in this run.
        """
        del case, sister_sizes, result
        return ()


def method_of(case: CaseSpec) -> Method:
    """Return the method of a case; a specification alone knows its settings only."""
    assert isinstance(case.search, Method)  # whatever is registered for the section is one
    return case.search


def loads_of(case: CaseSpec, generator_cap: int | None = None) -> Loads:
    """Return the loads that a case may offer, in whole frames per second and direction."""
    return replace(method_of(case).offers(case, generator_cap), switched=case.switched)


def one_rhythm(case: CaseSpec) -> None:
    """Refuse bursts for a method that says itself when frames come fast, and when slowly."""
    if case.traffic.bursts is not None:
        raise refused(
            "the method says how frames follow each other, and they cannot come in bursts as well",
            "how fast they come, and for how long, is what its answer is about",
            "leave traffic.bursts out, or choose another method, such as fixed",
        )


def equal_loads(case: CaseSpec, why: str) -> None:
    """Refuse less of the load on the way back."""
    if case.traffic.reverse_load.value != 1:
        raise refused(
            f"the way back has {case.traffic.reverse_load} of the load",
            why,
            "leave traffic.reverse_load out",
        )


def refused(what: str, why: str, fix: str) -> SpecError:
    """Return the error for settings that leave nothing to measure."""
    return SpecError([Problem(what, None, why, fix)])
