"""What rounds of turns say: how each side stands to the first, and how sure that is. Pure.

Two turns of one pass are neighbours in time, so what the machine does to both of them falls out of
their ratio. What the deployments themselves differ by does not: it is drawn anew in each round, so
the rounds are the sample, and their interval holds both.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vsperf.record.signed_ranks import Middle, middle_of
from vsperf.record.turns import Role, Round, Turn

FIRST, CONTROL = "A", "A′"
AWAY = 20
"""One part in so many of a turn the generator may have been away, in sum; a pass with a turn in
which it was so for longer is left out, whatever came through in it."""
LEAST_PASSES = 10
"""With fewer that are left, a round says nothing."""
CARRIED = 0.98
"""A switch that brings so much of a load through in a turn was not overloaded in it."""
SEVERAL = 20
"""One part in so many of the turns of a side are several."""
HALF_A_FRAME = 0.5
"""Stands for none, of which there is no logarithm."""


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
    """Passes in which the generator was away for too long."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How a side stands to another over all rounds: by which factor its rate is that one's."""

    ratio: float
    lower: float | None
    """The interval at 95 % over rounds; None where there are too few."""
    upper: float | None
    draw: float | None
    """Standard deviation between rounds, as a share: what a deployment alone makes."""
    within: float | None
    """Half the width of the interval of one round alone, in the middle of all."""
    rounds: tuple[InRound, ...]

    @property
    def decided(self) -> bool:
        """Whether it is known."""
        return self.lower is not None and self.upper is not None

    @property
    def different(self) -> bool:
        """Whether there is a difference, other than chance makes it once in twenty times."""
        if self.lower is None or self.upper is None:
            return False
        return not self.lower <= 1 <= self.upper


def ratio_name(letter: str) -> str:
    """Return what the figure of a rival is called, such as ratio_b."""
    return f"ratio_{letter.lower()}"


def letters_of(rounds: Sequence[Round]) -> tuple[str, ...]:
    """Return the letters of all sides, in their order."""
    return tuple(side.letter for side in rounds[0].sides) if rounds else ()


def answering(rounds: Iterable[Round]) -> tuple[Round, ...]:
    """Return the rounds that an answer is made of: the last one on each deployment.

    One that comes before another of its deployment was made at a load that was not too much.
    """
    last = {one.deployment: one for one in rounds if one.role is Role.ANSWER}
    return tuple(last.values())


def carried(one: Round, letter: str) -> bool:
    """Whether a load was no overload: in several of its turns a side brought all of it through."""
    place, all_fps = one.place_of(letter), one.load_fps * one.directions * CARRIED
    turns = [turn for group in clean_passes(one) for turn in group if turn.side == place]
    return sum(turn.fps >= all_fps for turn in turns) * SEVERAL > len(turns)


def clean_passes(one: Round) -> tuple[tuple[Turn, ...], ...]:
    """Return the passes in which the generator ran; what came through in them is not looked at."""
    return tuple(group for group in one.passes if not any(map(_disturbed, group)))


def _disturbed(turn: Turn) -> bool:
    return turn.elsewhere_frames > 0 or turn.gaps_ns * AWAY > turn.measured_ns


def in_round(one: Round, letter: str, base: str = FIRST) -> InRound | None:
    """Return what a round says of two sides; None where it has too few pairs to say anything."""
    place, other = one.place_of(letter), one.place_of(base)
    kept = clean_passes(one)
    if place is None or other is None or len(kept) < LEAST_PASSES:
        return None
    logarithms = []
    for group in kept:
        by_side = {turn.side: turn for turn in group}
        logarithms.append(_log_rate(by_side[place]) - _log_rate(by_side[other]))
    middle = middle_of(logarithms)
    return InRound(
        one.index,
        math.exp(middle.value),
        None if middle.lower is None else math.exp(middle.lower),
        None if middle.upper is None else math.exp(middle.upper),
        len(kept),
        len(one.passes) - len(kept),
    )


def _log_rate(turn: Turn) -> float:
    return math.log(
        max(turn.received_frames, HALF_A_FRAME) / max(1, turn.measured_ns - turn.gaps_ns)
    )


def compared(rounds: Sequence[Round], letter: str, base: str = FIRST) -> Compared | None:
    """Return how a side stands to another; None where no round says anything."""
    found = [one for each in answering(rounds) if (one := in_round(each, letter, base)) is not None]
    if not found:
        return None
    logarithms = [math.log(one.ratio) for one in found]
    middle: Middle = middle_of(logarithms)
    widths = [(one.upper / one.lower) ** 0.5 - 1 for one in found if one.lower and one.upper]
    return Compared(
        ratio=math.exp(middle.value),
        lower=None if middle.lower is None else math.exp(middle.lower),
        upper=None if middle.upper is None else math.exp(middle.upper),
        draw=statistics.stdev(logarithms) if len(logarithms) > 1 else None,
        within=statistics.median(widths) if widths else None,
        rounds=tuple(found),
    )


def rates_of(rounds: Sequence[Round], letter: str) -> tuple[float, ...]:
    """Return the rate of a side in each round [fps per direction]: the middle of its turns."""
    found = []
    for one in answering(rounds):
        place = one.place_of(letter)
        turns = [turn for group in clean_passes(one) for turn in group if turn.side == place]
        if len(turns) >= LEAST_PASSES:
            found.append(statistics.median(turn.fps for turn in turns) / one.directions)
    return tuple(found)


def lost_share(rounds: Sequence[Round], letter: str) -> float | None:
    """Return which share of the frames due a side did not bring through; None where none were.

    Over whole turns, so that frames on their way at an end of the measured part are no loss.
    """
    due = came = 0
    for one in answering(rounds):
        place = one.place_of(letter)
        for group in clean_passes(one):
            for turn in group:
                if turn.side == place:
                    due += turn.turn_sent_frames + (turn.refused_frames or 0)
                    came += turn.turn_received_frames
    return max(0.0, 1 - came / due) if due else None
