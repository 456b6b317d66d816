"""Rounds of turns: switches share their CPUs, one runs and receives frames, all others stand.

All that is said of a comparison is computed from the turns (`turn_columns.py`): which of them
count, here; how sides stand to each other, in `turn_ratios.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from vsperf.quantities.human import human_fps
from vsperf.quantities.unit import Unit
from vsperf.records.base import Record
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.signed_ranks import LEVEL, least_of
from vsperf.records.turn_columns import SEVERAL, DeadDirection, Turn, TurnColumns, dead_directions

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
    def offered(self) -> str:
        """What switches were offered, for people; those that were not held got the load."""
        return "full rings" if any(self.turns.fillings or ()) else human_fps(self.load_fps)

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
        if turn.fillings:  # of which a ring holds all, whatever the generator does meanwhile
            return counted
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


# Which rounds and turns count, and what was asked of them; how sides stand to each other is said in
# `turn_ratios.py`. Pure.

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
HALF_A_FRAME = 0.5
"""Stands for none, of which there is no logarithm."""


class Metric(enum.StrEnum):
    """By what switches are held against each other."""

    RATE = "rate"
    """What they forward."""
    LATENCY = "latency"
    """The median of all latencies of a turn."""
    P99 = "p99"
    """What 99 of 100 of them do not exceed."""
    LOSS = "loss"
    """Which share of the frames that are due they bring through."""

    @property
    def percent(self) -> int | None:
        """Of latencies, the percentile that it is."""
        return {Metric.LATENCY: 50, Metric.P99: 99}.get(self)

    @property
    def more_is_better(self) -> bool:
        """Which way a ratio gets better; of a loss it is one of shares that came through."""
        return self.percent is None

    @property
    def unit(self) -> Unit:
        """Of what a single switch comes to."""
        if self.percent is not None:
            return Unit.NANOSECONDS
        return Unit.FPS if self is Metric.RATE else Unit.RATIO

    @property
    def _prefix(self) -> str:
        return {Metric.RATE: "", Metric.LOSS: "delivery_"}.get(self, f"{self}_")

    def ratio_name(self, letter: str) -> str:
        """Return what the figure of a side beside the first is called, such as ratio_b."""
        if letter == CONTROL:
            return f"{self._prefix}control"
        return f"{self._prefix}ratio_{letter.lower()}"

    def draw_name(self, letter: str) -> str:
        """Return what the figure is called that says how far deployments lie apart."""
        return f"{self._prefix}draw_{(FIRST if letter == CONTROL else letter).lower()}"

    def own_name(self, letter: str) -> str:
        """Return what the figure of a side by itself is called, such as rate_b."""
        return f"{'lost' if self is Metric.LOSS else self}_{letter.lower()}"


def is_own_name(name: str) -> bool:
    """Whether a figure of turns is what one side came to by itself.

    That is of its moment and of the machine's: no other session is held against it.
    """
    return name[:-1] in {metric.own_name("") for metric in Metric}


def of_turns(names: Collection[str]) -> bool:
    """Whether figures are those of turns, which have a ratio or a control."""
    ratios = tuple(metric.ratio_name("") for metric in Metric)
    controls = {metric.ratio_name(CONTROL) for metric in Metric}
    return any(name.startswith(ratios) or name in controls for name in names)


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
    metric: Metric = Metric.RATE
    """By what sides are held against each other before all else."""
    full_rings: bool = False
    """Whether rings are filled while their switch stands, and emptied by it."""

    @classmethod
    def of(cls, search: Mapping[str, Any]) -> Self:
        """Return what the settings of a method say, as they are stored."""
        rounds, load = search.get("rounds"), search.get("load")
        derived = load if isinstance(load, str) and " of " in load else ""
        asked = next((one for one in Metric if one == search.get("metric")), Metric.RATE)
        full = search.get("full_rings") is True
        decided = search.get(UNTIL) == DECIDED
        looks = looks_of(rounds) if decided and isinstance(rounds, int) else ()
        return cls(load is None, looks, derived, asked, full)

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
    return carried_in(one, turns_of(one, letter))


def _carried(one: Round, turn: Turn) -> bool:
    if turn.fillings:
        return turn.was_behind
    return one.busy_fps(turn) >= CARRIED * one.offered_fps(turn)


def carried_in(one: Round, turns: Sequence[Turn]) -> bool:
    """Whether all of the load came through in several of these turns of a side."""
    return sum(_carried(one, turn) for turn in turns) * SEVERAL > len(turns)


def was_light(one: Round, letter: str) -> bool:
    """Whether a load was none that is too much for a side, in turns in which it was offered.

    With few of these, one that came through by chance would raise the load for all others.
    """
    offered = [turn for turn in turns_of(one, letter) if not waited(one, turn)]
    return len(offered) >= LEAST_PASSES and carried_in(one, offered)


def waited(one: Round, turn: Turn) -> bool:
    """Whether a switch waited for the generator, which offered less than the load.

    It brought all of that through, so a turn under an overload shows the generator. A machine that
    is slow for a while makes it so. Where rings were filled before, it received less than came.
    """
    if turn.fillings:
        return turn.was_behind
    asked_fps = CARRIED * one.load_fps * one.directions
    return one.offered_fps(turn) < asked_fps and _carried(one, turn)


def turns_of(one: Round, letter: str) -> tuple[Turn, ...]:
    """Return the turns of a side in passes that can be used."""
    return turns_in(one, clean_passes(one), letter)


def turns_in(one: Round, passes: Iterable[Sequence[Turn]], letter: str) -> tuple[Turn, ...]:
    """Return the turns of a side in some passes of a round."""
    place = one.place_of(letter)
    return tuple(turn for group in passes for turn in group if turn.side == place)


def clean_passes(one: Round) -> tuple[tuple[Turn, ...], ...]:
    """Return the passes in which the generator ran; what came through in them is not looked at."""
    return tuple(group for group in one.passes if not any(_disturbed(one, turn) for turn in group))


def _disturbed(one: Round, turn: Turn) -> bool:
    return turn.elsewhere_frames > 0 or turn.was_short or was_away(one, turn)


def was_away(one: Round, turn: Turn) -> bool:
    """Whether the generator did not run for too much of a turn.

    A gap in which a ring lasts, at the load that was offered, makes no difference to who forwards.
    It has to be filled again: an overload that is away for long is none.
    """
    if turn.fillings:
        return turn.gaps_ns * BRIDGED > turn.measured_ns
    if turn.gaps_ns * AWAY <= turn.measured_ns:
        return False
    lasts = (one.ring_frames or 0) * NANOSECONDS >= turn.longest_gap_ns * one.load_fps
    return not lasts or turn.gaps_ns * BRIDGED > turn.measured_ns
