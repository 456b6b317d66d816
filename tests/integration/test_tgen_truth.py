"""tgen against a witness that does known wrong to known frames: every count is exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from loopbacks import OPTIONS, Loopback, witness_dut

from vsperf.record.histogram import percentiles_ns
from vsperf.trafficgens.tgen.byhand import Sending, Stream, at_hand, trial, ways_between

pytestmark = pytest.mark.machine

PERIOD = 1000
ROUNDS = 500
FRAMES = PERIOD * ROUNDS
"""Per direction; what happens in one period happens in each."""
WAYS = ways_between(2, "both")
MIXED = Stream(flows=4096, more={"sizes": [68] * 7 + [570] * 4 + [1518], "vlans": [100]})
"""Several sizes, a tag and many flows at once."""


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")
    require("tgen-dut")


def measured(
    switch: Loopback, stream: Stream, frames: int = FRAMES, rate_fps: str | None = None, **more: Any
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what tgen counted by stream and by port, and what the witness did by way."""
    sending = Sending(rate_fps=rate_fps, frames=frames, **more)
    with at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        result = trial(tgen, WAYS, stream, sending, lambda event: None)
    assert result["settled"]
    switch.stop()
    return result["streams"], result["ports"], switch.report["ports"]


def test_a_sound_switch_loses_nothing_and_adds_nothing(tmp_path: Path) -> None:
    with witness_dut(tmp_path) as switch:
        streams, ports, witnessed = measured(switch, Stream(64))
    for stream, truth in zip(streams, witnessed, strict=True):
        assert stream["sent"] == stream["received"] == stream["distinct"] == FRAMES
        assert truth["received"] == truth["forward"] == FRAMES
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
    with witness_dut(tmp_path, rules, PERIOD) as switch:
        streams, ports, witnessed = measured(switch, stream)
    for found, truth in zip(streams, witnessed, strict=True):
        assert truth["received"] == found["sent"] == FRAMES
        assert truth["drop"] == truth["reorder"] == truth["foreign"] == 2 * ROUNDS
        assert truth["duplicate"] == truth["corrupt"] == truth["misroute"] == ROUNDS
        assert found["lost"] == truth["drop"] + truth["corrupt"] + truth["misroute"]
        assert found["duplicates"] == truth["duplicate"]
        # Among so many flows none was overtaken by one of its own.
        assert found["reordered"] == (truth["reorder"] if stream.flows == 1 else 0)
        assert found["reorder_extent"] == (40 if stream.flows == 1 else 0)
        assert found["corrupted"] == truth["corrupt"]
        assert found["misrouted"] == truth["misroute"]
        assert found["distinct"] == FRAMES - found["lost"]
        assert found["received"] == FRAMES - truth["drop"] + truth["duplicate"]
        assert found["beyond_window"] == found["wrong_size"] == 0
    assert [port["foreign"] for port in ports] == [2 * ROUNDS, 2 * ROUNDS]
    assert [port["stale"] for port in ports] == [0, 0]


def test_a_flipped_bit_anywhere_in_the_test_payload_is_seen(tmp_path: Path) -> None:
    rules = [f"corrupt={50 + byte}:{byte}" for byte in range(1, 19)]
    with witness_dut(tmp_path, rules, PERIOD) as switch:
        streams, ports, witnessed = measured(switch, Stream(64))
    for stream, truth in zip(streams, witnessed, strict=True):
        assert truth["corrupt"] == 18 * ROUNDS
        assert stream["lost"] == truth["corrupt"]
        assert stream["distinct"] == FRAMES - truth["corrupt"]
    # Some no longer say whose they were: those are counted where they came in.
    corrupted = sum(s["corrupted"] for s in streams) + sum(p["corrupted"] for p in ports)
    assert corrupted + sum(p["stale"] for p in ports) == 2 * 18 * ROUNDS
    assert [port["foreign"] for port in ports] == [0, 0]


def test_frames_of_a_trial_before_are_not_mixed_in(tmp_path: Path) -> None:
    with witness_dut(tmp_path) as switch, at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        for _ in range(3):
            sending = Sending(rate_fps="100000", frames=10_000)
            found = trial(tgen, WAYS, Stream(64), sending, lambda event: None)
            assert [stream["distinct"] for stream in found["streams"]] == [10_000, 10_000]


@pytest.mark.parametrize("delay_ns", [50_000, 1_000_000])
def test_a_known_delay_is_read_as_such(tmp_path: Path, delay_ns: int) -> None:
    """One way is delayed and the other is not: the difference is the delay, the rest the path.

    Of each way the quickest hundredth is looked at: the frames for which neither program had to
    wait for a CPU that other tests use as well.
    """
    with witness_dut(tmp_path, delay_ns=(delay_ns, 0)) as switch:
        streams, _, witnessed = measured(switch, Stream(64), 20_000, "10000", burst=1)
    delayed, straight = (percentiles_ns(s["latency"]["hdr"], [1.0])[1.0] for s in streams)
    assert streams[0]["latency"]["min_ns"] >= delay_ns
    assert witnessed[0]["held_ns"]["least"] >= delay_ns - 1
    assert delayed - straight == pytest.approx(delay_ns, rel=0.01)
