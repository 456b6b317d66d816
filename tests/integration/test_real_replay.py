"""A capture file as the traffic of a testcase, through the real OVS-DPDK.

A machine that is busy elsewhere may keep frames from being sent; what is sent is accounted for.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from real_runs import FIXED, Place, fixture_calibrations, fixture_place
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from vsperf.errors import ExitCode
from vsperf.record.flags import Flag
from vsperf.record.load import intended_frames
from vsperf.record.trial import Purpose

pytestmark = pytest.mark.machine
__all__ = ["fixture_calibrations", "fixture_place"]

BURST = 10
GAP_NS = 1_000_000
ROUNDS = 20
FRAMES = BURST * ROUNDS
UNMARKED = 2 * ROUNDS
"""In each burst an ARP request, and a TCP segment without data."""
SPAN_NS = (ROUNDS - 1) * GAP_NS
PERIOD_NS = SPAN_NS + SPAN_NS // (FRAMES - 1)
OWN_FPS = FRAMES * 1_000_000_000 // PERIOD_NS
TRIAL_NS = 400_000_000
MEASURED = (ExitCode.OK, ExitCode.CRITERION_MISSED, ExitCode.INVALID_RESULT)


@pytest.fixture(name="file")
def fixture_file(tmp_path: Path) -> Path:
    """Bursts of ten frames, a millisecond from one to the next."""
    ethernet = Ether(src="02:00:00:00:00:05", dst="02:00:00:00:00:06")
    ip = IP(src="10.0.0.1", dst="10.0.0.2")
    burst = [
        ethernet / ARP(psrc="10.0.0.1", pdst="10.0.0.2"),
        ethernet / ip / TCP(sport=1, dport=2, flags="A"),
        *(
            ethernet / ip / UDP(sport=1000 + i, dport=7) / Raw(b"x" * (50 * i + 18))
            for i in range(8)
        ),
    ]
    frames = []
    for number in range(ROUNDS):
        for frame in burst:
            copy = Ether(bytes(frame))
            copy.time = 1000 + number * GAP_NS / 1e9
            frames.append(copy)
    path = tmp_path / "file.pcap"
    wrpcap(str(path), frames)
    return path


def due_in_a_trial() -> int:
    """Return how many frames there are in whole rounds of the file, and in the one that is cut."""
    rounds, rest_ns = divmod(TRIAL_NS, PERIOD_NS)
    return rounds * FRAMES + min(ROUNDS, -(-rest_ns // GAP_NS)) * BURST


def unmarked(sent: int) -> int:
    """Return how many frames without a mark are among those sent: the first two of each burst."""
    return sent // BURST * 2 + min(2, sent % BURST)


def test_a_file_is_sent_by_its_own_times(place: Place, file: Path) -> None:
    ended = place(
        *FIXED,
        f"--set=traffic.replay.file={file}",
        "--set=traffic.replay.rhythm=file",
        f"--set=search.loads=[{OWN_FPS}fps]",
    )
    assert ended.code in MEASURED, ended.err
    (case,) = place.records().cases
    trial = next(trial for trial in case.trials if trial.purpose is Purpose.SEARCH)
    assert Flag.UNCHECKED in trial.flags
    for way in trial.directions:
        assert way.intended_frames == due_in_a_trial()
        assert way.unmarked_frames == unmarked(way.sent_frames)
        assert way.foreign_frames is None
    assert case.record is not None
    assert case.record.surroundings is not None
    facts: Any = case.record.surroundings.generator["replay"]
    assert facts["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (facts["frames"], facts["unmarked"]) == (FRAMES, UNMARKED)


def test_a_throughput_search_sends_a_file_at_its_loads(place: Place, file: Path) -> None:
    ended = place(
        "run",
        "phy2phy_smoke",
        "--set=trial.warm_up=0s",
        "--set=search.width=25%",
        "--set=search.max_load=200kfps",
        "--set=latency=null",
        f"--set=traffic.replay.file={file}",
    )
    assert ended.code in MEASURED, ended.err
    (case,) = place.records().cases
    loads = {trial.load_fps for trial in case.trials if trial.purpose is Purpose.SEARCH}
    assert loads
    for trial in case.trials:
        for way in trial.directions:
            assert way.intended_frames == intended_frames(trial.load_fps, trial.duration_ns)
            assert way.unmarked_frames == unmarked(way.sent_frames)
            assert way.good_frames <= way.sent_frames


def test_a_file_that_cannot_be_replayed_is_named(place: Place, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pcap"
    broken.write_bytes(b"no capture at all, by no means")
    ended = place(*FIXED, f"--set=traffic.replay.file={broken}")
    assert ended.code != 0
    assert f"{broken}: neither a pcap nor a pcapng file" in ended.err
