"""Frames of several sizes in one stream: every byte of each is right, on ports that keep buffers.

A buffer goes round: what it held before must show in no frame, whatever the sizes of both.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cable import tgen_apart
from conftest import Require
from loopbacks import OPTIONS, PATIENTLY, witness_dut
from test_tgen_pcap import bad_checksums, complaints, dissected

from vsperf.trafficgens.tgen.byhand import Stream, at_hand, ways_between
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine

WAYS = ways_between(2, "both")
FRAMES = 6000
"""More than there are buffers: each is used for frames of different sizes."""
MIXES = {
    "short and long": [64, 1518],
    "the simple IMIX": [64] * 7 + [570] * 4 + [1518],
    "down and up by a little": [1518, 512, 511, 513, 130, 131, 1517],
    "all short": [64, 128, 65],
}


def assert_every_byte_arrives(tgen: Tgen, stream: Stream) -> None:
    """Send both ways with all fill bytes compared."""
    tgen.ask("configure", streams=[stream.on(way) for way in WAYS])
    asked = {"rate_fps": 20_000, "frames": FRAMES, "burst": 32, "check_fill": True, **PATIENTLY}
    found = tgen.ask("trial", 60, **asked)
    assert found["settled"]
    for seen in found["streams"]:
        assert seen["sent"] == seen["distinct"] == FRAMES
        assert seen["corrupted"] == seen["wrong_size"] == seen["lost"] == 0


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize(
    "more", [{}, {"flows": {"vary": [{"field": "source_ip", "count": 7}]}}], ids=["one", "flows"]
)
def test_mixed_sizes_on_packet_sockets(
    mix: str, more: dict[str, Any], tmp_path: Path, require: Require
) -> None:
    require("tgen")
    require("namespaces")
    with tgen_apart(tmp_path) as tgen:
        tgen.ports()
        assert_every_byte_arrives(tgen, Stream(more={"sizes": MIXES[mix], **more}))


@pytest.mark.parametrize("mix", MIXES)
def test_mixed_sizes_on_vhost_user(mix: str, tmp_path: Path, require: Require) -> None:
    require("tgen")
    require("tgen-dut")
    with witness_dut(tmp_path) as switch, at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        assert_every_byte_arrives(tgen, Stream(more={"sizes": MIXES[mix]}))


def test_tshark_finds_the_checksum_of_every_size_right(tmp_path: Path, require: Require) -> None:
    """After a trial of the same mix, so that no buffer is new; seen at the cable's other end."""
    require("tgen")
    require("namespaces")
    require("tshark")
    file = tmp_path / "seen.pcap"
    with tgen_apart(tmp_path, options=replace(OPTIONS, max_frame=1518)) as tgen:
        tgen.ports()
        stream = Stream(more={"sizes": MIXES["short and long"]})
        tgen.ask("configure", streams=[stream.on(way) for way in WAYS[:1]])
        tgen.ask("trial", 30, rate_fps=20_000, frames=FRAMES)
        tgen.ask("capture", port=1, path=str(file), frames=2000)
        tgen.ask("trial", 30, rate_fps=20_000, frames=2000)
    frames = dissected(file)
    assert sorted({int(frame["frame.len"]) for frame in frames}) == [60, 1514]
    assert len(frames) == 2000
    assert [frame for frame in frames if bad_checksums(frame) or complaints(frame)] == []
