"""A session that tests share is handed on clean, and who left it otherwise is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pytest
from kept_session import PROBE, KeptSession
from simulated_cases import session, simulated_case

from vsperf.record.trial import TrialCounts
from vsperf.trafficgens.base import OnSample, TrialRequest
from vsperf.trafficgens.sim import SimulatedSession


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


def started() -> AbstractContextManager[SimulatedSession]:
    return session(simulated_case())


@pytest.fixture(name="kept")
def fixture_kept() -> Iterator[KeptSession]:
    kept = KeptSession()
    yield kept
    kept.take_down()


def test_all_have_the_same_one_until_it_is_taken_down(kept: KeptSession) -> None:
    first = kept.handed_to("one", started)
    assert first.run(PROBE).directions
    assert kept.handed_to("two", started) is first
    kept.take_down()
    assert first.failure()
    assert kept.handed_to("three", started) is not first


def test_who_left_one_that_does_not_work_is_named_and_the_next_one_is_new(
    kept: KeptSession,
) -> None:
    left = kept.handed_to("a test that breaks it", started)
    assert isinstance(left, SimulatedSession)
    left.closed = True
    with pytest.raises(pytest.fail.Exception, match="a test that breaks it left the generator"):
        kept.handed_to("two", started)
    assert kept.handed_to("three", started).failure() is None


def test_counters_that_go_on_from_the_trial_before_are_no_clean_state(kept: KeptSession) -> None:
    @contextmanager
    def counting_on() -> Iterator[SimulatedSession]:
        with started() as running:
            yield CountsOn(running.path)

    kept.handed_to("one", counting_on).run(PROBE)
    with pytest.raises(pytest.fail.Exception, match="40 of 20 frames were received"):
        kept.handed_to("two", counting_on)
