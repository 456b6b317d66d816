"""VPP as it is planned: what it is told follows from the topology."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from machine_tree import script
from places import PLACEMENT
from pydantic import ValidationError
from switch_cases import P2P, PVP, PVPV, PVVP, V2V, switch_case
from vpp_cases import vpp_case

from vsperf.drivers.generators.tgen.cap import method_of
from vsperf.drivers.vswitches.vpp.driver import Vpp, check
from vsperf.drivers.vswitches.vpp.forwarding import MANY, forgetting, learning
from vsperf.drivers.vswitches.vpp.plan import MAIN_SLEEP_US, Design
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


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("unix", "runtime-dir RUN"),
        ("unix", "cli-listen RUN/cli.sock"),
        ("socksvr", "socket-name RUN/api.sock"),
        ("statseg", "socket-name RUN/stats.sock"),
        ("api-segment", "prefix NAME"),
        ("unix", "nosyslog"),
        ("unix", f"poll-sleep-usec {MAIN_SLEEP_US}"),
    ],
)
def test_an_instance_keeps_to_itself_and_lets_others_have_the_cpu_of_its_main_thread(
    section: str, line: str
) -> None:
    found = configuration()
    assert line in found[section]
    assert not [line for lines in found.values() for line in lines if "/run/vpp" in line]


def test_threads_run_where_they_were_placed() -> None:
    found = configuration(Placement(cpus={"pmd": (2, 5), "switch main": (0,)}))
    assert found["cpu"] == ["main-core 0", "corelist-workers 2,5"]


def test_the_main_thread_does_not_share_the_cpu_of_a_worker() -> None:
    with pytest.raises(UsageError, match="would share CPU 1"):
        steps(Placement(cpus={"pmd": (1,), "switch main": (1,)}))


@pytest.mark.parametrize(
    ("there", "asked", "loaded"),
    [
        (("vhost", "memif", "acl"), {}, ["vhost"]),
        (("memif", "acl"), {"ports": "memif", "plugins": ["acl"]}, ["memif", "acl"]),
        (("memif",), {}, []),
    ],
    ids=["those that ports need", "those that are asked for", "built in by an older version"],
)
def test_no_other_plugins_are_loaded(
    tmp_path: Path, there: tuple[str, ...], asked: dict[str, Any], loaded: list[str]
) -> None:
    found = configuration(switch={"install": an_install(tmp_path, *there), **asked})["plugins"]
    assert "plugin default { disable }" in found
    enabled = [line for line in found if "enable" in line]
    assert enabled == [f"plugin {name}_plugin.so {{ enable }}" for name in loaded]


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


CALLED = [("vhost-user-client", "RUN/vm1_0.sock"), ("vhost-user-client", "RUN/vm1_1.sock")]


@pytest.mark.parametrize(
    ("switch", "plugged"),
    [
        ({}, CALLED),
        ({"ports": "memif"}, CALLED),
        ({"vnf_ports": "tap"}, [("tap", "TAP-1-0"), ("tap", "TAP-1-1")]),
    ],
)
def test_cards_of_a_vnf_are_plugged_into_ports_or_taps(
    switch: dict[str, Any], plugged: list[tuple[str, str]]
) -> None:
    wires = Vpp().plan(vpp_case(switch, topology=PVP), PLACEMENT).wires
    assert [(wire.vnf, wire.nic) for wire in wires] == [("vm1", 0), ("vm1", 1)]
    assert [(wire.kind, shown(wire.address)) for wire in wires] == plugged


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


@pytest.mark.parametrize(
    ("folder", "user", "why"),
    [
        ("/run/vsperf/vsperf-1-abcdef", 1000, "needs root"),
        ("/" + "x" * 100, 0, "path of a socket is too long"),
    ],
)
def test_who_is_not_root_and_too_long_a_path_are_refused(folder: str, user: int, why: str) -> None:
    with pytest.raises(NotReadyError, match=why):
        check(Design(vpp_case(), VppSpec(kind="vpp"), PLACEMENT), place(folder), user=user)


def place(folder: str) -> Any:
    class Place:
        def fill(self, text: str) -> str:
            return shown(text).replace("RUN", folder)

    return Place()


def an_install(folder: Path, *plugins: str) -> str:
    """Make a tree that looks like an installed VPP with these plugins."""
    script(folder / "bin" / "vpp")
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


# What VPP is told follows from the topology, and what it cannot do is refused with a reason.

IPV6 = {"frame_size": "128B", "layer3": "ipv6"}
TAGGED = {"frame_size": "128B", "vlans": [7]}
TO_ALL = {"destination": "broadcast"}
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


@pytest.mark.parametrize(
    ("topology", "there"),
    [
        (P2P, {("phy0", "phy1")}),
        (PVP, {("phy0", "vm1_0"), ("vm1_1", "phy1")}),
        (PVVP, {("phy0", "vm1_0"), ("vm1_1", "vm2_0"), ("vm2_1", "phy1")}),
        (V2V, {("vm1_1", "vm2_0")}),
    ],
)
def test_ports_are_joined_with_the_next_ones_both_ways(
    topology: dict[str, Any], there: set[tuple[str, str]]
) -> None:
    assert joined(topology) == there | {(after, before) for before, after in there}


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
        ({"forwarding": "ip4"}, {"traffic": IPV6}, "routes no ipv6 frames"),
        ({"forwarding": "ip6"}, {}, "routes no ipv4 frames"),
        ({"forwarding": "ip4"}, {"traffic": TAGGED}, "routes plain frames only"),
        ({"forwarding": "ip4"}, {"traffic": TO_ALL}, "its own MAC address only"),
    ],
    ids=[
        *("parallel VNFs, joined", "one NIC, joined", "parallel VNFs, learned", "one NIC, told"),
        *("a file, told", "one MAC address for two VNFs", "IPv6 to a router of IPv4"),
        *("IPv4 to a router of IPv6", "tags to a router", "broadcasts to a router"),
    ],
)
def test_frames_that_would_go_several_ways_or_none_are_refused(
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


@pytest.mark.parametrize(
    ("kind", "case", "wanted"),
    [
        ("ip4", {}, ["1 198.19.0.0/16 phy1", "2 198.18.0.0/16 phy0"]),
        ("ip6", {"traffic": IPV6}, ["1 2001:2:0:1::/64 phy1", "2 2001:2::/64 phy0"]),
    ],
)
def test_each_link_is_routed_its_share_of_the_network(
    kind: str, case: dict[str, Any], wanted: list[str]
) -> None:
    assert [" ".join(one) for one in routes({"forwarding": kind}, **case)] == wanted


@pytest.mark.parametrize(
    ("topology", "wanted"),
    [
        (PVP, {"1 198.19.0.0/16 vm1_0", "4 198.19.0.0/16 phy1"}),
        (SINGLE, {"3 198.19.0.0/16 phy1", "3 198.18.0.0/16 phy0"}),
        ({**PVPV, "dispatch": "ip"}, {"1 198.19.0.1/32 vm1_0", "1 198.19.0.2/32 vm2_0"}),
    ],
    ids=["back from a VNF by another table", "a VNF with one NIC", "parallel VNFs, by address"],
)
def test_frames_are_routed_through_vnfs(topology: dict[str, Any], wanted: set[str]) -> None:
    found = routes({"forwarding": "ip4"}, topology=topology)
    assert wanted <= {" ".join(one) for one in found}
    assert len([one for one in found if one[1] == "198.19.0.0/16"]) <= 2


def test_a_router_of_ipv6_does_not_advertise_itself() -> None:
    found = ways({"forwarding": "ip6"}, traffic=IPV6)
    assert [line for line in found if "ra_config" in line and "suppress=1" in line]


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
