"""Frames of every header template, captured by tgen and read by tshark without a complaint."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from shared_tgen import fixture_kept_tgen, fixture_ring

from vsperf.trafficgens.tgen.byhand import Stream, capture, ways_between
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine
__all__ = ["fixture_kept_tgen", "fixture_ring"]

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
    "vxlan": (
        {"vxlan": VXLAN},
        "eth:ethertype:ip:udp:vxlan:eth:ethertype:ip:udp:echo",
    ),
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
    "geneve": (
        {"geneve": {"vni": 77}},
        "eth:ethertype:ip:udp:geneve:eth:ethertype:ip:udp:echo",
    ),
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
def test_tshark_finds_nothing_wrong(
    name: str, tmp_path: Path, require: Require, ring: Tgen
) -> None:
    require("tgen")
    require("tshark")
    headers, protocols = TEMPLATES[name]
    file = tmp_path / "seen.pcap"
    stream = Stream(more={"sizes": list(SIZES), **headers})
    result = capture(ring, ways_between(1, "both"), stream, FRAMES, {0: file})
    assert result["streams"][0]["distinct"] == FRAMES
    frames = dissected(file)
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


def test_the_outer_source_port_of_a_tunnel_follows_the_inner_flow(
    tmp_path: Path, require: Require, ring: Tgen
) -> None:
    """Of 256 flows on 16,384 dynamic ports two or so share one by chance, not more than a few."""
    require("tgen")
    require("tshark")
    file = tmp_path / "seen.pcap"
    vary = [{"field": "source_ip", "count": 16}, {"field": "destination_port", "count": 16}]
    stream = Stream(146, more={"vxlan": VXLAN, "flows": {"vary": vary}})
    capture(ring, ways_between(1, "both"), stream, 512, {0: file})
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


def dissected(file: Path, fields: tuple[str, ...] = FIELDS) -> list[dict[str, str]]:
    """Return the fields of each frame; fields that occur more than once are joined by commas."""
    argv = ["tshark", "-n", "-r", str(file), "-T", "fields", "-E", "occurrence=a"]
    for layer in ("ip", "udp", "tcp"):
        argv += ["-o", f"{layer}.check_checksum:TRUE"]
    argv += [part for field in fields for part in ("-e", field)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


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
