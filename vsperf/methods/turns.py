"""What a method asks that has switches take turns, and in which order they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from vsperf.config.expect import Expectation
from vsperf.records.result import SearchResult
from vsperf.records.turns import Named, Role, Round
from vsperf.search.base import Budget, Loads

MOST_TURNS = 4096
"""Of all sides, in one round: a generator takes no more at once."""


@dataclass(frozen=True, slots=True)
class TurnsAsked:
    """One round, as a method asks for it."""

    role: Role
    load_fps: int
    """Per direction."""
    order: tuple[int, ...]
    """Whose turn it is, by its place among the sides."""
    turn_ns: int
    guard_ns: int
    anew: bool = False
    """Whether everything is made anew before it, so that what a deployment alone makes is drawn
    again."""
    warm_passes: int = 0
    """So many turns of each side at the begin of the order do not count."""
    latency: bool = False
    """Whether it is told how long frames were on their way."""
    rings: bool = False
    """Whether the rings of a side that is held are filled meanwhile, and emptied by it."""

    @property
    def length_ns(self) -> int:
        return len(self.order) * (self.turn_ns + self.guard_ns)


@runtime_checkable
class TurnsBench(Protocol):
    """What a method may do that compares: a round of turns, on all switches of a case."""

    @property
    def loads(self) -> Loads:
        """What may be offered."""

    @property
    def budget(self) -> Budget:
        """The time there is."""

    @property
    def sides(self) -> tuple[Named, ...]:
        """Who takes turns."""

    @property
    def warm_up_ns(self) -> int:
        """For how long turns do not count at the begin of a round."""

    def round(self, asked: TurnsAsked) -> Round:
        """Have all sides take their turns."""

    def judged(self, result: SearchResult) -> tuple[tuple[str, bool | None], ...]:
        """Return what each criterion of the case makes of a result, with the metric that it is on.

        True where it is met, False where it is missed, and None where nobody can tell.
        """


@runtime_checkable
class Compares(Protocol):
    """A method that has switches take turns; its cases have sides."""

    @property
    def least_rounds(self) -> int:
        """Of fewer rounds there is no answer."""

    def worse_by(self, letter: str, by: Fraction) -> Expectation:
        """Return the criterion that a rival misses which is worse by more than this share."""

    def play(self, bench: TurnsBench) -> SearchResult:
        """Ask for rounds until there is an answer, or the time is over."""

    def answered(
        self, rounds: Sequence[Round], *, complete: bool = True, spoiled: str = ""
    ) -> SearchResult:
        """Return what rounds say; `spoiled` tells what ended them, if something did."""


def balanced(sides: int, passes: int) -> tuple[int, ...]:
    """Return the order of turns in which nobody is favoured, in so many passes or a few more.

    In each pass every side has one turn. In a square of passes each is in every place equally
    often, and follows each of the others equally often (Williams), so neither a machine that
    changes steadily nor who was there before makes a difference. From pass to pass each of several
    follows others, and all of them alike; of two each follows itself there: the first, the second,
    the second, the first.
    """
    square = _square(sides)
    times = -(-passes // len(square))
    return tuple(side for _ in range(times) for row in square for side in row)


def _square(sides: int) -> Sequence[tuple[int, ...]]:
    first = [0]
    for step in range(1, sides):
        first.append((step + 1) // 2 if step % 2 else sides - step // 2)
    rows = [tuple((side + shift) % sides for side in first) for shift in range(sides)]
    if sides % 2:  # one square alone has each neighbour on one side only
        # In this order nobody ends a pass and begins the next: his caches would be warm, and not
        # those of the others.
        rows += sorted((row[::-1] for row in rows), key=lambda row: -row[0] % sides)
    return rows
