"""The responder: devices that ask where an address is are told, before, during and after trials.

tshark judges what it says, and a router whether that will do: the kernel between two cables.
"""

from __future__ import annotations

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
from conftest import Require
from loopbacks import OPTIONS
from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet
from scapy.utils import wrpcap

from vsperf.trafficgens.tgen.byhand import Stream, at_hand, ways_between
from vsperf.trafficgens.tgen.client import TgenError
from vsperf.trafficgens.tgen.process import Tgen

pytestmark = pytest.mark.machine

PATIENCE_S = 20.0
LONGEST = 1518
(FORWARD,) = ways_between(2, "forward")
DEVICE = "02:aa:00:00:00:01"
"""The MAC address of whoever asks."""
FIELDS = (
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
    folder: Path, asked: list[Packet], streams: list[dict[str, Any]], expected: int, **respond: Any
) -> list[dict[str, str]]:
    """Let tgen read requests from a file while it is idle; return what it wrote to another."""
    requests, written = folder / "requests.pcap", folder / "answers.pcap"
    wrpcap(str(requests), asked)
    devices = [f"net_pcap0,rx_pcap={requests},tx_pcap={written}"]
    with at_hand(devices, OPTIONS) as tgen:
        tgen.ask("configure", streams=streams)
        assert tgen.ask("respond", **respond) == {"on": True}
        deadline = time.monotonic() + PATIENCE_S
        while len(found := dissected(written)) < expected:
            assert time.monotonic() < deadline, f"{len(found)} of {expected} answers"
            time.sleep(0.05)
    return dissected(written)


def dissected(file: Path) -> list[dict[str, str]]:
    argv = ["tshark", "-n", "-r", str(file), "-T", "fields"]
    argv += [part for field in FIELDS for part in ("-e", field)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]


@pytest.fixture(autouse=True)
def _parts(require: Require) -> None:
    require("tgen")
    require("tshark")


def test_arp_is_answered_in_its_vlans_for_all_hosts_of_the_streams(tmp_path: Path) -> None:
    flows = {"vary": [{"field": "source_ip", "count": 100, "step": 2}]}
    (way,) = ways_between(1, "both")
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


def test_neighbours_of_ipv6_are_found_and_addresses_in_use_are_defended(tmp_path: Path) -> None:
    asked = [
        solicitation("2001:2::1"),
        solicitation("2001:2::9"),
        solicitation("2001:2::1", source="::"),
    ]
    (way,) = ways_between(1, "both")
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
