"""Rounds of turns: switches share their CPUs, one runs and receives frames, all others stand.

All that is said of a comparison is computed from the turns (`records/turn_columns.py`), here.
"""

from __future__ import annotations

import enum
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from vsperf.records.base import Record
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.signed_ranks import LEVEL, Middle, least_of, middle_of
from vsperf.records.turn_columns import DeadDirection, Turn, TurnColumns, dead_directions

NANOSECONDS = 1_000_000_000
MOST_SIDES, MOST_PASSES, MOST_DEPLOYMENTS = 64, 1_000, 4_000
"""Well above what anybody can ask for: what rounds say takes time that is quadratic in these, and a
record of others may hold any number."""
End = Literal["complete", "stopped", "process-ended", "worker-lost"]


def _per_second(frames: int, time_ns: int) -> float:
    return frames * NANOSECONDS / max(1, time_ns)


class SideCounts(Record):
    """All that one side has counted, in all of its turns and what came at the very end."""

    directions: tuple[int, ...]
    sent_frames: int
    arrived_frames: int
    """Every arrival that says it is of one of its frames: all of those below, but for the last
    four."""
    received_frames: int
    """Intact, at the right port and for the first time. What else was sent is lost."""
    duplicate_frames: int
    """Copies, and frames so late that nobody can tell whether they are."""
    corrupted_frames: int
    misrouted_frames: int
    reordered_frames: int
    """Received, but after a later one of their flow."""
    wrong_size_frames: int
    foreign_frames: int
    """At its ports, of somebody else."""
    stale_frames: int
    """At its ports, of another trial."""
    unreadable_frames: int
    """At its ports, of the generator, and so damaged that nobody can say whose."""
    elsewhere_frames: int
    """Of any kind, at its ports while others had their turn."""
    latency_histogram: str | None = None
    """Of what is measured of all of its turns."""


class Turns(Record):
    """What turns found."""

    end: End
    ended_side: int | None = None
    """The side of which a process has ended, if that is why turns ended; and which it was."""
    ended_process: int | None = None
    settled: bool
    """Whether nothing came any more at the end of all."""
    ring_frames: int | None = None
    """Of each direction so many can wait for the generator while it does not run; None where nobody
    knows."""
    started_unix_ns: int
    elapsed_ns: int
    columns: TurnColumns
    sides: tuple[SideCounts, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Those that were whole, in order."""
        return tuple(self.columns.rows())


class Role(enum.StrEnum):
    """What the turns of a round are for."""

    CHECK = "path-check"
    """To see that each side forwards at all."""
    LOAD = "load"
    """To find out which load is too much for the fastest."""
    ANSWER = "answer"
    """To tell how the sides stand to each other."""


class Named(Record):
    """One of those that take turns."""

    letter: str
    """A is the first, A′ the same once more, B and what follows its rivals."""
    name: str

    @property
    def named(self) -> str:
        """How people are told who it is."""
        return f"{self.letter} ({self.name})"


class Round(Record):
    """Turns that were made without a pause, all on the same deployments."""

    index: int = Field(ge=1)
    """Counts the rounds of a case."""
    role: Role
    started_at: str
    deployment: int = Field(ge=1)
    """Counts how often all switches and the generator were made anew."""
    sides: tuple[Named, ...]
    load_fps: int
    """Offered to the switch whose turn it is, per direction."""
    directions: int = Field(ge=1)
    direction_names: tuple[str, ...] = ()
    """From where to where they lead; nothing where nobody said."""
    turn_ns: int
    guard_ns: int
    """Before the measured part of each turn, so that caches are those of the switch again."""
    elapsed_ns: int
    """Of the whole round; of a model, simulated time."""
    turns: TurnColumns
    counts: tuple[SideCounts, ...] = ()
    """What each side counted in all of its turns; nothing of a model."""
    settled: bool = True
    """Whether nothing came any more at the end of all."""
    ring_frames: int | None = None
    """Of each direction so many can wait for the generator while it does not run; None where nobody
    knows."""
    warm_passes: int = Field(default=0, ge=0)
    """So many turns of each side at its begin, in which it became warm, do not count."""
    retry_of: int | None = None
    """The round that it repeats, which was not valid."""

    @model_validator(mode="after")
    def _of_all_directions(self) -> Self:
        named, counted = len(self.direction_names), self.turns.directions
        if named not in {0, self.directions} or counted not in {None, self.directions}:
            raise ValueError(f"turns of {counted} directions, {named} of which are named")
        return self

    @model_validator(mode="after")
    def _as_large_as_rounds_are(self) -> Self:
        sides, turns = len(self.sides), len(self.turns.side)
        if sides > MOST_SIDES or turns > MOST_PASSES * sides or self.deployment > MOST_DEPLOYMENTS:
            raise ValueError(
                f"{turns} turns of {sides} sides on deployment {self.deployment} are more than "
                "anybody makes"
            )
        return self

    @property
    def dead(self) -> tuple[DeadDirection, ...]:
        """Which direction of which side brought nothing for several turns on end, when warm."""
        return dead_directions(self.turns, self.warm_passes * len(self.sides))

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What can be said against it: a path that is no whole one has no rate."""
        return (Flag.NOTHING_RECEIVED,) if self.dead else ()

    @property
    def valid(self) -> bool:
        """Whether it may be built on."""
        return worst(self.flags) is not Severity.INVALID

    @property
    def reasons(self) -> tuple[str, ...]:
        """What was seen that makes it invalid, of whom."""
        return tuple(
            f"nothing came through {self.sides[one.side].named}, {self.direction(one.number)}, in "
            f"{one.turns} of its turns on end, from turn {one.first} on"
            for one in self.dead
        )

    @property
    def said(self) -> dict[str, list[str]]:
        """What can be said against it, as plain data: it follows from turns, none is stored."""
        return {"flags": [flag.value for flag in self.flags], "reasons": list(self.reasons)}

    def direction(self, number: int) -> str:
        """Return from where to where a direction leads, by its number from 0."""
        return self.direction_names[number] if self.direction_names else f"direction {number + 1}"

    def fps(self, turn: Turn) -> float:
        """Return what came through in a second of a turn, of all directions.

        The time in which the path was silent for the generator's sake does not count. In a gap a
        switch goes on until it has forwarded what its ring had, and filled that to the generator:
        up to a ring of frames is of the gap, and of a longer one the rest was silent. Of several
        only the longest is known, and the others count. So does time in which the switch itself
        brought nothing: nobody knows from a turn whose fault that was.
        """
        counted = _per_second(turn.received_frames, turn.measured_ns)
        waited = (self.ring_frames or 0) * self.directions
        if self.ring_frames is None or waited >= turn.received_frames:
            return counted
        # Where the ring outlasts the longest gap, and so all, the first is what was so, otherwise
        # the second; each is too low where the other is so.
        ran_ns = turn.measured_ns - turn.longest_gap_ns
        return max(counted, _per_second(turn.received_frames - waited, ran_ns))

    def busy_fps(self, turn: Turn) -> float:
        """Return the most that it can have been while both ran: neither gap nor silence counts."""
        ran_ns = turn.measured_ns - turn.gaps_ns - turn.silence_ns
        return _per_second(turn.received_frames, ran_ns)

    def offered_fps(self, turn: Turn) -> float:
        """Return what was offered of the load, of all directions: what was taken, or refused."""
        offered = turn.sent_frames + (turn.refused_frames or 0)
        if turn.intended_frames is None:
            return _per_second(offered, turn.measured_ns)
        share = min(1.0, offered / max(1, turn.intended_frames))
        return self.load_fps * self.directions * share

    @property
    def passes(self) -> tuple[tuple[Turn, ...], ...]:
        """The turns in groups in which each side has one, from when all of them are warm.

        One that was cut off is left out.
        """
        count = len(self.sides)
        every = tuple(self.turns.rows())[self.warm_passes * count :]
        groups = (every[begin : begin + count] for begin in range(0, len(every), max(1, count)))
        each = set(range(count))
        return tuple(group for group in groups if {turn.side for turn in group} == each != set())

    def place_of(self, letter: str) -> int | None:
        """Return the place of a side among all; None where it takes no part."""
        return next((n for n, side in enumerate(self.sides) if side.letter == letter), None)


# What rounds of turns say: how each side stands to the first, and how sure that is. Pure.
#
# Two turns of one pass are neighbours in time, so what the machine does to both of them falls out
# of their ratio. What the deployments themselves differ by does not: it is drawn anew in each
# round, so the rounds are the sample, and their interval holds both.

FIRST, CONTROL = "A", "A′"
AWAY = 20
"""One part in so many of a turn the generator may have been away, in sum; a pass with a turn in
which it was so for longer is left out, whatever came through in it."""
BRIDGED = 5
"""One part in so many of a turn it may have been away, where a ring bridged each gap."""
LEAST_PASSES = 10
"""With fewer that are left, a round says nothing."""
CARRIED = 0.98
"""A switch that brings so much through of what it is offered was not overloaded in that turn."""
SEVERAL = 20
"""One part in so many of the turns of a side are several."""
WIDE = statistics.NormalDist().inv_cdf(1 - LEVEL / 2)
"""So many standard deviations of what it bounds is half of an interval wide."""
HALF_A_FRAME = 0.5
"""Stands for none, of which there is no logarithm."""


UNTIL, DECIDED = "until", "decided"
MOST_LOOKS = 4
"""At most so often is it looked whether a comparison is decided."""
BETWEEN_LOOKS = 8
"""Fewer rounds than these are not waited for."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What rounds were asked for, as far as it decides what they say."""

    overload: bool = True
    """Whether the load was meant to be too much for every side; else it was given."""
    looks: tuple[int, ...] = ()
    """After how many rounds it was looked whether all is decided; once, at the end, if empty."""
    derived: str = ""
    """Of what the load is which share, for people; nothing where it was given as a rate."""

    @classmethod
    def of(cls, search: Mapping[str, Any]) -> Self:
        """Return what the settings of a method say, as they are stored."""
        rounds, load = search.get("rounds"), search.get("load")
        derived = load if isinstance(load, str) and " of " in load else ""
        if search.get(UNTIL) != DECIDED or not isinstance(rounds, int):
            return cls(load is None, derived=derived)
        return cls(load is None, looks_of(rounds), derived)

    @property
    def level(self) -> float:
        """Of the interval at each look: they are wrong in 5 % of cases together, and not in more.

        Whoever looks several times, and stops when he likes what he sees, is wrong more often than
        at each look. Levels that sum up to 5 % hold whatever the looks have to do with each other.
        """
        return LEVEL / max(1, len(self.looks))

    @property
    def least(self) -> int:
        """Of how many rounds there is an interval."""
        return least_of(self.level)


def looks_of(rounds: int) -> tuple[int, ...]:
    """Return after how many rounds it is looked, if there may be so many: four times at most."""
    apart = max(BETWEEN_LOOKS, -(-rounds // MOST_LOOKS))
    return (*range(apart, rounds, apart), rounds)


PLAIN = Terms()


@dataclass(frozen=True, slots=True)
class InRound:
    """What one round says of two sides."""

    index: int
    ratio: float
    lower: float | None
    upper: float | None
    pairs: int
    """What it was computed from."""
    left_out: int
    """Passes in which the generator was away for too long, or frames came in elsewhere."""


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

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return self.lower is not None and self.upper is not None

    @property
    def of_the_load(self) -> bool:
        """Whether both brought all through, so that they show the load and not themselves."""
        return self.carried and self.base_carried

    @property
    def decided(self) -> bool:
        """Whether something is known."""
        return self.bounded and not self.of_the_load

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The interval; who brought all through may be faster, so on that side there is no end."""
        if not self.bounded:
            return None, None
        return 0.0 if self.base_carried else self.lower, None if self.carried else self.upper

    @property
    def slower(self) -> bool:
        """Whether it is slower for sure, other than chance makes it once in twenty times."""
        return self.upper is not None and self.upper < 1 and not self.carried

    @property
    def faster(self) -> bool:
        """Whether it is faster for sure, likewise."""
        return self.lower is not None and self.lower > 1 and not self.base_carried

    @property
    def different(self) -> bool:
        """Whether there is a difference."""
        return self.slower or self.faster

    def within(self, share: float) -> bool:
        """Whether a difference is less than this share for sure."""
        if self.lower is None or self.upper is None or self.carried or self.base_carried:
            return False
        return self.lower > 1 - share and self.upper < 1 + share


def ratio_name(letter: str) -> str:
    """Return what the figure of a rival is called, such as ratio_b."""
    return f"ratio_{letter.lower()}"


def letters_of(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Return the letters of all sides, in their order."""
    return tuple(side.letter for side in rounds[0].sides) if rounds else ()


def answering(rounds: Iterable[Round]) -> tuple[Round, ...]:
    """Return the rounds that an answer is made of: the last one on each deployment, if it is valid.

    One that comes before another of its deployment was not valid, or made at a load that was not
    too much. Where a case was begun anew, rounds count from the first again, and those before count
    no more.
    """
    last: dict[int, Round] = {}
    before = 0
    for one in rounds:
        if one.index <= before:
            last.clear()
        before = one.index
        if one.role is Role.ANSWER:
            last[one.deployment] = one
    return tuple(one for one in last.values() if one.valid)


def begun_anew(rounds: Iterable[Round]) -> int:
    """Return how many rounds were made before their case was begun anew, as a part had died."""
    found = before = 0
    for place, one in enumerate(rounds):
        if one.index <= before:
            found = place
        before = one.index
    return found


def carried(one: Round, letter: str) -> bool:
    """Whether a load was no overload: in several of its turns a side brought all of it through.

    Looked at is what it did while it ran. A switch that others keep from running for half of a turn
    brings half of a load through, and may be one that could do more than the whole of it.
    """
    turns = turns_of(one, letter)
    return sum(_carried(one, turn) for turn in turns) * SEVERAL > len(turns)


def _carried(one: Round, turn: Turn) -> bool:
    return one.busy_fps(turn) >= CARRIED * one.offered_fps(turn)


def was_short(one: Round, letter: str) -> bool:
    """Whether the generator itself offered less than the load, where a side brought it through."""
    asked_fps = CARRIED * one.load_fps * one.directions
    turns = [turn for turn in turns_of(one, letter) if _carried(one, turn)]
    return sum(one.offered_fps(turn) < asked_fps for turn in turns) * 2 > len(turns)


def turns_of(one: Round, letter: str) -> tuple[Turn, ...]:
    """Return the turns of a side in passes that can be used."""
    place = one.place_of(letter)
    return tuple(turn for group in clean_passes(one) for turn in group if turn.side == place)


def clean_passes(one: Round) -> tuple[tuple[Turn, ...], ...]:
    """Return the passes in which the generator ran; what came through in them is not looked at."""
    return tuple(group for group in one.passes if not any(_disturbed(one, turn) for turn in group))


def _disturbed(one: Round, turn: Turn) -> bool:
    return turn.elsewhere_frames > 0 or was_away(one, turn)


def was_away(one: Round, turn: Turn) -> bool:
    """Whether the generator did not run for too much of a turn.

    A gap in which a ring lasts, at the load that was offered, makes no difference to who forwards.
    It has to be filled again: an overload that is away for long is none.
    """
    if turn.gaps_ns * AWAY <= turn.measured_ns:
        return False
    lasts = (one.ring_frames or 0) * NANOSECONDS >= turn.longest_gap_ns * one.load_fps
    return not lasts or turn.gaps_ns * BRIDGED > turn.measured_ns


def in_round(one: Round, letter: str, base: str = FIRST) -> InRound | None:
    """Return what a round says of two sides; None where it has too few pairs to say anything."""
    place, other = one.place_of(letter), one.place_of(base)
    kept = clean_passes(one)
    if place is None or other is None or len(kept) < LEAST_PASSES:
        return None
    logarithms = []
    for group in kept:
        by_side = {turn.side: turn for turn in group}
        logarithms.append(_log_rate(one, by_side[place]) - _log_rate(one, by_side[other]))
    middle = middle_of(logarithms)
    return InRound(
        one.index,
        math.exp(middle.value),
        None if middle.lower is None else math.exp(middle.lower),
        None if middle.upper is None else math.exp(middle.upper),
        len(kept),
        len(one.passes) - len(kept),
    )


def _log_rate(one: Round, turn: Turn) -> float:
    if turn.received_frames <= 0:
        return math.log(HALF_A_FRAME * NANOSECONDS / max(1, turn.measured_ns))
    return math.log(one.fps(turn))


def compared(
    rounds: Sequence[Round], letter: str, base: str = FIRST, terms: Terms = PLAIN
) -> Compared | None:
    """Return how a side stands to another; None where no round says anything."""
    rounds = answering(rounds)
    found = [one for each in rounds if (one := in_round(each, letter, base)) is not None]
    if not found:
        return None
    logarithms = [math.log(one.ratio) for one in found]
    middle: Middle = middle_of(logarithms, terms.level)
    widths = [(one.upper / one.lower) ** 0.5 - 1 for one in found if one.lower and one.upper]
    return Compared(
        ratio=math.exp(middle.value),
        lower=None if middle.lower is None else math.exp(middle.lower),
        upper=None if middle.upper is None else math.exp(middle.upper),
        draw=_between(logarithms, found) if len(found) > 1 else None,
        one_round=statistics.median(widths) if widths else None,
        rounds=tuple(found),
        carried=terms.overload and any(carried(one, letter) for one in rounds),
        base_carried=terms.overload and any(carried(one, base) for one in rounds),
    )


def _between(logarithms: Sequence[float], found: Sequence[InRound]) -> float:
    """Return how far deployments lie apart: rounds do by that, and by what each does not know."""
    within = [
        (math.log(one.upper / one.lower) / (2 * WIDE)) ** 2 if one.lower and one.upper else 0.0
        for one in found
    ]
    return math.sqrt(max(0.0, statistics.variance(logarithms) - statistics.mean(within)))


def rates_of(rounds: Sequence[Round], letter: str) -> tuple[float, ...]:
    """Return the rate of a side in each round [fps per direction]: the middle of its turns."""
    found = []
    for one in answering(rounds):
        turns = turns_of(one, letter)
        if len(turns) >= LEAST_PASSES:
            found.append(statistics.median(map(one.fps, turns)) / one.directions)
    return tuple(found)


def lost_share(rounds: Sequence[Round], letter: str) -> float | None:
    """Return which share of the frames due a side did not bring through; None where none were.

    What was taken is looked at over whole turns, so that frames on their way at an end of the
    measured part are no loss. How much of what was due is refused is known of that part alone.
    """
    turns = [turn for one in answering(rounds) for turn in turns_of(one, letter)]
    taken = sum(turn.sent_frames for turn in turns)
    refused = sum(turn.refused_frames or 0 for turn in turns)
    left = sum(turn.turn_sent_frames for turn in turns)
    came = sum(turn.turn_received_frames for turn in turns)
    if not left:
        return 1.0 if refused else None
    share = taken / (taken + refused) if refused else 1.0
    return max(0.0, 1 - came / left * share)
