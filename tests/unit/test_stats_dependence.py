"""Repeats that depend on each other are found by their order, and count for fewer."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from vsperf.analysis.repeats import SURE, Series, averages, batches, order_p, taken_together
from vsperf.quantities.unit import Unit


def states(chance: random.Random, count: int, stays: float) -> list[float]:
    """Numbers of a machine that stays in one of two states with this probability."""
    state, found = chance.random() < 0.5, []
    for _ in range(count):
        state = state if chance.random() < stays else not state
        found.append(1e6 * (1.0 if state else 0.9) * chance.gauss(1, 0.003))
    return found


@pytest.mark.parametrize("count", [6, 10, 30])
@pytest.mark.parametrize("shape", ["normal", "far", "states", "equal"])
def test_numbers_that_do_not_depend_are_seldom_said_to(count: int, shape: str) -> None:
    chance = random.Random(count)
    draw: Callable[[], float] = {
        "normal": lambda: chance.gauss(1e6, 1e3),
        "far": lambda: chance.paretovariate(1),
        "states": lambda: chance.choice((1.0, 0.9)) * chance.gauss(1, 0.001),
        "equal": lambda: chance.choice((1.0, 1.0, 1.01)),
    }[shape]
    alarms = sum(order_p([draw() for _ in range(count)]) < SURE for _ in range(100))
    assert alarms <= 4  # three standard deviations above 1 %


def test_states_that_last_are_found() -> None:
    chance = random.Random(2)
    found = sum(order_p(states(chance, 20, 0.85)) < SURE for _ in range(100))
    assert found > 60


def test_few_numbers_and_equal_ones_are_in_no_surprising_order() -> None:
    assert order_p([1, 2, 3, 4]) == order_p([7] * 30) == 1
    assert order_p([1, 2, 3, 4, 5, 6]) == pytest.approx(2 / 720)


def test_the_unit_and_the_place_of_numbers_do_not_matter() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    assert order_p(values) == order_p([2.0**20 + 8 * value for value in values])


def test_neighbours_count_as_one_until_those_do_not_depend() -> None:
    runs = [value for value in (5, 1, 4, 2, 3, 5, 1, 3, 2, 4) for _ in range(4)]
    assert taken_together([float(value) for value in runs]) == 4


def test_a_drift_leaves_nothing() -> None:
    assert taken_together([float(place) for place in range(40)]) is None


def test_batches_leave_out_first_ones_that_fill_none() -> None:
    assert batches((9, 1, 2, 3, 10, 20, 60), 3) == (2, 20)
    assert averages((9, 1, 2, 3, 10, 20, 60), 3) == (2, 30)


class TestIntervalOfTheMean:
    def test_it_is_wider_where_neighbours_depend(self) -> None:
        values = tuple(float(100 + value) for value in (5, 1, 4, 2, 3, 5, 1, 3) for _ in range(4))
        ordered = Series("ndr", Unit.FPS, values).confidence
        mixed = Series("ndr", Unit.FPS, tuple(random.Random(4).sample(values, 32))).confidence
        assert ordered is not None and mixed is not None
        assert ordered[1] - ordered[0] > 1.5 * (mixed[1] - mixed[0])

    def test_there_is_none_of_a_drift(self) -> None:
        assert (
            Series("ndr", Unit.FPS, tuple(100.0 + place for place in range(12))).confidence is None
        )

    def test_it_holds_the_mean_of_states_more_often_than_one_that_presumes_too_much(self) -> None:
        chance, held, said = random.Random(7), 0, 0
        for _ in range(200):
            interval = Series("ndr", Unit.FPS, tuple(states(chance, 40, 0.8))).confidence
            said += interval is not None
            held += interval is not None and interval[0] <= 0.95e6 <= interval[1]
        assert said > 100
        assert held > 0.75 * said, "where neighbours are not put together it is 0.69"
