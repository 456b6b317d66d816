"""Every length and checksum is right at every size from the smallest to 1518 bytes, sizes mixed.

The frames are those that libpcap wrote for a pcap port, and tshark is the judge of them.
"""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from loopbacks import OPTIONS

from vsperf.trafficgens.tgen.byhand import Stream, at_hand, ways_between

pytestmark = pytest.mark.machine

LARGEST = 1518
MOST_SIZES = 128
"""That a stream can have."""
FLOWS = {"vary": [{"field": "source_ip", "count": 97}, {"field": "destination_port", "count": 11}]}
HEADERS: dict[str, tuple[int, dict[str, Any]]] = {
    "udp": (64, {}),
    "udp flows": (64, {"flows": FLOWS | {"order": "shuffled", "seed": 3}}),
    "ipv6 tcp": (96, {"layer3": "ipv6", "layer4": "tcp", "flows": FLOWS}),
    "geneve on ipv6": (
        134,
        {"geneve": {"vni": 5, "layer3": "ipv6"}, "flows": FLOWS | {"order": "shuffled"}},
    ),
    "gre of ip": (104, {"gre": {"key": 9, "carries": "ip"}, "layer4": "tcp", "flows": FLOWS}),
    "gtp-u on ipv6": (120, {"gtpu": {"teid": 1, "layer3": "ipv6"}, "flows": FLOWS}),
}
"""The smallest size, and what else a stream has."""
UNKNOWN = {"destination_port": 50_000}
"""No protocol's: tshark is not to look for one in the fill bytes, though it takes some for STUN."""
FIELDS = ("frame.len", "ip.checksum.status", "udp.checksum.status", "tcp.checksum.status")
WRONG = "eth.trailer || ip.len < 20 || udp.length.bad || frame.cap_len != frame.len"


@pytest.mark.parametrize("name", HEADERS)
def test_each_size_has_good_checksums(name: str, tmp_path: Path, require: Require) -> None:
    require("tgen")
    require("tshark")
    smallest, more = HEADERS[name]
    sizes = list(range(smallest, LARGEST + 1))
    random.Random(name).shuffle(sizes)
    (way,) = ways_between(1, "both")
    shares = [sizes[at : at + MOST_SIZES] for at in range(0, len(sizes), MOST_SIZES)]
    streams = [Stream(more={"sizes": share, **UNKNOWN, **more}).on(way) for share in shares]
    file = tmp_path / "sent.pcap"
    with at_hand([f"net_pcap0,tx_pcap={file}"], OPTIONS) as tgen:
        tgen.ask("configure", streams=streams)
        # Twice each, so that buffers of short and long frames are used again for others.
        frames = [2 * len(share) for share in shares]
        tgen.ask("trial", 60.0, frames=frames, drain_ns=1_000_000, quiet_ns=1_000_000)
    found = dissected(file)
    assert Counter(int(frame["frame.len"]) + 4 for frame in found) == dict.fromkeys(sizes, 2)
    for frame in found:
        said = [status for field in FIELDS[1:] for status in frame[field].split(",") if status]
        assert said, "tshark saw no checksum"
        assert set(said) == {"1"}, f"{frame['frame.len']} bytes: {frame}"
    assert dissected(file, WRONG) == []


def dissected(file: Path, only: str = "") -> list[dict[str, str]]:
    argv = ["tshark", "-n", "-r", str(file), "-T", "fields", "-E", "occurrence=a", "-Y", only]
    for layer in ("ip", "udp", "tcp"):
        argv += ["-o", f"{layer}.check_checksum:TRUE"]
    argv += [part for field in FIELDS for part in ("-e", field)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
