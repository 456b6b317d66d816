"""Fixed loads: every one is offered as often as asked, and each gets its own verdict."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from search_models import LINE_RATE, Measure, probe_of, switch

from vsperf.methods.fixed import FixedLoad
from vsperf.record.limit import Limit
from vsperf.record.result import SearchResult
from vsperf.record.switch import PortCounters, SwitchCounters
from vsperf.record.trial import Event, Trial
from vsperf.search.base import Loads, Probe
from vsperf.units import NANOSECONDS

LOADS = Loads(500_000, LINE_RATE, LINE_RATE, fixed=(500_000, 2_000_000, LINE_RATE))


def _run(probe: Probe, **changes: Any) -> SearchResult:
    fields = {"kind": "fixed", "loads": ["1fps"], "duration": "10s", "repeats": 3}
    return FixedLoad.model_validate({**fields, **changes}).search(LOADS).run(probe)


def _limits(measure: Measure) -> list[Limit]:
    return [load.limit for load in _run(probe_of(measure)).loads]


def test_each_load_is_offered_as_often_as_asked_and_in_the_order_given() -> None:
    probe = probe_of(switch(10**6))
    result = _run(probe)
    assert [each.load_fps for each in probe.trials] == [
        load for load in LOADS.fixed for _ in range(3)
    ]
    assert {each.duration_ns for each in probe.trials} == {10 * NANOSECONDS}
    assert [load.load_fps for load in result.loads] == list(LOADS.fixed)
    assert result.goals == ()
    assert result.complete


def test_loss_and_throughput_are_those_of_the_worst_trial_and_direction() -> None:
    below, above, _ = _run(probe_of(switch(10**6, reverse_fps=10**6 // 2))).loads
    assert (below.passed, below.worst_loss_ratio, below.throughput_fps) == (3, "0", 500_000)
    assert (above.passed, above.worst_loss_ratio, above.throughput_fps) == (0, "3/4", 500_000)


def test_what_limits_a_load_is_named() -> None:
    assert _limits(switch(10**6)) == [Limit.SETTING, Limit.DUT, Limit.DUT]
    assert _limits(switch(LINE_RATE)) == [Limit.SETTING, Limit.SETTING, Limit.LINK]
    assert _limits(switch(LINE_RATE, sends_fps=10**6)) == [
        Limit.SETTING,
        Limit.GENERATOR,
        Limit.GENERATOR,
    ]


def test_what_the_generator_was_too_slow_for_is_told_from_what_the_switch_lost() -> None:
    """It sends two million; of these the switch takes one, so it would fail at less, too."""
    below, at, above = _run(probe_of(switch(10**6, sends_fps=2 * 10**6))).loads
    assert (below.short_ratio, at.short_ratio) == ("0", "0")
    assert (above.limit, above.short_ratio) == (Limit.DUT, str(1 - Fraction(2 * 10**6, LINE_RATE)))
    assert above.reason == (
        "the switch lost up to 50% of what it was offered; "
        "the generator was too slow for 86.56% of the load"
    )


def test_no_loss_is_said_with_what_it_proves() -> None:
    below, above, _ = _run(probe_of(switch(10**6))).loads
    assert "none of 15,000,000 frames sent each way was lost" in below.reason, "three trials"
    assert "above 2.0e-07 is unlikely" in below.reason
    assert "none of" not in above.reason


def test_allowed_loss_lets_a_load_pass() -> None:
    result = _run(probe_of(switch(10**6)), loss_ratio="50%")
    assert [load.passed for load in result.loads] == [3, 3, 0]


def test_when_the_budget_ends_only_what_was_measured_is_reported() -> None:
    probe = probe_of(switch(10**6), budget_s=4 * 19)
    result = _run(probe)
    assert not result.complete
    assert [load.trials for load in result.loads] == [3, 1]
    assert "the time ended after 1 of 3 trials" in result.loads[1].reason
    assert probe.budget.spent_ns <= 4 * 19 * NANOSECONDS


def test_a_load_that_passed_as_far_as_it_was_measured_is_limited_by_the_budget() -> None:
    (load,) = _run(probe_of(switch(10**6), budget_s=19)).loads
    assert (load.trials, load.passed, load.limit) == (1, 1, Limit.BUDGET)


def test_a_burst_lasts_as_long_as_its_frames_take_at_the_load() -> None:
    probe = probe_of(switch(LINE_RATE))
    _run(probe, frames="10k", repeats=1, duration=None)
    assert {way.intended_frames for each in probe.trials for way in each.directions} == {10_000}
    assert probe.trials[0].duration_ns == 10_000 * NANOSECONDS // 500_000


def test_a_fixed_load_that_a_machine_could_not_take_is_no_fault_of_the_switch() -> None:
    plain = switch(10**6)

    def measure(load_fps: int, duration_ns: int) -> Trial:
        trial = plain(load_fps, duration_ns)
        lost = sum(way.lost_frames for way in trial.directions)
        port = PortCounters(
            name="vm1_0",
            machine="vm1",
            received_frames=0,
            sent_frames=0,
            drops={"tx dropped": lost},
        )
        return trial.model_copy(update={"switch": SwitchCounters(ports=(port,))})

    assert _limits(measure)[1] is Limit.GUEST
    assert _limits(plain)[1] is Limit.DUT


def test_an_outage_needs_frames_in_both_directions_afterwards() -> None:
    plain = away(NANOSECONDS)

    def measure(load_fps: int, duration_ns: int) -> Trial:
        trial = plain(load_fps, duration_ns)
        first, second = trial.directions
        dead = second.model_copy(update={"longest_silence_ns": 2_000_000})
        return trial.model_copy(update={"directions": (first, dead)})

    load, *_ = _run(probe_of(measure), event="restart-switch").loads
    assert load.outages_ns == (None,) * 3


@pytest.mark.parametrize(("receiving_ns", "back"), [(9 * NANOSECONDS, True), (10**9, False)])
def test_a_short_outage_in_a_long_event_is_one_where_frames_came_later(
    receiving_ns: int, back: bool
) -> None:
    """A program that is asked to end may forward for most of the event."""
    plain, short_ns = away(300_000_000), 300_000_000

    def measure(load_fps: int, duration_ns: int) -> Trial:
        trial = plain(load_fps, duration_ns)
        more = {"receiving_ns": receiving_ns}
        ways = tuple(way.model_copy(update=more) for way in trial.directions)
        return trial.model_copy(update={"directions": ways})

    load, *_ = _run(probe_of(measure), event="restart-switch").loads
    assert load.outages_ns == (short_ns if back else None,) * 3


def away(silence_ns: int | None) -> Measure:
    """Lose a tenth of the frames while the switch is restarted for one second."""
    plain = switch(10**6)

    def measure(load_fps: int, duration_ns: int) -> Trial:
        trial = plain(load_fps, duration_ns)
        ways = [
            way.model_copy(update={"longest_silence_ns": silence_ns}) for way in trial.directions
        ]
        event = Event(name="restart-switch", began_ns=2 * NANOSECONDS, ended_ns=3 * NANOSECONDS)
        return trial.model_copy(update={"directions": tuple(ways), "event": event})

    return measure


def test_after_an_event_the_longest_silence_is_the_result() -> None:
    load, *_ = _run(probe_of(away(NANOSECONDS)), event="restart-switch").loads
    assert load.outages_ns == (NANOSECONDS,) * 3
    assert load.reason == "frames stayed away for 1.000 s after restart-switch"
    assert load.limit is Limit.DUT


@pytest.mark.parametrize("silence_ns", [None, 1_000_000])
def test_frames_that_never_came_back_leave_no_result(silence_ns: int | None) -> None:
    """Where the silence lasts to the end of the trial, the longest one seen is of before."""
    load, *_ = _run(probe_of(away(silence_ns)), event="kill-switch").loads
    assert load.outages_ns == (None,) * 3
    assert load.limit is Limit.UNKNOWN


@pytest.mark.parametrize("changes", [{"duration": "2s"}, {"duration": None, "frames": 1000}])
def test_an_event_needs_time(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="needs a duration of at least 4s"):
        _run(probe_of(switch(10**6)), event="restart-switch", **changes)
