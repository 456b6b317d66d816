"""Ports that fail at what tgen asks: it says so, or goes on without, and makes up nothing.

So with a DPDK that is wrong about the clock, and with a worker that does not run for seconds.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from captures import times_s
from conftest import Require
from loopbacks import OPTIONS
from preloads import preload

from vsperf.errors import ComponentError
from vsperf.trafficgens.tgen.byhand import Sending, Stream, at_hand, trial, ways_between
from vsperf.trafficgens.tgen.client import TgenError
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine

RING = ("net_ring0",)
WAYS = ways_between(1, "both")
SLOT_NS = 10_000_000
FRAMES = 1000
PATIENCE_S = 30.0


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")
    require("tgen-dut")


def test_a_port_that_takes_only_frames_for_itself_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="promiscuous")
    with pytest.raises(ComponentError) as failed, at_hand(RING, OPTIONS):
        pytest.fail("a tgen was given")
    assert "port 0 does not take frames for others" in str(failed.value.problems[0].why)


@pytest.mark.parametrize("fault", ["stats", "mtu"])
def test_a_port_that_cannot_count_or_keeps_its_mtu_is_used_as_it_is(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT=fault)
    with at_hand(RING, OPTIONS) as tgen:
        (port,) = tgen.ports()
        for _ in range(2):
            sending = Sending("10000", frames=1000)
            result = trial(tgen, WAYS, Stream(), sending, lambda event: None)
            assert result["streams"][0]["distinct"] == 1000
            (counted,) = result["ports"]
            known = {"missed", "device_errors"} & counted.keys()
            assert known == (set() if fault == "stats" else {"missed", "device_errors"})
            assert {counted[name] for name in known} | {counted["no_buffers"]} == {0}
    assert port["mtu"] == 1500


@pytest.mark.parametrize(
    ("fault", "missed"), [("count", 100), ("count-first", None), ("count-second", None)]
)
def test_what_a_port_missed_is_known_if_it_counts_before_and_after(
    fault: str, missed: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It misses a hundred frames more each time that it is asked, and some of these in vain."""
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT=fault)
    with at_hand(RING, OPTIONS) as tgen:
        for _ in range(2):
            (counted,) = hundred_ms(tgen)["ports"]
            assert counted.get("missed") == missed
            assert counted.get("device_errors") == (None if missed is None else 0)


def test_the_speed_of_the_clock_is_not_what_dpdk_takes_it_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DPDK is 5 % off: rates and times are by what the kernel's own clock says."""
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="tsc")
    with at_hand(RING, OPTIONS) as tgen:
        hz = tgen.hello["tsc_hz"]
        first = tgen.ask("clock")
        found = trial(tgen, WAYS, Stream(), Sending("1000", frames=FRAMES), lambda event: None)
        last = tgen.ask("clock")
    assert tgen.hello["tsc_hz_dpdk"] == pytest.approx(1.05 * hz, rel=0.01)
    passed_s = (last["raw_ns"] - first["raw_ns"]) / 1e9
    assert (last["tsc"] - first["tsc"]) / passed_s == pytest.approx(hz, rel=0.01)
    assert found["tsc_hz"] == hz
    # By the schedule; what the machine held up is no part of it.
    sending_s = (found["streams"][0]["sending_ns"] - found["workers"][0]["paused_ns"]) / 1e9
    assert sending_s == pytest.approx((FRAMES - 1) / 1000, rel=0.02)


def test_a_clock_that_nobody_calls_constant_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="clock")
    with pytest.raises(ComponentError) as failed, at_hand(RING, OPTIONS):
        pytest.fail("a tgen was given")
    assert "the TSC of this processor is not constant" in str(failed.value.problems[0].why)


def hundred_ms(tgen: Tgen, **more: Any) -> Any:
    """Return a trial that takes so long, if nothing is in its way."""
    tgen.ask("configure", streams=[Stream().on(way) for way in WAYS])
    sending = {"frames": FRAMES, "rate_fps": 10_000, "quiet_ns": 20_000_000}
    return tgen.ask("trial", PATIENCE_S, **sending, **more)


def assert_right(found: Any) -> None:
    (stream,) = found["streams"]
    assert (stream["sent"], stream["distinct"], stream["lost"]) == (FRAMES, FRAMES, 0)


def test_a_worker_that_falls_silent_while_it_sends_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="silent", TGEN_SILENT="500:3000")
    with at_hand(RING, OPTIONS) as tgen:
        found = hundred_ms(tgen)
        assert_right(found)
        assert found["settled"]
        assert found["workers"][0]["longest_gap_ns"] > 2_500_000_000, "the worker was silent"
        assert_right(hundred_ms(tgen))


def test_nothing_is_collected_from_a_worker_that_is_silent_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has taken the last frames, and not yet looked at them, when the time to drain is over."""
    silent = {"TGEN_FAULT": "silent", "TGEN_SILENT": f"{FRAMES}:3000"}
    preload("faults", tmp_path, monkeypatch, **silent)
    with at_hand(RING, OPTIONS) as tgen:
        found = hundred_ms(tgen, drain_ns=100_000_000)
        assert_right(found)
        assert not found["settled"], "nobody saw that nothing more came"
        after = hundred_ms(tgen)
        assert_right(after)
        assert after["settled"]


def test_a_worker_that_is_not_there_when_a_trial_begins_is_lost_or_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for over a second at least; when it is back, so are right answers."""
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="silent", TGEN_SILENT="0:4000")
    with at_hand(RING, OPTIONS) as tgen:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                found = hundred_ms(tgen)
            except TgenError as refused:
                assert refused.code == "worker-lost"
                assert time.monotonic() < deadline, "it never came back"
                time.sleep(0.1)  # between two looks
            else:
                break
        assert_right(found)
        assert_right(hundred_ms(tgen))


def sent_past(full_ms: str, tmp_path: Path, patch: pytest.MonkeyPatch, **sending: Any) -> Any:
    """Return the result of a trial on a port that takes nothing for so long."""
    preload("faults", tmp_path, patch, TGEN_FAULT="full", TGEN_FULL=full_ms)
    with at_hand(RING, OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream().on(way) for way in WAYS])
        return tgen.ask("trial", 60, slot_ns=SLOT_NS, **sending)


def test_what_a_full_port_held_up_is_sent_once_it_takes_frames_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = sent_past("20-40", tmp_path, monkeypatch, rate_fps=20_000, frames=4000)
    (found,) = sent["streams"]
    assert (found["sent"], found["unsent"], found["refused"]) == (4000, 0, 0)


def test_what_a_full_port_held_up_is_caught_up_with_at_no_more_than_twice_the_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="full", TGEN_FULL="20-40")
    file, rate, burst, window_s = tmp_path / "sent.pcap", 20_000, 4, 0.001
    with at_hand([f"net_pcap0,tx_pcap={tmp_path / 'taken.pcap'}"], OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream().on(way) for way in WAYS])
        tgen.ask("capture", port=0, path=str(file), frames=2000)
        sending = {"rate_fps": rate, "burst": burst, "drain_ns": 1_000_000}
        tgen.ask("trial", 60, frames=2000, **sending)
    times = times_s(file)
    assert len(times) == 2000
    ahead = int(2 * rate * window_s) + burst + 1  # so many frames take longer than the window
    least = min(after - before for before, after in zip(times, times[ahead:], strict=False))
    assert least > 0.9 * window_s


def test_what_was_due_while_the_port_was_full_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port is full from the middle on. What was due while tgen was away is not its doing."""
    half = {"rate_fps": 2000, "frames": 4000, "duration_ns": 2_000_000_000}
    sent = sent_past("1000-100000", tmp_path, monkeypatch, **half)
    (found,) = sent["streams"]
    assert 0 < found["sent"] < 3000
    assert found["unsent"] == 4000 - found["sent"]
    away = sent["slots"]["totals"]["away_ns"] * 2000 // 1_000_000_000
    assert found["unsent"] * 9 // 10 - away <= found["refused"] <= found["unsent"]


def test_a_port_that_was_full_for_a_moment_is_not_to_blame_for_a_slow_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand times more is asked for than can be sent; the port is full for the last tenth, so
    long that tgen cannot have been away for all of it.
    """
    much = {"rate_fps": 10_000_000_000, "frames": 10**10, "duration_ns": 1_000_000_000}
    sent = sent_past("900-1000", tmp_path, monkeypatch, **much)
    (found,) = sent["streams"]
    assert found["unsent"] > 9 * 10**9
    assert 0 < found["refused"] <= found["unsent"] // 5
