"""What VPP is told follows from the topology, and what it cannot do is refused with a reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from places import PLACEMENT
from switch_cases import P2P, PVP, PVPV, PVVP, V2V, switch_case
from vpp_cases import vpp_case

from vsperf.errors import UsageError
from vsperf.trafficgens.tgen.cap import method_of
from vsperf.vswitches.vpp.driver import Vpp
from vsperf.vswitches.vpp.forwarding import MANY, forgetting, learning
from vsperf.vswitches.vpp.plan import Design
from vsperf.vswitches.vpp.spec import VppSpec

IPV6 = {"frame_size": "128B", "layer3": "ipv6"}
SINGLE = {**PVP, "nics": 1}


def ways(switch: dict[str, Any], **case: Any) -> list[str]:
    """Return the calls after which frames find their way."""
    return list(Vpp().plan(vpp_case(switch, **case), PLACEMENT).steps[3].lines)


def ports(switch: dict[str, Any], **case: Any) -> list[str]:
    return list(Vpp().plan(vpp_case(switch, **case), PLACEMENT).steps[2].lines)


def joined(topology: dict[str, Any]) -> set[tuple[str, str]]:
    found = set()
    for line in ways({"forwarding": "xconnect"}, topology=topology):
        words = dict(word.split("=") for word in line.split()[1:])
        found.add((words["rx_sw_if_index"], words["tx_sw_if_index"]))
    return found


def test_two_links_are_joined_both_ways() -> None:
    assert joined(P2P) == {("phy0", "phy1"), ("phy1", "phy0")}


def test_ports_on_both_sides_of_a_machine_are_joined_with_the_next_ones() -> None:
    there = {("phy0", "vm1_0"), ("vm1_1", "phy1")}
    assert joined(PVP) == there | {(after, before) for before, after in there}


def test_machines_are_joined_with_each_other() -> None:
    assert ("vm1_1", "vm2_0") in joined(PVVP)
    assert joined(V2V) == {("vm1_1", "vm2_0"), ("vm2_0", "vm1_1")}


@pytest.mark.parametrize("topology", [PVPV, SINGLE], ids=["parallel", "one card"])
def test_a_port_whose_frames_go_several_ways_is_not_joined(topology: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="joins ports in pairs"):
        ways({"forwarding": "xconnect"}, topology=topology)


def test_each_group_of_ports_is_a_bridge_of_its_own() -> None:
    found = ways({"forwarding": "bridge"}, topology=PVVP)
    members = [line.split()[1:3] for line in found if "set_l2_bridge" in line]
    assert members == [
        ["rx_sw_if_index=phy0", "bd_id=1"],
        ["rx_sw_if_index=vm1_0", "bd_id=1"],
        ["rx_sw_if_index=vm1_1", "bd_id=2"],
        ["rx_sw_if_index=vm2_0", "bd_id=2"],
        ["rx_sw_if_index=vm2_1", "bd_id=3"],
        ["rx_sw_if_index=phy1", "bd_id=3"],
    ]


def test_a_bridge_that_learns_floods_what_it_does_not_know_and_forgets_nothing() -> None:
    (bridge,) = [line for line in ways({"forwarding": "bridge"}) if "bridge_domain_add" in line]
    assert "uu_flood=true" in bridge and "learn=true" in bridge and "mac_age=0" in bridge


def test_a_bridge_that_does_not_learn_is_told_every_address_and_never_floods() -> None:
    found = ways({"forwarding": "bridge", "learn": False})
    (bridge,) = [line for line in found if "bridge_domain_add" in line]
    assert "uu_flood=false" in bridge and "learn=false" in bridge
    assert [line.split()[1:4] for line in found if "l2fib" in line] == [
        ["mac=02:01:00:00:00:01", "bd_id=1", "sw_if_index=phy1"],
        ["mac=02:00:00:00:00:01", "bd_id=1", "sw_if_index=phy0"],
    ]


def test_parallel_machines_are_told_apart_by_mac_address() -> None:
    found = ways({"forwarding": "bridge", "learn": False}, topology=PVPV)
    told = [line.split()[1:4] for line in found if "l2fib" in line]
    assert ["mac=02:01:00:00:00:01", "bd_id=1", "sw_if_index=vm1_0"] in told
    assert ["mac=02:01:00:00:00:02", "bd_id=1", "sw_if_index=vm2_0"] in told
    assert ["mac=02:01:00:00:00:01", "bd_id=2", "sw_if_index=phy1"] in told


def test_frames_of_a_lane_that_a_machine_left_as_they_were_find_the_end_of_their_path() -> None:
    found = ways({"forwarding": "bridge", "learn": False}, topology=PVPV)
    told = [line.split()[1:4] for line in found if "l2fib" in line]
    assert ["mac=02:01:00:00:00:02", "bd_id=2", "sw_if_index=phy1"] in told
    assert ["mac=02:00:00:00:00:02", "bd_id=1", "sw_if_index=phy0"] in told


def test_a_bridge_between_parallel_machines_does_not_learn() -> None:
    with pytest.raises(UsageError, match="would join phy0, vm1_0, vm2_0"):
        ways({"forwarding": "bridge"}, topology=PVPV)


def test_a_machine_with_one_card_is_no_case_for_a_bridge() -> None:
    with pytest.raises(UsageError, match="a bridge would have to send frames for"):
        ways({"forwarding": "bridge", "learn": False}, topology=SINGLE)


def test_frames_of_a_file_are_for_nobody_known() -> None:
    traffic = {"replay": {"file": "/frames.pcap"}}
    case = {"switch": {"forwarding": "bridge", "learn": False}}
    with pytest.raises(UsageError, match="has to know for whom frames are"):
        ways(**case, traffic=traffic)


def routes(switch: dict[str, Any], **case: Any) -> list[tuple[str, str, str]]:
    """Return the routes as (table, destinations, port)."""
    route = re.compile(r"table_id=(\d+) prefix=(\S+) .*sw_if_index=(\w+)")
    found = (route.search(line) for line in ways(switch, **case) if line.startswith("ip_route"))
    return [(one[1], one[2], one[3]) for one in found if one is not None]


def test_each_link_is_routed_its_share_of_the_network() -> None:
    assert routes({"forwarding": "ip4"}) == [
        ("1", "198.19.0.0/16", "phy1"),
        ("2", "198.18.0.0/16", "phy0"),
    ]


def test_ipv6_is_routed_by_the_network_of_each_link() -> None:
    found = routes({"forwarding": "ip6"}, traffic=IPV6)
    assert found == [("1", "2001:2:0:1::/64", "phy1"), ("2", "2001:2::/64", "phy0")]


def test_a_router_of_ipv6_does_not_advertise_itself() -> None:
    found = ways({"forwarding": "ip6"}, traffic=IPV6)
    assert [line for line in found if "ra_config" in line and "suppress=1" in line]


def test_frames_that_come_back_from_a_machine_find_another_table() -> None:
    found = routes({"forwarding": "ip4"}, topology=PVP)
    assert [one for one in found if one[1] == "198.19.0.0/16"] == [
        ("1", "198.19.0.0/16", "vm1_0"),
        ("4", "198.19.0.0/16", "phy1"),
    ]


def test_a_machine_with_one_card_can_be_routed_to() -> None:
    found = routes({"forwarding": "ip4"}, topology=SINGLE)
    assert ("3", "198.19.0.0/16", "phy1") in found and ("3", "198.18.0.0/16", "phy0") in found


def test_parallel_machines_are_told_apart_by_ip_address() -> None:
    found = routes({"forwarding": "ip4"}, topology={**PVPV, "dispatch": "ip"})
    assert ("1", "198.19.0.1/32", "vm1_0") in found and ("1", "198.19.0.2/32", "vm2_0") in found


def test_a_router_has_the_address_that_frames_are_sent_to() -> None:
    made = [line for line in ports({"forwarding": "ip4"}) if "create_vhost" in line]
    assert "mac_address=02:01:00:00:00:01" in made[0]
    assert "mac_address=02:00:00:00:00:01" in made[1]


def test_frames_leave_a_router_for_the_generator() -> None:
    told = [line for line in ways({"forwarding": "ip4"}) if "ip_neighbor" in line]
    assert ["sw_if_index=phy1" in told[0], "mac_address=02:01:00:00:00:01" in told[0]] == [True] * 2


def test_frames_leave_for_a_machine_with_the_address_that_they_come_back_with() -> None:
    made = [line for line in ports({"forwarding": "ip4"}, topology=PVP) if "create_vhost" in line]
    told = [line for line in ways({"forwarding": "ip4"}, topology=PVP) if "ip_neighbor" in line]
    (there,) = [line for line in told if "sw_if_index=vm1_0" in line]
    (back,) = [line for line in made if "vm1_1" in line]
    assert there.split("mac_address=")[1].split()[0] == back.split("mac_address=")[1].split()[0]


@pytest.mark.parametrize(
    ("switch", "traffic", "reason"),
    [
        ({"forwarding": "ip4"}, IPV6, "routes no ipv6 frames"),
        ({"forwarding": "ip6"}, {}, "routes no ipv4 frames"),
        ({"forwarding": "ip4"}, {"frame_size": "128B", "vlans": [7]}, "routes plain frames only"),
        ({"forwarding": "ip4"}, {"destination": "broadcast"}, "its own MAC address only"),
    ],
)
def test_what_a_router_would_drop_is_refused(
    switch: dict[str, Any], traffic: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        ways(switch, traffic=traffic)


def test_a_router_has_one_mac_address_at_each_port() -> None:
    with pytest.raises(UsageError, match="a router has one"):
        ways({"forwarding": "ip4"}, topology=PVPV)


def test_a_cross_connect_without_routes_needs_none() -> None:
    case = vpp_case({"forwarding": "xconnect"})
    assert isinstance(case.vswitch, VppSpec)
    assert list(Design(case, case.vswitch, PLACEMENT).idle(range(0), add=True)) == []


@pytest.mark.parametrize(("topology", "ttl"), [(P2P, 63), (PVP, 62), (PVVP, 61)])
def test_a_router_counts_the_ttl_down_at_each_pass(topology: dict[str, Any], ttl: int) -> None:
    case = vpp_case({"forwarding": "ip4"}, topology=topology)
    assert case.rewriting == "vswitch.forwarding"
    assert case.arriving("phy0", "phy1") == {"ttl": ttl, "destination_mac": "02:01:00:00:00:01"}
    assert case.arriving("phy1", "phy0")["destination_mac"] == "02:00:00:00:00:01"


def test_a_bridge_and_a_cross_connect_leave_frames_as_they_are() -> None:
    for forwarding in ("xconnect", "bridge"):
        case = vpp_case({"forwarding": forwarding})
        assert case.rewriting is None
        assert case.arriving("phy0", "phy1") == {}


def test_the_cap_of_the_generator_is_that_of_vhost_user_ports() -> None:
    assert vpp_case({"ports": "vhost-user"}).capped
    assert not vpp_case({"ports": "memif"}).capped


def test_the_cap_is_measured_without_what_its_ports_do_not_offer() -> None:
    assert vpp_case().withheld == ("in_order",)
    assert vpp_case({"mergeable": False}).withheld == ("in_order", "mrg_rxbuf")
    assert switch_case("ovs-dpdk").withheld == ()
    assert method_of(vpp_case()) == (
        "vhost-user ports without in_order against a forwarder that looks at no frame"
    )


@dataclass(frozen=True)
class Address:
    """An address as VPP lists it."""

    mac: str
    bd_id: int = 1
    sw_if_index: int = 2


def test_a_few_addresses_are_taken_out_one_by_one_where_they_were_learned() -> None:
    (call,) = forgetting((1, 2), [Address("02:00:00:00:00:01")])
    assert (call.message, call.fields) == (
        "l2fib_add_del",
        {"mac": "02:00:00:00:00:01", "bd_id": 1, "sw_if_index": 2, "is_add": False},
    )


def test_many_addresses_are_flushed_bridge_by_bridge() -> None:
    calls = forgetting((1, 2), [Address("02:00:00:00:00:01")] * (MANY + 1))
    assert [(call.message, call.fields["bd_id"]) for call in calls] == [
        ("l2fib_flush_bd", 1),
        ("l2fib_flush_bd", 2),
    ]


def test_only_bridges_that_learn_have_something_to_forget() -> None:
    for switch, bridges in (
        ({"forwarding": "bridge"}, (1, 2)),
        ({"forwarding": "bridge", "learn": False}, ()),
        ({"forwarding": "xconnect"}, ()),
    ):
        case = vpp_case(switch, topology=PVP)
        assert isinstance(case.vswitch, VppSpec)
        assert learning(case, case.vswitch) == bridges
