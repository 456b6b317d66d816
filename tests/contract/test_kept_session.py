"""A session that tests share is handed on clean, and who left it otherwise is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from kept import Kept, keeping
from kept_session import PROBE, state_of
from simulated_cases import session, simulated_case

from vsperf.drivers.generators.base import GeneratorSession, OnSample, TrialRequest
from vsperf.drivers.generators.sim import SimulatedSession
from vsperf.records.trial import TrialCounts


@dataclass
class CountsOn(SimulatedSession):
    """One whose counters go on with each trial, where they should begin at zero."""

    received: int = 0

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        counts = super().run(request, on_sample)
        self.received += counts.directions[0].received_frames
        ways = tuple(
            way.model_copy(update={"received_frames": self.received}) for way in counts.directions
        )
        return counts.model_copy(update={"directions": ways})


@contextmanager
def counting_on(_: str) -> Iterator[GeneratorSession]:
    with session(simulated_case()) as running:
        yield CountsOn(running.path)


@pytest.fixture(name="kept")
def fixture_kept() -> Iterator[Kept[SimulatedSession]]:
    with keeping(lambda _: session(simulated_case()), state_of) as kept:
        yield kept


def test_a_trial_of_one_test_is_no_trace_for_the_next(kept: Kept[SimulatedSession]) -> None:
    first = kept.lent("one")
    assert first.run(PROBE).directions
    assert kept.lent("two") is first


def test_who_left_one_that_does_not_work_is_named_and_the_next_one_is_new(
    kept: Kept[SimulatedSession],
) -> None:
    kept.lent("a test that breaks it").ended = True
    with pytest.raises(pytest.fail.Exception, match="a test that breaks it left what it shares"):
        kept.lent("two")
    assert kept.lent("three").failure() is None


def test_counters_that_go_on_from_the_trial_before_are_no_clean_state() -> None:
    with keeping(counting_on, state_of) as kept:
        kept.lent("one")
        with pytest.raises(pytest.fail.Exception, match="40 of 20 frames were received"):
            kept.lent("two")
