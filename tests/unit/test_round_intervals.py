"""Intervals over rounds hold what is true as often as they say, however rounds scatter."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from random import Random

import pytest
from all_wrong import hold_each

from vsperf.records.signed_ranks import middle_of
from vsperf.records.turns import Terms, looks_of

SESSIONS = 4_000
Draw = Callable[[Random], float]


def _normal(chance: Random) -> float:
    return chance.gauss(0, 0.03)


def _heavy(chance: Random) -> float:
    """Return one of which a few lie far out, as where a machine moves CPUs within a round."""
    return 0.01 * chance.gauss(0, 1) / math.sqrt(max(1e-3, chance.random()))


def _of_two_places(chance: Random) -> float:
    """Return one of buffers that come to lie in one of two places, for either switch."""
    return 0.04 * (chance.random() < 0.5) - 0.04 * (chance.random() < 0.5) + chance.gauss(0, 0.003)


def _in_step_with_a_wave(chance: Random) -> float:
    """Return one of a machine whose speed goes up and down as turns do, from a phase by chance."""
    return 0.05 * math.sin(2 * math.pi * chance.random()) + chance.gauss(0, 0.002)


def _of_few_slow_places(chance: Random) -> float:
    """Return one of switches of which each is slower in every fifth deployment."""

    def one() -> float:
        return -0.08 * (chance.random() < 0.2) + chance.gauss(0, 0.01)

    return one() - one()


def _of_a_queue(chance: Random) -> float:
    """Return one of latencies, which go up with a draw by more than they go down with another."""

    def latency(capacity: float) -> float:
        used = 0.8 / (capacity * math.exp(chance.gauss(0, 0.045)))
        return math.log(1 + 4 * min(100, used / max(0.01, 1 - used)))

    return latency(1) - latency(1)


SHAPES: dict[str, Draw] = {
    "normal": _normal,
    "heavy tails": _heavy,
    "two places": _of_two_places,
    "in step with a wave": _in_step_with_a_wave,
    "few slow places": _of_few_slow_places,
    "latency of a queue": _of_a_queue,
}


@pytest.mark.parametrize("rounds", [8, 16])
def test_they_do_in_93_to_97_of_100_sessions(rounds: int) -> None:
    def holds(shape: str) -> None:
        chance = Random(34)
        held = 0
        for _ in range(SESSIONS):
            found = middle_of([SHAPES[shape](chance) for _ in range(rounds)])
            assert found.lower is not None
            assert found.upper is not None
            held += found.lower <= 0 <= found.upper
        assert 0.93 <= held / SESSIONS <= 0.97, f"{held / SESSIONS:.1%} of {SESSIONS} sessions"

    hold_each(SHAPES, holds)


@pytest.mark.parametrize(("change", "scatter"), [(0.0, 0.045), (0.0, 0.01), (-0.03, 0.03)])
def test_looks_are_wrong_in_no_more_than_5_of_100_sessions_all_together(
    change: float, scatter: float
) -> None:
    """Whoever stops as soon as he sees a difference, or less than 1 %, has the more chances."""
    chance = Random(34)
    looks = looks_of(32)
    level = Terms(looks=looks).level
    wrong = [_is_wrong(change, scatter, looks, level, chance) for _ in range(2_000)]
    assert statistics.mean(wrong) <= 0.05


def _is_wrong(
    change: float, scatter: float, looks: tuple[int, ...], level: float, chance: Random
) -> bool:
    """Have a session, and return whether its interval misses the truth where it ends."""
    rounds = [chance.gauss(change, scatter) for _ in range(looks[-1])]
    lower, upper = 0.0, 0.0
    for look in looks:
        found = middle_of(rounds[:look], level)
        assert found.lower is not None
        assert found.upper is not None
        lower, upper = found.lower, found.upper
        if lower > 0 or upper < 0 or (lower > -0.01 and upper < 0.01):
            break
    return not lower <= change <= upper
