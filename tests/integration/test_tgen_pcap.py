"""Frames as they are on the wire, judged by tshark: each template, size and checksum."""

from __future__ import annotations

import os
import random
import stat
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cable import VETH, tgen_apart
from captures import dissected
from loopbacks import OPTIONS, PATIENTLY, reference_dut
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.drivers.generators.tgen.byhand import Stream, at_hand, capture, directions_between
from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.process import Tgen

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]


# Frames of every header template, captured by tgen and read by tshark without a complaint.

SIZES = (154, 157, 512, 1518)
FRAMES = 8
FLOWS = {"vary": [{"field": "source_ip", "count": 5}, {"field": "destination_port", "count": 3}]}
TUNNEL_FLOWS = {
    "vary": [
        {"field": "vni", "count": 3},
        {"field": "source_mac", "count": 5},
        {"field": "destination_ip", "count": 7},
        {"field": "source_port", "count": 2},
    ]
}
VXLAN = {"vni": 4096}
TEMPLATES: dict[str, tuple[dict[str, Any], str]] = {
    "udp": ({}, "eth:ethertype:ip:udp:echo"),
    "tcp": ({"layer4": "tcp"}, "eth:ethertype:ip:tcp"),
    "ipv6": ({"layer3": "ipv6"}, "eth:ethertype:ipv6:udp:echo"),
    "ipv6 tcp": ({"layer3": "ipv6", "layer4": "tcp"}, "eth:ethertype:ipv6:tcp"),
    "vlan": ({"vlans": [100]}, "eth:ethertype:vlan:ethertype:ip:udp:echo"),
    "qinq": (
        {"vlans": [{"id": 5, "priority": 7}, 4094], "layer3": "ipv6"},
        "eth:ethertype:ieee8021ad:ethertype:vlan:ethertype:ipv6:udp:echo",
    ),
    "mpls": ({"mpls": [16]}, "eth:ethertype:mpls:ip:udp:echo"),
    "mpls, three labels": ({"mpls": [16, 17, 1048575]}, "eth:ethertype:mpls:ip:udp:echo"),
    "vlan and mpls": (
        {"vlans": [7], "mpls": [18], "layer4": "tcp"},
        "eth:ethertype:vlan:ethertype:mpls:ip:tcp",
    ),
    "vxlan": ({"vxlan": VXLAN}, "eth:ethertype:ip:udp:vxlan:eth:ethertype:ip:udp:echo"),
    "vxlan, ipv6 tcp inside": (
        {"vxlan": VXLAN, "layer3": "ipv6", "layer4": "tcp"},
        "eth:ethertype:ip:udp:vxlan:eth:ethertype:ipv6:tcp",
    ),
    "vxlan in a vlan": (
        {"vxlan": VXLAN | {"vlans": [{"id": 100, "priority": 5}]}},
        "eth:ethertype:vlan:ethertype:ip:udp:vxlan:eth:ethertype:ip:udp:echo",
    ),
    "vxlan on ipv6, in two vlans": (
        {"vxlan": VXLAN | {"layer3": "ipv6", "vlans": [5, 6]}},
        "eth:ethertype:ieee8021ad:ethertype:vlan:ethertype:ipv6:udp:vxlan:eth:ethertype:ip:udp:echo",
    ),
    "geneve": ({"geneve": {"vni": 77}}, "eth:ethertype:ip:udp:geneve:eth:ethertype:ip:udp:echo"),
    "geneve on ipv6, flows inside": (
        {"geneve": {"vni": 77, "layer3": "ipv6"}, "flows": TUNNEL_FLOWS | {"order": "shuffled"}},
        "eth:ethertype:ipv6:udp:geneve:eth:ethertype:ip:udp",
    ),
    "vxlan on ipv6, ipv6 flows inside": (
        {"vxlan": VXLAN | {"layer3": "ipv6"}, "layer3": "ipv6", "flows": TUNNEL_FLOWS},
        "eth:ethertype:ipv6:udp:vxlan:eth:ethertype:ipv6:udp",
    ),
    "gre": ({"gre": {}}, "eth:ethertype:ip:gre:eth:ethertype:ip:udp:echo"),
    "gre with a key": (
        {"gre": {"key": 4294967295}, "vlans": [9]},
        "eth:ethertype:ip:gre:eth:ethertype:vlan:ethertype:ip:udp:echo",
    ),
    "gre of ip on ipv6": (
        {"gre": {"key": 1, "layer3": "ipv6", "carries": "ip"}, "layer4": "tcp"},
        "eth:ethertype:ipv6:gre:ip:tcp",
    ),
    "gtp-u": ({"gtpu": {"teid": 7}}, "eth:ethertype:ip:udp:gtp:ip:udp:echo"),
    "gtp-u on ipv6, tunnels differ": (
        {
            "gtpu": {"teid": 7, "layer3": "ipv6", "vlans": [3]},
            "layer3": "ipv6",
            "flows": {"vary": [{"field": "teid", "count": 5}, {"field": "source_ip", "count": 3}]},
        },
        "eth:ethertype:vlan:ethertype:ipv6:udp:gtp:ipv6:udp:echo",
    ),
    "flows": ({"flows": FLOWS}, "eth:ethertype:ip:udp"),
    "tcp flows on ipv6": (
        {"layer3": "ipv6", "layer4": "tcp", "flows": FLOWS},
        "eth:ethertype:ipv6:tcp",
    ),
    "a marked class of service": ({"dscp": 46, "ttl": 1}, "eth:ethertype:ip:udp:echo"),
}
FIELDS = (
    "frame.len",
    "frame.cap_len",
    "frame.protocols",
    "_ws.malformed",
    "eth.trailer",
    "ip.len",
    "ipv6.plen",
    "udp.length",
    "ip.checksum.status",
    "udp.checksum.status",
    "tcp.checksum.status",
    "_ws.expert.message",
)
GOOD, ABSENT = "1", "3"
TUNNELS = {"vxlan", "geneve", "gtp"}


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.needs("tgen", "tshark")
def test_tshark_finds_nothing_wrong(name: str, tmp_path: Path, ring: Tgen) -> None:
    headers, protocols = TEMPLATES[name]
    file = tmp_path / "seen.pcap"
    stream = Stream(more={"sizes": list(SIZES), **headers})
    result = capture(ring, directions_between(1, "both"), stream, FRAMES, {0: file})
    assert result["streams"][0]["distinct"] == FRAMES
    frames = dissected(file, FIELDS)
    assert len(frames) == 2 * FRAMES  # each was sent, and came back
    assert sorted(int(frame["frame.len"]) for frame in frames) == sorted(
        size - 4 for size in SIZES * (2 * FRAMES // len(SIZES))
    )
    for frame in frames:
        assert frame["frame.len"] == frame["frame.cap_len"]
        assert protocols_of(frame).startswith(protocols)
        assert frame["_ws.malformed"] == ""
        assert frame["eth.trailer"] == ""
        assert bad_checksums(frame) == []
        assert complaints(frame) == []
        assert network_layer_ends(frame) == int(frame["frame.len"])


@pytest.mark.needs("tgen", "tshark")
def test_the_outer_source_port_of_a_tunnel_follows_the_inner_flow(
    tmp_path: Path, ring: Tgen
) -> None:
    """Of 256 flows on 16,384 dynamic ports two or so share one by chance, not more than a few."""
    file = tmp_path / "seen.pcap"
    vary = [{"field": "source_ip", "count": 16}, {"field": "destination_port", "count": 16}]
    stream = Stream(146, more={"vxlan": VXLAN, "flows": {"vary": vary}})
    capture(ring, directions_between(1, "both"), stream, 512, {0: file})
    fields = ("ip.src", "udp.srcport", "udp.dstport", "udp.length", "udp.checksum")
    flows: dict[tuple[str, str], set[int]] = {}
    for frame in dissected(file, fields):
        inner = (frame["ip.src"].split(",")[1], frame["udp.dstport"].split(",")[1])
        flows.setdefault(inner, set()).add(int(frame["udp.srcport"].split(",")[0]))
        assert frame["udp.length"] == f"{146 - 4 - 34},{146 - 4 - 84}"
        assert int(frame["udp.checksum"].split(",")[0], 16) == 0
    assert len(flows) == 256
    assert all(len(ports) == 1 for ports in flows.values()), "a flow has changed its port"
    ports = set().union(*flows.values())
    assert len(ports) > 240
    assert 49152 <= min(ports) <= max(ports) <= 65535


def protocols_of(frame: dict[str, str]) -> str:
    """Return the protocols of a frame; tshark 4.4 does not name IP below MPLS, and dissects it."""
    named = frame["frame.protocols"]
    return named if "mpls:ip" in named else named.replace("mpls:", "mpls:ip:")


def bad_checksums(frame: dict[str, str]) -> list[str]:
    """Return the layers whose checksum is not good; of a tunnel on IPv4, outer UDP has none."""
    layers = frame["frame.protocols"].split(":")
    zero = bool(TUNNELS & set(layers)) and layers[layers.index("udp") - 1] == "ip"
    bad = []
    for layer in ("ip", "udp", "tcp"):
        found = [status for status in frame[f"{layer}.checksum.status"].split(",") if status]
        if layer == "udp" and zero:
            assert found.pop(0) == ABSENT
        bad += [layer for status in found if status != GOOD]
    return bad


def complaints(frame: dict[str, str]) -> list[str]:
    """Return what tshark says about a frame by itself; not how TCP frames follow each other."""
    said = [text for text in frame["_ws.expert.message"].split(",") if text]
    about = ("checksum", "length", "malformed", "bogus", "truncated", "illegal", "invalid")
    return [text for text in said if any(word in text.lower() for word in about)]


def network_layer_ends(frame: dict[str, str]) -> int:
    """Return where the first network layer says that the frame ends."""
    layers = frame["frame.protocols"].split(":")
    start = 14
    for layer in layers[2:]:
        if layer in ("vlan", "ieee8021ad"):
            start += 4
        if layer == "mpls":
            # One entry for any number of labels: what is left over is theirs.
            total = int(frame["ip.len"].split(",")[0])
            labels = int(frame["frame.len"]) - start - total
            assert labels in (4, 8, 12)
            return start + labels + total
        if layer == "ip":
            return start + int(frame["ip.len"].split(",")[0])
        if layer == "ipv6":
            return start + 40 + int(frame["ipv6.plen"].split(",")[0])
    raise AssertionError(f"no network layer in {layers}")


# Every length and checksum is right at every size from the smallest to 1518 bytes, sizes mixed.

LARGEST = 1518
MOST_SIZES = 128
"""That a stream can have."""
FLOWS_CHECKSUMS = {
    "vary": [{"field": "source_ip", "count": 97}, {"field": "destination_port", "count": 11}]
}
HEADERS: dict[str, tuple[int, dict[str, Any]]] = {
    "udp": (64, {}),
    "udp flows": (64, {"flows": FLOWS_CHECKSUMS | {"order": "shuffled", "seed": 3}}),
    "ipv6 tcp": (96, {"layer3": "ipv6", "layer4": "tcp", "flows": FLOWS_CHECKSUMS}),
    "geneve on ipv6": (
        134,
        {"geneve": {"vni": 5, "layer3": "ipv6"}, "flows": FLOWS_CHECKSUMS | {"order": "shuffled"}},
    ),
    "gre of ip": (
        104,
        {"gre": {"key": 9, "carries": "ip"}, "layer4": "tcp", "flows": FLOWS_CHECKSUMS},
    ),
    "gtp-u on ipv6": (120, {"gtpu": {"teid": 1, "layer3": "ipv6"}, "flows": FLOWS_CHECKSUMS}),
}
"""The smallest size, and what else a stream has."""
UNKNOWN = {"destination_port": 50_000}
"""No protocol's: tshark is not to look for one in the fill bytes, though it takes some for STUN."""
FIELDS_CHECKSUMS = ("frame.len", "ip.checksum.status", "udp.checksum.status", "tcp.checksum.status")
WRONG = "eth.trailer || ip.len < 20 || udp.length.bad || frame.cap_len != frame.len"


@pytest.mark.parametrize("name", HEADERS)
@pytest.mark.needs("tgen", "tshark")
def test_each_size_has_good_checksums(name: str, tmp_path: Path) -> None:
    smallest, more = HEADERS[name]
    sizes = list(range(smallest, LARGEST + 1))
    random.Random(name).shuffle(sizes)
    (way,) = directions_between(1, "both")
    shares = [sizes[at : at + MOST_SIZES] for at in range(0, len(sizes), MOST_SIZES)]
    streams = [Stream(more={"sizes": share, **UNKNOWN, **more}).on(way) for share in shares]
    file = tmp_path / "sent.pcap"
    with at_hand([f"net_pcap0,tx_pcap={file}"], OPTIONS) as tgen:
        tgen.ask("configure", streams=streams)
        # Twice each, so that buffers of short and long frames are used again for others.
        frames = [2 * len(share) for share in shares]
        tgen.ask("trial", 60.0, frames=frames, drain_ns=1_000_000, quiet_ns=1_000_000)
    found = dissected(file, FIELDS_CHECKSUMS)
    assert Counter(int(frame["frame.len"]) + 4 for frame in found) == dict.fromkeys(sizes, 2)
    for frame in found:
        said = [
            status for field in FIELDS_CHECKSUMS[1:] for status in frame[field].split(",") if status
        ]
        assert said, "tshark saw no checksum"
        assert set(said) == {"1"}, f"{frame['frame.len']} bytes: {frame}"
    assert dissected(file, FIELDS_CHECKSUMS, WRONG) == []


# Frames of several sizes in one stream: every byte of each is right, on ports that keep buffers.

WAYS = directions_between(2, "both")
FRAMES_SIZES = 6000
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
    asked = {
        "rate_fps": 20_000,
        "frames": FRAMES_SIZES,
        "burst": 32,
        "check_fill": True,
        **PATIENTLY,
    }
    found = tgen.ask("trial", 60, **asked)
    assert found["settled"]
    for seen in found["streams"]:
        assert seen["sent"] == seen["distinct"] == FRAMES_SIZES
        assert seen["corrupted"] == seen["wrong_size"] == seen["lost"] == 0


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize(
    "more", [{}, {"flows": {"vary": [{"field": "source_ip", "count": 7}]}}], ids=["one", "flows"]
)
@pytest.mark.needs("tgen", "namespaces")
def test_mixed_sizes_on_packet_sockets(mix: str, more: dict[str, Any], tmp_path: Path) -> None:
    with tgen_apart(tmp_path) as tgen:
        tgen.ports()
        assert_every_byte_arrives(tgen, Stream(more={"sizes": MIXES[mix], **more}))


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.needs("tgen", "tgen-dut")
def test_mixed_sizes_on_vhost_user(mix: str, tmp_path: Path) -> None:
    with reference_dut(tmp_path) as switch, at_hand(switch.devices, OPTIONS) as tgen:
        tgen.ports()
        assert_every_byte_arrives(tgen, Stream(more={"sizes": MIXES[mix]}))


@pytest.mark.needs("tgen", "namespaces", "tshark")
def test_tshark_finds_the_checksum_of_every_size_right(tmp_path: Path) -> None:
    """After a trial of the same mix, so that no buffer is new; seen at the cable's other end."""
    file = tmp_path / "seen.pcap"
    with tgen_apart(tmp_path, options=replace(OPTIONS, max_frame=1518)) as tgen:
        tgen.ports()
        stream = Stream(more={"sizes": MIXES["short and long"]})
        tgen.ask("configure", streams=[stream.on(way) for way in WAYS[:1]])
        tgen.ask("trial", 30, rate_fps=20_000, frames=FRAMES_SIZES)
        tgen.ask("capture", port=1, path=str(file), frames=2000)
        tgen.ask("trial", 30, rate_fps=20_000, frames=2000)
    frames = dissected(file, FIELDS)
    assert sorted({int(frame["frame.len"]) for frame in frames}) == [60, 1514]
    assert len(frames) == 2000
    assert [frame for frame in frames if bad_checksums(frame) or complaints(frame)] == []


# What a capture may write to, and what it tells when it cannot.

WAYS_CAPTURE = directions_between(1, "both")


def test_a_new_file_is_its_owners_alone_whatever_the_mask(ring: Tgen, tmp_path: Path) -> None:
    file = tmp_path / "seen.pcap"
    capture(ring, WAYS_CAPTURE, Stream(64), 4, {0: file})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_size == 24 + 8 * (16 + 60)


def test_a_refused_capture_leaves_the_file_as_it_was(ring: Tgen, tmp_path: Path) -> None:
    file = tmp_path / "kept"
    file.write_text("important")
    with pytest.raises(TgenError) as refused:
        ring.ask("capture", port=0, path=str(file), frames=8193)
    assert refused.value.path == "frames"
    ring.ask("capture", port=0, path=str(file), frames=8192)
    assert file.read_text() == "important"  # until a trial has ended


def test_a_shorter_capture_leaves_nothing_of_a_longer_one(ring: Tgen, tmp_path: Path) -> None:
    file = tmp_path / "seen.pcap"
    for frames in (20, 3):
        capture(ring, WAYS_CAPTURE, Stream(64), frames, {0: file})
        assert file.stat().st_size == 24 + 2 * frames * (16 + 60)


def test_what_is_no_file_of_its_own_is_refused(ring: Tgen, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("important")
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    os.mkfifo(pipe)
    for path, why in ((link, "symbolic link"), (pipe, "cannot"), (Path("/dev/null"), "no file")):
        with pytest.raises(TgenError, match=why):
            ring.ask("capture", port=0, path=str(path), frames=1)
    assert target.read_text() == "important"


@pytest.mark.needs("tgen", "namespaces")
def test_a_full_disk_is_told_and_costs_no_trial(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    prepare = f"{VETH}mount -t tmpfs -o size=32k none '{small}'\n"
    with tgen_apart(tmp_path, prepare=prepare) as tgen:
        tgen.ports()
        ways = directions_between(2, "forward")
        tgen.ask("configure", streams=[Stream(1518).on(way) for way in ways])
        tgen.ask("capture", port=0, path=str(small / "seen.pcap"), frames=400)
        told = tgen.ask("trial", 30, frames=200, rate_fps=1000, burst=1)
        assert "No space left" in told["capture_error"]["message"]
        found = tgen.ask("trial", 30, frames=100)
    assert found["streams"][0]["distinct"] == 100
    assert "capture_error" not in found
