"""Switches held against each other in turns: all stand at the same time, and one forwards.

What the machine does to everybody falls out of the ratio of two turns that follow each other. What
a deployment makes by itself (where its buffers came to lie) does not; so everything is made anew
between rounds, and the answer is one over rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.base import is_written
from vsperf.config.case import CaseSpec
from vsperf.config.expect import Bound, Expectation
from vsperf.methods.base import Bench, Method, equal_loads, one_rhythm, refused
from vsperf.methods.paired_figures import figures_of, stand
from vsperf.methods.turns import MOST_TURNS, TurnsAsked, TurnsBench, balanced
from vsperf.quantities.quantity import Quantity, UnitError, decimal_text
from vsperf.quantities.unit import Factor, Unit
from vsperf.quantities.units import Duration, Rate, Ratio
from vsperf.records.result import SearchResult
from vsperf.records.signed_ranks import LEAST
from vsperf.records.turn_columns import Turn
from vsperf.records.turn_ratios import tells
from vsperf.records.turns import (
    CONTROL,
    DECIDED,
    FIRST,
    MOST_PASSES,
    Metric,
    Role,
    Round,
    Terms,
    answering,
    looks_of,
    was_light,
)
from vsperf.search.base import BudgetExhausted, Loads

LETTERS = "BCDEFGH"
"""Of rivals."""
MANY_FLOWS, VERY_MANY_FLOWS = 1_000, 10_000
GUARDS_NS = (2_000_000, 4_000_000, 10_000_000)
"""For few flows, for many and for very many: so long a switch needs until its caches are its own
again."""
LOOKS = 2
"""Rounds in which the load is looked for."""
LOAD_PASSES = 8
"""Of each of these."""
SHORTEST_TURN_NS, LONGEST_TURN_NS = 1_000_000, 1_000_000_000


def _a_turn(duration: Duration) -> Duration:
    if not SHORTEST_TURN_NS <= duration.ns <= LONGEST_TURN_NS:
        raise ValueError("a turn lasts between 1ms and 1s")
    return duration


def _a_guard(duration: Duration) -> Duration:
    if duration.ns > LONGEST_TURN_NS:
        raise ValueError("a guard lasts 1s at most")
    return duration


OF_SLOWEST = " of slowest"


@dataclass(frozen=True, slots=True)
class TurnsLoad(Quantity):
    """A load for all of several switches: a rate (3Mpps, 40% of the line), or 80% of slowest.

    The slowest is the switch that forwards least under an overload.
    """

    EXAMPLES: ClassVar[tuple[str, ...]] = ("3Mpps", "40%", "80% of slowest")
    TEXT: ClassVar[str] = rf"{Rate.TEXT}|{Ratio.TEXT}\s*{OF_SLOWEST}"

    rate: Rate | None = None
    share: Ratio | None = None

    @classmethod
    def _parse(cls, value: object) -> Self:
        if not isinstance(value, str) or not value.strip().endswith(OF_SLOWEST):
            return cls(rate=Rate.parse(value))
        share = Ratio.parse(value.strip().removesuffix(OF_SLOWEST))
        if not share.value:
            raise UnitError("a load of nothing shows nothing; a share of the slowest lies above 0%")
        return cls(share=share)

    def __str__(self) -> str:
        return str(self.rate) if self.share is None else f"{self.share}{OF_SLOWEST}"


def _more_than_all(factor: Factor) -> Factor:
    if not 1 < factor.value <= 10:
        raise ValueError("an overload lies above 100%, and is at most 1000%")
    return factor


def _at_most_all(share: Ratio) -> Ratio:
    if share.value > 1:
        raise ValueError("as many rounds again at most: 100%")
    return share


class PairedTurns(Method):
    """Which of several switches forwards more, takes longer or loses more, and by how much."""

    COMPARES: ClassVar[bool] = True
    summary: ClassVar[str] = "switches that take turns of milliseconds, held against each other"

    kind: Literal["paired"]
    rounds: Annotated[int, Field(ge=LEAST, le=1000)] = 8
    """How often everything is made anew: the answer is one over rounds."""
    until: Literal["rounds", "decided"] = "rounds"
    """When it ends: after all `rounds`, or at one of up to four looks at what they have said, as
    soon as each criterion is met or missed for sure, and each rival without one is faster, slower
    or `alike`; `rounds` is the most then, but for those of `patience`. Intervals are the wider for
    it, so that all looks together are wrong in 5 % of cases."""
    alike: Ratio = Ratio.parse("1%")
    """A rival that differs by less for sure is decided as well, where looks end it."""
    pairs: Annotated[int, Field(ge=20, le=500)] = 100
    """Turns of each switch in a round, or a few more until the order is balanced; those in which
    they become warm (`trial.warm_up`) come before."""
    turn: Annotated[Duration, AfterValidator(_a_turn)] = Duration(10_000_000)
    """For how long frames are counted in a turn."""
    guard: Annotated[Duration, AfterValidator(_a_guard)] | None = None
    """For how long frames are sent before they are counted; by the number of flows when not given:
    2ms, 4ms for a thousand of them, 10ms for ten thousand."""
    overload: Annotated[Factor, AfterValidator(_more_than_all)] = Factor.parse("130%")
    """What is offered, as a multiple of what the fastest switch forwards."""
    full_rings: bool = False
    """Whether the rings of a switch are filled while it is held still, time and again, and it is
    measured how fast it empties them, in place of an overload that goes on: then the generator only
    receives, and is the limit of fewer switches, on fewer machines. A switch with devices of the
    kernel is offered an overload all the same."""
    load: TurnsLoad | None = None
    """What is offered instead, such as a load below the throughput of all: as a rate, or as a share
    of what the slowest switch forwards under the overload."""
    metric: Literal["rate", "latency", "p99", "loss"] = "rate"
    """By what switches are held against each other before all else, where a `load` is given:
    `latency` (the median), `p99` (what 99 of 100 frames do not exceed) or `loss`. It decides when
    looks end, and what --fail-above asks for; the others are told as well."""
    patience: Annotated[Ratio, AfterValidator(_at_most_all)] = Ratio.parse("100%")
    """How many more rounds may be made, as a share of `rounds`, for those that say nothing: the
    generator was too slow for an overload in them, as where the machine has moved the CPUs apart,
    or was kept from running."""
    control: bool = True
    """Whether the first switch is deployed twice and held against itself: where that is different,
    nothing else is believed. A switch that has no rival is held against itself anyway."""

    @model_validator(mode="after")
    def _alike_is_for_looks(self, info: ValidationInfo) -> Self:
        if is_written(self, "alike", info) and self.until != DECIDED:
            raise ValueError("`alike` is what looks ask for: set `until: decided`")
        return self

    @model_validator(mode="after")
    def _load_is_one(self, info: ValidationInfo) -> Self:
        rate = None if self.load is None else self.load.rate
        if rate is not None and is_written(self, "overload", info):
            raise ValueError("either a `load` is given, or an `overload`")
        return self

    @model_validator(mode="after")
    def _full_rings_are_no_load(self) -> Self:
        if self.full_rings and self.load is not None:
            raise ValueError("either a `load` is given, or rings are filled: no `full_rings`")
        return self

    @model_validator(mode="after")
    def _load_has_a_guard(self) -> Self:
        if self.load is not None and self.guard is not None and not self.guard.ns:
            raise ValueError(
                "at a `load` what waited in a switch while it was held would be measured: a "
                "`guard` of 1ms or more, or none"
            )
        return self

    @model_validator(mode="after")
    def _metric_has_a_load(self) -> Self:
        if self.metric != "rate" and self.load is None:
            raise ValueError(
                f"under an overload all queues are full, so {self.metric} says nothing of "
                "switches: give a `load`, such as 80% of slowest"
            )
        return self

    @property
    def terms(self) -> Terms:
        looks = looks_of(self.rounds) if self.until == DECIDED else ()
        derived = str(self.load) if self.load and self.is_looked_for else ""
        metric = Metric(self.metric)
        return Terms(self.load is None, looks, derived, metric, self.full_rings)

    @property
    def is_looked_for(self) -> bool:
        """Whether the load follows from what switches forward."""
        return self.load is None or self.load.share is not None

    def controlled(self, *, rivals: int) -> bool:
        """Return what was asked; without rivals there is nothing else."""
        return self.control or not rivals

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return that it sends to several switches in turns."""
        return frozenset({Ability.TURNS})

    def metrics(self) -> Mapping[str, Unit]:
        """Return what can be judged, for as many rivals as there may be."""
        told = tuple(Metric) if self.load is not None else (Metric.RATE,)
        first = sorted(told, key=lambda one: one != self.metric)
        return {
            **{one.ratio_name(side): Unit.FACTOR for one in first for side in (*LETTERS, CONTROL)},
            **{one.own_name(side): one.unit for one in first for side in (FIRST, *LETTERS)},
            **{
                one.draw_name(side): Unit.RATIO
                for one in first
                if one is not Metric.LOSS
                for side in (FIRST, *LETTERS)
            },
        }

    def worse_by(self, letter: str, by: Fraction) -> Expectation:
        """Return that of the metric that was asked for: less of a rate, or more of a latency."""
        asked = self.terms.metric
        if asked.more_is_better:
            return Expectation(metric=asked.ratio_name(letter), min=_percent(1 - by))
        return Expectation(metric=asked.ratio_name(letter), max=_percent(1 + by))

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the highest load, or the one that was given.

        Only that one is held against what the generator can do without a switch. Where the machine
        moves the CPUs, that is one number for each place, and another one than the next round's;
        what an overload came to is seen in each turn.
        """
        one_rhythm(case)
        equal_loads(
            case,
            "what a switch came to in turns is the mean of its directions, each of which has to be "
            "offered as much",
        )
        link, size = case.slowest_link, case.traffic.frame_size
        line_rate = math.floor(link.frames_per_second(size))
        fixed: tuple[int, ...] = ()
        if self.load is not None and self.load.rate is not None:
            load = math.floor(self.load.rate.frames_per_second(size, link))
            if not 1 <= load <= line_rate:
                raise refused(
                    f"the load {self.load} cannot be offered",
                    f"at {size} a load lies between 1 frame per second and the line rate of "
                    f"{link}, {line_rate} frames per second",
                    "change search.load; 100% is the line rate",
                )
            fixed = (min(load, generator_cap or load),)
        return Loads(
            min(fixed, default=1),
            max(fixed, default=line_rate),
            line_rate,
            fixed=fixed,
            generator_cap=generator_cap,
            flows=int(case.traffic.flows),
            virtual=case.virtual_links,
        )

    def rounds_ns(self, case: CaseSpec) -> tuple[int, ...]:
        """Return the length of each round: none of them depends on what was found before."""
        flows, sides, warm_up_ns = int(case.traffic.flows), len(case.sides), case.trial.warm_up.ns
        look = self.round_of(Role.LOAD, 1, flows, sides)
        one = self.round_of(Role.ANSWER, 1, flows, sides, warm_up_ns=warm_up_ns)
        most = min(MOST_TURNS, MOST_PASSES * sides)
        if len(one.order) > most:
            raise refused(
                f"a round would have {len(one.order):,} turns, {one.warm_passes * sides:,} of them "
                "to become warm",
                f"{most:,} are the most that {sides} switches have in one",
                "a shorter trial.warm_up, or fewer search.pairs",
            )
        looks = LOOKS if self.is_looked_for else 0
        return (look.length_ns,) * looks + (one.length_ns,) * self.rounds

    @property
    def rounds_anew(self) -> int:
        """Return how many rounds make an answer: the load is looked for on the first deployment."""
        return self.rounds

    def guard_ns(self, flows: int) -> int:
        if self.guard is not None:
            return self.guard.ns
        return GUARDS_NS[(flows >= MANY_FLOWS) + (flows >= VERY_MANY_FLOWS)]

    def round_of(
        self,
        role: Role,
        load_fps: int,
        flows: int,
        sides: int,
        *,
        anew: bool = False,
        warm_up_ns: int = 0,
    ) -> TurnsAsked:
        """Return a round; one that answers begins with turns in which all sides become warm.

        These are more of the same, so that `pairs` are left, and balanced as they are.
        """
        turn_ns, guard_ns = self.turn.ns, self.guard_ns(flows)
        if role is not Role.ANSWER:
            order = balanced(sides, LOAD_PASSES)
            return TurnsAsked(role, load_fps, order, turn_ns, guard_ns, anew)
        warm = -(-warm_up_ns // (sides * (turn_ns + guard_ns)))
        before = balanced(sides, warm)
        order = before[len(before) - warm * sides :] + balanced(sides, self.pairs)
        latency, rings = self.load is not None, self.full_rings
        return TurnsAsked(role, load_fps, order, turn_ns, guard_ns, anew, warm, latency, rings)

    def run(self, bench: Bench) -> SearchResult:
        assert isinstance(bench, TurnsBench)  # whoever deploys for a method that compares
        return self.play(bench)

    def play(self, bench: TurnsBench) -> SearchResult:
        """Look for the load, make the rounds, and say how the sides stand to each other."""
        rounds: list[Round] = []
        complete, number = True, 0
        flows, sides = bench.loads.flows, len(bench.sides)
        try:
            load = self._load(bench)
            each = self.round_of(Role.ANSWER, load, flows, sides, warm_up_ns=bench.warm_up_ns)
            for number in range(1, self.most_rounds + 1):
                if number > self.rounds and not self._is_worth_more(bench, rounds, each.length_ns):
                    break
                rounds.append(_round(bench, replace(each, load_fps=load, anew=number > 1)))
                while (more := self._more(bench, rounds[-1])) is not None:
                    load = more
                    rounds.append(_round(bench, replace(each, load_fps=load)))
                if number in self.terms.looks[:-1] and self._decided(rounds, bench):
                    break
        except BudgetExhausted:
            complete = number > self.rounds
        return self.answered(rounds, complete=complete)

    def _load(self, bench: TurnsBench) -> int:
        """Return the load: the one given, or an overload of the fastest, as it forwards under it.

        Or a share of what the slowest forwards under that. What a switch forwards at the highest
        load may be less than at one that is just too much.
        """
        if bench.loads.fixed:
            return bench.loads.fixed[0]
        load, fastest, slowest = bench.loads.maximum, 0.0, 0.0
        for _ in range(LOOKS):
            asked = self.round_of(Role.LOAD, load, bench.loads.flows, len(bench.sides))
            one = _round(bench, asked)
            fastest, slowest = max(fastest, *_rates(one, one.busy_fps)), min(_rates(one, one.fps))
            load = max(1, min(bench.loads.maximum, math.ceil(fastest * self.overload.value)))
        if self.load is None or self.load.share is None:
            return load
        return max(1, math.floor(slowest * self.load.share.value))

    def _more(self, bench: TurnsBench, one: Round) -> int | None:
        """Return a higher load where that of a round was not too much for every side.

        The machine may have become faster since it was looked for. A side that is not overloaded
        shows the load and not itself, so such a round says nothing of how sides stand.
        """
        light = any(was_light(one, side.letter) for side in one.sides)
        if not self.terms.overload or not light or one.load_fps >= bench.loads.maximum:
            return None
        return min(bench.loads.maximum, math.ceil(one.load_fps * self.overload.value))

    @property
    def most_rounds(self) -> int:
        return self.rounds + math.floor(self.patience.value * self.rounds)

    def _is_worth_more(self, bench: TurnsBench, rounds: Sequence[Round], length_ns: int) -> bool:
        """Whether there is time for one more round, which may say what others did not.

        Some of them said how a side stands to the first, and others did not: the machine was too
        slow for the generator, or it kept it from running. Of a side of which none of them tells,
        as it is faster than any generator, no other one would.
        """
        left_ns = bench.budget.left_ns
        if left_ns is not None and left_ns < 2 * length_ns:  # one may have to be made again
            return False
        made = answering(rounds)
        told = [
            sum(tells(one, side.letter, self.terms) for one in made) for side in bench.sides[1:]
        ]
        missing = self.terms.least - (self.most_rounds - len(made))
        return any(max(1, missing) <= count < self.rounds for count in told)

    def _decided(self, rounds: Sequence[Round], bench: TurnsBench) -> bool:
        """Whether more rounds would tell nothing that is asked for.

        A criterion asks for more than a difference, and often for less than none: what is slower
        for sure may be so by less than is allowed or by more.
        """
        found = stand(rounds, self.terms, self.terms.metric)
        stood = CONTROL in found
        control = found.pop(CONTROL, None)
        if stood and (control is None or not control.decided or control.different):
            return False  # nothing is believed yet
        judged = bench.judged(self.answered(rounds))
        if any(met is None for _, met in judged):
            return False
        held = {metric for metric, _ in judged}
        asked_for = self.terms.metric
        others = {asked_for.ratio_name(letter): one for letter, one in found.items()}
        others = others or {asked_for.ratio_name(CONTROL): control}
        asked = [one for name, one in others.items() if name not in held]
        alike = float(self.alike)
        return all(one is not None and (one.different or one.within(alike)) for one in asked)

    @property
    def least_rounds(self) -> int:
        """Return of how many there is an interval."""
        return self.terms.least

    def answered(
        self, rounds: Sequence[Round], *, complete: bool = True, spoiled: str = ""
    ) -> SearchResult:
        """Return what rounds say, whether they were just made or come from a record."""
        rounds = answering(rounds)
        if not rounds:
            return SearchResult(complete=False, spoiled=spoiled)
        figures = figures_of(rounds, self.terms)
        return SearchResult(figures=figures, complete=complete, spoiled=spoiled)


def _percent(share: Fraction) -> Bound:
    return Bound.parse(f"{decimal_text(share * 100)}%")


def _round(bench: TurnsBench, asked: TurnsAsked) -> Round:
    bench.budget.require(asked.length_ns)
    return bench.round(asked)


def _rates(one: Round, fps: Callable[[Turn], float]) -> list[float]:
    """Return what each side forwards in the middle of its turns, per direction.

    A load that is too much for it knows nothing of the time in which others keep it from running; a
    load that it is to carry does.
    """
    turns = list(one.turns.rows())
    return [
        statistics.median(fps(turn) for turn in turns if turn.side == place) / one.directions
        for place in range(len(one.sides))
    ]
