"""What every search has in common: it asks for trials within a budget and reports an interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from vsperf.records.result import Limit, SearchResult
from vsperf.records.trial import Trial

Measure = Callable[[int, int], Trial]
"""(load per direction [fps], duration [ns]) → a valid trial."""


class BudgetExhausted(Exception):
    """The next trial would not end within the budget; a search returns what it has."""


class Interrupted(BudgetExhausted):
    """The search is to end here, although there is time: what it has is gone on from."""


@runtime_checkable
class Whereabouts(Protocol):
    """Knows how far the CPUs are from each other that frames go between."""

    def round_trip_ns(self) -> int | None:
        """Return how far by the last look; None where it cannot be told."""

    def hold(self, ns: int) -> None:
        """Let so much time pass before the next trial, and look again."""


@dataclass
class Budget:
    """Time that a search may use, counted from what its trials report to have taken.

    The clock of the trials and not of the wall: a simulated hour costs an hour of budget.
    """

    limit_ns: int | None = None
    """None for no limit."""
    spent_ns: int = 0
    refused: int = 0
    """How often more was asked for than was left."""

    def require(self, needed_ns: int) -> None:
        """Raise `BudgetExhausted` unless `needed_ns` more fit in."""
        if self.limit_ns is not None and self.spent_ns + needed_ns > self.limit_ns:
            self.refused += 1
            raise BudgetExhausted

    def spend(self, used_ns: int) -> None:
        """Count time that a trial took."""
        self.spent_ns += used_ns

    @property
    def left_ns(self) -> int | None:
        """What is left; None without a limit."""
        return None if self.limit_ns is None else max(0, self.limit_ns - self.spent_ns)

    @contextmanager
    def holding_back(self, reserved_ns: int) -> Iterator[None]:
        """Keep some time for what comes later, but never more than a quarter of what is left."""
        if self.limit_ns is None or self.left_ns is None:
            yield
            return
        reserved_ns = min(reserved_ns, self.left_ns // 4)
        self.limit_ns -= reserved_ns
        try:
            yield
        finally:
            self.limit_ns += reserved_ns


@dataclass
class Probe:
    """Where a search makes its trials: keeps them, and stops at the end of the budget."""

    measure: Measure
    budget: Budget
    overhead_ns: int = 0
    """Time that a trial is expected to take beyond its duration."""
    trials: list[Trial] = field(default_factory=list)
    rest: Measure | None = None
    """Makes a trial that says nothing of its load, and pays for it; None where nobody can."""
    whereabouts: Whereabouts | None = None
    """None where nobody knows of CPUs that are moved."""
    ended: Callable[[], bool] | None = None
    """Asked before each trial whether whoever searches is to end here, if anybody is to say."""
    held_ns: int = 0
    """For how long the next trial has been held back by now."""

    def hold(self, ns: int) -> None:
        """Hold the next trial back, or raise `BudgetExhausted` at once."""
        assert self.whereabouts is not None
        self.budget.require(ns)
        self.whereabouts.hold(ns)
        self.budget.spend(ns)
        self.held_ns += ns

    def let_rest(self, load_fps: int, duration_ns: int) -> None:
        """Offer so little for a while that whoever tired under overload recovers from it."""
        if self.rest is not None:
            self.budget.require(duration_ns + self.overhead_ns)
            self.rest(load_fps, duration_ns)

    def __call__(self, load_fps: int, duration_ns: int) -> Trial:
        """Make one trial, or raise `BudgetExhausted` without making it."""
        if self.ended is not None and self.ended():
            raise Interrupted
        self.budget.require(duration_ns + self.overhead_ns)
        trial = self.measure(load_fps, duration_ns)
        self.budget.spend(trial.elapsed_ns)
        self.trials.append(trial)
        self.held_ns = 0
        return trial


FASTER = 2
"""On the way up each load is so many times the one before, for a device that may remember."""


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads a search may offer, per direction [fps], and what stands at the upper end."""

    minimum: int
    maximum: int
    line_rate: int
    """Highest whole rate of the link for this frame size."""
    step: int | None = None
    """Distance of two loads, where the method searches an array of them."""
    fixed: tuple[int, ...] = ()
    """The loads to offer, where nothing is searched."""
    generator_cap: int | None = None
    """What the generator can do without a switch; None when it was not measured."""
    reference: int | None = None
    """A load that was given for others to refer to; nothing is searched for it."""
    flows: int = 1
    """Distinct flows per direction, where a method counts them."""
    virtual: bool = False
    """Whether no cable has that line rate, but a virtual link, of which it is nominal."""
    switched: bool = True
    """Whether a switch is between the ends; else nothing but these can lose a frame."""
    ascending: bool = False
    """Whether a device may remember an overload, so that nothing is offered far above what held."""

    def above(self, lower: int | None) -> int:
        """Return what is offered next above what held, where nothing has failed yet."""
        if not self.ascending:
            return self.maximum
        return self.minimum if lower is None else min(self.maximum, FASTER * lower)

    @property
    def blamed(self) -> tuple[Limit, str]:
        """Who loses what was really offered, unless it is known to be somebody else."""
        if self.switched:
            return Limit.DUT, "the switch"
        return Limit.GENERATOR, "the generator's own ports, with no switch between them,"

    @property
    def top(self) -> str:
        """What the highest load is, for people."""
        if self.generator_cap is not None and self.maximum >= self.generator_cap:
            return "the cap of the generator"
        return "the highest load allowed" if self.maximum < self.line_rate else self.whole_line

    @property
    def whole_line(self) -> str:
        """What the rate of the link is, for people: no cable has that of a virtual one."""
        return "the nominal rate of the link" if self.virtual else "the line rate"

    def between(self, lower: int, upper: int) -> int:
        """Return the middle of two loads, or what is next to it in the array of loads.

        Two loads that are not of the array may have none of it between them: then the one below.
        """
        middle = (lower + upper) // 2
        if self.step is None:
            return middle
        found = self.maximum - (self.maximum - middle) // self.step * self.step
        found -= self.step if found >= upper else 0
        return max(self.minimum, found)


class Search(Protocol):
    """A search algorithm, ready to run; pure but for the trials it asks for."""

    def run(self, probe: Probe) -> SearchResult:
        """Ask for trials until the goal is met or the budget ends."""
