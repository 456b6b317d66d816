"""The worlds of the models: their chance, their clock, and stalls as a real machine has them.

What happens in a trial is told as a generator and a kernel tell it, in slots of time and ticks.
"""

from __future__ import annotations

import itertools
import json
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.slots import Column, SlotColumns, Slots, even_share
from vsperf.records.threads import GENERATOR, SWITCH, ThreadActivity
from vsperf.records.trial import GeneratorActivity

RING = 1024
"""Frames of the generator's receive ring."""
SLOT_NS = 3_000_000
MOMENT_NS = 10_000_000
"""For so long a capacity that changes with time stays what it is."""
TICK_NS = 10_000_000
NEAR_NS, FAR_NS = (70, 125), (380, 500)
"""Round trips of a cache line between CPUs, as measured."""
LENGTHS_NS = (600_000, 1_500_000)
"""Of stalls whose number is given; each is long enough to fill a ring."""
NOBODY, EITHER = "nobody", "either"
STALLS = Path(__file__).parent / "data" / "stalls.json"
"""When and for how long (at ns, ns) a program that polls did not run, by seconds."""
REAL_STALLS: list[list[tuple[int, int]]] = json.loads(STALLS.read_text())["seconds"]


@dataclass(frozen=True, slots=True)
class Stall:
    """A time in which a part of the testbed did not run."""

    at_ns: int
    ns: int
    who: str


@dataclass
class Lane:
    """What becomes of the frames of one direction in a trial."""

    intended: int
    sent: int
    received: int
    dropped: int = 0
    """As the switch counts it."""
    refused: int = 0
    late_ns: int = 0
    """How long frames went on arriving after the last was sent."""
    duplicates: int = 0
    moments: tuple[tuple[int, int], ...] = ()
    """When frames were lost beside those that are lost evenly, and how many; counted above, too."""


@dataclass
class World:
    """One seed of a model: its capacity, its chance, and its clock."""

    seed: int
    now_ns: int = 0
    chance: Random = field(init=False)
    capacity: int = field(init=False)
    """Frames per second and direction, before any story."""
    trials: int = 0
    memory: dict[str, int] = field(default_factory=dict)
    """What a story remembers of earlier trials."""
    parameters: dict[str, float] = field(default_factory=dict)
    """What was drawn for this world."""
    changes_ns: list[int] = field(default_factory=list)
    """When a capacity of two levels goes from one to the other, as far as anybody has looked."""
    stalls: tuple[Stall, ...] = ()
    """Of the trial that is under way."""

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)  # noqa: S311 - a simulation
        self.capacity = self.chance.randrange(500_000, 9_000_000)

    def events(self, per_second: float, duration_ns: int) -> int:
        """Return how many of something that happens at random times happen in that long."""
        mean, count, product = per_second * duration_ns / NANOSECONDS, 0, self.chance.random()
        limit = math.exp(-mean)
        while product > limit:
            count += 1
            product *= self.chance.random()
        return count

    def drawn(self, name: str, least: float, most: float) -> float:
        """Return what this world has for a parameter of its model: any value, always the same."""
        if name not in self.parameters:
            chance = Random(f"{self.seed} {name}")  # noqa: S311 - a simulation
            self.parameters[name] = chance.uniform(least, most)
        return self.parameters[name]

    def is_low(self, at_ns: int, high_s: float, low_s: float) -> bool:
        """Whether a capacity of two levels is the lower one; each lasts for so long in the mean.

        How long in each case follows from the seed and its number, whoever looks how far.
        """
        changes = self.changes_ns
        while not changes or changes[-1] <= at_ns:
            chance = Random(f"{self.seed} level {len(changes)}")  # noqa: S311 - a simulation
            if not changes:  # it begins with either as often as it is in it
                changes += [0] if chance.random() * (high_s + low_s) < high_s else [0, 0]
                continue
            mean_s = high_s if len(changes) % 2 else low_s
            changes.append(changes[-1] + round(chance.expovariate(1 / mean_s) * NANOSECONDS))
        return bisect_right(changes, at_ns) % 2 == 0

    def round_trip_ns(self, high_s: float, low_s: float) -> int:
        """Return how far the CPUs are from each other now, if each level is one of two regimes."""
        low = self.is_low(self.now_ns, high_s, low_s)
        chance = Random(f"{self.seed} look {self.now_ns}")  # noqa: S311 - a simulation
        return chance.randrange(*(FAR_NS if low else NEAR_NS))

    def _stalls_of_a_second(self, number: int | None) -> list[tuple[int, int]]:
        if number is None:
            return self.chance.choice(REAL_STALLS)
        return sorted(
            (self.chance.randrange(NANOSECONDS), self.chance.randrange(*LENGTHS_NS))
            for _ in range(number)
        )

    def stand_still(self, duration_ns: int, who: str, per_second: int | None = None) -> None:
        """Draw the stalls of a trial: each second those of one of a real machine, or so many."""
        found = []
        for second in range(-(-duration_ns // NANOSECONDS)):
            for at_ns, ns in self._stalls_of_a_second(per_second):
                if (begin_ns := second * NANOSECONDS + at_ns) + ns < duration_ns:
                    found.append(Stall(begin_ns, ns, who))
        if who == EITHER:
            found = [
                Stall(stall.at_ns, stall.ns, SWITCH if number % 2 else NOBODY)
                for number, stall in enumerate(found)
            ]
        self.stalls = tuple(found)


def activity(stalls: Sequence[Stall]) -> GeneratorActivity:
    """Return what a generator says that was kept from running so often."""
    gaps = [stall.ns for stall in stalls if stall.who == GENERATOR]
    return GeneratorActivity(
        busy_ppm=500_000,
        longest_gap_ns=max(gaps, default=10_000),
        gaps_over_10us=len(gaps),
        paused_ns=0,
        ring_frames=RING,
    )


def threads(world: World) -> tuple[ThreadActivity, ...]:
    """Return what the kernel says of the switch: what was taken from it, in ticks of 10 ms."""
    told = world.memory.get("told_ns", 0)
    taken = world.memory.get("taken_ns", 0) + sum(
        stall.ns for stall in world.stalls if stall.who == SWITCH
    )
    ticks = (taken - told) // TICK_NS
    world.memory["taken_ns"], world.memory["told_ns"] = taken, told + ticks * TICK_NS
    return (ThreadActivity(part=SWITCH, name="pmd-c01/id:8", cpu=1, steal_ns=ticks * TICK_NS),)


def slots_of(lanes: Sequence[Lane], stalls: Sequence[Stall], duration_ns: int) -> Slots:
    """Return a trial in slots of time: overload is lost evenly, all else at its moment."""
    count = max(1, duration_ns // SLOT_NS)

    def slot(at_ns: int) -> int:
        return min(count - 1, at_ns // SLOT_NS)

    lost = [Counter[int]() for _ in lanes]
    for lane, sums in zip(lanes, lost, strict=True):
        for at_ns, frames in lane.moments:
            sums[slot(at_ns)] += frames
    away, silent = Counter[int](), Counter[int]()
    for stall in stalls:
        (away if stall.who == GENERATOR else silent)[slot(stall.at_ns)] += stall.ns
    evenly = [
        lane.sent - lane.received - sums.total() for lane, sums in zip(lanes, lost, strict=True)
    ]
    happened = set(away) | set(silent) | set(lost[0]) | set(lost[1])
    noted = (
        range(count)
        if any(evenly)
        else sorted({index + by for index in happened for by in (-1, 0, 1)} & set(range(count)))
    )

    def shares(total: int) -> Column:
        """What falls into each noted slot of frames that are spread evenly over all slots."""
        return tuple(even_share(total, index, count) for index in noted)

    sent = tuple(shares(lane.sent) for lane in lanes)
    received = tuple(
        tuple(
            left - gone - sums[index]
            for index, left, gone in zip(noted, column, shares(total), strict=True)
        )
        for column, total, sums in zip(sent, evenly, lost, strict=True)
    )
    columns = SlotColumns(
        index=tuple(noted),
        sent_frames=sent,
        received_frames=received,
        refused_frames=tuple(shares(lane.refused) for lane in lanes),
        away_ns=tuple(away[index] for index in noted),
        silent_ns=tuple(silent[index] for index in noted),
    )
    return Slots(
        width_ns=SLOT_NS,
        count=count,
        sent_frames=tuple(lane.sent for lane in lanes),
        received_frames=tuple(lane.received for lane in lanes),
        refused_frames=tuple(lane.refused for lane in lanes),
        columns=columns,
    )


def carried(capacities: Sequence[float], loss_ratio: Fraction) -> float:
    """Return the highest load of which no more is lost while these are the capacities in turn."""
    ordered, below = sorted(capacities), 0.0
    for number, capacity in enumerate(ordered, start=1):
        below += capacity
        spare = number - float(loss_ratio) * len(ordered)
        if spare > 0 and (number == len(ordered) or below <= ordered[number] * spare):
            return below / spare
    return 0.0


def met(carried_fps: Iterable[tuple[float, int]], exceed_ratio: Fraction) -> float:
    """Return the highest load that fails no more of the time than a goal allows.

    Given is what was carried, and for how long.
    """
    ordered = sorted(carried_fps)
    allowed = float(exceed_ratio) * sum(ns for _, ns in ordered)
    failing = itertools.accumulate(ns for _, ns in ordered)
    return next(fps for (fps, _), ns in zip(ordered, failing, strict=True) if ns > allowed)
