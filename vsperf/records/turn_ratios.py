"""How switches that took turns stand to each other: by rates, latency and loss. Pure.

Two turns of one pass are neighbours in time, so what the machine does to both of them falls out of
their ratio. What the deployments themselves differ by does not: it is drawn anew in each round, so
the rounds are the sample, and their interval holds both.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vsperf.records.signed_ranks import LEVEL, middle_of
from vsperf.records.turn_columns import SEVERAL, Turn
from vsperf.records.turns import (
    AWAY,
    FIRST,
    HALF_A_FRAME,
    LEAST_PASSES,
    NANOSECONDS,
    PLAIN,
    Metric,
    Round,
    Terms,
    answering,
    carried_in,
    clean_passes,
    turns_in,
    turns_of,
    waited,
)

MUCH_DROPPED = 0.05
"""Of what a switch takes under an overload: beyond that it is no rate of a switch that refuses what
is too much, and its throughput may be another."""
WIDE = statistics.NormalDist().inv_cdf(1 - LEVEL / 2)
"""So many standard deviations of what it bounds is half of an interval wide."""
LEAST_LATENCIES = {50: 20, 99: 500}
"""Of fewer frames of a turn a percentile of theirs says too little: so many, that ten lie above the
median, and five above the 99th percentile."""
CALM = 200
"""One part in so many of a turn the generator may be away where the slowest of 100 frames count:
whatever comes in a gap waits, and is slow by that."""


@dataclass(frozen=True, slots=True)
class InRound:
    """What one round says of two sides."""

    index: int
    ratio: float
    lower: float | None
    """None of a loss, which is one of all turns together."""
    upper: float | None
    pairs: int
    """What it was computed from."""
    left_out: int
    """Passes in which the generator was away for too long, frames came in elsewhere, or too few
    did."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """In how many passes two sides waited for the generator, which offered no overload then."""

    passes: int
    """In which the generator ran."""
    own: int = 0
    """In which only the side waited,"""
    base: int = 0
    """only the other one,"""
    both: int = 0
    """or both."""

    @property
    def own_more(self) -> bool:
        """Whether a side waited so much more often that it is no chance.

        Who is faster waits sooner: without these passes those are left in which it was slow.
        """
        return self._more(self.own, self.base)

    @property
    def base_more(self) -> bool:
        return self._more(self.base, self.own)

    def _more(self, one: int, other: int) -> bool:
        return one * SEVERAL > self.passes and one - other > WIDE * math.sqrt(one + other)


@dataclass(frozen=True, slots=True)
class Compared:
    """How a side stands to another over all rounds: by which factor its rate is that one's."""

    ratio: float
    lower: float | None
    """The interval at 95 % over rounds; None where there are too few."""
    upper: float | None
    draw: float | None
    """What a deployment alone makes: the standard deviation between rounds, as a share, without
    that by which a round is off within one; 0 where rounds lie no further apart than that."""
    one_round: float | None
    """Half the width of the interval of one round alone, in the middle of all."""
    rounds: tuple[InRound, ...]
    carried: bool = False
    """Whether it brought all through of what was meant to be too much, so it may be faster."""
    base_carried: bool = False
    """Whether the other did."""
    metric: Metric = Metric.RATE
    waiting: Waiting | None = None
    """What is left out for the generator's sake; None where nothing can be, or where nobody was to
    be overloaded."""

    @property
    def bounded(self) -> bool:
        return self.lower is not None and self.upper is not None

    @property
    def of_the_load(self) -> bool:
        """Whether both brought all through, so that they show the load and not themselves."""
        return self.carried and self.base_carried

    @property
    def decided(self) -> bool:
        return self.bounded and not self.of_the_load

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The interval; who brought all through may be faster, so on that side there is no end."""
        if not self.bounded:
            return None, None
        return 0.0 if self.base_carried else self.lower, None if self.carried else self.upper

    @property
    def less(self) -> bool:
        """Whether it is less for sure, other than chance makes it once in twenty times."""
        return self.upper is not None and self.upper < 1 and not self.carried

    @property
    def more(self) -> bool:
        """Whether it is more for sure, likewise."""
        return self.lower is not None and self.lower > 1 and not self.base_carried

    @property
    def worse(self) -> bool:
        """Whether it is worse for sure: forwards or brings through less, or takes longer."""
        return self.less if self.metric.more_is_better else self.more

    @property
    def different(self) -> bool:
        return self.less or self.more

    def within(self, share: float) -> bool:
        """Whether a difference is less than this share for sure."""
        if self.lower is None or self.upper is None or self.carried or self.base_carried:
            return False
        return self.lower > 1 - share and self.upper < 1 + share


def metrics_of(rounds: Sequence[Round], terms: Terms) -> tuple[Metric, ...]:
    """Return by what rounds tell how sides stand, what was asked for first.

    Under an overload all queues are full: latency is that of a queue, and loss what was too much.
    """
    if terms.overload:
        return (Metric.RATE,)
    timed = any(one.turns.latency_p50_ns is not None for one in answering(rounds))
    told = [one for one in Metric if one.percent is None or timed or one is terms.metric]
    return tuple(sorted(told, key=lambda one: one is not terms.metric))


def value_of(one: Round, turn: Turn, metric: Metric) -> float | None:
    """Return what a turn came to; None where that cannot be told of it."""
    if metric is Metric.RATE:
        if turn.received_frames <= 0:
            return HALF_A_FRAME * NANOSECONDS / max(1, turn.measured_ns)
        return one.fps(turn)
    assert metric.percent is not None  # a loss is that of many turns
    if (turn.latencies or 0) < LEAST_LATENCIES[metric.percent]:
        return None
    return turn.latency_p50_ns if metric is Metric.LATENCY else turn.latency_p99_ns


def usable_passes(one: Round, metric: Metric) -> tuple[tuple[Turn, ...], ...]:
    """Return the passes from which a metric can be told of all sides.

    What waits for the generator in a gap is counted by a rate, and is late by as much.
    """
    groups = clean_passes(one)
    if metric.percent is None:
        return groups
    part = AWAY if metric is Metric.LATENCY else CALM
    return tuple(
        group
        for group in groups
        if all(turn.gaps_ns * part <= turn.measured_ns for turn in group)
        and all((value_of(one, turn, metric) or 0) > 0 for turn in group)
    )


def in_round(
    one: Round,
    letter: str,
    base: str = FIRST,
    metric: Metric = Metric.RATE,
    passes: Sequence[tuple[Turn, ...]] | None = None,
) -> InRound | None:
    """Return what a round says of two sides; None where it has too few pairs to say anything.

    All passes that can be used count, or those that are given.
    """
    place, other = one.place_of(letter), one.place_of(base)
    kept = usable_passes(one, metric) if passes is None else passes
    if place is None or other is None or len(kept) < LEAST_PASSES:
        return None
    left_out = len(one.passes) - len(kept)
    if metric is Metric.LOSS:
        came, before = (_log_delivered(turns_of(one, each)) for each in (letter, base))
        if came is None or before is None:
            return None
        return InRound(one.index, math.exp(came - before), None, None, len(kept), left_out)
    logarithms = []
    for group in kept:
        by_side = {turn.side: value_of(one, turn, metric) for turn in group}
        logarithms.append(math.log(by_side[place] or 1) - math.log(by_side[other] or 1))
    middle = middle_of(logarithms)
    return InRound(
        one.index,
        math.exp(middle.value),
        None if middle.lower is None else math.exp(middle.lower),
        None if middle.upper is None else math.exp(middle.upper),
        len(kept),
        left_out,
    )


def tells(one: Round, letter: str, terms: Terms) -> bool:
    """Whether enough passes of a round can be used to say how a side stands to the first."""
    passes = usable_passes(one, terms.metric)
    if terms.overload:
        return bool(_fed([(one, passes)], letter, FIRST)[0])
    return len(passes) >= LEAST_PASSES


def changes_in(one: Round, digits: int) -> list[str]:
    """Write how each side stands to the first in a round, as far as the round tells."""
    timed = one.turns.latency_p50_ns is not None
    told = (Metric.RATE, Metric.LATENCY, Metric.P99) if timed else (Metric.RATE,)
    found: list[str] = []
    for side in one.sides[1:]:
        changes = [
            f"{change.ratio - 1:+.{digits}%}{'' if metric is Metric.RATE else f' {metric}'}"
            for metric in told
            if (change := in_round(one, side.letter, metric=metric)) is not None
        ]
        found += [f"{side.letter} {' '.join(changes)}"] if changes else []
    return found or ["too few passes can be used"]


def compared(
    rounds: Sequence[Round],
    letter: str,
    base: str = FIRST,
    terms: Terms = PLAIN,
    metric: Metric = Metric.RATE,
) -> Compared | None:
    """Return how a side stands to another; None where no round says anything."""
    used = [(one, usable_passes(one, metric)) for one in answering(rounds)]
    waiting = None
    if terms.overload:
        fed, waited_for = _fed(used, letter, base)
        if len(fed) >= terms.least:
            used, waiting = fed, waited_for
    found = [
        told
        for one, passes in used
        if (told := in_round(one, letter, base, metric, passes)) is not None
    ]
    if not found:
        return None
    logarithms = [math.log(one.ratio) for one in found]
    middle = middle_of(logarithms, terms.level)
    widths = [(one.upper / one.lower) ** 0.5 - 1 for one in found if one.lower and one.upper]
    several = len(found) > 1 and metric is not Metric.LOSS
    return Compared(
        ratio=math.exp(middle.value),
        lower=None if middle.lower is None else math.exp(middle.lower),
        upper=None if middle.upper is None else math.exp(middle.upper),
        draw=_between(logarithms, found) if several else None,
        one_round=statistics.median(widths) if widths else None,
        rounds=tuple(found),
        carried=terms.overload and _carried(used, letter),
        base_carried=terms.overload and _carried(used, base),
        metric=metric,
        waiting=waiting,
    )


Used = list[tuple[Round, tuple[tuple[Turn, ...], ...]]]
"""Rounds with the passes that count of each."""


def _fed(used: Used, letter: str, base: str) -> tuple[Used, Waiting]:
    """Return the passes in which neither side waited for the generator, of rounds that have enough.

    Where one of them waits more often, its turns show what it forwards at least, and those in which
    it did not wait would be its slow ones: only passes in which the other waited are left out.
    """
    waits = [
        [(_waits(one, group, letter), _waits(one, group, base)) for group in passes]
        for one, passes in used
    ]
    who = Counter(pair for pairs in waits for pair in pairs)
    waiting = Waiting(who.total(), who[True, False], who[False, True], who[True, True])
    fed = [
        (
            one,
            tuple(
                group
                for group, (own, other) in zip(passes, pairs, strict=True)
                if not (own and not waiting.own_more) and not (other and not waiting.base_more)
            ),
        )
        for (one, passes), pairs in zip(used, waits, strict=True)
    ]
    return [(one, passes) for one, passes in fed if len(passes) >= LEAST_PASSES], waiting


def _waits(one: Round, group: tuple[Turn, ...], letter: str) -> bool:
    return any(waited(one, turn) for turn in turns_in(one, (group,), letter))


def _carried(used: Used, letter: str) -> bool:
    """Whether a side brought an overload through, in any of the rounds that count."""
    return any(carried_in(one, turns_in(one, passes, letter)) for one, passes in used)


def _between(logarithms: Sequence[float], found: Sequence[InRound]) -> float:
    """Return how far deployments lie apart: rounds do by that, and by what each does not know."""
    within = [
        (math.log(one.upper / one.lower) / (2 * WIDE)) ** 2 if one.lower and one.upper else 0.0
        for one in found
    ]
    return math.sqrt(max(0.0, statistics.variance(logarithms) - statistics.mean(within)))


def values_of(
    rounds: Sequence[Round], letter: str, metric: Metric = Metric.RATE
) -> tuple[float, ...]:
    """Return what a side came to in each round: the middle of its turns, a rate per direction.

    Of a loss it is that of all of them together.
    """
    found = []
    for one in answering(rounds):
        turns = turns_in(one, usable_passes(one, metric), letter)
        if len(turns) < LEAST_PASSES:
            continue
        if metric is Metric.LOSS:
            told = _lost(turns)
        else:
            told = statistics.median(value_of(one, turn, metric) or 0 for turn in turns)
            told = told / one.directions if metric is Metric.RATE else told
        if told is not None:
            found.append(told)
    return tuple(found)


def lost_share(rounds: Sequence[Round], letter: str) -> float | None:
    """Return which share of the frames due a side did not bring through; None where none were."""
    return _lost(turn for one in answering(rounds) for turn in turns_of(one, letter))


def dropped_much(rounds: Sequence[Round], letter: str) -> float | None:
    """Return which share of what a side took never came, if it is more than a few percent.

    What is refused costs a switch nothing; what it takes and drops may have cost all its work.
    """
    turns = [turn for one in answering(rounds) for turn in turns_of(one, letter)]
    taken = sum(turn.turn_sent_frames for turn in turns)
    came = sum(turn.turn_received_frames for turn in turns)
    return 1 - came / taken if taken and 1 - came / taken > MUCH_DROPPED else None


def _lost(turns: Iterable[Turn]) -> float | None:
    """Return the share of the frames due that did not come through.

    What was taken is looked at over whole turns, so that frames on their way at an end of the
    measured part are no loss. How much of what was due is refused is known of that part alone.
    """
    turns = tuple(turns)
    taken = sum(turn.sent_frames for turn in turns)
    refused = sum(turn.refused_frames or 0 for turn in turns)
    left = sum(turn.turn_sent_frames for turn in turns)
    came = sum(turn.turn_received_frames for turn in turns)
    if not left:
        return 1.0 if refused else None
    share = taken / (taken + refused) if refused else 1.0
    return max(0.0, 1 - came / left * share)


def _log_delivered(turns: Sequence[Turn]) -> float | None:
    lost = _lost(turns)
    if lost is None:
        return None
    frames = max(1, sum(turn.turn_sent_frames for turn in turns))
    return math.log(max(1 - lost, HALF_A_FRAME / frames))
