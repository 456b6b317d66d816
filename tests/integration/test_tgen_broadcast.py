"""Every n-th frame of a stream is for everybody, and nothing else of it changes.

Each frame is told by its source address: there are as many flows as frames.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cable import tgen_apart
from conftest import Require
from loopbacks import OPTIONS
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.record.headers import Headers
from vsperf.spec.flows import host_ip, link_mac
from vsperf.trafficgens.tgen.byhand import Stream, ways_between
from vsperf.trafficgens.tgen.headers import frames_in, read
from vsperf.trafficgens.tgen.process import Tgen
from vsperf.trafficgens.tgen.traffic import Way

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]

(LOOP,) = ways_between(1, "both")
(FORWARD,) = ways_between(2, "forward")
FRAMES = 1000
EVERYBODY = "ff:ff:ff:ff:ff:ff"
FLOWS = {"vary": [{"field": "source_ip", "count": FRAMES}]}


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")


def arrived(tgen: Tgen, way: Way, file: Path, **more: Any) -> dict[str, Headers]:
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


def wanted(every: int, way: Way) -> dict[str, str]:
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


def same_station(headers: Headers, way: Way) -> Headers:
    return headers.model_copy(update={"destination_mac": link_mac(way.receive)})


@pytest.mark.parametrize("workers", [2, 3])
def test_several_workers_send_those_that_one_would(
    workers: int, tmp_path: Path, require: Require
) -> None:
    require("namespaces")
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
