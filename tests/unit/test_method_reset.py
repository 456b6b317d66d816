"""RFC 6201: both ways to tell how long a switch was away."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench_models import LOADS, FluidBench, UnevenBench, figures, method
from hypothesis import given
from hypothesis import strategies as st
from search_models import case_of

from vsperf.engine.criteria import outcome_of
from vsperf.methods.base import PLAIN, Manner
from vsperf.record.limit import Limit
from vsperf.record.result import Level
from vsperf.record.run import Outcome
from vsperf.record.trial import Trial
from vsperf.search.base import Budget
from vsperf.units import NANOSECONDS


def bench(killed_ns: int | None = 3 * NANOSECONDS) -> FluidBench:
    outages: dict[str, int | None] = {
        "restart-switch": NANOSECONDS,
        "kill-switch": killed_ns,
        "reboot-machines": 9 * NANOSECONDS,
    }
    return FluidBench(1_000_000, outages_ns=outages, loads=replace(LOADS, reference=1_000_000))


def test_both_methods_find_the_outage_of_each_event() -> None:
    found = figures(method("reset", throughput="1Mfps").run(bench()))

    assert found["restart_time"] == NANOSECONDS
    assert found["restart_lost_time"] == pytest.approx(NANOSECONDS)
    assert found["restart_difference"] == pytest.approx(0)
    assert found["restart_lost"] == 1_000_000
    assert found["kill_time"] == 3 * NANOSECONDS


@given(
    outage_ns=st.integers(1_000_000, 40 * NANOSECONDS),
    capacity=st.integers(100_000, LOADS.maximum),
)
def test_whatever_the_outage_both_methods_find_it(outage_ns: int, capacity: int) -> None:
    loads = replace(LOADS, reference=capacity)
    away = FluidBench(capacity, outages_ns={"kill-switch": outage_ns}, loads=loads)

    found = figures(method("reset", throughput=f"{capacity}fps", events=["kill-switch"]).run(away))

    gap_ns = 2 * NANOSECONDS / capacity
    assert found["kill_time"] == outage_ns
    assert found["kill_lost_time"] == pytest.approx(outage_ns, abs=gap_ns)
    assert found["kill_difference"] == pytest.approx(0, abs=gap_ns)


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (0, "no more than the 1.000 µs between two frames, so both say the same"),
        (1, "no more than the 1.000 µs between two frames, so both say the same"),
        (-1, "no more than the 1.000 µs between two frames, so both say the same"),
        (2, "below 0, as frames were kept and came later"),
        (-2, "above 0, as frames were lost beside the outage"),
    ],
)
def test_a_difference_of_one_gap_is_none(kept: int, said: str) -> None:
    """An outage of n lost frames lasts from the frame before them to the one behind."""

    class Keeping(FluidBench):
        """So many frames of the outage come later; below 0, more are lost beside it."""

        def trial(self, load_fps: int, duration_ns: int, manner: Manner = PLAIN) -> Trial:
            trial = super().trial(load_fps, duration_ns, manner)
            (way,) = trial.directions
            counted = way.model_copy(update={"received_frames": way.received_frames + kept})
            return trial.model_copy(update={"directions": (counted,)})

    loads = replace(LOADS, reference=1_000_000)
    stand = Keeping(1_000_000, outages_ns={"restart-switch": NANOSECONDS}, loads=loads)
    asked = method("reset", throughput="1Mfps", events=["restart-switch"])

    found = {figure.name: figure for figure in asked.run(stand).figures}

    assert found["restart_difference"].reason == f"by loss less by time stamps: {said}"


def test_a_reboot_of_the_machines_is_limited_by_them() -> None:
    asked = method("reset", throughput="1Mfps", events=["reboot-machines"])

    result = asked.run(bench())

    assert figures(result)["reboot_time"] == 9 * NANOSECONDS
    assert figures(result)["reboot_lost_time"] == pytest.approx(9 * NANOSECONDS)
    assert result.figures[0].limit is Limit.GUEST
    assert set(asked.metrics()) >= {"reboot_time"}


def test_frames_that_do_not_come_back_leave_no_time_to_tell() -> None:
    asked = method("reset", throughput="1Mfps", events=["kill-switch"])

    result = asked.run(bench(killed_ns=None))

    (away,) = result.figures
    assert away.value is None and away.limit is Limit.UNKNOWN
    assert away.reason == "no frame came back in 3 of 3 trials"


def test_the_share_of_the_throughput_is_what_is_offered() -> None:
    stand = bench()

    method("reset", throughput="1Mfps", load="50%", repeats=1).run(stand)

    assert {trial.load_fps for trial in stand.made} == {500_000}
    assert {trial.reference for trial in stand.made} == {"50% of the throughput given"}


def test_a_short_trial_does_not_comply() -> None:
    asked = method("reset", throughput="1Mfps", duration="12s", load="50%")

    (found,) = asked.compliance(case_of("mlr", search=asked), [64], asked.run(bench()))

    assert found.level is Level.NOT
    assert "3s of traffic before the event, not 15s" in found.deviations
    assert "50% of the throughput is offered, not all of it" in found.deviations


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"duration": "3s"}, "at least 4s"),
        ({"load": "0"}, "above 0"),
        ({"events": ["kill-switch", "kill-switch"]}, "named once"),
        ({"events": []}, "at least 1 item"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        method("reset", **settings)


def test_loss_is_time_at_the_load_that_each_direction_is_offered() -> None:
    class SlowWayBack(UnevenBench):
        """The reverse direction stays away for twice as long."""

        def trial(self, load_fps: int, duration_ns: int, manner: Manner = PLAIN) -> Trial:
            trial = super().trial(load_fps, duration_ns, manner)
            forward, reverse = trial.directions
            more = 2 * reverse.lost_frames
            slow = {"received_frames": reverse.sent_frames - more, "longest_silence_ns": 2 * 10**9}
            ways = (forward, reverse.model_copy(update=slow))
            return trial.model_copy(update={"directions": ways})

    stand = SlowWayBack(1_000_000, outages_ns={"restart-switch": NANOSECONDS})
    asked = method("reset", throughput="1Mfps", events=["restart-switch"])
    stand.loads = replace(LOADS, reference=1_000_000)

    found = figures(asked.run(stand))

    assert found["restart_time"] == 2 * NANOSECONDS
    assert found["restart_lost_time"] == pytest.approx(2 * NANOSECONDS)


def test_times_that_nobody_found_comply_with_nothing() -> None:
    asked = method("reset", throughput="1Mfps", events=["kill-switch"])

    (found,) = asked.compliance(
        case_of("mlr", search=asked), [64], asked.run(bench(killed_ns=None))
    )

    assert found.level is Level.NOT
    assert "there is no kill time" in found.deviations


@pytest.mark.parametrize("seconds", [0, 1, 4])
@pytest.mark.parametrize(
    "kind", ["reset", "recovery", "latency", "soak", "back2back", "churn", "broadcast"]
)
def test_a_method_that_the_time_cuts_short_never_says_that_it_is_complete(
    kind: str, seconds: int
) -> None:
    usual = {"throughput_duration": "1s", "throughput_sum": "1s"}
    more = {**usual, "rules_per_second": [10]} if kind == "churn" else {}
    stand = FluidBench(1_000_000, budget=Budget(seconds * NANOSECONDS))

    result = method(kind, **more).run(stand)

    first = result.figures[0]
    assert not result.complete
    assert first.value is None and first.reason
    outcome, why = outcome_of(result, ())
    assert outcome is Outcome.INVALID and why
