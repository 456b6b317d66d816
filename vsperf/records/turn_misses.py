"""What of turns is the generator's own: frames that it did not send in time, or had no room for.

A switch is not slower for them, and looks so: what came while a ring of the generator was full is
lost, and what was due and not sent cannot come through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vsperf.quantities.human import human_share
from vsperf.records.flags import Flag
from vsperf.records.turn_columns import SEVERAL, Turn
from vsperf.records.turns import Round, answering, turns_of

BEHIND = 20
"""One part in so many of a turn half a ring or more may wait, beyond the gaps of the generator."""
FEW_MISSED = 1_000
"""One part in so many of the frames that came may be missed by the generator."""
FEW_UNSENT = 200
"""One part in so many of the frames that were due may be left unsent by it."""


@dataclass(frozen=True, slots=True)
class Misses:
    """What the generator itself missed in the turns of a side that count."""

    turns: int
    behind: int
    """Turns in which it was behind with receiving."""
    came_frames: int
    missed_frames: int | None
    """That it had no room for; None where its devices do not tell."""
    due_frames: int | None
    """None where a direction is sent flat out."""
    unsent_frames: int | None
    """Of those that were due, what was neither sent nor refused by a port that was full."""

    @property
    def of_receiving(self) -> bool:
        """Whether it missed more than a few of the frames that came, or may have."""
        missed = self.missed_frames or 0
        several = self.behind * SEVERAL > self.turns
        return several or missed * FEW_MISSED > self.came_frames + missed

    @property
    def of_sending(self) -> bool:
        """Whether it did not send more than a few of the frames that were due."""
        return (self.unsent_frames or 0) * FEW_UNSENT > (self.due_frames or 0)


def misses_of(rounds: Sequence[Round], letter: str) -> Misses:
    """Return what the generator missed of a side, over all rounds that an answer is made of."""
    turns = [turn for one in answering(rounds) for turn in turns_of(one, letter)]
    return Misses(
        turns=len(turns),
        behind=sum(map(_was_behind, turns)),
        came_frames=sum(turn.turn_received_frames for turn in turns),
        missed_frames=_sum(turn.missed_frames for turn in turns),
        due_frames=_sum(turn.intended_frames for turn in turns),
        unsent_frames=_sum(map(_unsent_frames, turns)),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    """Return what all turns counted; None where one did not."""
    found = list(counts)
    known = [count for count in found if count is not None]
    return sum(known) if known and len(known) == len(found) else None


def _was_behind(turn: Turn) -> bool:
    """Whether frames waited for longer than gaps explain, which have their own limit.

    In a gap they wait at the port of each direction, and those are counted together.
    """
    ports = len(turn.received_by_direction or (0,))
    return ((turn.behind_ns or 0) - ports * turn.gaps_ns) * BEHIND > turn.measured_ns


def _unsent_frames(turn: Turn) -> int | None:
    if turn.intended_frames is None:
        return None
    return max(0, turn.intended_frames - turn.sent_frames - (turn.refused_frames or 0))


def flags_of(misses: Misses, *, overload: bool) -> tuple[Flag, ...]:
    """Return what is to be said against a number; an overload may fall short, if it is one."""
    found = {
        Flag.GENERATOR_BEHIND: misses.of_receiving,
        Flag.SHORT_OFFER: misses.of_sending and not overload,
    }
    return tuple(flag for flag, told in found.items() if told)


def words_of(misses: Misses, name: str, *, overload: bool) -> str:
    """Say what the generator missed of a switch, if it is worth a flag."""
    said = []
    if misses.of_receiving:
        dropped = f", and had no room for {misses.missed_frames:,} frames"
        said.append(
            f"was behind with receiving in {misses.behind} of {misses.turns} turns of {name}"
            f"{dropped if misses.missed_frames else ''}"
        )
    if misses.of_sending and misses.unsent_frames and misses.due_frames and not overload:
        share = human_share(round(misses.unsent_frames / misses.due_frames, 4))
        said.append(f"left {share} unsent of what was due to {name}")
    return f"the generator itself {' and '.join(said)}" if said else ""
