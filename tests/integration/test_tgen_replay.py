"""A file is replayed: what leaves is what it has, but for the mark, and all of it is counted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cable import tgen_apart
from captures import dissected
from loopbacks import OPTIONS, PATIENTLY, reference_dut
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw
from scapy.utils import RawPcapReader, wrpcap
from shared_tgen import fixture_kept_tgen, fixture_ring
from test_tgen_pcap import FIELDS, bad_checksums, complaints

from vsperf.drivers.generators.tgen.byhand import at_hand
from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.process import Tgen

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]

MARK = 18
RING = ("net_ring0",)
START_S = 1_700_000_000.25
GAPS_S = (0, 0, 0.004, 0.001, 0, 0.020, 0.0005, 0.003, 0, 0.001, 0.007, 0.0001)
PERIOD_S = sum(GAPS_S) * (1 + 1 / (len(GAPS_S) - 1))
"""From the first frame to the first one of the next round, which follows at the mean distance."""
OWN_FPS = len(GAPS_S) / PERIOD_S


def ethernet() -> Packet:
    return Ether(src="02:00:00:00:00:05", dst="02:00:00:00:00:06")


def ipv4() -> Packet:
    return ethernet() / IP(src="10.1.2.3", dst="10.3.2.1", id=7)


def words(length: int) -> Raw:
    return Raw((bytes(range(1, 200)) * 8)[:length])


def frames() -> tuple[list[Packet], list[bool]]:
    """Return one frame of each sort, and which of them have room for a mark."""
    segment = TCP(sport=5000, dport=443, seq=77, flags="PA")
    inner = ethernet() / IP(src="1.1.1.1", dst="2.2.2.2") / UDP(sport=9, dport=10) / words(64)
    first = ethernet() / IP(src="10.1.2.3", dst="10.3.2.1", id=8, flags="MF")
    last = ethernet() / IP(src="10.1.2.3", dst="10.3.2.1", id=8, frag=100)
    both = [
        (ipv4() / UDP(sport=1000, dport=2000) / words(18), True),
        (ipv4() / UDP(sport=1000, dport=2000) / words(17), False),
        (ipv4() / segment / words(333), True),
        (ipv4() / TCP(sport=5000, dport=443, flags="A"), False),
        (ethernet() / Dot1Q(vlan=5) / IP() / UDP(sport=1, dport=2) / words(1001), True),
        (ethernet() / IPv6(src="fd00::1", dst="fd00::2") / UDP(sport=3, dport=4) / words(45), True),
        (ethernet() / IPv6(src="fd00::1", dst="fd00::2") / segment / words(46), True),
        (ethernet() / ARP(psrc="10.0.0.1", pdst="10.0.0.2"), False),
        (ipv4() / ICMP() / words(100), False),
        (ipv4() / UDP(sport=49152, dport=4789) / VXLAN(vni=7) / inner, False),
        (first / UDP(sport=1000, dport=2000, len=1208, chksum=1) / words(792), False),
        (last / words(408), False),
    ]
    return [frame for frame, _ in both], [room for _, room in both]


FRAMES, ROOM = frames()
assert len(FRAMES) == len(GAPS_S)
WHOLE = len(FRAMES) - 2
"""Without fragments at the end, which the kernel puts together for a packet socket."""


def written(
    path: Path, *, count: int = len(FRAMES), nano: bool = False, endianness: str = "<"
) -> Path:
    """Write the file, or the first frames of it, and return it."""
    when = START_S
    packets = []
    for frame, gap in zip(FRAMES, GAPS_S, strict=True):
        when += gap
        copy = Ether(bytes(frame))
        copy.time = when
        packets.append(copy)
    wrpcap(str(path), packets[:count], nano=nano, endianness=endianness)
    return path


def configure(tgen: Tgen, *streams: dict[str, Any]) -> list[dict[str, Any]]:
    tgen.ports()
    found: list[dict[str, Any]] = tgen.ask("configure", streams=list(streams))["replays"]
    return found


def in_memory(path: Path) -> list[bytes]:
    with RawPcapReader(str(path)) as reader:
        return [data for data, _ in reader]


def assert_the_same_but_for_the_mark(seen: list[bytes], count: int, rounds: int) -> None:
    """Hold what was captured against the file, byte by byte."""
    expected = [bytes(frame).ljust(60, b"\0") for frame in FRAMES[:count]] * rounds
    assert [len(frame) for frame in seen] == [len(frame) for frame in expected]
    for frame, original, room in zip(seen, expected, ROOM[:count] * rounds, strict=True):
        changed = {i for i, (a, b) in enumerate(zip(frame, original, strict=True)) if a != b}
        mark = set(range(len(original) - MARK, len(original))) if room else set()
        assert bool(changed) == room
        # Beside the mark there is the checksum: two bytes in a header of UDP or TCP.
        beside = sorted(changed - mark)
        assert len(beside) <= 2
        assert not beside or beside[-1] - beside[0] < 2


@pytest.mark.needs("tgen", "namespaces", "tshark")
def test_what_leaves_on_a_packet_socket_is_what_is_in_the_file(tmp_path: Path) -> None:
    file, seen = written(tmp_path / "file.pcap", count=WHOLE), tmp_path / "seen.pcap"
    rounds, room = 3, ROOM[:WHOLE]
    with tgen_apart(tmp_path) as tgen:
        (facts,) = configure(tgen, {"replay": str(file)})
        assert facts["frames"] == WHOLE
        assert facts["unmarked"] == room.count(False)
        assert facts["padded"] == 3  # ARP, TCP without a payload, and 17 bytes of UDP
        tgen.ask("capture", port=1, path=str(seen), frames=100)
        found = tgen.ask("trial", 30, rate_fps=2000, frames=rounds * WHOLE, check_fill=True)
    (stream,) = found["streams"]
    assert found["settled"]
    assert stream["sent"] == rounds * WHOLE
    assert stream["distinct"] == stream["received"] == rounds * room.count(True)
    assert stream["unmarked"] == stream["unmarked_received"] == rounds * room.count(False)
    wrong = ("lost", "duplicates", "reordered", "corrupted", "misrouted", "wrong_size")
    assert [stream[name] for name in wrong] == [0] * len(wrong)
    assert "foreign" not in found["ports"][1]
    assert found["ports"][0]["foreign"] == 0
    assert_the_same_but_for_the_mark(in_memory(seen), WHOLE, rounds)
    judged = dissected(seen, FIELDS)
    assert len(judged) == rounds * WHOLE
    for frame, marked in zip(judged, room * rounds, strict=True):
        if marked:
            assert bad_checksums(frame) == []
        assert complaints(frame) == []


@pytest.mark.parametrize("form", ["pcap", "nsecpcap", "pcapng"])
@pytest.mark.needs("tgen", "tshark")
def test_every_form_of_file_says_the_same(form: str, tmp_path: Path, ring: Tgen) -> None:
    """As Wireshark's editcap writes it; the other byte order as scapy does."""
    first = written(tmp_path / "first.pcap", nano=True, endianness=">")
    file, seen = tmp_path / f"file.{form}", tmp_path / "seen.pcap"
    subprocess.run(["editcap", "-F", form, str(first), str(file)], check=True)
    facts = [configure(ring, {"replay": str(path)})[0] for path in (first, file)]
    ring.ask("capture", port=0, path=str(seen), frames=len(FRAMES))
    (stream,) = ring.ask("trial", 30, rhythm="file")["streams"]
    # Microseconds are not as exact as nanoseconds, nor is what scapy makes of these.
    for one in facts:
        assert one.pop("period_ns") == pytest.approx(PERIOD_S * 1e9, abs=2000)
    assert facts[0] == facts[1]
    assert stream["sent"] == len(FRAMES)
    # Sent and received, in the order of their times.
    assert_the_same_but_for_the_mark(sorted_by_copy(in_memory(seen)), len(FRAMES), 1)


def sorted_by_copy(seen: list[bytes]) -> list[bytes]:
    """Return the frames sent, of a capture with each frame twice."""
    assert len(seen) == 2 * len(FRAMES)
    left, once = list(seen), []
    for frame in FRAMES:
        expected = bytes(frame).ljust(60, b"\0")
        found = next(one for one in left if one[:34] == expected[:34] and len(one) == len(expected))
        left = [one for one in left if one != found]
        once.append(found)
    return once


@pytest.mark.parametrize("rate_fps", [None, 1000, 100])
@pytest.mark.needs("tgen")
def test_no_frame_leaves_before_its_time(rate_fps: int | None, tmp_path: Path, ring: Tgen) -> None:
    """Twelve frames in some 40 ms are 300 a second; if one is later, it is the machine's doing."""
    file = written(tmp_path / "file.pcap", nano=True)
    rate = {} if rate_fps is None else {"rate_fps": rate_fps}
    configure(ring, {"replay": str(file)})
    found = ring.ask("trial", 30, rhythm="file", frames=2 * len(FRAMES), **rate)
    (stream,) = found["streams"]
    assert stream["sent"] == 2 * len(FRAMES)
    assert stream["lost"] == 0
    span_s = (PERIOD_S + sum(GAPS_S)) * OWN_FPS / (rate_fps or OWN_FPS)
    assert found["elapsed_ns"] >= 0.999 * span_s * 1e9


@pytest.mark.needs("tgen")
def test_a_time_bounds_what_is_intended(tmp_path: Path, ring: Tgen) -> None:
    file = written(tmp_path / "file.pcap", nano=True)
    configure(ring, {"replay": str(file)})
    found = ring.ask("trial", 30, rhythm="file", duration_ns=5_500_000, grace_ns=500_000_000)
    (stream,) = found["streams"]
    # Of the frames at 0, 0, 4, 5, 5, 25 ms.
    assert stream["intended"] == stream["sent"] == 5
    assert stream["unsent"] == 0


@pytest.mark.needs("tgen", "tgen-dut")
def test_loss_is_told_to_the_frame(tmp_path: Path) -> None:
    """The reference DUT drops and doubles marked frames by their numbers, and passes all others."""
    file = written(tmp_path / "file.pcap")
    rounds, period = 500, 12
    rules = ("drop=0", "duplicate=2", "corrupt=4:30")
    marked = [number for number, room in enumerate(ROOM) if room]
    assert {0, 2, 4} <= set(marked)
    with reference_dut(tmp_path, rules, period) as switch, at_hand(switch.devices, OPTIONS) as tgen:
        configure(
            tgen,
            {"transmit_port": 0, "replay": str(file)},
            {"transmit_port": 1, "replay": str(file)},
        )
        asked = {"rate_fps": 20_000, "frames": rounds * len(FRAMES), "check_fill": True}
        found = tgen.ask("trial", 60, **asked, **PATIENTLY)
        switch.stop()
    for stream, truth in zip(found["streams"], switch.report["ports"], strict=True):
        assert stream["sent"] == rounds * len(FRAMES)
        assert truth["received"] == rounds * len(marked)
        assert truth["other"] == stream["unmarked"] == stream["unmarked_received"]
        assert truth["drop"] == truth["duplicate"] == truth["corrupt"] == rounds
        assert stream["lost"] == 2 * rounds
        assert stream["duplicates"] == stream["corrupted"] == rounds
        assert stream["distinct"] == rounds * (len(marked) - 2)
    assert all("foreign" not in port for port in found["ports"])


@pytest.mark.needs("tgen")
def test_what_nobody_takes_is_lost(tmp_path: Path) -> None:
    file = written(tmp_path / "file.pcap")
    with at_hand(("net_null0,no-rx=1", "net_null1,no-rx=1"), OPTIONS) as tgen:
        configure(tgen, {"replay": str(file)})
        (stream,) = tgen.ask("trial", 30, rate_fps=100_000, frames=10_000)["streams"]
    assert stream["sent"] == 10_000
    assert stream["unmarked"] == 833 * ROOM.count(False) + ROOM[:4].count(False)
    assert stream["lost"] == 10_000 - stream["unmarked"]
    assert stream["unmarked_received"] == 0


@pytest.mark.needs("tgen", "namespaces")
def test_files_and_made_frames_share_a_port(tmp_path: Path) -> None:
    """Their buffers go round: none of them shows what was in it before."""
    file = written(tmp_path / "file.pcap", count=WHOLE)
    with tgen_apart(tmp_path) as tgen:
        configure(tgen, {"replay": str(file)}, {"sizes": [64, 1518], "transmit_port": 0})
        found = tgen.ask("trial", 30, rate_fps=10_000, frames=6000, check_fill=True)
    replayed, made = found["streams"]
    assert made["distinct"] == made["sent"] == 6000
    assert replayed["distinct"] + replayed["unmarked_received"] == replayed["sent"] == 6000
    assert made["corrupted"] == replayed["corrupted"] == made["lost"] == replayed["lost"] == 0
    assert "unmarked" not in made


@pytest.mark.needs("tgen")
def test_two_streams_without_marks_to_one_port_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path / "file.pcap")
    streams = [{"transmit_port": port, "receive_port": 0, "replay": str(file)} for port in (0, 1)]
    with at_hand(("net_ring0", "net_ring1"), OPTIONS) as tgen:
        tgen.ports()
        with pytest.raises(TgenError, match="nobody could tell whose"):
            tgen.ask("configure", streams=streams)
        # And it goes on as if nothing had been; there is nobody in a file to be announced.
        configure(tgen, {"replay": str(file)})
        assert tgen.ask("learn", rounds=2) == {"rounds": 2}


@pytest.mark.needs("tgen")
def test_what_is_no_file_of_frames_is_refused(tmp_path: Path, ring: Tgen) -> None:
    whole = written(tmp_path / "file.pcap").read_bytes()
    fifo, empty, cut, jumbo = (tmp_path / name for name in ("fifo", "empty", "cut", "jumbo"))
    os.mkfifo(fifo)
    empty.write_bytes(b"")
    cut.write_bytes(whole[:-1])
    wrpcap(str(jumbo), [FRAMES[0], ethernet() / Raw(bytes(9300))])
    refused = {
        tmp_path: "no regular file",
        fifo: "no regular file",
        Path("/dev/zero"): "no regular file",
        tmp_path / "none": "No such file",
        empty: "is empty",
        cut: f"ends within frame {len(FRAMES)}",
        jumbo: "frame 2 has 9318 bytes with its FCS, and the port takes 9216",
    }
    ring.ports()
    for path, why in refused.items():
        with pytest.raises(TgenError) as caught:
            ring.ask("configure", streams=[{"replay": str(path)}])
        assert str(path) in str(caught.value)
        assert why in str(caught.value)
