"""Loads that change within a trial, when the last frame was lost, and latencies of some frames."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from loopbacks import OPTIONS, PATIENTLY, witness_dut
from preloads import preload
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.trafficgens.tgen.byhand import Stream, at_hand, ways_between
from vsperf.trafficgens.tgen.command import Options
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]

(LOOP,) = ways_between(1, "both")
BOTH = ways_between(2, "both")
MS = 1_000_000
SECOND = 1000 * MS
STEP = SECOND // 5
DOWN = ({"rate_fps": 40_000, "duration_ns": STEP}, {"rate_fps": 1000, "duration_ns": STEP})
"""So short that a machine which is away now and then makes it no longer than the grace allows."""


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")
    require("tgen-dut")


def looped(options: Options = OPTIONS, stream: Stream | None = None, **sending: Any) -> Any:
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
    found = looped(options, stream, steps=DOWN, grace_ns=SECOND, slot_ns=10 * MS)
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
    found = looped(stream=stream, steps=DOWN, grace_ns=SECOND)
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
    found = looped(steps=steps, grace_ns=SECOND)
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
    """Return the result of a trial through a witness that does this to each thousand frames."""
    with witness_dut(folder, rules, 1000) as switch, at_hand(switch.devices, OPTIONS) as tgen:
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
    found = looped(
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
    found = looped(frames=1000, rate_fps=10_000, latency=False, latency_ranges=[[0, 9]])
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
