"""The truth that a model tells of itself is what its trials show."""

from __future__ import annotations

import functools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_cases import CAPACITY_FPS, KINDS, SECOND, behaving, simulated_case, switch_of, trials

from vsperf.quantities.units import FrameSize
from vsperf.simulation.base import Crossing, Truth
from vsperf.simulation.switch import Offer

ACCIDENTAL: dict[str, dict[str, object]] = {
    "random-loss": {"probability": 0},
    "warm-up": {"lasts": "0s"},
    "dies": {},
}
PDR = Fraction(1, 200)
BOTH = Offer(FrameSize(64))


def truths(kind: str, loss_ratio: Fraction, seed: int = 1) -> tuple[Truth, ...]:
    case = simulated_case(behaving(kind, **ACCIDENTAL.get(kind, {})))
    return switch_of(case).true_capacity_fps(BOTH, loss_ratio, seed)


@functools.cache
def passes(kind: str, load_fps: int, loss_ratio: Fraction, seed: int, seconds: int) -> list[bool]:
    """Return per direction whether each of three trials at a load passes."""
    case = simulated_case(behaving(kind, **ACCIDENTAL.get(kind, {})), {"seed": seed})
    found = trials(case, *[load_fps] * 3, duration_ns=seconds * SECOND)
    judged = [[way.loss_ratio <= loss_ratio for way in trial.directions] for trial in found]
    assert judged[0] == judged[1] == judged[2]
    return judged[0]


@pytest.mark.parametrize("loss_ratio", [Fraction(0), PDR], ids=["ndr", "pdr"])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(seed=st.integers(1, 1000), seconds=st.sampled_from([1, 10]))
def test_trials_pass_below_each_crossing_and_fail_from_it_on(
    kind: str, loss_ratio: Fraction, seed: int, seconds: int
) -> None:
    for way, truth in enumerate(truths(kind, loss_ratio, seed)):
        for crossing in truth.crossings:
            if crossing.lower_fps:
                assert passes(kind, crossing.lower_fps, loss_ratio, seed, seconds)[way]
            if crossing.upper_fps is not None:
                assert not passes(kind, crossing.upper_fps, loss_ratio, seed, seconds)[way]


@pytest.mark.parametrize("kind", ["ideal", "one-frame-loss", "duplicating", "warm-up", "dies"])
def test_a_sharp_capacity_is_known_to_the_frame(kind: str) -> None:
    expected = Crossing(CAPACITY_FPS, CAPACITY_FPS + 1)
    if kind == "one-frame-loss":
        expected = Crossing(0, 1)
    assert truths(kind, Fraction(0))[0].crossings == (expected,)


def test_an_allowed_loss_moves_the_crossing_above_the_capacity() -> None:
    (crossing,) = truths("ideal", PDR)[0].crossings
    assert crossing.lower_fps is not None and crossing.upper_fps is not None
    assert crossing.lower_fps <= CAPACITY_FPS / (1 - PDR) <= crossing.upper_fps
    assert crossing.upper_fps - crossing.lower_fps < 10


def test_loss_inversion_has_two_crossings_and_each_of_them_is_an_answer() -> None:
    truth = truths("inversion", Fraction(0))[0]
    assert len(truth.crossings) == 2
    assert truth.brackets(575_000, 585_000)
    assert truth.brackets(995_000, 1_005_000)
    assert not truth.brackets(700_000, 900_000)


def test_without_a_capacity_only_the_open_interval_is_right() -> None:
    never, always = truths("never-lossy", Fraction(0))[0], truths("always-lossy", Fraction(0))[0]
    assert never.brackets(14_000_000, None)
    assert not never.brackets(9_000, 14_000_000)
    assert always.brackets(None, 9_001)
    assert not always.brackets(9_001, 14_000_000)


def test_an_interval_beside_the_capacity_is_wrong() -> None:
    truth = truths("ideal", Fraction(0))[0]
    assert truth.brackets(CAPACITY_FPS, CAPACITY_FPS + 1)
    assert not truth.brackets(CAPACITY_FPS + 1, CAPACITY_FPS + 2)
    assert not truth.brackets(CAPACITY_FPS - 1, CAPACITY_FPS)
    assert not truth.brackets(CAPACITY_FPS + 1, None)


def test_accidents_are_announced() -> None:
    case = simulated_case(behaving("random-loss"))
    assert all(truth.accidents for truth in switch_of(case).true_capacity_fps(BOTH))
    assert not truths("ideal", Fraction(0))[0].accidents


def test_the_truth_is_told_for_the_directions_that_are_used() -> None:
    case = simulated_case(behaving("asymmetric", slow_direction="reverse"))
    switch, size = switch_of(case), FrameSize(64)
    fast = Truth((Crossing(CAPACITY_FPS, CAPACITY_FPS + 1),))
    slow = Truth((Crossing(700_000, 700_001),))
    assert switch.true_capacity_fps(Offer(size)) == (fast, slow)
    assert switch.true_capacity_fps(Offer(size, direction="forward")) == (fast,)
    assert switch.true_capacity_fps(Offer(size, direction="reverse")) == (slow,)
