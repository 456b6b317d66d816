"""Chance that can be repeated: random numbers that depend on nothing but a seed and a name.

Each use draws from a stream of its own, named by what it is for. So one more draw in one place
moves no number in another, and the same seed gives the same run in any process.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Chance:
    """A named stream of random numbers."""

    stream: Random

    @classmethod
    def of(cls, seed: int, *names: object) -> Chance:
        """Return the stream of `seed` for the purpose that `names` spell out."""
        return cls(Random("/".join(str(part) for part in ("vsperf", seed, *names))))  # noqa: S311

    def share(self) -> float:
        """Return a number between 0 and 1, evenly spread."""
        return self.stream.random()

    def wobble(self) -> float:
        """Return a number with mean 0 and standard deviation 1, never beyond ±4.

        The sum of twelve even draws is close to a normal distribution, and needs nothing of the
        random module but the one sequence that Python promises to keep. They are added one by one
        because `sum` rounds differently from Python 3.12 on.
        """
        total = 0.0
        for _ in range(12):
            total += self.stream.random()
        return max(-WOBBLE_LIMIT, min(WOBBLE_LIMIT, total - 6))


WOBBLE_LIMIT = 4
