"""Learning frames, and devices that ask where an address is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cable import PACKET_SOCKETS, tgen_apart
from captures import dissected
from conftest import Require
from loopbacks import OPTIONS
from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet
from scapy.utils import wrpcap

from vsperf.drivers.generators.tgen.byhand import Stream, at_hand, directions_between
from vsperf.drivers.generators.tgen.client import TgenError
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.traffic import TrafficDirection

pytestmark = [pytest.mark.machine, pytest.mark.needs("tgen", "tshark")]


# Learning frames as they are on the wire: announced at the right port, and tshark agrees.

ROUNDS = 2
MACS = ("02:00:00:00:00:01", "02:01:00:00:00:01")
BROADCAST, ALL_NODES = "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01"
BY_ARP = {
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
            *BY_ARP,
            *ADVERTISEMENT,
        )
    )
)


def learned(folder: Path, streams: list[dict[str, Any]]) -> tuple[list[dict[str, str]], ...]:
    """Return the frames that each of two ports sent for these streams."""
    files = [folder / f"{port}.pcap" for port in range(2)]
    devices = [f"net_pcap{port},tx_pcap={file}" for port, file in enumerate(files)]
    with at_hand(devices, OPTIONS) as tgen:
        tgen.ask("configure", streams=streams)
        assert tgen.ask("learn", rounds=ROUNDS) == {"rounds": ROUNDS}
    return tuple(announced(file) for file in files)


def announced(file: Path) -> list[dict[str, str]]:
    frames = dissected(file, FIELDS)
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
        assert {name: frame[name] for name in BY_ARP} == BY_ARP
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
    streams = [Stream(more=more).on(way) for way in directions_between(2, "both")]
    for port, frames in enumerate(learned(tmp_path, streams)):
        assert len(frames) == 2 * ROUNDS
        for frame in frames:
            assert_announces(frame, MACS[port], addresses[port])
            assert frame["vlan.id"] == ""


def test_one_way_is_announced_at_both_ends_in_its_vlan(tmp_path: Path) -> None:
    (forward, _) = directions_between(2, "both")
    sent = learned(tmp_path, [Stream(68, more={"vlans": [100]}).on(forward)])
    for port, address in enumerate(("198.18.0.1", "198.19.0.1")):
        assert len(sent[port]) == ROUNDS
        for frame in sent[port]:
            assert_announces(frame, MACS[port], address)
            assert frame["vlan.id"] == "100"


def test_each_mac_address_that_varies_is_announced(tmp_path: Path) -> None:
    (forward, _) = directions_between(2, "both")
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
    (forward, _) = directions_between(2, "both")
    first, second = learned(tmp_path, [Stream(256, more={"vxlan": ends}).on(forward)])
    for frame in first:
        assert_announces(frame, "02:00:00:00:00:aa", "198.18.7.1")
    for frame in second:
        assert_announces(frame, "02:00:00:00:00:bb", "198.19.7.1")
    assert len(first) == len(second) == ROUNDS


def test_of_a_tunnel_on_ipv6_the_ends_are_announced_in_the_outer_vlan(tmp_path: Path) -> None:
    (forward, _) = directions_between(2, "both")
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
    ways = directions_between(2, "both") * 4
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


# The responder: devices that ask where an address is are told, before, during and after trials.

PATIENCE_S = 20.0
LONGEST = 1518
(FORWARD,) = directions_between(2, "forward")
DEVICE = "02:aa:00:00:00:01"
"""The MAC address of whoever asks."""
FIELDS_RESPOND = (
    "eth.src",
    "eth.dst",
    "ieee8021ad.id",
    "vlan.id",
    "arp.opcode",
    "arp.src.hw_mac",
    "arp.src.proto_ipv4",
    "arp.dst.hw_mac",
    "arp.dst.proto_ipv4",
    "icmpv6.type",
    "icmpv6.checksum.status",
    "icmpv6.nd.na.target_address",
    "icmpv6.opt.linkaddr",
    "ipv6.dst",
    "_ws.malformed",
)


def arp(address: str, *tags: Packet) -> Packet:
    frame: Packet = Ether(src=DEVICE, dst="ff:ff:ff:ff:ff:ff")
    for tag in tags:
        frame /= tag
    return frame / ARP(hwsrc=DEVICE, psrc="198.18.0.254", pdst=address)


def solicitation(address: str, source: str = "2001:2::fe") -> Packet:
    frame = Ether(src=DEVICE, dst="33:33:ff:00:00:01") / IPv6(src=source, dst="ff02::1:ff00:1")
    return frame / ICMPv6ND_NS(tgt=address) / ICMPv6NDOptSrcLLAddr(lladdr=DEVICE)


def answers(
    folder: Path,
    asked: list[Packet],
    streams: list[dict[str, Any]],
    expected: int,
    before: tuple[str, ...] = (),
    **respond: Any,
) -> list[dict[str, str]]:
    """Let tgen read requests from a file while it is idle; return what it wrote to another.

    `before` are devices whose ports have lower numbers than that with the requests.
    """
    requests, written = folder / "requests.pcap", folder / "answers.pcap"
    wrpcap(str(requests), asked)
    devices = [*before, f"net_pcap0,rx_pcap={requests},tx_pcap={written}"]
    with at_hand(devices, OPTIONS) as tgen:
        tgen.ask("configure", streams=streams)
        assert tgen.ask("respond", **respond) == {"on": True}
        deadline = time.monotonic() + PATIENCE_S
        while len(found := dissected(written, FIELDS_RESPOND, whole=False)) < expected:
            assert time.monotonic() < deadline, f"{len(found)} of {expected} answers"
            time.sleep(0.05)
    return dissected(written, FIELDS_RESPOND, whole=False)


def test_arp_is_answered_in_its_vlans_for_all_hosts_of_the_streams(tmp_path: Path) -> None:
    flows = {"vary": [{"field": "source_ip", "count": 100, "step": 2}]}
    (way,) = directions_between(1, "both")
    asked = [
        arp("198.18.0.1"),
        arp("198.18.0.2"),  # between two hosts
        arp("198.18.0.199", Dot1Q(vlan=7)),
        arp("198.18.0.201"),  # behind the last one
        arp("198.18.0.3", Dot1AD(vlan=5), Dot1Q(vlan=6)),
        arp("198.18.9.9"),
    ]
    gateway = {"ip": "198.18.9.9", "mac": "02:00:00:00:00:fe"}
    streams = [Stream(more={"flows": flows}).on(way)]
    found = answers(tmp_path, asked, streams, 4, hosts=[gateway])
    expected = [
        ("198.18.0.1", "02:00:00:00:00:01", ""),
        ("198.18.0.199", "02:00:00:00:00:01", "7"),
        ("198.18.0.3", "02:00:00:00:00:01", "6"),
        ("198.18.9.9", "02:00:00:00:00:fe", ""),
    ]
    assert [
        (frame["arp.src.proto_ipv4"], frame["arp.src.hw_mac"], frame["vlan.id"]) for frame in found
    ] == expected
    assert [frame["ieee8021ad.id"] for frame in found] == ["", "", "5", ""]
    for frame in found:
        assert frame["arp.opcode"] == "2"
        assert frame["eth.src"] == frame["arp.src.hw_mac"]
        assert frame["eth.dst"] == frame["arp.dst.hw_mac"] == DEVICE
        assert frame["arp.dst.proto_ipv4"] == "198.18.0.254"
        assert frame["_ws.malformed"] == ""


def test_a_port_answers_whose_number_at_dpdk_is_another_one(tmp_path: Path) -> None:
    """A device that is made of others takes numbers for all of its parts."""
    host = {"port": 1, "ip": "198.18.9.9", "mac": "02:00:00:00:00:fe"}
    way = TrafficDirection("the second port to itself", 1, 1)
    nested = ("net_failsafe0,dev(net_null0),dev(net_null1)",)
    (found,) = answers(
        tmp_path, [arp("198.18.9.9")], [Stream().on(way)], 1, before=nested, hosts=[host]
    )
    assert found["arp.src.proto_ipv4"] == "198.18.9.9"
    assert found["arp.src.hw_mac"] == "02:00:00:00:00:fe"


def test_neighbours_of_ipv6_are_found_and_addresses_in_use_are_defended(tmp_path: Path) -> None:
    asked = [
        solicitation("2001:2::1"),
        solicitation("2001:2::9"),
        solicitation("2001:2::1", source="::"),
    ]
    (way,) = directions_between(1, "both")
    found = answers(tmp_path, asked, [Stream(84, more={"layer3": "ipv6"}).on(way)], 2)
    assert [frame["ipv6.dst"] for frame in found] == ["2001:2::fe", "ff02::1"]
    assert [frame["eth.dst"] for frame in found] == [DEVICE, "33:33:00:00:00:01"]
    for frame in found:
        assert frame["icmpv6.type"] == "136"
        assert frame["icmpv6.checksum.status"] == "1"
        assert frame["icmpv6.nd.na.target_address"] == "2001:2::1"
        assert frame["icmpv6.opt.linkaddr"] == frame["eth.src"] == "02:00:00:00:00:01"
        assert frame["_ws.malformed"] == ""


ROUTER = """
ip link add veth0 type veth peer name router0
ip link add veth1 type veth peer name router1
ip link set router0 address 02:aa:00:00:00:01
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
for name in veth0 veth1; do
    echo 1 > /proc/sys/net/ipv6/conf/$name/disable_ipv6
done
for name in veth0 veth1 router0 router1; do
    ip link set $name up
done
ip address add 198.18.0.254/16 dev router0
ip address add 198.19.0.254/16 dev router1
ip -6 address add 2001:2:0:0::fe/64 dev router0 nodad
ip -6 address add 2001:2:0:1::fe/64 dev router1 nodad
"""
"""Two cables, and the kernel between them: all that it knows of hosts it has to ask for."""

Routed = Callable[[], AbstractContextManager[Tgen]]
ASK = "import socket, sys; socket.socket(type=socket.SOCK_DGRAM).sendto(b'', (sys.argv[1], 9))"
"""Has the kernel look for the host that a datagram is for."""


@pytest.fixture(name="routed")
def fixture_routed(require: Require, tmp_path: Path) -> Routed:
    require("namespaces")
    return lambda: tgen_apart(tmp_path, PACKET_SOCKETS, ROUTER, replace(OPTIONS, max_frame=LONGEST))


def router(tgen: Tgen, *words: str) -> str:
    return within(tgen, "ip", *words)


def within(tgen: Tgen, *words: str) -> str:
    argv = ["nsenter", "-t", str(tgen.hello["pid"]), "-n", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def neighbours(tgen: Tgen) -> dict[str, str]:
    """Return which MAC address the router has for which address."""
    words = [line.split() for line in router(tgen, "neigh", "show").splitlines()]
    return {line[0]: line[line.index("lladdr") + 1] for line in words if "lladdr" in line}


@pytest.mark.parametrize(
    ("more", "host"),
    [({}, "198.19.0.1"), ({"layer3": "ipv6", "size": 84}, "2001:2:0:1::1")],
    ids=["ipv4", "ipv6"],
)
def test_a_router_forwards_once_it_is_answered(
    more: dict[str, Any], host: str, routed: Routed
) -> None:
    stream = Stream(more={"destination_mac": DEVICE, **more}).on(FORWARD)
    sending = {"frames": 500, "rate_fps": 5000, "drain_ns": 5_000_000_000}
    with routed() as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[stream])
        silent = tgen.ask("trial", 60.0, **sending)
        assert silent["streams"][0]["distinct"] == 0
        assert silent["ports"][1]["answered"] == 0
        tgen.ask("respond")
        asking(tgen, host, sending)
        assert neighbours(tgen)[host] == "02:01:00:00:00:01"
        (found,) = tgen.ask("trial", 60.0, **sending)["streams"]
        assert found["sent"] == found["distinct"] == 500
        assert found["arrived"] == {"1": 500}
        # In mid-trial as well: the first frame makes the router ask, and it keeps asking.
        router(tgen, "neigh", "flush", "dev", "router1")
        again = tgen.ask("trial", 60.0, **sending | {"frames": 1500, "rate_fps": 500})
        assert again["ports"][1]["answered"] > 0
        assert again["streams"][0]["distinct"] > 0


def asking(tgen: Tgen, host: str, sending: dict[str, Any]) -> None:
    """Send until the router, which may be tired of asking for a while, knows the host."""
    deadline = time.monotonic() + PATIENCE_S
    while host not in neighbours(tgen):
        assert time.monotonic() < deadline, "the router was not answered"
        tgen.ask("trial", 60.0, **sending)


def test_after_a_configure_that_failed_nobody_answers_for_the_streams_before(
    routed: Routed,
) -> None:
    """Only for those that were named."""
    host, named = "198.19.0.1", "198.19.0.77"
    stream = Stream(more={"destination_mac": DEVICE})
    with routed() as tgen:
        tgen.ports()
        tgen.ask("configure", streams=[stream.on(FORWARD)])
        tgen.ask("respond", hosts=[{"port": 1, "ip": named}])
        assert_found(tgen, host)
        with pytest.raises(TgenError, match=f"max-frame {LONGEST}"):
            tgen.ask("configure", streams=[Stream(LONGEST + 1).on(FORWARD)])
        router(tgen, "neigh", "flush", "dev", "router1")
        within(tgen, sys.executable, "-c", ASK, host)
        assert_found(tgen, named)  # asked for later, so whoever answers has seen both
        assert host not in neighbours(tgen)


def assert_found(tgen: Tgen, host: str) -> None:
    """Let the router look for a host until it is answered."""
    deadline = time.monotonic() + PATIENCE_S
    while host not in neighbours(tgen):
        assert time.monotonic() < deadline, f"nobody answered for {host}"
        within(tgen, sys.executable, "-c", ASK, host)
        time.sleep(0.02)
