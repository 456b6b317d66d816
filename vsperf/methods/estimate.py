"""How long a case will take: the very search, rehearsed against a switch as it is presumed to be.

On a machine that is quiet, one rehearsal tells. Where trials at one load disagree, a search repeats
them, and how often is a matter of luck; so it is rehearsed several times with made-up luck, always
the same one, and the mean is what is expected.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from vsperf.config.traffic import TrialPolicy
from vsperf.methods.base import PLAIN, Method, TrialOptions
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.slots import Slot, Slots, even_share
from vsperf.records.trial import Direction, Purpose, Trial, intended_frames
from vsperf.search.base import Budget, BudgetExhausted, Loads

MOST_TRIALS = 3000
"""An estimate goes no further than this, so that planning does not take long itself."""
MOST_REHEARSALS = 12
REHEARSED_TRIALS = 600
"""About so many trials are rehearsed in all, of whatever search."""
ALIKE_OCTAVES = 4
"""Ranges of loads whose spans differ by less than this need about as many trials."""
MOODS = (0.5, 1.25, 2.0)
"""How restless a machine is changes from case to case, so rehearsals take turns with these."""
DISTURBED = Fraction(98, 100)
"""Share of the frames that arrives in a trial that was disturbed."""
SLOTS = 9
"""Of time, in each trial. One of them is disturbed; without it and its neighbours two thirds are
left, as on a shared machine with two CPUs."""
DISTURBED_SLOT = 4
TOP_FPS = 1 << 24
"""Highest load of a rehearsal: what it needs depends on shares of it only."""


@dataclass(frozen=True, slots=True)
class Presumption:
    """What is presumed of switch and machine before they are measured."""

    capacity: Fraction = Fraction(3, 5)
    """Where in the range of loads the capacity lies; the trials needed depend on it little."""
    knee: Fraction = Fraction(24, 25)
    """Share of the capacity at which loss begins: goals of different loss have different answers.
    """
    knee_loss: Fraction = Fraction(1, 1000)
    """Loss ratio between the knee and the capacity."""
    unrest_of_knee: float = 0.0
    """Standard deviation of the knee between trials, as a share of it."""
    unrest_of_capacity: float = 0.0
    disturbed: float = 0.0
    """Share of trials that lose what every goal minds, at whatever load."""

    @property
    def restless(self) -> bool:
        """Whether two trials at one load may disagree."""
        return bool(self.unrest_of_knee or self.unrest_of_capacity or self.disturbed)


STEADY = Presumption()
"""A switch whose trials always agree."""
RESTLESS = Presumption(
    capacity=Fraction(78, 100),
    knee=Fraction(94, 100),
    knee_loss=Fraction(1, 100_000),
    unrest_of_knee=0.03,
    unrest_of_capacity=0.02,
    disturbed=0.1,
)
"""A software switch on CPUs that others use, too: fitted to searches of OVS-DPDK on such machines,
whose upper end was the cap of the generator."""


@dataclass(frozen=True, slots=True)
class Overheads:
    """Time that is neither traffic nor a wait that the policy asks for."""

    case_ns: int = 0
    """Once per case: deploying, checking, taking down."""
    trial_ns: int = 0
    """Around each trial."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a case is expected to need, if no trial must be repeated because it is invalid."""

    trials: int
    seconds: float
    spread_s: float = 0.0
    """Standard deviation of the time, for the luck that a search has with its trials."""
    here_s: float | None = None
    """What a model of the testbed takes on this machine, while `seconds` pass in the model; None
    where the testbed is real, and both times are the same."""
    beside_s: float = 0.0
    """Of the seconds, what no budget counts: to deploy, to calibrate, to take down."""

    @property
    def measuring_s(self) -> float:
        """Of the seconds, what trials take."""
        return self.seconds - self.beside_s

    def within(self, budget_s: float | None) -> Estimate:
        """Return what it comes to where a budget for all trials ends it."""
        if budget_s is None:
            return self
        left_s = max(0.0, budget_s - self.measuring_s)
        share = 1.0 if left_s or not self.measuring_s else budget_s / self.measuring_s
        return Estimate(
            round(self.trials * share),
            self.beside_s + self.measuring_s * share,
            min(self.spread_s, left_s),
            None if self.here_s is None else self.here_s * share,
            self.beside_s,
        )


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    trials: int
    sending_ns: int


@dataclass
class Rehearsals:
    """Searches as they were rehearsed: cases of a run that are alike share theirs."""

    known: dict[tuple[str, Loads, Presumption], tuple[_Rehearsal, ...]] = field(
        default_factory=dict
    )

    def of(self, method: Method, loads: Loads, presumed: Presumption) -> tuple[_Rehearsal, ...]:
        """Return what the search needed each time."""
        loads = _alike(loads, presumed)
        key = method.model_dump_json(), loads, presumed
        if key not in self.known:
            self.known[key] = _rehearse(method, loads, presumed)
        return self.known[key]


def estimate(  # noqa: PLR0913, PLR0917 - the parts of a case, and what is presumed beside them
    method: Method,
    policy: TrialPolicy,
    loads: Loads,
    afterwards_ns: Sequence[int] = (),
    presumed: Presumption = STEADY,
    overheads: Overheads = Overheads(),
    rehearsals: Rehearsals | None = None,
) -> Estimate:
    """Return the trials and the time of a case: warm-up, search, what follows it, and the rest.

    `afterwards_ns` are the lengths of the trials that follow, such as those of its followers.
    A machine's restlessness cannot change how often fixed loads are offered.
    """
    played = (rehearsals or Rehearsals()).of(method, loads, presumed)
    others = [*([policy.warm_up.ns] if policy.warm_up.ns else []), *afterwards_ns]
    around_ns = policy.overhead_ns + overheads.trial_ns
    totals = [
        one.sending_ns + sum(others) + (one.trials + len(others)) * around_ns + overheads.case_ns
        for one in played
    ]
    return Estimate(
        round(statistics.mean(one.trials for one in played)) + len(others),
        statistics.mean(totals) / NANOSECONDS,
        statistics.stdev(totals) / NANOSECONDS if len(totals) > 1 else 0.0,
        beside_s=overheads.case_ns / NANOSECONDS,
    )


def estimate_of_rounds(rounds_ns: Sequence[int], overheads: Overheads, anew_ns: int) -> Estimate:
    """Return the time of a case that has rounds instead of trials.

    `anew_ns` is that of all deployments beside the one that each case has.
    """
    beside_ns = anew_ns + overheads.case_ns
    return Estimate(
        len(rounds_ns),
        (sum(rounds_ns) + beside_ns) / NANOSECONDS,
        beside_s=beside_ns / NANOSECONDS,
    )


def together(estimates: Sequence[Estimate]) -> Estimate:
    """Return the estimate of several cases, whose luck has nothing to do with each other's."""
    here = [one.here_s for one in estimates if one.here_s is not None]
    return Estimate(
        sum(one.trials for one in estimates),
        sum(one.seconds for one in estimates),
        math.hypot(*(one.spread_s for one in estimates)),
        sum(here) if here else None,
        sum(one.beside_s for one in estimates),
    )


def _alike(loads: Loads, presumed: Presumption) -> Loads:
    """Return the range of loads that stands for all whose search needs about as many trials."""
    if loads.fixed or loads.reference or loads.step is not None or not presumed.restless:
        return loads
    octaves = round(math.log2(loads.maximum / loads.minimum) / ALIKE_OCTAVES) * ALIKE_OCTAVES
    lowest = TOP_FPS >> max(1, min(octaves, 20))
    return Loads(lowest, TOP_FPS, TOP_FPS)


def _rehearse(method: Method, loads: Loads, presumed: Presumption) -> tuple[_Rehearsal, ...]:
    first = _rehearsal(method, loads, _times(presumed, 0), seed=0)
    if not presumed.restless or loads.fixed:
        return (first,)
    times = max(1, min(MOST_REHEARSALS, REHEARSED_TRIALS // max(1, first.trials)))
    moods = itertools.cycle(_times(presumed, factor) for factor in MOODS)
    return tuple(
        _rehearsal(method, loads, mood, seed)
        for seed, mood in zip(range(1, times + 1), moods, strict=False)
    )


def _times(presumed: Presumption, factor: float) -> Presumption:
    """Return the same switch on a machine that is so many times as restless."""
    return replace(
        presumed,
        unrest_of_knee=presumed.unrest_of_knee * factor,
        unrest_of_capacity=presumed.unrest_of_capacity * factor,
        disturbed=presumed.disturbed * factor,
    )


@dataclass
class _Stage:
    """A bench on which a switch as it is presumed to be stands for the real one."""

    loads: Loads
    presumed: Presumption
    luck: random.Random
    budget: Budget = field(default_factory=Budget)
    overhead_ns: int = 0
    trials: int = 0
    sending_ns: int = 0

    def trial(self, load_fps: int, duration_ns: int, options: TrialOptions = PLAIN) -> Trial:
        """Make a trial up; whoever asks for more of them than that knows that it takes long."""
        if self.trials >= MOST_TRIALS:
            raise BudgetExhausted
        self.trials += 1
        self.sending_ns += duration_ns
        span = self.loads.maximum - self.loads.minimum
        capacity = self.loads.minimum + span * float(self.presumed.capacity)
        return _presumed_trial(load_fps, duration_ns, capacity, self.presumed, self.luck)


def _rehearsal(method: Method, loads: Loads, presumed: Presumption, seed: int) -> _Rehearsal:
    luck = random.Random(seed)  # noqa: S311 - luck that is the same each time
    stage = _Stage(loads, presumed, luck)
    found = method.run(stage)
    further = range(2, method.deployments + 1) if method.asks_again(found) else ()
    for number in further:
        found = method.drawn(found, stage, (), number)
    return _Rehearsal(stage.trials, stage.sending_ns)


def _presumed_trial(
    load_fps: int, duration_ns: int, capacity_fps: float, presumed: Presumption, luck: random.Random
) -> Trial:
    """Return a trial of the presumed switch, with a little loss just below its capacity."""
    knee = capacity_fps * float(presumed.knee)
    knee *= 1 + luck.gauss(0, presumed.unrest_of_knee)
    capacity = capacity_fps * (1 + luck.gauss(0, presumed.unrest_of_capacity))
    sent = intended_frames(load_fps, duration_ns)
    forwarded = min(sent, intended_frames(max(1, int(capacity)), duration_ns))
    if load_fps > knee:
        forwarded = min(forwarded, int(sent * (1 - presumed.knee_loss)))
    by_itself = sent - forwarded
    if luck.random() < presumed.disturbed:
        forwarded = min(forwarded, int(sent * DISTURBED))
    direction = Direction(
        name="presumed",
        intended_frames=sent,
        sent_frames=sent,
        received_frames=forwarded,
    )
    return Trial(
        directions=(direction,),
        sending_ns=duration_ns,
        elapsed_ns=duration_ns,
        settled=True,
        slots=_presumed_slots(direction, by_itself, duration_ns) if presumed.restless else None,
        index=1,
        purpose=Purpose.SEARCH,
        load_fps=load_fps,
        duration_ns=duration_ns,
        started_at="",
    )


def _presumed_slots(way: Direction, by_itself: int, duration_ns: int) -> Slots:
    """Return the slots of a trial: what was not lost by itself was lost while nobody ran."""

    def slot(index: int) -> Slot:
        sent = even_share(way.sent_frames, index, SLOTS)
        lost = even_share(by_itself, index, SLOTS)
        if index == DISTURBED_SLOT:
            lost += way.lost_frames - by_itself
        return Slot(
            index=index,
            sent_frames=(sent,),
            received_frames=(sent - lost,),
            refused_frames=(0,),
            away_ns=1 if index == DISTURBED_SLOT else 0,
            silent_ns=0,
        )

    return Slots.of(
        width_ns=duration_ns // SLOTS,
        count=SLOTS,
        sent_frames=(way.sent_frames,),
        received_frames=(way.received_frames,),
        refused_frames=(0,),
        noted=[slot(index) for index in range(SLOTS)],
        cut=False,
    )
