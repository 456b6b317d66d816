"""Frames behind the real OVS: captured there, and judged by tshark.

Each modification is shown on a frame that came out of the switch, and so is each kind of header
that a testcase can ask for. What a run makes of it is shown by test_real_modify.py.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from captures import dissected
from loopbacks import PATIENTLY
from ovs_cases import deployed, ovs_case
from ovs_traffic import WAYS, generator
from places import PLACEMENT, hugepages

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import TrafficProfile
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.traffic import streams
from vsperf.drivers.vswitches.ovs import layout
from vsperf.drivers.vswitches.ovs.dpdk.driver import DpdkDesign, OvsDpdk, OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.rules import rules
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.host.workspace import Workspace

pytestmark = pytest.mark.machine

FORWARD = WAYS[:1]
FRAMES = 24
GOOD = "1"
CHECKSUMS = ("ip.checksum.status", "udp.checksum.status")
TAGGED = {"frame_size": "128B", "vlans": [100]}
IPV6 = {"frame_size": "128B", "layer3": "ipv6"}
PLAIN = {"eth.src": "02:00:00:00:00:01", "eth.dst": "02:01:00:00:00:01"}


@dataclass(frozen=True)
class Switch:
    """An OVS that is told anew what to do with frames, and a generator at its ports."""

    running: RunningOvs
    place: Workspace
    tgen: Tgen

    def told(self, case: CaseSpec) -> Tgen:
        """Give it the rules of a case in place of all others, as a deployment does."""
        rules_file = Path(self.place.fill(layout.RULES_FILE))
        design = DpdkDesign(case, OvsDpdkSpec.model_validate(case.vswitch), PLACEMENT)
        wanted = rules(case, design.spec, self.running.ports)
        rules_file.write_text("".join(f"{rule}\n" for rule in ("delete", *wanted)))
        argv = [self.place.fill(word) for word in design.install_rules(self.running.programs)]
        subprocess.run(argv, check=True)
        self.running.forget_flows()
        return self.tgen


@pytest.fixture(scope="module")
def switch(require: Callable[[str], None]) -> Iterator[Switch]:
    """Bring up a switch that looks at as many tags as any case here has."""
    for thing in ("ovs-dpdk", "hugepages", "tgen", "tshark"):
        require(thing)
    case = ovs_case({"modify": {"push_vlan": 7}}, traffic={"frame_size": "128B", "vlans": [5, 6]})
    endpoints = OvsDpdk().plan(case, PLACEMENT).endpoints
    with (
        hugepages(),
        deployed(case) as (running, place),
        generator(endpoints, running, place) as tgen,
    ):
        yield Switch(running, place, tgen)


@pytest.fixture
def plain_switch(switch: Switch) -> Tgen:
    """Return a generator on a switch that sends everything from one port to the other."""
    return switch.told(ovs_case())


def captured(tgen: Tgen, traffic: TrafficProfile, folder: Path) -> Path:
    """Send a few frames one way, all of which arrive intact, and return them as they arrived."""
    file = folder / "arrived.pcap"
    tgen.ask("configure", streams=streams(traffic, FORWARD))
    tgen.ask("capture", port=FORWARD[0].receive, path=str(file), frames=FRAMES)
    asked = {"frames": FRAMES, "rate_fps": 1000, "check_fill": True, **PATIENTLY}
    result = tgen.ask("trial", 60, **asked)
    (stream,) = result["streams"]
    assert (stream["sent"], stream["distinct"], stream["corrupted"]) == (FRAMES, FRAMES, 0)
    return file


MODIFICATIONS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "push a tag": (
        {"push_vlan": 100},
        {"frame_size": "64B"},
        {"frame.len": "64", "vlan.id": "100", "eth.type": "0x8100", **PLAIN},
    ),
    "push a tag on long frames": (
        {"push_vlan": 7},
        {"frame_size": "1518B"},
        {"frame.len": "1518", "vlan.id": "7"},
    ),
    "push a tag in front of one": (
        {"push_vlan": 7},
        TAGGED,
        {"frame.len": "128", "eth.type": "0x88a8", "vlan.id": "100", "ieee8021ad.id": "7"},
    ),
    "pop the tag": (
        {"pop_vlan": True},
        TAGGED,
        {"frame.len": "120", "vlan.id": "", "eth.type": "0x0800"},
    ),
    "pop the outer tag": (
        {"pop_vlan": True},
        {"frame_size": "128B", "vlans": [5, 6]},
        {"frame.len": "120", "vlan.id": "6", "eth.type": "0x8100"},
    ),
    "swap a tag": (
        {"pop_vlan": True, "push_vlan": 200},
        TAGGED,
        {"frame.len": "124", "vlan.id": "200", "eth.type": "0x8100"},
    ),
    "source MAC": (
        {"source_mac": "02:00:00:00:07:07"},
        {},
        {**PLAIN, "eth.src": "02:00:00:00:07:07"},
    ),
    "destination MAC": (
        {"destination_mac": "02:00:00:00:08:08"},
        {},
        {**PLAIN, "eth.dst": "02:00:00:00:08:08"},
    ),
    "source IP": (
        {"source_ip": "198.18.7.7"},
        {},
        {"ip.src": "198.18.7.7", "ip.dst": "198.19.0.1"},
    ),
    "destination IP": (
        {"destination_ip": "198.19.8.8"},
        {},
        {"ip.src": "198.18.0.1", "ip.dst": "198.19.8.8"},
    ),
    "IPv6 addresses": (
        {"source_ip": "2001:2:0:7::7", "destination_ip": "2001:2:0:8::8"},
        IPV6,
        {"ipv6.src": "2001:2:0:7::7", "ipv6.dst": "2001:2:0:8::8"},
    ),
    "class of service": ({"dscp": 46}, {}, {"ip.dsfield.dscp": "46", "ip.ttl": "64"}),
    "class of service, IPv6": ({"dscp": 46}, IPV6, {"ipv6.tclass.dscp": "46"}),
    "TTL counted down": ({"ttl": "decrement"}, {}, {"ip.ttl": "63", "ip.dsfield.dscp": "0"}),
    "TTL set": ({"ttl": 17}, {}, {"ip.ttl": "17"}),
    "hop limit counted down": ({"ttl": "decrement"}, IPV6, {"ipv6.hlim": "63"}),
    "class of service behind two tags": (
        {"dscp": 46},
        {"frame_size": "128B", "vlans": [5, 6]},
        {"ip.dsfield.dscp": "46", "vlan.id": "6", "ieee8021ad.id": "5"},
    ),
    "all at once": (
        {
            "pop_vlan": True, "source_mac": "02:00:00:00:07:07", "source_ip": "198.18.7.7",
            "destination_ip": "198.19.8.8", "dscp": 10, "ttl": "decrement", "push_vlan": 300,
        },
        TAGGED,
        {
            "eth.src": "02:00:00:00:07:07", "ip.src": "198.18.7.7", "ip.dst": "198.19.8.8",
            "ip.dsfield.dscp": "10", "ip.ttl": "63", "vlan.id": "300",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MODIFICATIONS)
def test_a_captured_frame_shows_the_modification(name: str, switch: Switch, tmp_path: Path) -> None:
    modify, traffic, wanted = MODIFICATIONS[name]
    case = ovs_case({"modify": modify}, traffic=traffic)
    file = captured(switch.told(case), case.traffic, tmp_path)
    frames = dissected(file, [*wanted, *CHECKSUMS, "_ws.malformed"])
    assert len(frames) == FRAMES
    for frame in frames:
        assert wanted.items() <= frame.items()
        assert frame["ip.checksum.status"] == ("" if traffic == IPV6 else GOOD)
        assert frame["udp.checksum.status"] == GOOD
        assert frame["_ws.malformed"] == ""


def test_each_flow_is_modified(switch: Switch, tmp_path: Path) -> None:
    """With a rule for each of them, too."""
    for flows in ("port", "l3"):
        traffic = {"frame_size": "128B", "flows": 8}
        case = ovs_case({"modify": {"dscp": 46}, "flows": flows}, traffic=traffic)
        file = captured(switch.told(case), case.traffic, tmp_path)
        frames = dissected(file, ["ip.src", "ip.dsfield.dscp"])
        assert {frame["ip.src"] for frame in frames} == {f"198.18.0.{host}" for host in range(1, 9)}
        assert {frame["ip.dsfield.dscp"] for frame in frames} == {"46"}


HEADERS: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "VLAN": (TAGGED, {"eth.type": "0x8100", "vlan.id": "100", "ip.src": "198.18.0.1"}),
    "QinQ": (
        {"frame_size": "128B", "vlans": [5, 6]},
        {"eth.type": "0x88a8", "ieee8021ad.id": "5", "vlan.id": "6", "ip.src": "198.18.0.1"},
    ),
    "MPLS": (
        {"frame_size": "128B", "mpls": [16, 17]},
        {"eth.type": "0x8847", "mpls.label": "16,17", "ip.src": "198.18.0.1"},
    ),
    "IPv6": (
        IPV6,
        {"eth.type": "0x86dd", "ipv6.src": "2001:2::1", "ipv6.dst": "2001:2:0:1::1"},
    ),
    "IPv6 in a VLAN, the smallest": (
        {"frame_size": "88B", "layer3": "ipv6", "vlans": [9]},
        {"frame.len": "84", "vlan.id": "9", "ipv6.src": "2001:2::1"},
    ),
    "VXLAN": (
        {"frame_size": "256B", "encapsulation": {"kind": "vxlan", "id": 42}},
        {"vxlan.vni": "42", "frame.protocols": "eth:ethertype:ip:udp:vxlan:eth:ethertype:ip:udp"},
    ),
    "VXLAN in a VLAN, IPv6 inside": (
        {
            "frame_size": "256B", "layer3": "ipv6",
            "encapsulation": {"kind": "vxlan", "id": 42, "vlans": [7]},
        },
        {
            "vxlan.vni": "42", "vlan.id": "7",
            "frame.protocols": "eth:ethertype:vlan:ethertype:ip:udp:vxlan:eth:ethertype:ipv6:udp",
        },
    ),
    "Geneve": (
        {"frame_size": "256B", "encapsulation": {"kind": "geneve", "id": 42}},
        {"geneve.vni": "0x00002a"},
    ),
    "GRE": (
        {"frame_size": "256B", "encapsulation": {"kind": "gre", "id": 42}},
        {"gre.key": "0x0000002a"},
    ),
    "GTP-U": (
        {"frame_size": "256B", "encapsulation": {"kind": "gtpu", "id": 42}},
        {"gtp.teid": "0x0000002a"},
    ),
    "broadcast": ({"destination": "broadcast"}, {"eth.dst": "ff:ff:ff:ff:ff:ff"}),
    "multicast": ({"destination": "multicast"}, {"eth.dst": "03:01:00:00:00:01"}),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADERS)
def test_a_captured_frame_shows_the_headers(name: str, plain_switch: Tgen, tmp_path: Path) -> None:
    settings, wanted = HEADERS[name]
    traffic = TrafficProfile.model_validate({"frame_size": "64B", **settings})
    frames = dissected(captured(plain_switch, traffic, tmp_path), [*wanted, "_ws.malformed"])
    assert len(frames) == FRAMES
    for frame in frames:
        protocols = wanted.get("frame.protocols", "")
        assert frame.pop("frame.protocols", "").startswith(protocols)
        assert (wanted.items() - {("frame.protocols", protocols)}) <= frame.items()
        assert frame["_ws.malformed"] == ""


def test_a_mix_comes_out_in_its_sequence(plain_switch: Tgen, tmp_path: Path) -> None:
    traffic = TrafficProfile.model_validate({"imix": "7a4d1g"})
    frames = dissected(captured(plain_switch, traffic, tmp_path), ["frame.len"])
    lengths = [int(frame["frame.len"]) + 4 for frame in frames]
    assert traffic.imix is not None
    assert lengths == [*traffic.imix.sizes] * (FRAMES // 12)


@pytest.mark.parametrize(
    ("vary", "field"), [("mac", "eth.src"), ("ip", "ip.src"), ("port", "udp.srcport")]
)
def test_flows_differ_by_what_they_should_and_by_nothing_else(
    vary: str, field: str, plain_switch: Tgen, tmp_path: Path
) -> None:
    traffic = TrafficProfile.model_validate({"frame_size": "64B", "flows": 8, "vary": vary})
    fields = ("eth.src", "ip.src", "udp.srcport", "eth.dst", "ip.dst", "udp.dstport")
    frames = dissected(captured(plain_switch, traffic, tmp_path), fields)
    values: Mapping[str, set[str]] = {one: {frame[one] for frame in frames} for one in fields}
    assert {one: len(values[one]) for one in fields} == {one: 8 if one == field else 1
                                                         for one in fields}  # fmt: skip


def test_a_shuffled_order_has_each_flow_once_in_a_round(plain_switch: Tgen, tmp_path: Path) -> None:
    settings = {"frame_size": "64B", "flows": FRAMES, "flow_order": "shuffled"}
    traffic = TrafficProfile.model_validate(settings)
    found = [
        one["ip.src"] for one in dissected(captured(plain_switch, traffic, tmp_path), ["ip.src"])
    ]
    assert len(set(found)) == FRAMES
    assert found != sorted(found, key=lambda host: int(host.rpartition(".")[2]))


@pytest.mark.parametrize(
    "settings",
    [
        {"vary": "ip"},
        {"vary": "mac"},
        {"vary": "port"},
        {"vary": "ip", "frame_size": "84B", "layer3": "ipv6"},
    ],
    ids=["ip", "mac", "port", "ipv6"],
)
def test_there_can_be_16_million_flows_in_any_order(
    settings: dict[str, str], plain_switch: Tgen, tmp_path: Path
) -> None:
    found = {"frame_size": "64B", "flows": 1 << 24, "flow_order": "shuffled", **settings}
    traffic = TrafficProfile.model_validate(found)
    fields = ("eth.src", "ip.src", "ip.dst", "ipv6.src", "udp.srcport", "udp.dstport")
    frames = dissected(captured(plain_switch, traffic, tmp_path), fields)
    assert len({tuple(frame.values()) for frame in frames}) == FRAMES
