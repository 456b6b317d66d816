"""Whether the guard of turns was long enough: how switches forward right behind it, and later.

Each turn of an overload has short slots at its begin. Where caches are still cold then, a switch
forwards less in them than in the last one, and its rate is in part that of how it begins.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.quantities.human import human_ns, human_share
from vsperf.quantities.units import Duration
from vsperf.records.signed_ranks import middle_of
from vsperf.records.turn_columns import Turn
from vsperf.records.turns import HALF_A_FRAME, Named, Round, Terms, answering, carried, turns_of

ALIKE = 0.01
"""What is slower by less than this share is as fast as the rest of a turn."""
MILLISECOND_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of the turns of a side, beside the last slot of each."""

    until_ns: int
    """When it ends, since the end of the guard."""
    length_ns: int
    ratio: float
    """The rate in it, as a share of that in the last one."""
    lower: float | None
    """The interval at 95 % over rounds; None where there are too few."""
    upper: float | None

    @property
    def is_slower(self) -> bool:
        """Whether it is so for sure."""
        return self.upper is not None and self.upper < 1 - ALIKE

    @property
    def is_alike(self) -> bool:
        """Whether it is no slower for sure."""
        return self.lower is not None and self.lower > 1 - ALIKE


@dataclass(frozen=True, slots=True)
class Begin:
    """How the turns of a side begin."""

    side: Named
    slots: tuple[Slot, ...]
    """All but the last one."""

    @property
    def slow(self) -> tuple[Slot, ...]:
        """What comes before the turn is as fast as it will be."""
        last = max((n for n, one in enumerate(self.slots, 1) if one.is_slower), default=0)
        return self.slots[:last]

    @property
    def text(self) -> str:
        """Say how much slower it is, and for how long."""
        length_ns = sum(one.length_ns for one in self.slow)
        share = 1 - sum(one.ratio * one.length_ns for one in self.slow) / length_ns
        return (
            f"the first {human_ns(self.slow[-1].until_ns)} of turns of {self.side.named} are "
            f"{human_share(round(share, 3))} slower than the rest of them"
        )


@dataclass(frozen=True, slots=True)
class Guard:
    """What turns say of the guard before them."""

    guard_ns: int
    begins: tuple[Begin, ...]
    unseen: tuple[Named, ...] = ()
    """Sides whose turns say nothing of how they begin."""

    @property
    def suffices(self) -> bool | None:
        """Whether no side begins slower than it goes on; None where nobody can tell."""
        if any(one.slow for one in self.begins):
            return False
        return all(slot.is_alike for one in self.begins for slot in one.slots) or None

    @property
    def text(self) -> str:
        guard = f"guard of {human_ns(self.guard_ns)}"
        if self.suffices:
            told = "behind it no switch is slower than in the rest of its turns"
            unseen = ", ".join(one.named for one in self.unseen)
            return f"{guard} suffices: {told}{unseen and f'; of {unseen} nobody can tell'}"
        slow = [one for one in self.begins if one.slow]
        if not slow:
            return f"{guard}: whether it suffices cannot be told; more search.rounds tell"
        needed_ns = self.guard_ns + max(one.slow[-1].until_ns for one in slow)
        needed = Duration(-(-needed_ns // MILLISECOND_NS) * MILLISECOND_NS)
        told = "; ".join(one.text for one in slow)
        return f"{guard} does not suffice: {told}; ask for search.guard={needed} or more"


def guard_of(rounds: Sequence[Round], terms: Terms) -> Guard | None:
    """Return what turns say of their guard; None where they cannot, as at a load that all carry.

    What a switch brings through whole begins as the generator does, whose caches are cold as well.
    Rings that are filled have a begin each, which is left out.
    """
    rounds = answering(rounds)
    if not terms.overload or not rounds:
        return None
    begins = tuple(
        Begin(side, _slots([one for one in rounds if not carried(one, side.letter)], side))
        for side in rounds[0].sides
    )
    found = tuple(one for one in begins if one.slots)
    unseen = tuple(one.side for one in begins if not one.slots)
    return Guard(rounds[0].guard_ns, found, unseen) if found else None


def _slots(rounds: Sequence[Round], side: Named) -> tuple[Slot, ...]:
    """Return each slot but the last, beside the last one, over all rounds."""
    by_round = [turns for one in rounds if (turns := _with_slots(one, side))]
    counts = {len(turns[0].slots_ns or ()) for turns in by_round}
    if len(counts) != 1:  # there are none, or those of a record of others that fit to none
        return ()
    found: list[Slot] = []
    for number in range(counts.pop() - 1):
        middle = middle_of([_log_rate(each, number) - _log_rate(each, -1) for each in by_round])
        lower, upper = (
            None if end is None else math.exp(end) for end in (middle.lower, middle.upper)
        )
        lengths = ((turn.slots_ns or ())[number] for turns in by_round for turn in turns)
        length_ns = statistics.median_low(lengths)
        until_ns = length_ns + (found[-1].until_ns if found else 0)
        found.append(Slot(until_ns, length_ns, math.exp(middle.value), lower, upper))
    return tuple(found)


def _with_slots(one: Round, side: Named) -> list[Turn]:
    """Return the turns that count and have a time in each slot."""
    turns = turns_of(one, side.letter)
    return [
        turn for turn in turns if turn.slots_ns and min(turn.slots_ns) > 0 and not turn.fillings
    ]


def _log_rate(turns: Sequence[Turn], number: int) -> float:
    """Return the rate in a slot, of all turns: of two switches each is warm in half of them."""
    frames = sum((turn.received_by_slot or ())[number] for turn in turns)
    return math.log(
        max(HALF_A_FRAME, frames) / sum((turn.slots_ns or ())[number] for turn in turns)
    )
