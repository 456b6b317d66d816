"""Rules follow from the topology and the flows of the traffic."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import pytest
from ovs_cases import ovs_case
from ovs_cases import rules_of as made
from places import PLACEMENT
from switch_cases import PVP, PVPV, driver_of, switch_case

from vsperf.config.case import CaseSpec
from vsperf.config.flows import flows_between, hosts, link_ip, link_mac
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdkSpec, ports_of
from vsperf.drivers.vswitches.ovs.layout import OvsSettings, SwitchPort
from vsperf.drivers.vswitches.ovs.rules import rule_count, rules, shown_rules
from vsperf.errors import UsageError


def sent(case: CaseSpec) -> list[str]:
    """Return the rules in short: what comes in where, and goes out where."""
    shape = re.compile(r"priority=10,in_port=(\d+),(?:(.*),)?actions=output:(\d+)")
    found = []
    for rule in made(case):
        parts = shape.fullmatch(rule)
        assert parts is not None, rule
        found.append(" ".join(part for part in (parts[1], parts[2], "→", parts[3]) if part))
    return found


def test_each_port_sends_to_the_other() -> None:
    assert made(ovs_case()) == [
        "priority=10,in_port=1,actions=output:2",
        "priority=10,in_port=2,actions=output:1",
    ]
    assert sent(ovs_case()) == ["1 → 2", "2 → 1"]


def test_two_paths_do_not_meet() -> None:
    links: dict[str, dict[str, str]] = {"phy2": {}, "phy3": {}}
    topology = {"name": "two", "paths": [["phy0", "phy1"], ["phy2", "phy3"]]}
    assert sent(ovs_case(links=links, topology=topology)) == ["1 → 2", "2 → 1", "3 → 4", "4 → 3"]


FORK: dict[str, Any] = {
    "links": {"phy2": {}},
    "topology": {"name": "fork", "paths": [["phy0", "phy1"], ["phy0", "phy2"]]},
}


def test_a_link_on_two_paths_sends_frames_where_they_are_addressed_to() -> None:
    first, second = "1 dl_dst=02:01:00:00:00:01 → 2", "1 dl_dst=02:02:00:00:00:01 → 3"
    assert sent(ovs_case(**FORK)) == [first, "2 → 1", second, "3 → 1"]


def test_a_vnf_has_a_port_on_each_side() -> None:
    """Links come first: 1 is phy0, 2 is phy1, 3 and 4 are the VNF's."""
    assert sent(ovs_case(topology=PVP)) == ["1 → 3", "3 → 1", "4 → 2", "2 → 4"]


def test_vnfs_in_a_row_pass_frames_on() -> None:
    topology = {"name": "pvvp", "paths": [["phy0", "vm1", "vm2", "phy1"]]}
    passed = ["1 → 3", "3 → 1", "4 → 5", "5 → 4", "6 → 2", "2 → 6"]
    assert sent(ovs_case(topology=topology)) == passed


def test_between_two_vnfs_only_their_inner_cards_are_on_the_switch() -> None:
    case = ovs_case(topology={"name": "v2v", "paths": [["vm1", "vm2"]]})
    spec = case.vswitch
    assert isinstance(spec, OvsDpdkSpec)
    assert [port.name for port in ports_of(case, spec)] == ["vm1_1", "vm2_0"]
    assert sent(case) == ["1 → 2", "2 → 1"]


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
    found = sent(ovs_case(topology={**PVPV, "dispatch": dispatch}))
    assert {f"1 {first} → 3", f"1 {second} → 5", "4 → 2", "6 → 2"} <= set(found)


def test_frames_of_a_single_nic_are_told_apart_by_where_they_go() -> None:
    back, on = "3 dl_dst=02:00:00:00:00:01 → 1", "3 dl_dst=02:01:00:00:00:01 → 2"
    assert sent(ovs_case(topology={**PVP, "nics": 1})) == ["1 → 3", back, on, "2 → 3"]


def test_only_rules_at_links_look_for_streams() -> None:
    found = made(ovs_case({"flows": "l3"}, topology=PVP, traffic={"flows": 4}))
    assert len(found) == 4 + 4 + 1 + 1
    assert "priority=10,in_port=3,actions=output:1" in found


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


TUNNEL = {"frame_size": "256B", "encapsulation": {"kind": "vxlan", "id": 1, "underlay": "ipv6"}}
LABELLED = {"frame_size": "128B", "mpls": [16]}


@pytest.mark.parametrize("traffic", [REPLAY, TUNNEL, LABELLED], ids=["file", "tunnel", "labels"])
def test_frames_of_a_file_in_a_tunnel_or_behind_labels_are_sent_on_by_their_port(
    traffic: dict[str, Any],
) -> None:
    assert made(ovs_case(traffic=traffic)) == made(ovs_case())


@pytest.mark.parametrize(
    ("flows", "case", "why"),
    [
        (["l3"], {"topology": PVPV}, "from phy0 several ways"),
        (["l2", "l3", "l4", "network"], {"traffic": REPLAY}, "addresses"),
        (["l2", "l3", "l4"], {"traffic": TUNNEL}, "vxlan"),
        (["network", "l3", "l4"], {"traffic": LABELLED}, "MPLS labels hide"),
        (["learn"], {"topology": PVP}, "makes one bridge of all ports"),
        (["learn"], {"topology": PVPV}, "makes one bridge of all ports"),
        (["port"], {**FORK, "traffic": REPLAY}, "several ways"),
        (["port"], {**FORK, "traffic": TUNNEL}, "several ways"),
    ],
    ids=[
        *("streams and parallel paths", "addresses in a file", "inside of a tunnel"),
        *("behind labels", "round a VNF", "round two VNFs", "a file forks", "a tunnel forks"),
    ],
)
def test_what_no_rule_can_tell_apart_is_refused(
    flows: list[str], case: dict[str, Any], why: str
) -> None:
    for kind in flows:
        with pytest.raises(UsageError, match=why):
            made(ovs_case({"flows": kind}, **case))


def test_the_ends_of_a_tunnel_are_in_the_network_for_benchmarks() -> None:
    network = "ipv6,ipv6_src=2001:2::/48,ipv6_dst=2001:2::/48"
    found = made(ovs_case({"flows": "network"}, traffic=TUNNEL))
    assert found[0] == f"priority=10,in_port=1,{network},actions=output:2"


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


def test_rules_of_addresses_of_the_link_are_in_front_of_labels() -> None:
    assert len(made(ovs_case({"flows": "l2"}, traffic=LABELLED))) == 2


def test_a_bridge_that_learns_is_told_where_to_forward_by_the_frames() -> None:
    stations = {"frame_size": "64B", "vary": "mac", "flows": 8000, "direction": "forward"}
    assert made(ovs_case({"flows": "learn"}, traffic=stations)) == [
        "priority=10,in_port=1,actions=NORMAL",
        "priority=10,in_port=2,actions=NORMAL",
    ]


# Rules of OVS that track connections: what passes, what is rewritten, what is refused.

PORTS = (
    SwitchPort("phy0", 1, "phy0", "dpdkvhostuserclient"),
    SwitchPort("phy1", 2, "phy1", "dpdkvhostuserclient"),
)


def tracking_case(
    servers: int = 3, kind: str = "ovs-dpdk", protocol: str = "tcp", **switch: Any
) -> CaseSpec:
    settings = {"kind": "cps", "clients": 2, "servers": servers, "protocol": protocol}
    return switch_case(kind, switch, search=settings, latency=None)


def written(case: CaseSpec) -> list[str]:
    assert isinstance(case.vswitch, OvsSettings)
    return list(rules(case, case.vswitch, PORTS))


@pytest.mark.parametrize("nat", ["none", "source", "destination"])
def test_only_what_clients_began_and_what_belongs_to_it_passes(nat: str) -> None:
    found = written(tracking_case(nat=nat))
    first, second, *tracked = found
    assert [rule.partition("actions=")[2] for rule in (first, second)] == [
        "ct(table=1,zone=1,nat)"
    ] * 2
    assert "in_port=1" in first and "in_port=2" in second
    begun = [rule for rule in tracked if "+new" in rule]
    assert len(begun) == 1
    assert "in_port=1" in begun[0]
    known = {rule.partition("in_port=")[2] for rule in tracked if "+est" in rule}
    assert known == {"1,actions=output:2", "2,actions=output:1"}


@pytest.mark.parametrize(
    ("nat", "servers", "action"),
    [
        ("none", 3, "ct(commit,zone=1),output:2"),
        ("source", 3, "ct(commit,zone=1,nat(src=198.19.255.254)),output:2"),
        ("destination", 3, "ct(commit,zone=1,nat(dst=198.19.0.1-198.19.0.3)),output:2"),
        ("destination", 1, "ct(commit,zone=1,nat(dst=198.19.0.1)),output:2"),
    ],
)
def test_addresses_are_rewritten_when_a_connection_begins(
    nat: str, servers: int, action: str
) -> None:
    (begun,) = [rule for rule in written(tracking_case(servers, nat=nat)) if "+new" in rule]
    assert begun.partition("actions=")[2] == action
    assert ("nw_dst=198.18.255.1,tp_dst=80" in begun) == (nat == "destination")


@pytest.mark.parametrize("nat", ["none", "source", "destination"])
def test_rules_are_of_the_protocol_that_connections_are_made_by(nat: str) -> None:
    by_udp = written(tracking_case(nat=nat, protocol="udp"))
    by_tcp = written(tracking_case(nat=nat))
    assert [rule.replace(",udp", ",tcp") for rule in by_udp] == by_tcp
    assert all(",udp," in rule for rule in by_udp)


@pytest.mark.parametrize("kind", ["ovs-dpdk", "ovs"])
def test_rules_are_as_many_as_are_counted_when_they_are_in(kind: str) -> None:
    case = tracking_case(kind=kind, nat="source")
    assert isinstance(case.vswitch, OvsSettings)
    assert len(written(case)) == rule_count(case, case.vswitch)
    plan = driver_of(kind).plan(case, PLACEMENT)
    assert any("+trk+new" in line for step in plan.steps for line in step.lines)


def test_without_it_connections_pass_by_the_rules_of_frames() -> None:
    assert not any("ct_state" in rule for rule in written(tracking_case()))


REFUSED: dict[str, tuple[CaseSpec, str]] = {
    "frames": (switch_case("ovs-dpdk", {"nat": "none"}), "opens no connections"),
    "rules of another kind": (tracking_case(nat="none", flows="l4"), "vswitch.flows"),
    "filters": (tracking_case(nat="none", filters=3), "vswitch.filters"),
    "what it changes in frames": (tracking_case(nat="none", modify={"dscp": 3}), "vswitch.modify"),
    "VNFs": (
        tracking_case(nat="none").model_copy(
            update={"topology": switch_case("ovs-dpdk", topology=PVP).topology}
        ),
        "topology pvp",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_go_with_it_is_refused_with_a_way_out(name: str) -> None:
    case, what = REFUSED[name]
    with pytest.raises(UsageError, match=what) as caught:
        written(case)
    assert caught.value.problems[0].fix
