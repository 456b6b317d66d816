"""How long a switch is away, or goes on losing: resets, recovery, and what happens in a trial."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from bench_models import (
    ALL_SIZES,
    LOADS,
    FluidBench,
    counted,
    figures,
    method,
    with_way_back,
    word_on,
)
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from record_samples import case_record, planned, view_of
from search_models import LINE_RATE, POLICY

from vsperf.analysis.comparison import findings_in
from vsperf.drivers.generators.base import OnSample, TrialRequest
from vsperf.drivers.vswitches.base import NothingRuns
from vsperf.engine import disturb
from vsperf.engine.criteria import outcome_of
from vsperf.engine.disturb import Happened, run_trial
from vsperf.engine.events import Parts, action_of
from vsperf.engine.measurer import Measurer
from vsperf.engine.standing import NoSession
from vsperf.engine.watch import Watch
from vsperf.errors import ComponentError
from vsperf.methods.base import TrialOptions
from vsperf.methods.events import known_events
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.result import Level, Limit, Standard
from vsperf.records.run import Outcome
from vsperf.records.switch import AddressCounts, SwitchCounters
from vsperf.records.trial import Direction, GeneratorActivity, Trial, TrialCounts, to_vnfs
from vsperf.search.base import Budget

# RFC 6201: both ways to tell how long a switch was away.


ONE_M = replace(LOADS, reference=1_000_000)


def bench(killed_ns: int | None = 3 * NANOSECONDS) -> FluidBench:
    outages: dict[str, int | None] = {
        "restart-switch": NANOSECONDS,
        "kill-switch": killed_ns,
        "reboot-vnfs": 9 * NANOSECONDS,
    }
    return FluidBench(1_000_000, outages_ns=outages, loads=ONE_M)


def test_both_methods_find_the_outage_of_each_event() -> None:
    found = figures(method("reset", throughput="1Mfps").run(bench()))

    assert found["restart_time"] == NANOSECONDS
    assert found["restart_lost_time"] == pytest.approx(NANOSECONDS)
    assert found["restart_difference"] == pytest.approx(0)
    assert found["restart_lost"] == 1_000_000
    assert found["kill_time"] == 3 * NANOSECONDS


@given(
    outage_ns=st.integers(1_000_000, 40 * NANOSECONDS), capacity=st.integers(100_000, LOADS.maximum)
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

    stand = bench()
    stand.shown = lambda trial: counted(
        trial, received_frames=trial.directions[0].received_frames + kept
    )
    asked = method("reset", throughput="1Mfps", events=["restart-switch"])

    found = {figure.name: figure for figure in asked.run(stand).figures}

    assert found["restart_difference"].reason == f"by loss less by time stamps: {said}"


@pytest.mark.parametrize(
    ("still_ms", "limit"), [(0, Limit.DUT), (99, Limit.DUT), (100, Limit.HOST)]
)
def test_an_outage_in_which_the_generator_stood_still_is_not_the_switchs(
    still_ms: int, limit: Limit
) -> None:
    gap = GeneratorActivity(longest_gap_ns=still_ms * 1_000_000)
    stand = bench(NANOSECONDS)
    stand.shown = lambda trial: trial.model_copy(update={"generator": gap})
    asked = method("reset", throughput="1Mfps", events=["kill-switch"])
    result = asked.run(stand)
    _, deviations = word_on(Standard.RFC6201, asked, result)

    stood = limit is Limit.HOST
    assert result.figures[0].limit is limit
    assert ("stood still for up to 100.0 ms" in result.figures[0].reason) is stood
    assert ("the host limited the result, not the switch" in deviations) is stood


def test_a_reboot_of_the_vnfs_is_limited_by_them() -> None:
    asked = method("reset", throughput="1Mfps", events=["reboot-vnfs"])

    result = asked.run(bench())

    assert figures(result)["reboot_time"] == 9 * NANOSECONDS
    assert figures(result)["reboot_lost_time"] == pytest.approx(9 * NANOSECONDS)
    assert result.figures[0].limit is Limit.VNF
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
    def slow_way_back(trial: Trial) -> Trial:
        """The reverse direction is offered half of the load, and stays away for twice as long."""
        (way,) = trial.directions
        sent, lost = way.sent_frames // 2, 2 * (way.lost_frames // 2)
        counters = {"intended_frames": sent, "sent_frames": sent, "received_frames": sent - lost}
        return with_way_back(trial, **counters, longest_silence_ns=2 * NANOSECONDS)

    stand = bench()
    stand.shown = slow_way_back

    found = figures(method("reset", throughput="1Mfps", events=["restart-switch"]).run(stand))

    assert found["restart_time"] == 2 * NANOSECONDS
    assert found["restart_lost_time"] == pytest.approx(2 * NANOSECONDS)


@pytest.mark.parametrize(
    ("settings", "killed_ns", "deviations"),
    [
        (
            {"duration": "12s", "load": "50%"},
            NANOSECONDS,
            [
                "3s of traffic before the event, not 15s",
                "50% of the throughput is offered, not all of it",
            ],
        ),
        ({"events": ["kill-switch"]}, None, ["there is no kill time"]),
    ],
    ids=["a short trial at a share", "times that nobody found"],
)
def test_what_does_not_comply_with_rfc6201_says_why(
    settings: dict[str, Any], killed_ns: int | None, deviations: list[str]
) -> None:
    asked = method("reset", throughput="1Mfps", **settings)

    level, found = word_on(Standard.RFC6201, asked, asked.run(bench(killed_ns)))

    assert level is Level.NOT
    assert set(found) >= set(deviations)


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


# System recovery: how long loss goes on when an overload ends.

GIVEN = replace(LOADS, reference=5_000_000)


@given(
    recovery_ns=st.integers(0, 50 * NANOSECONDS),
    capacity=st.integers(100_000, LOADS.maximum * 10 // 11),
)
def test_whatever_a_switch_can_do_and_takes_to_recover_is_found(
    recovery_ns: int, capacity: int
) -> None:
    loads = replace(LOADS, reference=capacity)
    bench = FluidBench(capacity, 1000, recovery_ns=recovery_ns, loads=loads)

    (figure,) = method("recovery", throughput=f"{capacity}fps").run(bench).figures

    assert figure.value == recovery_ns


def test_where_the_generators_own_rings_lost_the_overload_nothing_is_said_of_the_switch() -> None:
    busy = GeneratorActivity(behind_ns=100 * NANOSECONDS)
    stand = FluidBench(5_000_000, 1000, recovery_ns=1_000_000, loads=GIVEN)
    stand.shown = lambda trial: trial.model_copy(update={"generator": busy})
    asked = method("recovery", throughput="5Mfps")
    result = asked.run(stand)
    level, deviations = word_on(Standard.RFC2544, asked, result)

    assert result.figures[0].limit is Limit.GENERATOR
    assert level is Level.NOT
    assert "the generator limited the result, not the switch" in deviations


@pytest.mark.parametrize("recovery_ns", [0, 1_000_000, NANOSECONDS])
def test_the_time_from_the_change_to_the_last_loss_is_found(recovery_ns: int) -> None:
    bench = FluidBench(5_000_000, 1000, recovery_ns=recovery_ns, loads=GIVEN)

    result = method("recovery", throughput="5Mfps").run(bench)

    (figure,) = result.figures
    assert figure.value == recovery_ns
    assert figure.limit is Limit.DUT
    assert figure.at == "5.500 Mfps, then 2.750 Mfps"
    assert figure.spread is not None and figure.spread.runs == 5


def test_the_throughput_is_looked_for_and_exceeded_by_a_tenth() -> None:
    bench = FluidBench(5_000_000, recovery_ns=1_000_000)

    result = method("recovery", repeats=1).run(bench)

    found = result.goals[0].lower_fps
    assert found is not None
    assert bench.made[-1].load_fps == pytest.approx(found * 1.1, abs=1)
    assert bench.made[-1].reference == "110% of the throughput, then 50% of that"


def test_what_forwards_the_highest_load_cannot_be_overloaded() -> None:
    (figure,) = method("recovery").run(FluidBench(LINE_RATE)).figures

    assert figure.value is None
    assert "nothing overloads it" in figure.reason


@pytest.mark.parametrize(
    ("buffer_frames", "recovery_ns", "reason"),
    [
        (10**9, 0, "nothing was lost above the throughput"),
        (0, 60 * NANOSECONDS - 1, "frames were lost to the end of the lower load"),
    ],
    ids=["the buffer takes all that is too much", "loss never ends"],
)
def test_without_a_last_loss_after_the_overload_there_is_no_recovery_time(
    buffer_frames: int, recovery_ns: int, reason: str
) -> None:
    bench = FluidBench(5_000_000, buffer_frames, recovery_ns=recovery_ns, loads=GIVEN)

    (figure,) = method("recovery", throughput="5Mfps").run(bench).figures

    assert figure.value is None
    assert figure.reason.startswith(f"in 5 of 5 trials {reason}")


STRICT: dict[str, Any] = {"throughput_duration": "60s", "throughput_sum": "60s"}


def test_the_standard_s_own_shares_and_times_comply_and_a_size_left_out_is_named() -> None:
    asked = method("recovery", **STRICT)
    result = asked.run(FluidBench(5_000_000))

    found = word_on(Standard.RFC2544, asked, result, sizes=ALL_SIZES)
    assert found == (Level.UNCONDITIONAL, ())

    level, deviations = word_on(Standard.RFC2544, asked, result)
    assert level is Level.CONDITIONAL
    assert "128, 256, 512, 1024, 1280, 1518" in "; ".join(deviations)


def test_an_overload_that_the_generator_could_not_offer_does_not_comply() -> None:
    weak = replace(LOADS, maximum=5_100_000, generator_cap=5_100_000)
    asked = method("recovery", **STRICT)

    result = asked.run(FluidBench(5_000_000, loads=weak))

    level, deviations = word_on(Standard.RFC2544, asked, result, sizes=ALL_SIZES)
    assert level is Level.NOT
    assert "the overload was 5.100 Mfps instead of 5.498 Mfps" in "; ".join(deviations)
    assert figures(result)["overload_share"] == pytest.approx(5.1 / 5.5, rel=0.01)
    case = view_of(planned(), case_record("one", result=result))
    names = {one.name for one in findings_in(case)}
    assert names
    assert "overload_share" not in names, "what could be offered is no merit of a switch"


AWAY: dict[str, int | None] = {"restart-switch": NANOSECONDS, "kill-switch": NANOSECONDS}


@pytest.mark.parametrize(
    ("kind", "standard"),
    [
        ("latency", Standard.RFC2544),
        ("latency", Standard.RFC8219),
        ("recovery", Standard.RFC2544),
        ("reset", Standard.RFC6201),
    ],
)
@pytest.mark.parametrize("seconds", [59, 60])
def test_a_throughput_from_short_trials_is_not_that_of_the_standard(
    kind: str, standard: Standard, seconds: int
) -> None:
    asked = method(kind, throughput_duration=f"{seconds}s", throughput_sum="60s")
    result = asked.run(FluidBench(5_000_000, outages_ns=AWAY))

    _, deviations = word_on(standard, asked, result)
    why = f"the throughput is from trials of {seconds}s instead of 60s"
    assert (why in deviations) == (seconds < 60)


def test_other_shares_do_not() -> None:
    asked = method("recovery", throughput="5Mfps", overload="20%", after="10%", duration="1s")
    result = asked.run(FluidBench(5_000_000, loads=GIVEN))

    level, deviations = word_on(Standard.RFC2544, asked, result)

    assert level is Level.NOT
    assert "20% above the throughput instead of 10%" in deviations
    assert figures(result)["recovery_time"] == 0


# What is done to a switch in the middle of a trial happens in the middle of it, or not at all.

SECOND = 1_000_000_000
KILLED = TrialOptions(event="kill-switch")


@dataclass
class Restarting(NothingRuns):
    """A switch that says when it was restarted."""

    restarts: list[float] = field(default_factory=list)
    came: threading.Event = field(default_factory=threading.Event)

    def restart(self, *, kill: bool) -> None:
        self.restarts.append(time.monotonic())
        self.came.set()

    def forget_flows(self) -> None:
        pass

    def change_rules(self, count: int) -> None:
        pass


def counts() -> TrialCounts:
    return TrialCounts(directions=(), sending_ns=None, elapsed_ns=0, settled=True)


def happened_while_sending(event: str, monkeypatch: pytest.MonkeyPatch) -> Happened:
    """Return what happened in a trial that sends until it has come, however late that is."""
    switch, hour = Restarting(), 3600 * SECOND
    monkeypatch.setattr(disturb, "SHARE_BEFORE", hour // (SECOND // 40))

    def sent(_: TrialRequest) -> TrialCounts:
        assert switch.came.wait(60)
        return counts()

    options = TrialOptions(event=event)
    _, happened = run_trial(sent, TrialRequest(1000, hour), options, Parts(switch), 0)
    assert len(switch.restarts) == 1
    return happened


def test_an_event_comes_while_frames_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    happened = happened_while_sending("kill-switch", monkeypatch)

    assert happened.event is not None and happened.event.began_ns >= SECOND // 40


def test_an_event_whose_trial_was_over_before_it_does_not_happen() -> None:
    switch = Restarting()
    request = TrialRequest(1000, 4 * SECOND)

    _, happened = run_trial(lambda _: counts(), request, KILLED, Parts(switch), 0)

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

    def sent(_: TrialRequest) -> TrialCounts:
        time.sleep(0.5)
        return counts()

    _, happened = run_trial(sent, request, KILLED, Parts(switch), 0)

    assert happened.event is None and not switch.restarts


class Instant(NoSession):
    """A generator whose trials are over at once."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        way = Direction(
            name="phy0 to phy1", intended_frames=4000, sent_frames=4000, received_frames=4000
        )
        return TrialCounts(
            directions=(way,), sending_ns=4 * SECOND, elapsed_ns=4 * SECOND, settled=True
        )


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

    trial = measurer.attempt(TrialRequest(1000, 4 * SECOND), TrialOptions(cold=True))

    assert trial.switch is not None and trial.switch.addresses is not None
    assert trial.switch.addresses.learned == 0


def test_what_the_generator_says_of_its_failure_comes_first() -> None:
    def fails(_: TrialRequest) -> TrialCounts:
        raise ComponentError("the generator is gone")

    with pytest.raises(ComponentError, match="the generator is gone"):
        run_trial(fails, TrialRequest(1000, SECOND), KILLED, Parts(Restarting()), 0)


# An event that comes with another package: one class, and one entry point.

CODE = """
class Freeze:
    def act(self, parts):
        parts.switch.restart(kill=False)

    def away_ns(self, parts):
        return None
"""


@pytest.fixture(name="installed")
def fixture_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package that brings an event."""
    (tmp_path / "frozen_by_us.py").write_text(CODE)
    info = tmp_path / "frozen-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: frozen\nVersion: 1\n")
    points = "[vsperf.events]\nfreeze-switch = frozen_by_us:Freeze\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    known_events.cache_clear()
    yield
    known_events.cache_clear()
    action_of.cache_clear()
    sys.modules.pop("frozen_by_us", None)


@pytest.mark.usefixtures("installed")
def test_a_method_that_knows_events_by_name_knows_it() -> None:
    asked = method("reset", throughput="5Mfps", events=["freeze-switch"], repeats=1)
    bench = FluidBench(5_000_000, outages_ns={"freeze-switch": SECOND}, loads=LOADS)

    found = figures(asked.run(bench))

    assert found["freeze_time"] == SECOND
    assert "freeze_lost" in asked.metrics()


@pytest.mark.usefixtures("installed")
def test_it_happens_while_frames_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    happened = happened_while_sending("freeze-switch", monkeypatch)

    assert happened.event is not None and happened.event.name == "freeze-switch"


def test_one_that_nobody_brings_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValidationError, match="there is no event 'freeze-switch'; known: kill-sw"):
        method("reset", events=["freeze-switch"])


def test_a_name_says_to_whom_it_happens() -> None:
    assert [name for name in known_events() if to_vnfs(name)] == ["reboot-vnfs"]
