"""Bursts and gaps, by the slots in which frames left: exactly so many frames, never too early.

tgen stamps all frames that a driver takes in one call alike, so one time in its capture is one
slot. The other judge is libpcap, which writes the file of a pcap port by a clock of its own.
"""

from __future__ import annotations

import itertools
import statistics
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from captures import dissected
from loopbacks import OPTIONS

from vsperf.drivers.generators.tgen.byhand import Bursts, Stream, at_hand, directions_between

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen", "tshark")]

Frame = tuple[Decimal, int]
"""When it left, in seconds, and its UDP source port."""


def sent(folder: Path, streams: list[dict[str, Any]], **burst: Any) -> tuple[list[Frame], ...]:
    """Send bursts into a file, and return the frames as tgen and as libpcap saw them leave."""
    (way,) = directions_between(1, "both")
    files = folder / "tgen.pcap", folder / "libpcap.pcap"
    with at_hand([f"net_pcap0,tx_pcap={files[1]}"], OPTIONS) as tgen:
        tgen.ask("configure", streams=[Stream(more=more).on(way) for more in streams])
        tgen.ask("capture", port=0, path=str(files[0]), frames=8_000)
        sending = {"quiet_ns": 1_000_000, "drain_ns": 1_000_000}
        result = tgen.ask("burst", 60.0, **sending, **burst)
    assert [stream["unsent"] for stream in result["streams"]] == [0] * len(streams)
    return tuple(departures(file) for file in files)


def departures(file: Path) -> list[Frame]:
    frames = dissected(file, ["frame.time_epoch", "udp.srcport"])
    return [(Decimal(one["frame.time_epoch"]), int(one["udp.srcport"])) for one in frames]


def slots(frames: list[Frame]) -> list[int]:
    """Return how many frames left at each time."""
    return [len(list(group)) for _, group in itertools.groupby(frames, lambda frame: frame[0])]


def assert_gaps(frames: list[Frame], length: int, gap_ns: int) -> None:
    """See that no burst began before the gap after the last one was over."""
    for number, waited_ns in enumerate(gaps_ns(frames, length), 1):
        assert waited_ns >= gap_ns - 1_000, f"before burst {number}"


def gaps_ns(frames: list[Frame], length: int) -> list[Decimal]:
    """Return the time between the last frame of each burst and the first of the next."""
    firsts = range(length, len(frames), length)
    return [(frames[at][0] - frames[at - 1][0]) * 1_000_000_000 for at in firsts]


@pytest.mark.parametrize(
    ("length", "calls"),
    [(1, [1]), (20, [20]), (64, [64]), (65, [64, 1]), (150, [64, 64, 22])],
    ids=str,
)
def test_each_burst_has_exactly_so_many_frames(
    length: int, calls: list[int], tmp_path: Path
) -> None:
    """More frames than a driver takes in one call are a burst all the same.

    libpcap stamps a frame some time after it was handed over, later still on a busy machine, which
    makes the gap before that frame longer and the next one shorter by as much: so its middle gap is
    looked at.
    """
    bursts, gap_ns = 12, 3_000_000
    by_tgen, by_libpcap = sent(tmp_path, [{}], frames=length, bursts=bursts, gap_ns=gap_ns)
    assert slots(by_tgen) == calls * bursts
    assert len(by_libpcap) == length * bursts
    assert_gaps(by_tgen, length, gap_ns)
    assert statistics.median(gaps_ns(by_libpcap, length)) >= gap_ns - 1_000


def test_each_stream_has_bursts_of_its_own(tmp_path: Path) -> None:
    streams = [{"source_port": 1000}, {"source_port": 2000}]
    frames, _ = sent(tmp_path, streams, frames=[3, 7], bursts=10, gap_ns=2_000_000)
    for port, length in ((1000, 3), (2000, 7)):
        own = [frame for frame in frames if frame[1] == port]
        assert slots(own) == [length] * 10
        assert_gaps(own, length, 2_000_000)


def test_within_a_burst_a_rate_is_kept(tmp_path: Path) -> None:
    """No frame leaves before it is due, counted from the end of the gap before its burst."""
    rate, length, gap_ns = 2000, 8, 1_000_000
    frames, _ = sent(tmp_path, [{}], frames=length, bursts=5, gap_ns=gap_ns, rate_fps=rate)
    assert len(frames) == length * 5
    for first in range(length, len(frames), length):
        ended = frames[first - 1][0]
        for number, (time, _) in enumerate(frames[first : first + length]):
            due_ns = gap_ns + number * 1_000_000_000 // rate
            assert (time - ended) * 1_000_000_000 >= due_ns - 1_000


def test_one_burst_has_no_gap(tmp_path: Path) -> None:
    by_tgen, by_libpcap = sent(tmp_path, [{}], frames=100)
    assert slots(by_tgen) == [64, 36]
    assert len(by_libpcap) == 100


def test_by_hand_the_time_for_sending_covers_the_gaps() -> None:
    message = Bursts(frames=10, bursts=100, gap_ns=1_000_000_000, rate_fps="10").message()
    assert message["timeout_ns"] == (60 + 99 + 100) * 1_000_000_000
    assert Bursts(frames=10).message() == {"frames": 10, "timeout_ns": 60_000_000_000}
