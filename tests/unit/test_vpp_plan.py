"""VPP as it is planned: what it is told follows from the topology."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from places import PLACEMENT
from pydantic import ValidationError
from switch_cases import P2P, PVP, PVPV, PVVP, V2V, switch_case
from vpp_cases import vpp_case

from vsperf.drivers.generators.tgen.cap import method_of
from vsperf.drivers.vswitches.vpp.driver import Vpp, check
from vsperf.drivers.vswitches.vpp.forwarding import MANY, forgetting, learning
from vsperf.drivers.vswitches.vpp.plan import Design
from vsperf.drivers.vswitches.vpp.programs import find_programs
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.errors import NotReadyError, UsageError
from vsperf.records.run import Endpoint, Placement, Step, shown

# The plan of a VPP says everything that will be done, and touches nothing.


def steps(placement: Placement = PLACEMENT, **case: Any) -> tuple[Step, ...]:
    return Vpp().plan(vpp_case(**case), placement).steps


def configuration(placement: Placement = PLACEMENT, **case: Any) -> dict[str, list[str]]:
    """Return the lines of the start-up configuration by section."""
    lines = next(step.lines for step in steps(placement, **case) if "start-up" in step.action)
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.endswith(" {"):
            section = found.setdefault(line.removesuffix(" {"), [])
        elif line != "}":
            section.append(line.strip())
    return found


def calls(**case: Any) -> list[str]:
    return [line for step in steps(**case) if step.argv is None for line in step.lines]


def endpoints(**case: Any) -> tuple[Endpoint, ...]:
    return Vpp().plan(vpp_case(**case), PLACEMENT).endpoints


def test_the_configuration_comes_before_the_daemon_and_ports_before_ways() -> None:
    actions = [step.action for step in steps()]
    words = ["start-up configuration", "start the switch", "make the ports", "join the ports"]
    assert [word in action for word, action in zip(words, actions, strict=True)] == [True] * 4


def test_everything_of_an_instance_lies_in_its_folder() -> None:
    found = configuration()
    assert "runtime-dir RUN" in found["unix"]
    assert "cli-listen RUN/cli.sock" in found["unix"]
    assert found["socksvr"] == ["socket-name RUN/api.sock"]
    assert "socket-name RUN/stats.sock" in found["statseg"]
    assert not [line for lines in found.values() for line in lines if "/run/vpp" in line]


def test_shared_memory_carries_the_name_of_the_deployment() -> None:
    assert configuration()["api-segment"] == ["prefix NAME"]


def test_nothing_goes_to_the_log_of_the_system() -> None:
    assert "nosyslog" in configuration()["unix"]


def test_threads_run_where_they_were_placed() -> None:
    found = configuration(Placement(cpus={"pmd": (2, 5), "switch main": (0,)}))
    assert found["cpu"] == ["main-core 0", "corelist-workers 2,5"]


def test_the_main_thread_does_not_share_the_cpu_of_a_worker() -> None:
    with pytest.raises(UsageError, match="would share CPU 1"):
        steps(Placement(cpus={"pmd": (1,), "switch main": (1,)}))


def test_only_the_plugins_that_the_ports_need_are_loaded(tmp_path: Path) -> None:
    install = an_install(tmp_path, "vhost", "memif", "acl")
    found = configuration(switch={"install": install})["plugins"]
    assert "plugin default { disable }" in found
    assert [line for line in found if "enable" in line] == ["plugin vhost_plugin.so { enable }"]


def test_more_plugins_are_loaded_where_they_are_asked_for(tmp_path: Path) -> None:
    install = an_install(tmp_path, "memif", "acl")
    found = configuration(switch={"install": install, "ports": "memif", "plugins": ["acl"]})
    assert [line for line in found["plugins"] if "enable" in line] == [
        "plugin memif_plugin.so { enable }",
        "plugin acl_plugin.so { enable }",
    ]


def test_what_an_older_version_has_built_in_is_no_plugin(tmp_path: Path) -> None:
    found = configuration(switch={"install": an_install(tmp_path, "memif")})["plugins"]
    assert not [line for line in found if "vhost" in line]


def test_buffers_come_from_hugepages_or_from_none() -> None:
    assert "page-size default-hugepage" in configuration()["buffers"]
    assert "page-size default" in configuration(switch={"hugepages": False})["buffers"]
    assert Vpp().needs(vpp_case({"hugepages": False})).hugepage_bytes == 0


def test_there_are_as_many_buffers_as_the_user_wants() -> None:
    assert "buffers-per-numa 32768" in configuration(switch={"buffers": 32768})["buffers"]
    few, many = (Vpp().needs(vpp_case({"buffers": n})).hugepage_bytes for n in (16384, 65536))
    assert many > 3 * few > 0


@pytest.mark.parametrize("role", ["vhost-user-client", "vhost-user"])
def test_a_link_without_a_device_is_a_vhost_user_port(role: str) -> None:
    found = endpoints(switch={"ports": role})
    assert [(one.kind, shown(one.address)) for one in found] == [
        (role, "RUN/phy0.sock"),
        (role, "RUN/phy1.sock"),
    ]
    made = [line for line in calls(switch={"ports": role}) if "create_vhost_user" in line]
    server = "true" if role == "vhost-user" else "false"
    assert [f"is_server={server}" in line for line in made] == [True, True]
    assert [line.endswith(f"-> {link}") for line, link in zip(made, ["phy0", "phy1"], strict=True)]


def test_the_generator_is_told_how_to_reach_a_memif() -> None:
    first, second = endpoints(switch={"ports": "memif", "ring": 2048})
    assert (first.kind, shown(first.address)) == (
        "vdev",
        "net_memif0,role=client,id=0,socket=RUN/phy0.memif,socket-abstract=no,rsize=11",
    )
    assert "net_memif1" in second.address


def test_a_device_of_the_kernel_is_opened_as_a_packet_socket() -> None:
    links = {
        "phy0": {"switch": "net_af_packet0,iface=veth0", "generator": "net_af_packet9,iface=veth1"}
    }
    (made,) = [line for line in calls(links=links) if "af_packet_create" in line]
    assert "host_if_name=veth0" in made
    assert "sw_interface_set_rx_mode sw_if_index=phy0 mode=1" in calls(links=links)
    assert endpoints(links=links)[0].address == "net_af_packet9,iface=veth1"


def test_a_network_card_is_given_to_dpdk_in_the_configuration() -> None:
    links = {"phy0": {"switch": "0000:3b:00.0", "generator": "0000:af:00.0"}}
    (nic,) = configuration(links=links, switch={"queues": 2})["dpdk"]
    assert nic.startswith("dev 0000:3b:00.0 { name phy0 num-rx-queues 2 ")
    assert "name_filter=phy0 -> phy0" in " ".join(calls(links=links))
    assert endpoints(links=links)[0].kind == "pci"


def test_a_device_of_no_known_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="which VPP cannot take"):
        steps(links={"phy0": {"switch": "afxdp:eth1", "generator": "eth2"}})


def test_a_card_of_a_vnf_is_plugged_into_a_port() -> None:
    wires = Vpp().plan(vpp_case(topology=PVP), PLACEMENT).wires
    assert [(wire.vnf, wire.nic, wire.kind, shown(wire.address)) for wire in wires] == [
        ("vm1", 0, "vhost-user-client", "RUN/vm1_0.sock"),
        ("vm1", 1, "vhost-user-client", "RUN/vm1_1.sock"),
    ]


def test_a_card_of_a_vnf_may_be_plugged_into_a_tap() -> None:
    case = vpp_case({"vnf_ports": "tap"}, topology=PVP)
    wires = Vpp().plan(case, PLACEMENT).wires
    assert [(wire.kind, shown(wire.address)) for wire in wires] == [
        ("tap", "TAP-1-0"),
        ("tap", "TAP-1-1"),
    ]


def test_vnfs_are_called_where_links_are_memifs() -> None:
    wires = Vpp().plan(vpp_case({"ports": "memif"}, topology=PVP), PLACEMENT).wires
    assert {wire.kind for wire in wires} == {"vhost-user-client"}


def test_a_plan_lists_the_first_routes_and_says_how_many_there_are() -> None:
    found = steps(switch={"forwarding": "ip4", "routes": 10_000}, topology=P2P)[-1]
    assert found.lines[0].startswith(
        "ip_route_add_del is_add=true route={table_id=1 prefix=10.128."
    )
    assert found.lines[-1] == "… and so on, 10000 for each table"


def test_a_missing_vpp_is_one_sentence_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="is not there, or is no program") as caught:
        find_programs(str(tmp_path))
    (problem,) = caught.value.problems
    assert problem.why == f"vswitch.install names {tmp_path}"
    assert problem.fix is not None and "install VPP" in problem.fix


def test_a_vpp_without_the_definitions_of_its_api_is_refused(tmp_path: Path) -> None:
    install = an_install(tmp_path, "vhost")
    with pytest.raises(NotReadyError, match="definitions of VPP's API are not"):
        find_programs(install)


def test_only_root_may_start_it() -> None:
    case = vpp_case()
    with pytest.raises(NotReadyError, match="needs root"):
        check(Design(case, VppSpec(kind="vpp"), PLACEMENT), place(), user=1000)


def test_a_socket_with_too_long_a_path_is_refused() -> None:
    with pytest.raises(NotReadyError, match="path of a socket is too long"):
        check(Design(vpp_case(), VppSpec(kind="vpp"), PLACEMENT), place("/" + "x" * 100), user=0)


def place(folder: str = "/run/vsperf/vsperf-1-abcdef") -> Any:
    class Place:
        def fill(self, text: str) -> str:
            return shown(text).replace("RUN", folder)

    return Place()


def an_install(folder: Path, *plugins: str) -> str:
    """Make a tree that looks like an installed VPP with these plugins."""
    daemon = folder / "bin" / "vpp"
    daemon.parent.mkdir()
    daemon.write_text("#!/bin/sh\n")
    daemon.chmod(0o755)
    home = folder / "lib" / "x86_64-linux-gnu" / "vpp_plugins"
    home.mkdir(parents=True)
    for name in plugins:
        (home / f"{name}_plugin.so").touch()
    return str(folder)


@pytest.mark.parametrize(
    ("flows", "forwarding", "learns"),
    [("port", "xconnect", False), ("l2", "bridge", False), ("learn", "bridge", True)],
)
def test_the_word_of_all_switches_for_forwarding_is_understood(
    flows: str, forwarding: str, learns: bool
) -> None:
    spec = VppSpec.model_validate({"kind": "vpp", "flows": flows})
    assert (spec.forwarding, spec.learns, spec.flows) == (forwarding, learns, flows)
    assert VppSpec.model_validate(spec.model_dump()) == spec


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"flows": "l4"}, "no rules of the kind flows=l4"),
        ({"flows": "learn", "forwarding": "ip4"}, "contradict"),
        ({"flows": "l2", "learn": True}, "contradict"),
        ({"worker_cpus": "2", "main_cpu": 2}, "both name CPU 2"),
        ({"workers": 1, "worker_cpus": "2,3"}, "workers is 1, but worker_cpus names 2"),
        ({"ring": 1000}, "1,000 is no power of two"),
        ({"routes": 10}, "xconnect has none"),
        ({"filters": 3}, "puts no filters into VPP"),
    ],
)
def test_settings_that_vpp_cannot_follow_are_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        VppSpec.model_validate({"kind": "vpp", **said})


def test_the_main_thread_sleeps_beside_whoever_shares_its_cpu() -> None:
    assert [line for line in configuration()["unix"] if line.startswith("poll-sleep-usec ")]


# What VPP is told follows from the topology, and what it cannot do is refused with a reason.

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


def test_ports_on_both_sides_of_a_vnf_are_joined_with_the_next_ones() -> None:
    there = {("phy0", "vm1_0"), ("vm1_1", "phy1")}
    assert joined(PVP) == there | {(after, before) for before, after in there}


def test_vnfs_are_joined_with_each_other() -> None:
    assert ("vm1_1", "vm2_0") in joined(PVVP)
    assert joined(V2V) == {("vm1_1", "vm2_0"), ("vm2_0", "vm1_1")}


TOLD = {"forwarding": "bridge", "learn": False}
"""A bridge that is told every address."""


@pytest.mark.parametrize(
    ("switch", "case", "why"),
    [
        ({"forwarding": "xconnect"}, {"topology": PVPV}, "joins ports in pairs"),
        ({"forwarding": "xconnect"}, {"topology": SINGLE}, "joins ports in pairs"),
        ({"forwarding": "bridge"}, {"topology": PVPV}, "would join phy0, vm1_0, vm2_0"),
        (TOLD, {"topology": SINGLE}, "a bridge would have to send frames for"),
        (TOLD, {"traffic": {"replay": {"file": "/x.pcap"}}}, "has to know for whom frames are"),
        ({"forwarding": "ip4"}, {"topology": PVPV}, "a router has one"),
    ],
    ids=[
        *("parallel VNFs, joined", "one NIC, joined", "parallel VNFs, learned", "one NIC, told"),
        *("a file, told", "one MAC address for two VNFs"),
    ],
)
def test_frames_that_would_go_several_ways_are_refused(
    switch: dict[str, Any], case: dict[str, Any], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        ways(switch, **case)


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


def test_parallel_vnfs_are_told_apart_by_mac_address() -> None:
    told = [line.split()[1:4] for line in ways(TOLD, topology=PVPV) if "l2fib" in line]
    assert ["mac=02:01:00:00:00:01", "bd_id=1", "sw_if_index=vm1_0"] in told
    assert ["mac=02:01:00:00:00:02", "bd_id=1", "sw_if_index=vm2_0"] in told
    assert ["mac=02:01:00:00:00:01", "bd_id=2", "sw_if_index=phy1"] in told
    # Frames of a lane that a VNF left as they were find the end of their path, too.
    assert ["mac=02:01:00:00:00:02", "bd_id=2", "sw_if_index=phy1"] in told
    assert ["mac=02:00:00:00:00:02", "bd_id=1", "sw_if_index=phy0"] in told


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


def test_frames_that_come_back_from_a_vnf_find_another_table() -> None:
    found = routes({"forwarding": "ip4"}, topology=PVP)
    assert [one for one in found if one[1] == "198.19.0.0/16"] == [
        ("1", "198.19.0.0/16", "vm1_0"),
        ("4", "198.19.0.0/16", "phy1"),
    ]


def test_a_vnf_with_one_nic_can_be_routed_to() -> None:
    found = routes({"forwarding": "ip4"}, topology=SINGLE)
    assert ("3", "198.19.0.0/16", "phy1") in found and ("3", "198.18.0.0/16", "phy0") in found


def test_parallel_vnfs_are_told_apart_by_ip_address() -> None:
    found = routes({"forwarding": "ip4"}, topology={**PVPV, "dispatch": "ip"})
    assert ("1", "198.19.0.1/32", "vm1_0") in found and ("1", "198.19.0.2/32", "vm2_0") in found


def test_a_router_has_the_address_that_frames_are_sent_to() -> None:
    made = [line for line in ports({"forwarding": "ip4"}) if "create_vhost" in line]
    assert "mac_address=02:01:00:00:00:01" in made[0]
    assert "mac_address=02:00:00:00:00:01" in made[1]


def test_frames_leave_a_router_for_the_generator() -> None:
    told = [line for line in ways({"forwarding": "ip4"}) if "ip_neighbor" in line]
    assert ["sw_if_index=phy1" in told[0], "mac_address=02:01:00:00:00:01" in told[0]] == [True] * 2


def test_frames_leave_for_a_vnf_with_the_address_that_they_come_back_with() -> None:
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
