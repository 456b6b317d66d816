"""Loads that change within a trial, and slots of time in which frames left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from freezing import frozen_soon
from loopbacks import OPTIONS, PATIENTLY, reference_dut
from preloads import preload
from shared_tgen import fixture_kept_tgen, fixture_ring
from test_tgen_replay import ROOM, written

from vsperf.drivers.generators.tgen.byhand import Stream, at_hand, directions_between
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.process import Tgen

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen", "tgen-dut")]
__all__ = ["fixture_kept_tgen", "fixture_ring"]


# Slots of time: where frames left that were lost, and who stood still then.

RING = ("net_ring0",)
(LOOP,) = directions_between(1, "both")
BOTH = directions_between(2, "both")
MS = 1_000_000
SLOT_NS = 10 * MS
PATIENT = {"slot_ns": SLOT_NS, **PATIENTLY}


def looped(options: Options = OPTIONS, stream: Stream | None = None, **sending: Any) -> Any:
    """Return the result of a trial on a ring that gives back what it gets."""
    with at_hand(RING, options) as tgen:
        tgen.ask("configure", streams=[(stream or Stream()).on(LOOP)])
        return tgen.ask("trial", 60, slot_ns=SLOT_NS, **sending)


def lost(slot: dict[str, Any]) -> list[int]:
    return [sent - got for sent, got in zip(slot["sent"], slot["received"], strict=True)]


def assert_adds_up(found: dict[str, Any]) -> None:
    """See that slots hold every frame once, and that those that are named hold what was lost."""
    slots, streams = found["slots"], found["streams"]
    marked = [stream["sent"] - stream.get("unmarked", 0) for stream in streams]
    assert slots["totals"]["sent"] == marked
    assert slots["totals"]["received"] == [stream["distinct"] for stream in streams]
    for number, stream in enumerate(streams):
        assert sum(lost(slot)[number] for slot in slots["noted"]) == stream["lost"]
    numbers = [slot["slot"] for slot in slots["noted"]]
    assert numbers == sorted(set(numbers))
    assert all(number <= slots["count"] for number in numbers)
    width, length = slots["slot_ns"], found["elapsed_ns"]
    assert length // (width + 1) <= slots["count"] <= length // (width - 1) + 1


def inside(slots: dict[str, Any], event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the slots that lie in an event as a whole."""
    width = slots["slot_ns"]
    for slot in slots["noted"]:
        begin, end = slot["slot"] * (width - 1), (slot["slot"] + 1) * (width + 1)
        if event["at_ns"] < begin and end < event["at_ns"] + event["ns"]:
            yield slot


def test_a_trial_that_asks_for_none_has_none() -> None:
    found = looped(frames=1000, rate_fps=10_000)
    with at_hand(RING, OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream().on(LOOP)])
        plain = tgen.ask("trial", 60, frames=1000, rate_fps=10_000)
    assert found.keys() - plain.keys() == {"slots", "events"}
    for result in (found, plain):
        (stream,), (worker,) = result["streams"], result["workers"]
        assert stream["distinct"] == stream["latency"]["count"] == 1000
        assert worker["departure_error"]["count"] == 1000


def test_losses_lie_in_the_slots_in_which_the_lost_frames_left(tmp_path: Path) -> None:
    rules = ("drop=17", "drop=18", "duplicate=100", "reorder=250:3", "corrupt=400:5")
    with reference_dut(tmp_path, rules, 1000) as switch, at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream().on(way) for way in BOTH])
        found = tgen.ask("trial", 60, frames=20_000, rate_fps=50_000, **PATIENT)
    assert [stream["lost"] for stream in found["streams"]] == [60, 60]
    assert_adds_up(found)
    # Each slot holds what was sent in it: 1000 frames are more than a slot or two.
    for slot in found["slots"]["noted"]:
        assert all(
            missing <= 3 * (sent // 1000 + 1)
            for missing, sent in zip(lost(slot), slot["sent"], strict=True)
        )


def test_missing_numbers_are_told_and_late_ones_are_not_missing(tmp_path: Path) -> None:
    with (
        reference_dut(tmp_path, ("drop=17", "drop=18", "reorder=250:3"), 1000) as switch,
        at_hand(switch.devices, OPTIONS) as tgen,
    ):
        tgen.ports()
        tgen.ask("configure", streams=[Stream().on(BOTH[0])])
        found = tgen.ask("trial", 60, frames=20_000, rate_fps=50_000, **PATIENT)
    missing = found["events"]["missing"]
    assert [(one["first"], one["span"], one["frames"]) for one in missing] == [
        (1000 * number + 17, 2, 2) for number in range(20)
    ]
    times = [one["at_ns"] for one in missing]
    assert times == sorted(times)
    assert all(one["sent_ns"] <= one["at_ns"] <= found["elapsed_ns"] + 2 * 10**9 for one in missing)
    # The next one leaves by its schedule, or later.
    assert all(one["sent_ns"] >= (one["first"] + 2) * 20_000 - 1000 for one in missing)


@pytest.mark.parametrize(("cpus", "queues", "parts"), [(2, 1, 1), (4, 2, 2), (6, 3, 3)])
def test_parts_of_several_workers_are_one_stream(cpus: int, queues: int, parts: int) -> None:
    options = replace(OPTIONS, cpus=(0,) * cpus, queues=queues)
    stream = Stream(flows=64, more={"workers": parts})
    found = looped(options, stream, frames=10_001, rate_fps=30_000)
    assert found["streams"][0]["lost"] == 0
    assert_adds_up(found)
    assert all(lost(slot) == [0] for slot in found["slots"]["noted"])


def test_of_a_file_those_frames_count_that_have_a_mark(tmp_path: Path) -> None:
    stream = Stream(more={"replay": str(written(tmp_path / "file.pcap"))})
    found = looped(stream=stream, frames=10 * len(ROOM), rate_fps=1000)
    assert_adds_up(found)
    assert found["slots"]["totals"]["received"] == [10 * sum(ROOM)]


def test_frames_of_bursts_count_as_others(ring: Tgen) -> None:
    ring.ask("configure", streams=[Stream().on(LOOP)])
    gap_ns = 30 * MS
    found = ring.ask("burst", 60, frames=100, bursts=3, gap_ns=gap_ns, slot_ns=SLOT_NS)
    assert_adds_up(found)
    assert found["slots"]["totals"]["sent"] == [300]
    assert found["slots"]["count"] > 2 * gap_ns // found["slots"]["slot_ns"]


def test_a_generator_that_was_stopped_was_away_and_nothing_else() -> None:
    with at_hand(RING, OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream().on(LOOP)])
        with frozen_soon(tgen.process.pid, 0.25, 0.1):
            found = tgen.ask("trial", 60, frames=12_000, rate_fps=20_000, slot_ns=SLOT_NS)
    assert_adds_up(found)
    slots, gaps = found["slots"], found["events"]["gaps"]
    longest = found["workers"][0]["longest_gap_ns"]
    assert longest >= 99 * MS
    if not found["events"]["more"]["gaps"]:
        assert max(gap["ns"] for gap in gaps) == longest
    # Where it was away for the whole of a slot, nothing left, and nothing else is said of it.
    stood = [slot for slot in slots["noted"] if slot["away_ns"] >= slots["slot_ns"]]
    assert len(stood) >= longest // slots["slot_ns"] - 1
    for slot in stood:
        assert slot["away_ns"] == slots["slot_ns"]
        assert (slot["sent"], slot["refused"], slot["silent_ns"]) == ([0], [0], 0)
    # Gaps too short to count may follow one another, on a machine that is busy enough.
    assert slots["totals"]["silent_ns"] < SLOT_NS
    assert slots["totals"]["refused"] == [0]
    assert slots["totals"]["away_ns"] >= longest


def test_a_full_port_refused_what_was_due_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="full", TGEN_FULL="500-1500")
    rate = 2000
    found = looped(frames=4000, rate_fps=rate, duration_ns=2000 * MS)
    assert_adds_up(found)
    slots, full = found["slots"], found["events"]["full"]
    assert len(full) == 1
    within = list(inside(slots, full[0]))
    assert within
    for slot in within:
        assert slot["sent"] == [0]
        running_ns = slots["slot_ns"] - slot["away_ns"]
        # A frame may fall on either edge, and pauses too short to count add up to as much.
        assert slot["refused"][0] == pytest.approx(running_ns * rate / 1e9, abs=3)
    apart = [slot for slot in slots["noted"] if slot["refused"] != [0]]
    first, last = apart[0]["slot"], apart[-1]["slot"]
    assert first * slots["slot_ns"] <= full[0]["at_ns"] + slots["slot_ns"]
    assert full[0]["at_ns"] + full[0]["ns"] >= (last - 1) * slots["slot_ns"]
    assert slots["totals"]["held_ns"] == [0]
    assert slots["totals"]["silent_ns"] == 0


def test_nothing_was_due_while_the_generator_was_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port takes nothing from 100 ms on, and for a tenth of a second tgen does not run."""
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="full", TGEN_FULL="100-100000")
    rate = 20_000
    with at_hand(["net_ring0"], OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream().on(LOOP)])
        with frozen_soon(tgen.process.pid, 0.5, 0.1):
            found = tgen.ask(
                "trial", 60, frames=rate, rate_fps=rate, duration_ns=1000 * MS, slot_ns=SLOT_NS
            )
    assert_adds_up(found)
    (stream,), (full,), slots = found["streams"], found["events"]["full"], found["slots"]
    assert stream["refused"] <= stream["unsent"]
    gaps = found["events"]["gaps"]
    until_ns = full["at_ns"] + full["ns"]
    away_ns = sum(gap["ns"] for gap in gaps if full["at_ns"] < gap["at_ns"] < until_ns)
    assert slots["totals"]["refused"][0] <= (full["ns"] - away_ns) * rate / 1e9 + 1
    # A pause behind the last frame did not make sending any longer; the rest of them may have.
    paused_ns = found["workers"][0]["paused_ns"]
    assert paused_ns <= slots["totals"]["away_ns"] - 95 * MS
    if not found["events"]["more"]["gaps"]:
        before_ns = sum(gap["ns"] for gap in gaps if gap["at_ns"] <= stream["sending_ns"] + MS)
        rounding_ns = len(gaps) + 1
        assert paused_ns <= before_ns + rounding_ns


def test_frames_on_their_way_held_others_back(tmp_path: Path) -> None:
    with at_hand([f"net_pcap0,tx_pcap={tmp_path / 'sent.pcap'}"], OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream().on(LOOP)])
        quick = {"quiet_ns": MS, "drain_ns": MS, "slot_ns": SLOT_NS}
        found = tgen.ask("trial", 60, frames=1000, rate_fps=100_000, in_flight=400, **quick)
    assert_adds_up(found)
    held = found["events"]["held"]
    assert len(held) == 2, "after 400 frames, and after 800"
    assert all(one["ns"] >= 90 * MS for one in held)
    (held_ns,) = found["slots"]["totals"]["held_ns"]
    assert held_ns <= sum(one["ns"] for one in held) + 10
    assert held_ns >= sum(one["ns"] for one in held) - found["slots"]["totals"]["away_ns"] - 10
    assert found["slots"]["totals"]["refused"][0] == pytest.approx(held_ns / 10_000, abs=3)
    assert found["events"]["full"] == []


def test_a_switch_that_was_stopped_was_silent_and_the_generator_not_away(tmp_path: Path) -> None:
    with reference_dut(tmp_path) as switch, at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream().on(BOTH[0])])
        with frozen_soon(switch.process.pid, 0.4, 0.15):
            found = tgen.ask("trial", 60, frames=5000, rate_fps=5000, **PATIENT)
    assert found["streams"][0]["lost"] == 0
    assert_adds_up(found)
    slots = found["slots"]
    totals = slots["totals"]
    assert totals["silent_ns"] + totals["away_ns"] >= 140 * MS
    # In a slot of the silence there is no other time than that of the two.
    stood = [
        slot
        for slot in slots["noted"]
        if slot["silent_ns"] and slot["silent_ns"] + slot["away_ns"] >= slots["slot_ns"] - 2
    ]
    assert len(stood) >= 140 * MS // slots["slot_ns"] - 2
    for slot in stood:
        assert slot["silent_ns"] + slot["away_ns"] <= slots["slot_ns"] + 2
    assert any(slot["sent"][0] > 0 for slot in stood), "and tgen went on sending"


# Loads that change within a trial, when the last frame was lost, and latencies of some frames.

SECOND = 1000 * MS
STEP = SECOND // 5
DOWN = ({"rate_fps": 40_000, "duration_ns": STEP}, {"rate_fps": 1000, "duration_ns": STEP})
"""So short that a machine which is away now and then makes it no longer than the grace allows."""


def looped_of_steps(
    options: Options = OPTIONS, stream: Stream | None = None, **sending: Any
) -> Any:
    """Return the result of a trial on a ring that gives back what it gets."""
    with at_hand(["net_ring0"], options) as tgen:
        tgen.ask("configure", streams=[(stream or Stream()).on(LOOP)])
        return tgen.ask("trial", 60, **sending)


def paused_ns(found: dict[str, Any]) -> int:
    return max(int(worker["paused_ns"]) for worker in found["workers"])


@pytest.mark.parametrize(("cpus", "queues", "parts"), [(1, 1, 1), (4, 2, 2)])
def test_the_rate_changes_at_its_moment_and_every_frame_is_sent(
    cpus: int, queues: int, parts: int
) -> None:
    options = replace(OPTIONS, cpus=(0,) * cpus, queues=queues)
    stream = Stream(flows=64, more={"workers": parts} if parts > 1 else {})
    found = looped_of_steps(options, stream, steps=DOWN, grace_ns=SECOND, slot_ns=10 * MS)
    (counted,) = found["streams"]
    first, second = counted["steps"]
    assert (first["intended"], second["intended"]) == (8_000, 200)
    assert counted["intended"] == 8_200
    assert counted["sent"] == first["sent"] + second["sent"]
    assert counted["unsent"] == first["unsent"] + second["unsent"]
    # Four workers on one CPU may not run for as long as they should send.
    assert parts > 1 or second["unsent"] == 0
    assert (counted["lost"], counted["refused"]) == (0, 0)
    assert "last_loss_ns" not in counted
    # It moves with the pauses before its first frame, and with no other.
    moved_ns = paused_ns(found) + first["began_ns"]
    assert STEP - 1 <= second["due_ns"] <= STEP + moved_ns + 2 * MS
    assert second["began_ns"] >= second["due_ns"] - 1
    assert sum(sum(slot["sent"]) for slot in found["slots"]["noted"]) <= counted["sent"]


def test_sizes_go_round_through_all_steps() -> None:
    stream = Stream(more={"genome": "aab"})
    found = looped_of_steps(stream=stream, steps=DOWN, grace_ns=SECOND)
    (counted,) = found["streams"]
    assert (counted["lost"], counted["wrong_size"], counted["corrupted"]) == (0, 0, 0)


def test_what_a_full_port_did_not_take_is_not_sent_in_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The port takes nothing for the second half of the first step, and most of the second.

    As long as tgen is away its steps move, and the port's time does not: there is room for that.
    """
    preload("faults", tmp_path, monkeypatch, TGEN_FAULT="full", TGEN_FULL="500-1800")
    steps = {"rate_fps": 2000, "duration_ns": SECOND}, {"rate_fps": 500, "duration_ns": SECOND}
    found = looped_of_steps(steps=steps, grace_ns=SECOND)
    (counted,) = found["streams"]
    first, second = counted["steps"]
    assert first["intended"] == 2000
    assert first["refused"] <= first["unsent"]
    assert first["refused"] >= 450 - paused_ns(found) * 2000 // SECOND
    # What was due while it was still full was caught up with.
    assert (second["intended"], second["unsent"], second["refused"]) == (500, 0, 0)
    assert counted["lost"] == 0
    assert counted["refused"] == first["refused"]
    # The port goes by DPDK's word on the speed of the TSC, which may be off by 0.25 %.
    assert second["began_ns"] >= 1795 * MS
    # The last that it did not take was due in the first step.
    assert counted["last_loss_ns"] < second["began_ns"]
    assert counted["last_loss_ns"] >= 498 * MS


def dropped(folder: Path, *rules: str, **sending: Any) -> Any:
    """Return the result through a reference DUT that does this to each thousand frames."""
    with reference_dut(folder, rules, 1000) as switch, at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream().on(BOTH[0])])
        return tgen.ask("trial", 60, slot_ns=10 * MS, **PATIENTLY, **sending)


def test_the_last_loss_is_when_the_frame_behind_it_left(tmp_path: Path) -> None:
    rules = ("drop=17", "drop=18", "reorder=250:3")
    found = dropped(tmp_path, *rules, frames=10_000, rate_fps=20_000)
    (counted,) = found["streams"]
    assert counted["lost"] == 20
    assert counted["last_loss_ns"] == found["events"]["missing"][-1]["sent_ns"]
    assert counted["last_loss_ns"] >= 9019 * 50_000 - 1000


def test_frames_at_the_end_are_lost_when_the_last_one_left(tmp_path: Path) -> None:
    found = dropped(tmp_path, "drop=17", "drop=999", frames=5_000, rate_fps=20_000)
    (counted,) = found["streams"]
    assert counted["lost"] == 10
    assert counted["last_loss_ns"] >= 4999 * 50_000 - 1000
    assert counted["last_loss_ns"] <= found["elapsed_ns"]


def test_frames_that_come_late_are_not_lost(tmp_path: Path) -> None:
    found = dropped(tmp_path, "reorder=250:3", "reorder=700:20", frames=5_000, rate_fps=20_000)
    (counted,) = found["streams"]
    assert (counted["lost"], counted["reordered"]) == (0, 10)
    assert "last_loss_ns" not in counted


@pytest.mark.parametrize(("cpus", "queues", "parts"), [(1, 1, 1), (2, 1, 1), (4, 2, 2)])
def test_latencies_count_from_a_moment_on_and_by_ranges(cpus: int, queues: int, parts: int) -> None:
    options = replace(OPTIONS, cpus=(0,) * cpus, queues=queues)
    stream = Stream(flows=64, more={"workers": parts} if parts > 1 else {})
    found = looped_of_steps(
        options,
        stream,
        frames=10_000,
        rate_fps=10_000,
        latency_after_ns=500 * MS,
        latency_ranges=[[0, 63], [576, 639], [9_990, 20_000], [10_000, 20_000]],
    )
    (counted,) = found["streams"]
    first = counted["latency_first"]
    assert first["sent_ns"] >= 500 * MS - 1
    # Of several parts each has its own first one, and this is the first of them.
    behind = 10_000 - first["frame"]
    assert counted["latency"]["count"] <= behind
    assert parts > 1 or counted["latency"]["count"] == behind
    assert first["frame"] <= 5_000
    ranges = counted["latency_ranges"]
    assert [one["count"] for one in ranges] == [64, 64, 10, 0]
    assert all("hdr" in one for one in ranges[:3])


def test_latencies_of_some_frames_need_no_others() -> None:
    found = looped_of_steps(frames=1000, rate_fps=10_000, latency=False, latency_ranges=[[0, 9]])
    (counted,) = found["streams"]
    assert "latency" not in counted
    assert counted["latency_ranges"][0]["count"] == 10


def test_each_second_has_latencies_of_its_own(ring: Tgen) -> None:
    heard: list[Any] = []
    ring.ask("configure", streams=[Stream().on(LOOP)])
    with ring.listening(heard.append):
        found = ring.ask("trial", 60, rate_fps=5000, duration_ns=3500 * MS)
    streams = [event["streams"][0] for event in heard]
    assert streams
    counts = [stream["latency"]["count"] for stream in streams]
    assert sum(counts) <= found["streams"][0]["distinct"]
    assert sum(counts) >= streams[-1]["received"] - 64
    assert all(stream["lost"] == stream["refused"] == 0 for stream in streams)
    for stream in streams:
        shares = stream["latency"]["percentiles_ns"]
        assert stream["latency"]["min_ns"] <= shares["50"] <= shares["99.99"]
        assert shares["99.99"] <= stream["latency"]["max_ns"]
