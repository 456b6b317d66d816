"""Several streams, flows and controllers' commands at once: tgen loses and mixes up nothing."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cable import tgen_apart
from captures import times_s
from conftest import Require
from freezing import frozen_soon
from loopbacks import OPTIONS, witness_dut
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.trafficgens.tgen.byhand import Sending, Stream, at_hand, trial, ways_between
from vsperf.trafficgens.tgen.process import Tgen
from vsperf.trafficgens.tgen.traffic import Way

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]

BURST = 64
SAME_PORT = Way("0 to itself", 0, 0)
SECOND = 1_000_000_000

SPEAKER = """
import socket, sys, time
speaker = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
speaker.bind(("veth0", 0))
frame = bytes.fromhex("0180c200000e") + bytes(6) + bytes.fromhex("88cc") + bytes(50)
while True:
    speaker.send(frame)
    print(flush=True)
    time.sleep(0.02)
"""
"""A device that tells its neighbours about itself, as with LLDP, on one end of the cable."""


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")


def test_each_of_many_streams_finds_room_where_one_does(ring: Tgen) -> None:
    """On a ring to itself nothing else has a part: what a stream sends is taken before the next."""
    ring.ask("configure", streams=[Stream(64).on(SAME_PORT)] * 32)
    found = ring.ask("trial", 30, frames=20_000, latency=False)
    assert [stream["lost"] for stream in found["streams"]] == [0] * 32
    bursts = 32 * 20_000 / BURST
    assert found["ports"][0]["transmit_retries"] < bursts / 4


def test_a_stop_right_behind_a_trial_ends_it_at_once_with_figures_of_its_own(ring: Tgen) -> None:
    before = trial(ring, [SAME_PORT], Stream(64), Sending(frames=500_000), lambda event: None)
    assert before["workers"][0]["loops"] > 1000
    requests = (
        {"id": 101, "verb": "trial", "duration_ns": 30 * SECOND, "quiet_ns": 1, "drain_ns": 0}
        | {"rate_fps": 1000, "drain_ns": 5 * SECOND},
        {"id": 102, "verb": "stop"},
    )
    answers = _answers(ring, requests)
    result = answers[101]["result"]
    assert answers[102] == {"id": 102, "ok": True, "result": {"stopping": "trial"}}
    assert result["stopped_early"]
    assert result["settled"]
    assert result["streams"][0]["sent"] == result["streams"][0]["distinct"] < 1000
    worker = result["workers"][0]
    assert worker["total_ns"] < before["workers"][0]["total_ns"] + 10 * SECOND
    assert worker["departure_error"]["count"] == result["streams"][0]["sent"]
    # And tgen is as good as new.
    after = trial(ring, [SAME_PORT], Stream(64), Sending(frames=1000), lambda event: None)
    assert after["streams"][0]["distinct"] == 1000


def _answers(tgen: Tgen, requests: tuple[dict[str, Any], ...]) -> dict[int, Any]:
    """Send requests in one write; return the answers by their ids."""
    assert tgen.client is not None
    connection: socket.socket = tgen.client.connection
    connection.settimeout(20)
    connection.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in requests))
    found: dict[int, Any] = {}
    text = b""
    while len(found) < len(requests):
        text += connection.recv(1 << 16)
        *lines, text = text.split(b"\n")
        found |= {line["id"]: line for line in map(json.loads, lines) if "event" not in line}
    return found


def test_the_clock_is_measured_at_the_start_and_in_each_trial(ring: Tgen) -> None:
    found = trial(ring, [SAME_PORT], Stream(64), Sending("1000", frames=1000), lambda event: None)
    assert ring.hello["tsc_hz_dpdk"] == pytest.approx(ring.hello["tsc_hz"], rel=0.01)
    assert found["tsc_hz"] == ring.hello["tsc_hz"]
    # Two clocks are read one after the other, and tgen may be stopped for a moment between them.
    assert found["tsc_hz_meanwhile"] == pytest.approx(found["tsc_hz"], rel=1e-2)


def test_what_others_say_on_a_port_keeps_no_trial_from_settling(
    tmp_path: Path, require: Require
) -> None:
    require("namespaces")
    with tgen_apart(tmp_path) as tgen:
        tgen.ports()
        enter = ["nsenter", f"--net=/proc/{tgen.process.pid}/ns/net", "--"]
        argv = [*enter, sys.executable, "-c", SPEAKER]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as speaker:
            assert speaker.stdout is not None
            speaker.stdout.readline()
            tgen.ask("configure", streams=[Stream(64).on(Way("0 to 1", 0, 1))])
            found = tgen.ask("trial", 30, frames=100, quiet_ns=SECOND, drain_ns=8 * SECOND)
            speaker.kill()
    assert found["settled"]
    assert found["ports"][1]["foreign"] > 0
    assert found["streams"][0]["distinct"] == 100


@pytest.mark.parametrize(("flows", "extent"), [(1, 40), (4, 10), (7, 5), (64, 0)])
def test_order_is_that_of_a_flow(flows: int, extent: int, tmp_path: Path, require: Require) -> None:
    """A frame that comes 40 later was overtaken only by those of its flow: one in so many."""
    require("tgen-dut")
    vary = [{"field": "source_port", "count": flows}] if flows > 1 else []
    stream = Stream(64, more={"flows": {"vary": vary}} if vary else {})
    frames = 20_000
    with witness_dut(tmp_path, ["reorder=250:40"], 1000) as switch:
        with at_hand(switch.devices, OPTIONS) as tgen:
            tgen.ports()
            sending = Sending(rate_fps="50000", frames=frames)
            found = trial(tgen, ways_between(2, "both"), stream, sending, lambda event: None)
        switch.stop()
    for seen, truth in zip(found["streams"], switch.report["ports"], strict=True):
        late = truth["reorder"]
        assert late == frames // 1000
        assert seen["lost"] == seen["duplicates"] == 0
        # Of several flows only a frame of the same one may have overtaken it.
        overtaken = extent > 0
        assert seen["reordered"] == (late if overtaken else 0)
        assert seen["reorder_extent"] == extent


def test_a_generator_that_was_frozen_goes_on_where_it_was_and_says_for_how_long(
    tmp_path: Path, require: Require
) -> None:
    require("namespaces")
    file = tmp_path / "sent.pcap"
    rate, burst, window_s = 10_000, 4, 0.001
    with tgen_apart(tmp_path) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream(64).on(Way("0 to 1", 0, 1))])
        tgen.ask("capture", port=0, path=str(file), frames=8000)
        with frozen_soon(tgen.process.pid, 0.3, 0.04):
            found = tgen.ask("trial", 30, frames=8000, rate_fps=rate, burst=burst)
    assert found["streams"][0]["sent"] == 8000
    times = times_s(file)
    assert len(times) == 8000
    worker, stream = found["workers"][0], found["streams"][0]
    assert worker["longest_gap_ns"] > 30_000_000
    assert worker["paused_ns"] >= worker["longest_gap_ns"]
    due_ns = 7999 * 1_000_000_000 // rate
    assert stream["sending_ns"] - worker["paused_ns"] >= due_ns - 1_000_000
    most = max(
        sum(1 for other in times[at : at + 1000] if other - begin < window_s)
        for at, begin in enumerate(times)
    )
    assert most <= 2 * rate * window_s + 2 * burst


def test_streams_do_not_fire_at_the_same_moment(tmp_path: Path, require: Require) -> None:
    require("namespaces")
    file = tmp_path / "sent.pcap"
    streams, rounds, rate = 4, 8, 10
    with tgen_apart(tmp_path) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream(64).on(Way("0 to 1", 0, 1))] * streams)
        tgen.ask("capture", port=0, path=str(file), frames=streams * rounds)
        tgen.ask("trial", 30, frames=rounds, rate_fps=rate, burst=1)
    times = times_s(file)
    distances = [after - before for before, after in itertools.pairwise(times)]
    # While a busy machine keeps tgen from running all its schedules stand still: none comes nearer.
    assert min(distances) > 0.8 / rate / streams
