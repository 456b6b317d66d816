"""Frames that are late, lost, or on their way, and ports that fail: tgen counts each exactly."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from captures import times_s
from freezing import frozen_soon
from loopbacks import OPTIONS, Loopback, reference_dut
from preloads import preload
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.drivers.generators.tgen.byhand import Sending, Stream, at_hand, directions_between
from vsperf.drivers.generators.tgen.byhand import trial as trial_of_faults
from vsperf.drivers.generators.tgen.byhand import trial as trial_of_truth
from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.errors import ComponentError
from vsperf.records.histogram import percentiles_ns

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen", "tgen-dut")]
__all__ = ["fixture_kept_tgen", "fixture_ring"]


# Frames on their way: never more than the ring that they come back by has room for.


def test_no_more_frames_are_on_their_way_than_may_be(ring: Tgen) -> None:
    ring.ask("configure", streams=[Stream(64).on(way) for way in directions_between(1, "both")])
    full_polls = []
    for bound in (0, 8):
        found = ring.ask("trial", 60, frames=100_000, in_flight=bound)
        assert found["streams"][0]["distinct"] == 100_000
        full_polls.append(found["ports"][0]["receive_full_polls"])
    assert full_polls[0] > 0
    assert full_polls[1] == 0, "a look never finds more than are on their way"


def test_frames_that_never_come_back_hold_others_for_a_tenth_of_a_second(tmp_path: Path) -> None:
    with at_hand([f"net_pcap0,tx_pcap={tmp_path / 'sent.pcap'}"], OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream(64).on(way) for way in directions_between(1, "both")])
        sending = {"frames": 1000, "rate_fps": 100_000, "in_flight": 400}
        found = tgen.ask("trial", 60, quiet_ns=1_000_000, drain_ns=1_000_000, **sending)
    (stream,), (port,) = found["streams"], found["ports"]
    assert (stream["sent"], stream["lost"]) == (1000, 1000)
    assert port["held_back"] > 0
    assert stream["sending_ns"] >= 200_000_000, "a tenth of a second after 400, and after 800"


def test_frames_without_a_mark_are_not_waited_for(tmp_path: Path, ring: Tgen) -> None:
    """When they arrive nobody knows which they are, so nobody knows what is on its way."""
    acknowledgement = Ether() / IP(src="10.1.2.3", dst="10.3.2.1") / TCP(flags="A")
    wrpcap(str(file := tmp_path / "acknowledgements.pcap"), [acknowledgement] * 3)
    ring.ask("configure", streams=[{"replay": str(file)}])
    found = ring.ask("trial", 60, frames=3000, rate_fps=100_000, in_flight=400)
    (stream,), (port,) = found["streams"], found["ports"]
    assert stream["sent"] == stream["unmarked_received"] == 3000
    assert port["held_back"] == 0


def test_who_finds_more_than_half_a_ring_was_behind_for_so_long(tmp_path: Path) -> None:
    """While tgen is frozen, more comes due at the reference DUT than its ring has room for."""
    frozen_s = 0.3
    sending = {"frames": 400_000, "rate_fps": 200_000, "in_flight": 0}
    patience = {"quiet_ns": 500_000_000, "drain_ns": 3_000_000_000}
    with (
        reference_dut(tmp_path, delay_ns=(20_000_000, 0)) as switch,
        at_hand(switch.devices, OPTIONS) as tgen,
    ):
        tgen.ports()
        tgen.ask(
            "configure", streams=[Stream(64).on(way) for way in directions_between(2, "both")[:1]]
        )
        with frozen_soon(tgen.process.pid, 1.0, frozen_s):  # of 2 s, so surely in their midst
            found = tgen.ask("trial", 60, **sending, **patience)
    (stream,), (nothing, arrived) = found["streams"], found["ports"]
    assert stream["distinct"] == stream["sent"] == 400_000, (
        "the reference DUT keeps what finds no room"
    )
    assert arrived["receive_behind_ns"] > frozen_s * 1_000_000_000 / 2
    assert nothing["receive_behind_ns"] == 0, "where nothing comes"


def test_a_backlog_that_the_ring_has_room_for_is_none(tmp_path: Path) -> None:
    """While tgen is frozen, all that the reference DUT has delayed gathers in its ring of 1024."""
    streams = [Stream(64).on(way) for way in directions_between(2, "both")[:1]]
    sending = {"frames": 800_000, "rate_fps": 800_000, "in_flight": 900}
    with (
        reference_dut(tmp_path, delay_ns=(1_000_000, 0)) as switch,
        at_hand(switch.devices, OPTIONS) as tgen,
    ):
        tgen.ports()
        tgen.ask("configure", streams=streams)
        with frozen_soon(tgen.process.pid, 0.4, 0.05):
            found = tgen.ask("trial", 60, **sending)
    arrived = found["ports"][1]
    assert arrived["receive_full_polls"] > 0
    assert arrived["receive_behind_ns"] == 0


# Frames on their way are waited for; once all are back, only a moment longer.

MS = 1_000_000
FRAMES = 1000
LONG_S = 20
"""So long nobody sleeps by chance."""


def trial(folder: Path, *rules: str, **waits: int) -> tuple[dict[str, Any], float]:
    """Return a trial through the reference DUT, which follows the rules, and its length [s]."""
    (way, _) = directions_between(2, "both")
    with (
        reference_dut(folder, rules, period=FRAMES) as switch,
        at_hand(switch.devices, OPTIONS) as tgen,
    ):
        tgen.ports()
        tgen.ask("configure", streams=[Stream(64).on(way)])
        began = time.monotonic()
        sending = {"frames": FRAMES, "rate_fps": 20_000, "in_flight": 128}
        found = tgen.ask("trial", 4 * LONG_S, drain_ns=2 * LONG_S * 1000 * MS, **sending, **waits)
        return found, time.monotonic() - began


def test_when_all_frames_are_back_nobody_waits_for_others(tmp_path: Path) -> None:
    found, took_s = trial(tmp_path, quiet_ns=LONG_S * 1000 * MS, linger_ns=50 * MS)
    assert found["settled"]
    assert found["streams"][0]["distinct"] == FRAMES
    assert took_s < LONG_S


def test_without_a_word_about_it_the_wait_is_the_same(tmp_path: Path) -> None:
    found, took_s = trial(tmp_path, quiet_ns=1500 * MS)
    assert found["streams"][0]["distinct"] == FRAMES
    assert took_s > 1.5


@pytest.mark.parametrize("rules", [["drop=7"], ["drop=7", "duplicate=9"]], ids=len)
def test_a_frame_that_is_missing_is_waited_for_and_a_copy_is_none(
    tmp_path: Path, rules: list[str]
) -> None:
    found, took_s = trial(tmp_path, *rules, quiet_ns=1500 * MS, linger_ns=1 * MS)
    (stream,) = found["streams"]
    assert (stream["distinct"], stream["duplicates"]) == (FRAMES - 1, len(rules) - 1)
    assert found["settled"]
    assert took_s > 1.5


# tgen against a reference DUT that does known wrong to known frames: every count is exact.

PERIOD = 1000
ROUNDS = 500
FRAMES_TRUTH = PERIOD * ROUNDS
"""Per direction; what happens in one period happens in each."""
WAYS = directions_between(2, "both")
MIXED = Stream(flows=4096, more={"sizes": [68] * 7 + [570] * 4 + [1518], "vlans": [100]})
"""Several sizes, a tag and many flows at once."""


def measured(
    switch: Loopback,
    stream: Stream,
    frames: int = FRAMES_TRUTH,
    rate_fps: str | None = None,
    **more: Any,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what tgen counted by stream and by port, and what the reference DUT did by way."""
    sending = Sending(rate_fps=rate_fps, frames=frames, **more)
    with at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        result = trial_of_truth(tgen, WAYS, stream, sending, lambda event: None)
    assert result["settled"]
    switch.stop()
    return result["streams"], result["ports"], switch.report["ports"]


def test_a_sound_switch_loses_nothing_and_adds_nothing(tmp_path: Path) -> None:
    with reference_dut(tmp_path) as switch:
        streams, ports, counted = measured(switch, Stream(64))
    for stream, truth in zip(streams, counted, strict=True):
        assert stream["sent"] == stream["received"] == stream["distinct"] == FRAMES_TRUTH
        assert truth["received"] == truth["forward"] == FRAMES_TRUTH
        wrong = ("lost", "duplicates", "reordered", "beyond_window", "corrupted", "misrouted")
        assert [stream[name] for name in wrong] == [0] * len(wrong)
    assert [port["foreign"] + port["stale"] + port["corrupted"] for port in ports] == [0, 0]


@pytest.mark.parametrize(
    "stream",
    [Stream(64), Stream(1518), Stream(64, flows=4096), MIXED],
    ids=["short", "long", "flows", "mixed sizes with a tag in flows"],
)
def test_all_wrongs_at_once_are_counted_one_by_one(tmp_path: Path, stream: Stream) -> None:
    rules = (
        "drop=17",
        "drop=18",
        "duplicate=101",
        "reorder=200:3",
        "reorder=250:40",
        "corrupt=400:5",
        "misroute=500",
        "foreign=600",
        "foreign=999",
    )
    with reference_dut(tmp_path, rules, PERIOD) as switch:
        streams, ports, counted = measured(switch, stream)
    for found, truth in zip(streams, counted, strict=True):
        assert truth["received"] == found["sent"] == FRAMES_TRUTH
        assert truth["drop"] == truth["reorder"] == truth["foreign"] == 2 * ROUNDS
        assert truth["duplicate"] == truth["corrupt"] == truth["misroute"] == ROUNDS
        assert found["lost"] == truth["drop"] + truth["corrupt"] + truth["misroute"]
        assert found["duplicates"] == truth["duplicate"]
        # Among so many flows none was overtaken by one of its own.
        assert found["reordered"] == (truth["reorder"] if stream.flows == 1 else 0)
        assert found["reorder_extent"] == (40 if stream.flows == 1 else 0)
        assert found["corrupted"] == truth["corrupt"]
        assert found["misrouted"] == truth["misroute"]
        assert found["distinct"] == FRAMES_TRUTH - found["lost"]
        assert found["received"] == FRAMES_TRUTH - truth["drop"] + truth["duplicate"]
        assert found["beyond_window"] == found["wrong_size"] == 0
    assert [port["foreign"] for port in ports] == [2 * ROUNDS, 2 * ROUNDS]
    assert [port["stale"] for port in ports] == [0, 0]


def test_a_flipped_bit_anywhere_in_the_test_payload_is_seen(tmp_path: Path) -> None:
    rules = [f"corrupt={50 + byte}:{byte}" for byte in range(1, 19)]
    with reference_dut(tmp_path, rules, PERIOD) as switch:
        streams, ports, counted = measured(switch, Stream(64))
    for stream, truth in zip(streams, counted, strict=True):
        assert truth["corrupt"] == 18 * ROUNDS
        assert stream["lost"] == truth["corrupt"]
        assert stream["distinct"] == FRAMES_TRUTH - truth["corrupt"]
    # Some no longer say whose they were: those are counted where they came in.
    corrupted = sum(s["corrupted"] for s in streams) + sum(p["corrupted"] for p in ports)
    assert corrupted + sum(p["stale"] for p in ports) == 2 * 18 * ROUNDS
    assert [port["foreign"] for port in ports] == [0, 0]


def test_frames_of_a_trial_before_are_not_mixed_in(tmp_path: Path) -> None:
    with reference_dut(tmp_path) as switch, at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        for _ in range(3):
            sending = Sending(rate_fps="100000", frames=10_000)
            found = trial_of_truth(tgen, WAYS, Stream(64), sending, lambda event: None)
            assert [stream["distinct"] for stream in found["streams"]] == [10_000, 10_000]


@pytest.mark.parametrize("delay_ns", [50_000, 1_000_000])
def test_a_known_delay_is_read_as_such(tmp_path: Path, delay_ns: int) -> None:
    """One way is delayed and the other is not: the difference is the delay, the rest the path.

    Of each way the quickest hundredth is looked at: the frames for which neither program had to
    wait for a CPU that other tests use as well.
    """
    with reference_dut(tmp_path, delay_ns=(delay_ns, 0)) as switch:
        streams, _, counted = measured(switch, Stream(64), 20_000, "10000", burst=1)
    delayed, straight = (percentiles_ns(s["latency"]["hdr"], [1.0])[1.0] for s in streams)
    assert streams[0]["latency"]["min_ns"] >= delay_ns
    assert counted[0]["held_ns"]["least"] >= delay_ns - 1
    assert delayed - straight == pytest.approx(delay_ns, rel=0.01)


# Ports that fail at what tgen asks: it says so, or goes on without, and makes up nothing.

RING = ("net_ring0",)
WAYS_FAULTS = directions_between(1, "both")
SLOT_NS = 10_000_000
PATIENCE_S = 30.0


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
            result = trial_of_faults(tgen, WAYS_FAULTS, Stream(), sending, lambda event: None)
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
        found = trial_of_faults(
            tgen, WAYS_FAULTS, Stream(), Sending("1000", frames=FRAMES), lambda event: None
        )
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
    tgen.ask("configure", streams=[Stream().on(way) for way in WAYS_FAULTS])
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
        tgen.ask("configure", streams=[Stream().on(way) for way in WAYS_FAULTS])
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
        tgen.ask("configure", streams=[Stream().on(way) for way in WAYS_FAULTS])
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
