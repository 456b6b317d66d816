"""Learning frames as they are on the wire: announced at the right port, and tshark agrees.

The ports are pcap files, which take what is sent and give nothing back.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Require
from loopbacks import OPTIONS

from vsperf.trafficgens.tgen.byhand import Stream, at_hand, ways_between

pytestmark = pytest.mark.machine

ROUNDS = 2
MACS = ("02:00:00:00:00:01", "02:01:00:00:00:01")
BROADCAST, ALL_NODES = "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01"
ARP = {
    "eth.dst": BROADCAST,
    "arp.opcode": "1",
    "arp.isgratuitous": "True",
    "arp.dst.hw_mac": "00:00:00:00:00:00",
}
ADVERTISEMENT = {
    "eth.dst": ALL_NODES,
    "ipv6.dst": "ff02::1",
    "ipv6.hlim": "255",
    "icmpv6.type": "136",
    "icmpv6.checksum.status": "1",
    "icmpv6.nd.na.flag.s": "False",
    "icmpv6.nd.na.flag.o": "True",
}
FIELDS = tuple(
    dict.fromkeys(
        (
            "frame.len",
            "frame.protocols",
            "_ws.malformed",
            "_ws.expert.severity",
            "vlan.id",
            "eth.src",
            "arp.src.hw_mac",
            "arp.src.proto_ipv4",
            "arp.dst.proto_ipv4",
            "ipv6.src",
            "icmpv6.nd.na.target_address",
            "icmpv6.opt.linkaddr",
            *ARP,
            *ADVERTISEMENT,
        )
    )
)


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")
    require("tshark")


def learned(folder: Path, streams: list[dict[str, Any]]) -> tuple[list[dict[str, str]], ...]:
    """Return the frames that each of two ports sent for these streams."""
    files = [folder / f"{port}.pcap" for port in range(2)]
    devices = [f"net_pcap{port},tx_pcap={file}" for port, file in enumerate(files)]
    with at_hand(devices, OPTIONS) as tgen:
        tgen.ask("configure", streams=streams)
        assert tgen.ask("learn", rounds=ROUNDS) == {"rounds": ROUNDS}
    return tuple(dissected(file) for file in files)


def dissected(file: Path) -> list[dict[str, str]]:
    argv = ["tshark", "-n", "-r", str(file), "-T", "fields"]
    argv += [part for field in FIELDS for part in ("-e", field)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    frames = [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
    for frame in frames:
        assert frame["_ws.malformed"] == ""
        for flag in ("arp.isgratuitous", "icmpv6.nd.na.flag.s", "icmpv6.nd.na.flag.o"):
            frame[flag] = {"1": "True", "0": "False"}.get(frame[flag], frame[flag])
    return frames


def assert_announces(frame: dict[str, str], mac: str, address: str) -> None:
    """See that everybody who hears the frame learns this address of this MAC."""
    assert frame["eth.src"] == mac
    if ":" in address:
        assert {name: frame[name] for name in ADVERTISEMENT} == ADVERTISEMENT
        assert frame["ipv6.src"] == frame["icmpv6.nd.na.target_address"] == address
        assert frame["icmpv6.opt.linkaddr"] == mac
    else:
        assert {name: frame[name] for name in ARP} == ARP
        assert frame["arp.src.proto_ipv4"] == frame["arp.dst.proto_ipv4"] == address
        assert frame["arp.src.hw_mac"] == mac
    assert int(frame["frame.len"]) >= 60


@pytest.mark.parametrize(
    ("more", "addresses"),
    [
        ({}, ("198.18.0.1", "198.19.0.1")),
        ({"layer3": "ipv6", "size": 84}, ("2001:2::1", "2001:2:0:1::1")),
    ],
    ids=["ipv4", "ipv6"],
)
def test_both_ends_of_both_ways_are_announced(
    more: dict[str, Any], addresses: tuple[str, str], tmp_path: Path
) -> None:
    """Each port says where the addresses are that its frames come from, and go to."""
    streams = [Stream(more=more).on(way) for way in ways_between(2, "both")]
    for port, frames in enumerate(learned(tmp_path, streams)):
        assert len(frames) == 2 * ROUNDS
        for frame in frames:
            assert_announces(frame, MACS[port], addresses[port])
            assert frame["vlan.id"] == ""


def test_one_way_is_announced_at_both_ends_in_its_vlan(tmp_path: Path) -> None:
    (forward, _) = ways_between(2, "both")
    sent = learned(tmp_path, [Stream(68, more={"vlans": [100]}).on(forward)])
    for port, address in enumerate(("198.18.0.1", "198.19.0.1")):
        assert len(sent[port]) == ROUNDS
        for frame in sent[port]:
            assert_announces(frame, MACS[port], address)
            assert frame["vlan.id"] == "100"


def test_each_mac_address_that_varies_is_announced(tmp_path: Path) -> None:
    (forward, _) = ways_between(2, "both")
    flows = {"vary": [{"field": "source_mac", "count": 300}]}
    first, second = learned(tmp_path, [Stream(more={"flows": flows}).on(forward)])
    expected = [f"02:00:00:00:{1 + n >> 8:02x}:{1 + n & 255:02x}" for n in range(300)]
    assert [frame["eth.src"] for frame in first] == expected * ROUNDS
    assert len(second) == ROUNDS


def test_of_a_tunnel_the_ends_are_announced_not_what_is_inside(tmp_path: Path) -> None:
    ends = {
        "vni": 7,
        "source_mac": "02:00:00:00:00:aa",
        "destination_mac": "02:00:00:00:00:bb",
        "source_ip": "198.18.7.1",
        "destination_ip": "198.19.7.1",
    }
    (forward, _) = ways_between(2, "both")
    first, second = learned(tmp_path, [Stream(256, more={"vxlan": ends}).on(forward)])
    for frame in first:
        assert_announces(frame, "02:00:00:00:00:aa", "198.18.7.1")
    for frame in second:
        assert_announces(frame, "02:00:00:00:00:bb", "198.19.7.1")
    assert len(first) == len(second) == ROUNDS


def test_of_a_tunnel_on_ipv6_the_ends_are_announced_in_the_outer_vlan(tmp_path: Path) -> None:
    (forward, _) = ways_between(2, "both")
    geneve = {"vni": 7, "layer3": "ipv6", "vlans": [{"id": 30}]}
    more = {"geneve": geneve, "vlans": [5]}
    first, second = learned(tmp_path, [Stream(256, more=more).on(forward)])
    for frames, mac, address in (
        (first, "02:00:00:00:01:01", "2001:2::101"),
        (second, "02:01:00:00:01:01", "2001:2:0:1::101"),
    ):
        assert len(frames) == ROUNDS
        for frame in frames:
            assert_announces(frame, mac, address)
            assert frame["vlan.id"] == "30"


def test_learning_of_many_addresses_leaves_tgen_open_to_its_controller() -> None:
    """It tells what it does meanwhile, and stops when told to, long before the end."""
    ways = ways_between(2, "both") * 4
    vary = [{"field": field, "count": 4096} for field in ("source_mac", "destination_mac")]
    streams = [Stream(more={"flows": {"vary": vary}}).on(way) for way in ways]
    asked = [
        {"id": 101, "verb": "learn", "rounds": 1000},
        {"id": 102, "verb": "live"},
        {"id": 103, "verb": "stop"},
    ]
    with at_hand(("net_null0", "net_null1"), OPTIONS) as tgen:
        tgen.ask("configure", streams=streams)
        assert tgen.client is not None
        said = tgen.client.connection.makefile("rw")
        for request in asked:
            print(json.dumps(request), file=said, flush=True)
        answers = [json.loads(said.readline()) for _ in asked]
        assert tgen.ask("learn", rounds=1) == {"rounds": 1}
    live, stopped, learned = answers
    assert (live["id"], live["result"]["state"]) == (102, "learn")
    assert (stopped["id"], stopped["result"]) == (103, {"stopping": "learn"})
    assert learned["id"] == 101
    assert learned["result"]["rounds"] < 1000
