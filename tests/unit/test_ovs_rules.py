"""Rules follow from the topology and the flows of the traffic."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from ovs_cases import ovs_case

from vsperf.config.case import CaseSpec
from vsperf.config.flows import flows_between, hosts, link_ip, link_mac
from vsperf.drivers.vswitches.ovs.dpdk.design import ports_of
from vsperf.drivers.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.rules import rule_count, rules, shown_rules
from vsperf.errors import UsageError

PVP: dict[str, Any] = {"name": "pvp", "paths": [["phy0", "vm1", "phy1"]]}
PVPV: dict[str, Any] = {"name": "pvpv", "paths": [["phy0", "vm1", "phy1"], ["phy0", "vm2", "phy1"]]}


def made(case: CaseSpec) -> list[str]:
    spec = case.vswitch
    assert isinstance(spec, OvsDpdkSpec)
    found = list(rules(case, spec, ports_of(case, spec)))
    assert len(found) == rule_count(case, spec)
    return found


def test_each_port_sends_to_the_other() -> None:
    assert made(ovs_case()) == [
        "priority=10,in_port=1,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
    ]


def test_two_paths_do_not_meet() -> None:
    links: dict[str, dict[str, str]] = {"phy2": {}, "phy3": {}}
    topology = {"name": "two", "paths": [["phy0", "phy1"], ["phy2", "phy3"]]}
    assert made(ovs_case(links=links, topology=topology)) == [
        "priority=10,in_port=1,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
        "priority=10,in_port=3,actions=output:4",
        "priority=10,in_port=4,actions=output:3",
    ]


def test_a_link_on_two_paths_sends_frames_where_they_are_addressed_to() -> None:
    topology = {"name": "fork", "paths": [["phy0", "phy1"], ["phy0", "phy2"]]}
    assert made(ovs_case(links={"phy2": {}}, topology=topology)) == [
        "priority=10,in_port=1,dl_dst=02:01:00:00:00:01,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
        "priority=10,in_port=1,dl_dst=02:02:00:00:00:01,actions=output:3",
        "priority=10,in_port=3,actions=output:1",
    ]


def test_a_vnf_has_a_port_on_each_side() -> None:
    """Links come first: 1 is phy0, 2 is phy1, 3 and 4 are the VNF's."""
    assert made(ovs_case(topology=PVP)) == [
        "priority=10,in_port=1,actions=output:3",
        "priority=10,in_port=3,actions=output:1",
        "priority=10,in_port=4,actions=output:2",
        "priority=10,in_port=2,actions=output:4",
    ]


def test_vnfs_in_a_row_pass_frames_on() -> None:
    topology = {"name": "pvvp", "paths": [["phy0", "vm1", "vm2", "phy1"]]}
    assert [rule.removeprefix("priority=10,") for rule in made(ovs_case(topology=topology))] == [
        "in_port=1,actions=output:3",
        "in_port=3,actions=output:1",
        "in_port=4,actions=output:5",
        "in_port=5,actions=output:4",
        "in_port=6,actions=output:2",
        "in_port=2,actions=output:6",
    ]


def test_between_two_vnfs_only_their_inner_cards_are_on_the_switch() -> None:
    topology = {"name": "v2v", "paths": [["vm1", "vm2"]]}
    case = ovs_case(topology=topology)
    spec = case.vswitch
    assert isinstance(spec, OvsDpdkSpec)
    assert [port.name for port in ports_of(case, spec)] == ["vm1_1", "vm2_0"]
    assert made(case) == [
        "priority=10,in_port=1,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
    ]


@pytest.mark.parametrize(
    ("dispatch", "first", "second"),
    [
        ("mac", "dl_dst=02:01:00:00:00:01", "dl_dst=02:01:00:00:00:02"),
        ("ip", "ip,nw_dst=198.19.0.1", "ip,nw_dst=198.19.0.2"),
        ("udp", "udp,dl_dst=02:01:00:00:00:01,tp_dst=7", "udp,dl_dst=02:01:00:00:00:01,tp_dst=8"),
    ],
)
def test_vnfs_side_by_side_get_what_is_addressed_to_them(
    dispatch: str, first: str, second: str
) -> None:
    topology = {**PVPV, "dispatch": dispatch}
    found = [rule.removeprefix("priority=10,") for rule in made(ovs_case(topology=topology))]
    assert f"in_port=1,{first},actions=output:3" in found
    assert f"in_port=1,{second},actions=output:5" in found
    assert "in_port=4,actions=output:2" in found
    assert "in_port=6,actions=output:2" in found


def test_frames_of_a_single_nic_are_told_apart_by_where_they_go() -> None:
    assert made(ovs_case(topology={**PVP, "nics": 1})) == [
        "priority=10,in_port=1,actions=output:3",
        "priority=10,in_port=3,dl_dst=02:00:00:00:00:01,actions=output:1",
        "priority=10,in_port=3,dl_dst=02:01:00:00:00:01,actions=output:2",
        "priority=10,in_port=2,actions=output:3",
    ]


def test_only_rules_at_links_look_for_streams() -> None:
    found = made(ovs_case({"flows": "l3"}, topology=PVP, traffic={"flows": 4}))
    assert len(found) == 4 + 4 + 1 + 1
    assert "priority=10,in_port=3,actions=output:1" in found


def test_streams_and_parallel_paths_do_not_go_together() -> None:
    with pytest.raises(UsageError, match="from phy0 several ways"):
        made(ovs_case({"flows": "l3"}, topology=PVPV))


def test_by_mac_there_is_one_rule_per_direction() -> None:
    assert made(ovs_case({"flows": "l2"}, traffic={"flows": 64})) == [
        "priority=10,in_port=1,dl_src=02:00:00:00:00:01,dl_dst=02:01:00:00:00:01,actions=output:2",
        "priority=10,in_port=2,dl_src=02:01:00:00:00:01,dl_dst=02:00:00:00:00:01,actions=output:1",
    ]


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("l3", "ip,nw_src=198.18.0.{},nw_dst=198.19.0.1"),
        ("l4", "udp,nw_src=198.18.0.{},nw_dst=198.19.0.1,tp_src=49184,tp_dst=7"),
    ],
)
def test_each_flow_has_a_rule_of_its_own(kind: str, match: str) -> None:
    found = made(ovs_case({"flows": kind}, traffic={"flows": 5}))
    assert found[:5] == [
        f"priority=10,in_port=1,{match.format(host)},actions=output:2" for host in range(1, 6)
    ]
    assert len(set(found)) == 10


def test_a_plan_shows_some_rules_and_says_how_many_more_there_are() -> None:
    case = ovs_case({"flows": "l3"}, traffic={"flows": 1_000_000})
    spec = case.vswitch
    assert isinstance(spec, OvsDpdkSpec)
    shown = shown_rules(case, spec, ports_of(case, spec))
    assert len(shown) == 9
    assert shown[-1] == "… and 1999992 more"


@pytest.mark.parametrize(
    ("flows", "message"), [(1_000_003, "no rules for exactly"), (1 << 22, "rules are too many")]
)
def test_flows_that_cannot_have_rules_are_refused(flows: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        made(ovs_case({"flows": "l3"}, traffic={"flows": flows}))


@pytest.mark.parametrize(
    ("number", "address"),
    [(0, "198.18.0.1"), (1, "198.19.0.1"), (2, "198.18.128.1"), (3, "198.19.128.1")],
)
def test_links_share_the_network_for_benchmarks(number: int, address: str) -> None:
    assert link_ip(number) == address
    assert link_mac(number) == f"02:0{number}:00:00:00:01"


def test_destinations_differ_where_sources_do_not_suffice() -> None:
    assert hosts(1_048_576) == (32768, 32)
    profile: Any = ovs_case(traffic={"flows": 1_048_576}).traffic
    flows = list(islice(flows_between(profile, 1, 0), 32768 * 2))
    assert len(set(flows)) == len(flows)
    assert {flow.destination_ip for flow in flows} == {"198.18.0.1", "198.18.0.2"}


def test_one_flow_is_one_rule() -> None:
    assert hosts(1) == (1, 1)
    assert len(made(ovs_case({"flows": "l3"}))) == 2


REPLAY = {"frame_size": "256B", "replay": {"file": "/tmp/x.pcap"}}


def test_frames_of_a_file_are_sent_on_by_their_port() -> None:
    assert made(ovs_case(traffic=REPLAY)) == made(ovs_case())


@pytest.mark.parametrize("flows", ["l2", "l3", "l4", "network"])
def test_no_rule_knows_the_addresses_in_a_file(flows: str) -> None:
    with pytest.raises(UsageError, match="addresses"):
        made(ovs_case({"flows": flows}, traffic=REPLAY))


def test_frames_of_a_file_go_one_way_from_a_port() -> None:
    topology = {"name": "fork", "paths": [["phy0", "phy1"], ["phy0", "phy2"]]}
    with pytest.raises(UsageError, match="several ways"):
        made(ovs_case(links={"phy2": {}}, topology=topology, traffic=REPLAY))


TUNNEL = {"frame_size": "256B", "encapsulation": {"kind": "vxlan", "id": 1, "underlay": "ipv6"}}


def test_frames_in_a_tunnel_are_sent_on_by_their_port() -> None:
    assert made(ovs_case(traffic=TUNNEL)) == made(ovs_case())


def test_the_ends_of_a_tunnel_are_in_the_network_for_benchmarks() -> None:
    network = "ipv6,ipv6_src=2001:2::/48,ipv6_dst=2001:2::/48"
    found = made(ovs_case({"flows": "network"}, traffic=TUNNEL))
    assert found[0] == f"priority=10,in_port=1,{network},actions=output:2"


@pytest.mark.parametrize("flows", ["l2", "l3", "l4"])
def test_no_rule_looks_into_a_tunnel(flows: str) -> None:
    with pytest.raises(UsageError, match="vxlan"):
        made(ovs_case({"flows": flows}, traffic=TUNNEL))


def test_frames_in_a_tunnel_do_not_fork() -> None:
    topology = {"name": "fork", "paths": [["phy0", "phy1"], ["phy0", "phy2"]]}
    with pytest.raises(UsageError, match="several ways"):
        made(ovs_case(links={"phy2": {}}, topology=topology, traffic=TUNNEL))


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("network", "ipv6,ipv6_src=2001:2::/48,ipv6_dst=2001:2::/48"),
        ("l3", "ipv6,ipv6_src=2001:2::1,ipv6_dst=2001:2:0:1::1"),
        ("l4", "udp6,ipv6_src=2001:2::1,ipv6_dst=2001:2:0:1::1,tp_src=49184,tp_dst=7"),
    ],
)
def test_rules_know_ipv6(kind: str, match: str) -> None:
    """The addresses are those of RFC 5180."""
    traffic = {"frame_size": "128B", "layer3": "ipv6"}
    assert made(ovs_case({"flows": kind}, traffic=traffic))[0] == (
        f"priority=10,in_port=1,{match},actions=output:2"
    )


def test_vnfs_side_by_side_are_told_apart_by_ipv6_too() -> None:
    traffic = {"frame_size": "128B", "layer3": "ipv6"}
    found = made(ovs_case(topology={**PVPV, "dispatch": "ip"}, traffic=traffic))
    assert "priority=10,in_port=1,ipv6,ipv6_dst=2001:2:0:1::2,actions=output:5" in found
    found = made(ovs_case(topology={**PVPV, "dispatch": "udp"}, traffic=traffic))
    match = "udp6,dl_dst=02:01:00:00:00:01,tp_dst=8"
    assert f"priority=10,in_port=1,{match},actions=output:5" in found


@pytest.mark.parametrize(
    ("vary", "apart", "last"),
    [
        ("mac", "l2", "dl_src=02:00:00:00:00:05,dl_dst=02:01:00:00:00:01"),
        ("ip", "l3", "ip,nw_src=198.18.0.5,nw_dst=198.19.0.1"),
        ("port", "l4", "udp,nw_src=198.18.0.1,nw_dst=198.19.0.1,tp_src=49188,tp_dst=7"),
    ],
)
def test_there_is_a_rule_per_flow_where_rules_look_at_what_flows_differ_by(
    vary: str, apart: str, last: str
) -> None:
    for kind in ("l2", "l3", "l4"):
        found = made(ovs_case({"flows": kind}, traffic={"flows": 5, "vary": vary}))
        by_ip_too = vary == "ip" and kind == "l4"
        assert len(set(found)) == (10 if kind == apart or by_ip_too else 2)
        if kind == apart:
            assert found[4] == f"priority=10,in_port=1,{last},actions=output:2"


@pytest.mark.parametrize(
    ("destination", "mac"), [("broadcast", "ff:ff:ff:ff:ff:ff"), ("multicast", "03:01:00:00:00:01")]
)
def test_frames_for_many_are_matched_as_such(destination: str, mac: str) -> None:
    found = made(ovs_case({"flows": "l2"}, traffic={"destination": destination}))
    assert (
        found[0] == f"priority=10,in_port=1,dl_src=02:00:00:00:00:01,dl_dst={mac},actions=output:2"
    )
    with pytest.raises(UsageError, match="several ways"):
        made(ovs_case(topology=PVPV, traffic={"destination": destination}))


LABELLED = {"frame_size": "128B", "mpls": [16]}


def test_labels_hide_addresses() -> None:
    assert made(ovs_case(traffic=LABELLED)) == made(ovs_case())
    assert len(made(ovs_case({"flows": "l2"}, traffic=LABELLED))) == 2
    for kind in ("network", "l3", "l4"):
        with pytest.raises(UsageError, match="MPLS labels hide"):
            made(ovs_case({"flows": kind}, traffic=LABELLED))


def test_a_bridge_that_learns_is_told_where_to_forward_by_the_frames() -> None:
    stations = {"frame_size": "64B", "vary": "mac", "flows": 8000, "direction": "forward"}
    assert made(ovs_case({"flows": "learn"}, traffic=stations)) == [
        "priority=10,in_port=1,actions=NORMAL",
        "priority=10,in_port=2,actions=NORMAL",
    ]


@pytest.mark.parametrize("topology", [PVP, PVPV])
def test_frames_would_go_round_in_a_bridge_with_vnfs(topology: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="makes one bridge of all ports"):
        made(ovs_case({"flows": "learn"}, topology=topology))
