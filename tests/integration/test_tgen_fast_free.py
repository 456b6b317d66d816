"""Ports that free buffers without a look at each: all that tgen sends there comes from one pool.

No virtual port has it, so a library that is loaded into tgen gives it to all of them, and ends
tgen when a queue gets a buffer of another pool, or one that somebody else holds, too.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from captures import dissected
from conftest import Require
from loopbacks import OPTIONS
from preloads import preload
from scapy.layers.l2 import ARP, Ether
from scapy.utils import wrpcap

from vsperf.drivers.generators.tgen.byhand import Stream, at_hand, directions_between

pytestmark = pytest.mark.machine

PATIENCE_S = 20.0
FRAMES = 300
FIELDS = ("frame.len", "arp.opcode", "udp.checksum.status")
SIZES = (64, 1518, 300, 4000)


@pytest.fixture(autouse=True)
def _freeing_fast(require: Require, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("tgen")
    require("tgen-dut")
    require("tshark")
    preload("fast-free", tmp_path, monkeypatch)


def test_streams_learning_and_answers_share_one_pool(tmp_path: Path) -> None:
    requests, written = tmp_path / "requests.pcap", tmp_path / "written.pcap"
    asked = Ether(dst="ff:ff:ff:ff:ff:ff") / ARP(psrc="198.18.0.254", pdst="198.18.0.1")
    wrpcap(str(requests), [asked])
    (way,) = directions_between(1, "both")
    streams = [Stream(more={"sizes": list(SIZES)}).on(way), Stream(64).on(way)]
    with at_hand([f"net_pcap0,rx_pcap={requests},tx_pcap={written}"], OPTIONS) as tgen:
        (port,) = tgen.ask("ports")["ports"]
        assert port["transmit_offloads"] == ["MBUF_FAST_FREE"]
        tgen.ask("configure", streams=streams)
        tgen.ask("respond")
        deadline = time.monotonic() + PATIENCE_S
        while written.stat().st_size <= 24:
            assert time.monotonic() < deadline, "nobody was answered"
            time.sleep(0.05)
        for _ in range(2):
            tgen.ask("learn", rounds=1)
            result = tgen.ask("trial", 60.0, frames=FRAMES, rate_fps=20_000)
            assert [stream["sent"] for stream in result["streams"]] == [FRAMES, FRAMES]
            assert result["ports"][0]["no_buffers"] == 0
    frames = [tuple(frame.values()) for frame in dissected(written, FIELDS)]
    assert frames[0] == ("60", "2", "")
    assert frames.count(("60", "1", "")) == 2 * len(streams) * 2
    expected = Counter({(str(size - 4), "", "1"): 2 * FRAMES // len(SIZES) for size in SIZES})
    expected["60", "", "1"] += 2 * FRAMES
    assert Counter(frame for frame in frames if not frame[1]) == expected
