"""What is done to a switch in the middle of a trial happens in the middle of it, or not at all."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from search_models import POLICY

from vsperf.engine.disturb import run_trial
from vsperf.engine.happenings import Parts
from vsperf.engine.measurer import Measurer
from vsperf.engine.watch import Watch
from vsperf.errors import ComponentError
from vsperf.methods.base import Manner
from vsperf.record.flags import Flag
from vsperf.record.switch import AddressCounts, SwitchCounters
from vsperf.record.trial import Direction, TrialCounts
from vsperf.search.base import Budget
from vsperf.trafficgens.base import OnSample, TrialRequest

SECOND = 1_000_000_000
KILLED = Manner(event="kill-switch")


@dataclass
class Restarting:
    """A switch that says when it was restarted."""

    restarts: list[float] = field(default_factory=list)

    def failure(self) -> str | None:
        return None

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        pass

    def counters(self) -> SwitchCounters | None:
        return None

    def facts(self) -> dict[str, Any]:
        return {}

    def restart(self, *, kill: bool) -> None:
        self.restarts.append(time.monotonic())

    def forget_flows(self) -> None:
        pass

    def change_rules(self, count: int) -> None:
        pass

    def access(self) -> tuple[str, ...]:
        return ()


def counted(lasts_s: float) -> TrialCounts:
    time.sleep(lasts_s)
    return TrialCounts(directions=(), sending_ns=None, elapsed_ns=0, settled=True)


def test_an_event_comes_while_frames_are_sent() -> None:
    switch = Restarting()
    request = TrialRequest(1000, SECOND // 10)

    _, happened = run_trial(lambda _: counted(0.5), request, KILLED, Parts(switch), 0)

    assert len(switch.restarts) == 1
    assert happened.event is not None and happened.event.began_ns >= SECOND // 40


def test_an_event_whose_trial_was_over_before_it_does_not_happen() -> None:
    switch = Restarting()
    request = TrialRequest(1000, 4 * SECOND)

    _, happened = run_trial(lambda _: counted(0), request, KILLED, Parts(switch), 0)

    assert happened.event is None and not switch.restarts


def test_an_event_that_would_come_after_the_last_frame_was_due_does_not_happen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where the machine kept vsperf from running meanwhile; the generator still waits."""
    request = TrialRequest(1000, SECOND // 1000)
    now = time.monotonic_ns
    moments = iter((0, 2 * SECOND, 3 * SECOND))
    monkeypatch.setattr(time, "monotonic_ns", lambda: next(moments, now()))

    switch = Restarting()
    _, happened = run_trial(lambda _: counted(0.5), request, KILLED, Parts(switch), 0)

    assert happened.event is None and not switch.restarts


class Instant:
    """A generator whose trials are over at once."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        way = Direction(
            name="phy0 to phy1", intended_frames=4000, sent_frames=4000, received_frames=4000
        )
        return TrialCounts(
            directions=(way,), sending_ns=4 * SECOND, elapsed_ns=4 * SECOND, settled=True
        )

    def failure(self) -> str | None:
        return None

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        return None

    def facts(self) -> dict[str, Any]:
        return {}


def test_a_trial_without_the_event_that_it_was_made_for_is_invalid() -> None:
    generator = Instant()
    measurer = Measurer(generator, Watch(Restarting(), generator), POLICY, Budget(), 1)

    trial = measurer.attempt(TrialRequest(1000, 4 * SECOND), KILLED)

    assert trial.flags == (Flag.EVENT_MISSED,)
    assert not trial.valid and trial.event is None


@dataclass
class LearningLate(Restarting):
    """A switch that learns one more address of earlier frames until it has forgotten them."""

    learned: int = 0

    def forget_flows(self) -> None:
        self.learned += 1

    def counters(self) -> SwitchCounters | None:
        known = AddressCounts(known=0, most=8, learned=self.learned, evicted=0, expired=0)
        return SwitchCounters(addresses=known)


def test_what_a_switch_counts_while_it_forgets_is_no_part_of_the_trial() -> None:
    generator = Instant()
    measurer = Measurer(generator, Watch(LearningLate(), generator), POLICY, Budget(), 1)

    trial = measurer.attempt(TrialRequest(1000, 4 * SECOND), Manner(cold=True))

    assert trial.switch is not None and trial.switch.addresses is not None
    assert trial.switch.addresses.learned == 0


def test_what_the_generator_says_of_its_failure_comes_first() -> None:
    def fails(_: TrialRequest) -> TrialCounts:
        raise ComponentError("the generator is gone")

    with pytest.raises(ComponentError, match="the generator is gone"):
        run_trial(fails, TrialRequest(1000, SECOND), KILLED, Parts(Restarting()), 0)
