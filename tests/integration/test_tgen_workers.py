"""One stream over several workers and queues: one account, in which nothing is missing or twice.

The workers share the CPUs that there are: how fast they are is not asked here.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cable import tgen_apart
from conftest import Require
from loopbacks import OPTIONS, through_testpmd

from vsperf.trafficgens.tgen.byhand import Sending, Stream, at_hand, trial, ways_between
from vsperf.trafficgens.tgen.client import TgenError
from vsperf.trafficgens.tgen.command import Options
from vsperf.trafficgens.tgen.headers import frames_in, read
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine

RING = ("net_ring0",)
(LOOP,) = ways_between(1, "both")
(FORWARD,) = ways_between(2, "forward")
FRAMES = 5_003
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


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")


@pytest.mark.parametrize(("workers", "queues"), [(2, 2), (3, 3), (2, 3)])
@pytest.mark.parametrize("flows", [1, 6, 1024])
def test_paced_parts_add_up_to_the_stream(workers: int, queues: int, flows: int) -> None:
    stream = Stream(flows=flows, more={"workers": workers})
    with at_hand(RING, shared(2 * workers, queues)) as tgen:
        sending = Sending(RATE_FPS, frames=FRAMES)
        result = trial(tgen, (LOOP,), stream, sending, lambda event: None)
    assert_whole(result["streams"][0], FRAMES)
    assert result["streams"][0]["intended"] == FRAMES
    senders = [worker["departure_error"]["count"] for worker in result["workers"]][:workers]
    parts = [len(range(part, FRAMES, workers)) for part in range(workers)]
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


def test_vhost_user_ports_with_two_queues_each(require: Require, tmp_path: Path) -> None:
    require("dpdk-testpmd")
    ways = ways_between(2, "both")
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
FLOWS = 1000
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
    flows = {"vary": [{"field": "source_ip", "count": FLOWS}]}
    more = {"workers": 2, "sizes": list(SIZES), "flows": flows}
    seen = tmp_path / "seen.pcap"
    with cable(shared(4, 2)) as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[Stream(more=more).on(FORWARD)])
        tgen.ask("capture", port=1, path=str(seen), frames=FLOWS)
        asked = {"frames": FLOWS, "rate_fps": 5000, "check_fill": True}
        (found,) = tgen.ask("trial", 60.0, **asked)["streams"]
    assert_whole(found, FLOWS)
    lengths = {number: SIZES[number % len(SIZES)] - 4 for number in range(FLOWS)}
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
        tgen.ask("capture", port=1, path=str(seen), frames=FLOWS)
        tgen.ask("trial", PATIENCE_S, frames=FLOWS, rate_fps=5000)
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
