"""tgen sends what it was asked for, by many streams and workers, and to everybody."""

from __future__ import annotations

import itertools
import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cable import tgen_apart
from captures import times_s
from conftest import Require
from freezing import frozen_soon
from loopbacks import OPTIONS, reference_dut, through_testpmd
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.config.flows import host_ip, link_mac
from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    trial,
)
from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.look import frames_in, read
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.traffic import TrafficDirection
from vsperf.records.trial import Headers

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen")]
__all__ = ["fixture_kept_tgen", "fixture_ring"]


# Every n-th frame of a stream is for everybody, and nothing else of it changes.

(LOOP,) = directions_between(1, "both")
(FORWARD,) = directions_between(2, "forward")
FRAMES = 1000
EVERYBODY = "ff:ff:ff:ff:ff:ff"
FLOWS = {"vary": [{"field": "source_ip", "count": FRAMES}]}


def arrived(tgen: Tgen, way: TrafficDirection, file: Path, **more: Any) -> dict[str, Headers]:
    """Send a stream one way, all of which arrives intact; return its frames by source address.

    A ring gives back what it gets, so its capture has each frame as it was sent and as it came.
    """
    stream = Stream(more={"flows": FLOWS, **more})
    tgen.ask("configure", streams=[stream.on(way)])
    tgen.ask("capture", port=way.receive, path=str(file), frames=2 * FRAMES)
    asked = {"frames": FRAMES, "rate_fps": 5000, "check_fill": True}
    (found,) = tgen.ask("trial", 60, **asked)["streams"]
    counted = {name: found[name] for name in ("sent", "received", "distinct", "lost", "corrupted")}
    assert counted == dict(zip(counted, (FRAMES, FRAMES, FRAMES, 0, 0), strict=True))
    frames = [read(frame) for frame in frames_in(file.read_bytes())]
    return {str(one.headers.source_ip): one.headers for one in frames if one is not None}


def wanted(every: int, way: TrafficDirection) -> dict[str, str]:
    """Return where each frame should go to."""
    return {
        host_ip(0, number): EVERYBODY if number % every == every - 1 else link_mac(way.receive)
        for number in range(FRAMES)
    }


@pytest.mark.parametrize("every", [100, 7, 1, FRAMES, FRAMES + 1])
def test_as_many_frames_as_asked_are_for_everybody(every: int, tmp_path: Path, ring: Tgen) -> None:
    found = arrived(ring, LOOP, tmp_path / "seen.pcap", broadcast_every=every)
    assert {source: one.destination_mac for source, one in found.items()} == wanted(every, LOOP)
    again = arrived(ring, LOOP, tmp_path / "again.pcap", broadcast_every=every)
    assert again == found
    plain = arrived(ring, LOOP, tmp_path / "plain.pcap")
    assert {source: same_station(one, LOOP) for source, one in found.items()} == plain


def same_station(headers: Headers, way: TrafficDirection) -> Headers:
    return headers.model_copy(update={"destination_mac": link_mac(way.receive)})


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.needs("namespaces")
def test_several_workers_send_those_that_one_would(workers: int, tmp_path: Path) -> None:
    devices = (f"net_af_packet0,iface=veth0,qpairs={workers}", "net_af_packet1,iface=veth1")
    options = replace(OPTIONS, cpus=(0,) * 2 * workers, queues=workers)
    with tgen_apart(tmp_path, devices, options=options) as tgen:
        tgen.ports()
        more = {"workers": workers, "sizes": [64, 200], "broadcast_every": 100}
        found = arrived(tgen, FORWARD, tmp_path / "seen.pcap", **more)
    assert {source: one.destination_mac for source, one in found.items()} == wanted(100, FORWARD)


def test_flows_that_differ_by_their_destination_make_room(tmp_path: Path, ring: Tgen) -> None:
    flows = {"vary": [FLOWS["vary"][0], {"field": "destination_mac", "count": 2}]}
    found = arrived(ring, LOOP, tmp_path / "seen.pcap", broadcast_every=10, flows=flows)
    assert sum(one.destination_mac == EVERYBODY for one in found.values()) == FRAMES // 10


# Several streams, flows and controllers' commands at once: tgen loses and mixes up nothing.

BURST = 64
SAME_PORT = TrafficDirection("0 to itself", 0, 0)
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


@pytest.mark.needs("namespaces")
def test_what_others_say_on_a_port_keeps_no_trial_from_settling(tmp_path: Path) -> None:
    with tgen_apart(tmp_path) as tgen:
        tgen.ports()
        enter = ["nsenter", f"--net=/proc/{tgen.process.pid}/ns/net", "--"]
        argv = [*enter, sys.executable, "-c", SPEAKER]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as speaker:
            assert speaker.stdout is not None
            speaker.stdout.readline()
            tgen.ask("configure", streams=[Stream(64).on(TrafficDirection("0 to 1", 0, 1))])
            found = tgen.ask("trial", 30, frames=100, quiet_ns=SECOND, drain_ns=8 * SECOND)
            speaker.kill()
    assert found["settled"]
    assert found["ports"][1]["foreign"] > 0
    assert found["streams"][0]["distinct"] == 100


@pytest.mark.parametrize(("flows", "extent"), [(1, 40), (4, 10), (7, 5), (64, 0)])
@pytest.mark.needs("tgen-dut")
def test_order_is_that_of_a_flow(flows: int, extent: int, tmp_path: Path) -> None:
    """A frame that comes 40 later was overtaken only by those of its flow: one in so many."""
    vary = [{"field": "source_port", "count": flows}] if flows > 1 else []
    stream = Stream(64, more={"flows": {"vary": vary}} if vary else {})
    frames = 20_000
    with reference_dut(tmp_path, ["reorder=250:40"], 1000) as switch:
        with at_hand(switch.devices, OPTIONS) as tgen:
            tgen.ports()
            sending = Sending(rate_fps="50000", frames=frames)
            found = trial(tgen, directions_between(2, "both"), stream, sending, lambda event: None)
        switch.stop()
    for seen, truth in zip(found["streams"], switch.report["ports"], strict=True):
        late = truth["reorder"]
        assert late == frames // 1000
        assert seen["lost"] == seen["duplicates"] == 0
        # Of several flows only a frame of the same one may have overtaken it.
        overtaken = extent > 0
        assert seen["reordered"] == (late if overtaken else 0)
        assert seen["reorder_extent"] == extent


@pytest.mark.needs("namespaces")
def test_a_generator_that_was_frozen_goes_on_where_it_was_and_says_for_how_long(
    tmp_path: Path,
) -> None:
    file = tmp_path / "sent.pcap"
    rate, burst, window_s = 10_000, 4, 0.001
    with tgen_apart(tmp_path) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream(64).on(TrafficDirection("0 to 1", 0, 1))])
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


@pytest.mark.needs("namespaces")
def test_streams_do_not_fire_at_the_same_moment(tmp_path: Path) -> None:
    file = tmp_path / "sent.pcap"
    streams, rounds, rate = 4, 8, 10
    with tgen_apart(tmp_path) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream(64).on(TrafficDirection("0 to 1", 0, 1))] * streams)
        tgen.ask("capture", port=0, path=str(file), frames=streams * rounds)
        tgen.ask("trial", 30, frames=rounds, rate_fps=rate, burst=1)
    times = times_s(file)
    distances = [after - before for before, after in itertools.pairwise(times)]
    # While a busy machine keeps tgen from running all its schedules stand still: none comes nearer.
    assert min(distances) > 0.8 / rate / streams


# One stream over several workers and queues: one account, in which nothing is missing or twice.

RING = ("net_ring0",)
FRAMES_WORKERS = 5_003
"""No multiple of any number of workers here."""
IN_A_RING = 901
"""Fewer than another program has room for, which drops the rest while tgen does not run."""
RATE_FPS = "30000"
PATIENCE_S = 20.0


def shared(workers: int, queues: int, **more: Any) -> Options:
    """Return options for so many workers, all on the first CPU: the first half sends."""
    return replace(OPTIONS, cpus=(0,) * workers, queues=queues, **more)


def assert_whole(found: dict[str, Any], frames: int) -> None:
    """See that every frame was sent and came back once, in order, and with its latency."""
    assert found["sent"] == found["received"] == found["distinct"] == frames
    wrong = ("lost", "duplicates", "reordered", "beyond_window", "corrupted", "wrong_size")
    assert {name: found[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert found["latency"]["count"] == frames


@pytest.mark.parametrize(("workers", "queues"), [(2, 2), (3, 3), (2, 3)])
@pytest.mark.parametrize("flows", [1, 6, 1024])
def test_paced_parts_add_up_to_the_stream(workers: int, queues: int, flows: int) -> None:
    stream = Stream(flows=flows, more={"workers": workers})
    with at_hand(RING, shared(2 * workers, queues)) as tgen:
        sending = Sending(RATE_FPS, frames=FRAMES_WORKERS)
        result = trial(tgen, (LOOP,), stream, sending, lambda event: None)
    assert_whole(result["streams"][0], FRAMES_WORKERS)
    assert result["streams"][0]["intended"] == FRAMES_WORKERS
    senders = [worker["departure_error"]["count"] for worker in result["workers"]][:workers]
    parts = [len(range(part, FRAMES_WORKERS, workers)) for part in range(workers)]
    assert sorted(senders) == sorted(parts)


def test_flat_out_for_a_time_nothing_is_lost_whichever_worker_is_faster() -> None:
    stream = Stream(more={"workers": 2})
    with at_hand(RING, shared(4, 2)) as tgen:
        sending = Sending(duration_ns=500_000_000)
        (found,) = trial(tgen, (LOOP,), stream, sending, lambda event: None)["streams"]
    assert_whole(found, found["sent"])
    assert "intended" not in found


def test_several_streams_of_several_workers_and_sizes() -> None:
    more = ({"workers": 3, "genome": "aaabbg"}, {"size": 128}, {"workers": 2, "sizes": [64, 1518]})
    streams = [Stream(more=one).on(LOOP) for one in more]
    intended = [3001, 1000, 999]
    with at_hand(RING, shared(6, 3)) as tgen:
        tgen.ask("configure", streams=streams)
        result = tgen.ask("trial", 60.0, frames=intended, rate_fps=5000, check_fill=True)
    for found, frames in zip(result["streams"], intended, strict=True):
        assert_whole(found, frames)


@pytest.mark.needs("dpdk-testpmd")
def test_vhost_user_ports_with_two_queues_each(tmp_path: Path) -> None:
    ways = directions_between(2, "both")
    with through_testpmd(tmp_path, queues=2) as switch:
        devices = [f"{device},queues=2" for device in switch.devices]
        with at_hand(devices, shared(4, 2)) as tgen:
            tgen.ports()
            stream = Stream(flows=64, more={"workers": 2})
            tgen.ask("configure", streams=[stream.on(way) for way in ways])
            wait_until_forwarded(tgen)
            sending = Sending("5000", frames=IN_A_RING)
            result = trial(tgen, ways, stream, sending, lambda event: None)
    for found in result["streams"]:
        assert_whole(found, IN_A_RING)


def wait_until_forwarded(tgen: Tgen) -> None:
    """testpmd drops frames for a queue of which it has not heard yet that it is in use."""
    deadline = time.monotonic() + PATIENCE_S
    while any(stream["lost"] for stream in tgen.ask("probe", 30.0)["streams"]):
        assert time.monotonic() < deadline, "testpmd does not forward all"


SIZES = (64, 200, 1000)
FLOWS_WORKERS = 1000
Apart = Callable[[Options], AbstractContextManager[Tgen]]


@pytest.fixture(name="cable")
def fixture_cable(require: Require, tmp_path: Path) -> Apart:
    """Return a way to start a tgen with two queues at one end of a cable, and one at the other."""
    require("namespaces")
    devices = ("net_af_packet0,iface=veth0,qpairs=2", "net_af_packet1,iface=veth1")
    return lambda options: tgen_apart(tmp_path, devices, options=options)


def test_on_the_wire_each_frame_of_the_stream_is_there_once_with_its_size(
    cable: Apart, tmp_path: Path
) -> None:
    """Frame n is of flow n and size n, as if one worker sent them all."""
    flows = {"vary": [{"field": "source_ip", "count": FLOWS_WORKERS}]}
    more = {"workers": 2, "sizes": list(SIZES), "flows": flows}
    seen = tmp_path / "seen.pcap"
    with cable(shared(4, 2)) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream(more=more).on(FORWARD)])
        tgen.ask("capture", port=1, path=str(seen), frames=FLOWS_WORKERS)
        asked = {"frames": FLOWS_WORKERS, "rate_fps": 5000, "check_fill": True}
        (found,) = tgen.ask("trial", 60.0, **asked)["streams"]
    assert_whole(found, FLOWS_WORKERS)
    lengths = {number: SIZES[number % len(SIZES)] - 4 for number in range(FLOWS_WORKERS)}
    assert lengths_by_flow(seen) == lengths


def lengths_by_flow(file: Path) -> dict[int, int]:
    """Return how long the frame of each flow was, which is told by its source address."""
    data = file.read_bytes()
    found = {}
    at = 24
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        (source,) = struct.unpack_from(">I", data, at + 16 + 26)
        found[source - 0xC6120001] = length
        at += 16 + length
    return found


def test_parts_are_marked_by_their_number_over_all_streams(tmp_path: Path) -> None:
    """So whoever reads a capture can tell whose frame it is: the second stream has 2 and 3."""
    seen = tmp_path / "seen.pcap"
    with at_hand(("net_ring0", "net_ring1"), shared(8, 2)) as tgen:
        ways = [(port, port) for port in (0, 1)]
        streams = [
            {"size": 64, "workers": 2, "transmit_port": there, "receive_port": back}
            for there, back in ways
        ]
        tgen.ask("configure", streams=streams)
        tgen.ask("capture", port=1, path=str(seen), frames=FLOWS_WORKERS)
        tgen.ask("trial", PATIENCE_S, frames=FLOWS_WORKERS, rate_fps=5000)
    frames = [read(frame) for frame in frames_in(seen.read_bytes())]
    assert frames
    assert {frame.part for frame in frames if frame is not None} <= {2, 3}
    assert None not in frames


def test_what_cannot_be_shared_is_refused_with_the_way_out() -> None:
    with at_hand(RING, shared(4, 2)) as tgen:
        for workers, why in ((3, "for 3 workers, and 2 of 4 send"), (0, "must be from 1 to")):
            with pytest.raises(TgenError, match=why):
                tgen.ask("configure", streams=[{"size": 64, "workers": workers}])
        tgen.ask("configure", streams=[{"size": 64, "workers": 2}])
        with pytest.raises(TgenError, match="no gap would be after all of a burst"):
            tgen.ask("burst", frames=10, bursts=2, gap_ns=1000)
    with at_hand(RING, shared(4, 1)) as tgen, pytest.raises(TgenError, match="--queues 2"):
        tgen.ask("configure", streams=[{"size": 64, "workers": 2}])
