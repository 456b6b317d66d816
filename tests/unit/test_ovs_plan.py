"""The plan of an OVS: with DPDK, without, and from a tree."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import pytest
from ovs_cases import ovs_case, plain_case
from places import PLACEMENT
from pydantic import ValidationError
from qemu_cases import PVP, qemu_spec

from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ovs.bringup import check, require_datapath
from vsperf.drivers.vswitches.ovs.dpdk.driver import DpdkDesign, OvsDpdk, OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.parse import PortStatistics
from vsperf.drivers.vswitches.ovs.plain.driver import Ovs, OvsSpec, ports_of
from vsperf.drivers.vswitches.ovs.programs import find_programs, planned_programs
from vsperf.drivers.vswitches.ovs.running import Unseen, switch_counters
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.files import Roots
from vsperf.host.tree import Tree
from vsperf.records.run import Endpoint, Placement, Step, shown

# The plan of an OVS says everything that will be done, and touches nothing.


def steps(placement: Placement = PLACEMENT, **case: Any) -> tuple[Step, ...]:
    return OvsDpdk().plan(ovs_case(**case), placement).steps


def settings(placement: Placement = PLACEMENT, **case: Any) -> dict[str, str]:
    lines = next(step.lines for step in steps(placement, **case) if "settings" in step.action)
    return dict(line.split("=", 1) for line in lines)


def ports(**case: Any) -> list[str]:
    lines = next(step.lines for step in steps(**case) if "ports" in step.action)
    return [line for line in lines if line.startswith("port ")]


def endpoints(**case: Any) -> tuple[Endpoint, ...]:
    return OvsDpdk().plan(ovs_case(**case), PLACEMENT).endpoints


def place(folder: Path) -> Any:
    class Place:
        def fill(self, text: str) -> str:
            return text.replace("RUN", str(folder)).replace("NAME", folder.name)

    return Place()


def test_settings_come_before_the_daemon_and_ports_before_rules() -> None:
    actions = [step.action for step in steps()]
    words = ["database of its own", "serve it", "settings", "start the switch", "ports", "rules"]
    assert [word in action for word, action in zip(words, actions, strict=True)] == [True] * 6


def test_everything_of_an_instance_lies_in_its_folder() -> None:
    for step in steps():
        for word in step.argv or ():
            assert "/var/run/openvswitch" not in word
            if word.endswith((".sock", ".ctl", ".db", ".mgmt")):
                assert "RUN/" in word


def test_the_switch_has_a_network_of_its_own() -> None:
    argv = next(step.argv for step in steps() if "start the switch" in step.action)
    assert argv is not None and argv[:2] == ("unshare", "--net")


def test_a_device_of_the_kernel_is_found_in_the_network_of_the_host() -> None:
    links = {
        "phy0": {"switch": "net_af_packet0,iface=veth0", "generator": "net_af_packet9,iface=veth1"}
    }
    argv = next(step.argv for step in steps(links=links) if "start the switch" in step.action)
    assert argv is not None and argv[0] != "unshare"


def test_threads_run_where_they_were_placed() -> None:
    found = settings(Placement(cpus={"pmd": (2, 5), "switch main": (0,)}))
    assert found["pmd-cpu-mask"] == "0x24"
    assert found["dpdk-lcore-mask"] == "0x1"


def test_memory_is_taken_on_the_nodes_of_the_polling_threads_and_nowhere_else() -> None:
    placement = Placement(cpus={"pmd": (9,)}, nodes={"pmd": (1,)})
    found = settings(placement, switch={"memory": 1024})
    assert found["dpdk-socket-mem"] == found["dpdk-socket-limit"] == "0,1024"


def test_what_decides_a_number_is_written_even_at_its_default() -> None:
    found = settings()
    assert found["emc-insert-inv-prob"] == "100"
    assert found["smc-enable"] == "false"
    assert found["pmd-auto-lb"] == "false"


@pytest.mark.parametrize(("emc", "written"), [(False, "0"), (True, "100"), (1, "1"), (20, "20")])
def test_the_exact_match_cache_is_off_on_or_takes_one_in_n(emc: object, written: str) -> None:
    assert settings(switch={"emc": emc})["emc-insert-inv-prob"] == written


def test_own_settings_win() -> None:
    found = settings(switch={"other_config": {"pmd-auto-lb": "true", "max-idle": "60000"}})
    assert (found["pmd-auto-lb"], found["max-idle"]) == ("true", "60000")


def test_without_hugepages_the_plan_says_so() -> None:
    made = steps(switch={"hugepages": False})
    assert any("WITHOUT HUGEPAGES" in step.action for step in made)
    found = settings(switch={"hugepages": False})
    assert "--no-huge" in found["dpdk-extra"]
    assert "dpdk-socket-mem" not in found


def test_hugepages_are_asked_for_as_they_will_be_taken() -> None:
    needs = OvsDpdk().needs(ovs_case({"memory": 512}))
    assert needs.hugepage_bytes == 512 << 20
    assert OvsDpdk().needs(ovs_case({"hugepages": False})).hugepage_bytes == 0


def test_needs_name_busy_and_idle_threads() -> None:
    pmd, main = OvsDpdk().needs(ovs_case({"pmds": 3, "main_cpus": "0"})).cpus
    assert (pmd.role, pmd.count, pmd.busy, pmd.pinned) == ("pmd", 3, True, None)
    assert (main.role, main.count, main.busy, main.pinned) == ("switch main", 1, False, (0,))


def test_by_default_the_switch_calls_and_the_generator_listens() -> None:
    assert [(e.link, e.kind, shown(e.address)) for e in endpoints()] == [
        ("phy0", "vhost-user-client", "RUN/phy0.sock"),
        ("phy1", "vhost-user-client", "RUN/phy1.sock"),
    ]
    assert ports()[0] == (
        "port 1 phy0 type=dpdkvhostuserclient options:vhost-server-path=RUN/phy0.sock "
        "options:tx-retries-max=8"
    )


def test_the_switch_can_listen_too() -> None:
    assert [(e.kind, shown(e.address)) for e in endpoints(switch={"ports": "vhost-user"})] == [
        ("vhost-user", "RUN/phy0"),
        ("vhost-user", "RUN/phy1"),
    ]


def test_a_network_card_takes_its_queues_and_rings_from_the_settings() -> None:
    links = {"phy0": {"switch": "0000:03:00.0", "generator": "0000:04:00.0"}}
    made: dict[str, Any] = {
        "links": links,
        "switch": {"rxqs": 2, "rx_ring": 4096, "rxq_affinity": {"phy0": "0:1,1:1"}},
    }
    assert ports(**made)[0] == (
        "port 1 phy0 type=dpdk options:dpdk-devargs=0000:03:00.0 options:n_rxq=2 "
        "options:n_rxq_desc=4096 other_config:pmd-rxq-affinity=0:1,1:1"
    )
    assert endpoints(**made)[0] == Endpoint(link="phy0", kind="pci", address="0000:04:00.0")
    assert "--no-pci" not in settings(**made)["dpdk-extra"]
    assert "--no-pci" in settings()["dpdk-extra"]


def test_a_device_by_af_xdp_is_called_as_the_kernel_calls_it() -> None:
    links = {"phy0": {"switch": "afxdp:veth0", "generator": "net_af_packet0,iface=veth1"}}
    assert ports(links=links)[0].startswith("port 1 veth0 type=afxdp")


PROGRAMS = {"search": {"kind": "stream", "duration": "1s"}}
"""A method that has places."""


def between_places(switch: dict[str, Any] | None = None, size: str = "1518B") -> dict[str, Any]:
    return {**PROGRAMS, "traffic": {"frame_size": size}, "switch": switch or {}}


def test_places_are_joined_to_packet_sockets_that_threads_poll() -> None:
    socket = "qdisc_bypass=0,framecnt=2048 options:n_rxq=1"
    assert ports(**between_places()) == [
        f"port 1 phy0 type=dpdk options:dpdk-devargs=net_af_packet_phy0,iface=TAP-0-0,{socket}",
        f"port 2 phy1 type=dpdk options:dpdk-devargs=net_af_packet_phy1,iface=TAP-0-1,{socket}",
    ]
    assert [(one.link, one.kind, shown(one.address)) for one in endpoints(**between_places())] == [
        ("phy0", "place", "NAME-phy0/eth0"),
        ("phy1", "place", "NAME-phy1/eth0"),
    ]
    pmd, main = OvsDpdk().needs(ovs_case(**between_places())).cpus
    assert (pmd.busy, main.busy) == (True, False)


def test_pairs_of_places_and_the_switch_are_in_a_network_that_goes_with_them() -> None:
    made = steps(**between_places())
    assert [step.action for step in made[:3]] == [
        "make the network namespace NAME",
        "make the pair of devices TAP-0-0 in it, silent and up",
        "make the pair of devices TAP-0-1 in it, silent and up",
    ]
    (argv,) = (step.argv for step in made if "start the switch" in step.action)
    assert argv is not None and argv[:2] == ("nsenter", "--net=/run/netns/NAME")


def test_ports_of_places_take_queues_rings_and_cpus_from_the_settings() -> None:
    chosen = {"rxqs": 2, "rx_ring": 4096, "rxq_affinity": {"phy0": "0:1,1:1"}}
    line = ports(**between_places(chosen))[0]
    assert ",framecnt=4096,qpairs=2 options:n_rxq=2 options:n_rxq_desc=4096 " in line
    assert line.endswith("other_config:pmd-rxq-affinity=0:1,1:1")


def test_frames_that_no_packet_socket_takes_are_refused_between_places() -> None:
    with pytest.raises(UsageError, match="9000 bytes do not pass the pairs of devices of places"):
        ports(**between_places(size="9018B"))


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (
            {"links": {"phy0": {"switch": "eth0", "generator": "eth1"}}},
            "'eth0' as the switch's device",
        ),
        ({"links": {"phy0": {"switch": "0000:03:00.0"}}}, "none at the generator's"),
        ({"switch": {"rxq_affinity": {"phy7": "0:1"}}}, "names phy7"),
        ({"switch": {"rxq_affinity": {"phy0": "0:3"}}}, "names CPU 3, where no thread polls"),
    ],
    ids=["no device of DPDK", "a cable with one end", "an unknown link", "nobody polls there"],
)
def test_ports_that_cannot_be_are_refused(case: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        ports(**case)


@pytest.mark.parametrize(("size", "mtu"), [("1518B", None), ("1519B", 1501), ("9018B", 9000)])
def test_longer_frames_ask_for_a_larger_mtu(size: str, mtu: int | None) -> None:
    line = ports(traffic={"frame_size": size})[0]
    assert line.endswith(f" mtu_request={mtu}") if mtu else "mtu_request" not in line


@pytest.mark.parametrize("affinity", [f"0:{'9' * 6000}", f"{'9' * 6000}:0", "0:1," * 9, "0"])
def test_affinity_of_no_queue_or_no_cpu_is_refused_when_it_is_read(affinity: str) -> None:
    with pytest.raises(ValidationError, match="rxq_affinity"):
        OvsDpdk.Spec.model_validate({"kind": "ovs-dpdk", "rxq_affinity": {"phy0": affinity}})


def memory(**case: Any) -> int:
    return OvsDpdk().needs(ovs_case(**case)).hugepage_bytes >> 20


def test_memory_is_what_the_buffers_of_the_ports_take() -> None:
    assert settings()["dpdk-socket-mem"] == "256"
    assert memory() == 256
    assert memory(traffic={"frame_size": "9018B"}) > 500
    assert memory(links={"phy2": {}}, topology={"paths": [["phy0", "phy1"]]}) == 256
    assert memory(switch={"pmds": 8}) > 256


def test_memory_that_cannot_hold_the_buffers_is_refused_with_a_number_that_can() -> None:
    with pytest.raises(UsageError, match="memory is 64 MB") as caught:
        settings(switch={"memory": 64})
    assert "vswitch.memory=256" in (caught.value.problems[0].fix or "")
    assert settings(switch={"memory": 256})["dpdk-socket-mem"] == "256"


def test_no_cpu_for_the_polling_threads_is_refused() -> None:
    with pytest.raises(UsageError, match="no CPU was found"):
        steps(Placement())


def test_places_are_kept_for_a_rule_per_flow() -> None:
    found = settings(switch={"flows": "l3"}, traffic={"flows": 500_000})
    assert int(found["flow-limit"]) > 1_000_000
    assert "flow-limit" not in settings(switch={"flows": "l3"}, traffic={"flows": 1000})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"pmd_cpus": "1,2", "pmds": 1}, "pmd_cpus names 2 CPUs"),
        ({"pmd_cpus": "1", "main_cpus": "0-1"}, "both name CPU 1"),
        ({"rxq_affinity": {"phy0": "0-1"}}, "rxq_affinity"),
        ({"emc": -1}, "emc"),
        ({"mtu": 10_000}, "mtu"),
        ({"rxqs": 0}, "rxqs"),
        ({"ports": "vhost"}, "ports"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        OvsDpdkSpec.model_validate({"kind": "ovs-dpdk", **wrong})


def test_an_install_that_is_not_there_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="ovs-vswitchd") as caught:
        find_programs(str(tmp_path / "ovs"))
    problem = caught.value.problems[0]
    assert str(tmp_path / "ovs") in (problem.why or "")
    assert f"{tmp_path}/ovs/sbin/ovs-vswitchd is not there" in problem.what, "not a distribution's"
    assert "prefix" in (problem.fix or "")


def test_a_user_who_is_not_root_is_told_so(tmp_path: Path) -> None:
    case = ovs_case()
    assert isinstance(case.vswitch, OvsDpdkSpec)
    with pytest.raises(NotReadyError, match="needs root"):
        check(DpdkDesign(case, case.vswitch, PLACEMENT), place(tmp_path), user=1000)


def test_a_socket_path_that_the_kernel_does_not_take_is_refused_before_anything_starts() -> None:
    case = ovs_case()
    assert isinstance(case.vswitch, OvsDpdkSpec)
    with pytest.raises(NotReadyError, match="too long") as caught:
        check(DpdkDesign(case, case.vswitch, PLACEMENT), place(Path("/" + "x" * 100)), user=0)
    assert "107" in (caught.value.problems[0].why or "")
    check(DpdkDesign(case, case.vswitch, PLACEMENT), place(Path("/run/vsperf/x")), user=0)


def test_a_bridge_that_learns_floods_its_links_only() -> None:
    assert not any("goes to all ports" in step.action for step in steps())
    last = steps(switch={"flows": "learn"})[-1]
    assert last.argv is not None
    assert last.argv[-4] == "mod-port"
    assert last.argv[-2:] == ("vsperf-br", "no-forward")


# The plan of an OVS without DPDK: taps that it holds, devices of the kernel, and who forwards.

CABLES = {
    "phy0": {"switch": "eth0", "generator": "net_af_packet0,iface=eth1"},
    "phy1": {"switch": "eth2", "generator": "net_af_packet1,iface=eth3"},
}
KERNEL_WITH_TAPS = {"datapath": "kernel", "ports": "tap"}
BY_XDP = {name: {**ends, "switch": f"afxdp:{ends['switch']}"} for name, ends in CABLES.items()}


def planned(placement: Placement = PLACEMENT, **case: Any) -> SwitchPlan:
    return Ovs().plan(plain_case(**case), placement)


def lines(word: str, **case: Any) -> list[str]:
    return [line for step in planned(**case).steps if word in step.action for line in step.lines]


def start(**case: Any) -> tuple[str, ...]:
    (argv,) = (step.argv for step in planned(**case).steps if "start the switch" in step.action)
    return argv or ()


def test_links_are_taps_that_are_there_before_the_switch_and_that_it_holds() -> None:
    actions = [step.action for step in planned().steps]
    assert actions[:3] == [
        "make the tap TAP-0-0, silent and up",
        "make the tap TAP-0-1, silent and up",
        "make a database of its own",
    ]
    assert lines("ports") == [
        "bridge vsperf-br datapath_type=netdev fail_mode=secure",
        "port 1 TAP-0-0 type=tap",
        "port 2 TAP-0-1 type=tap",
    ]


def test_the_generator_sends_on_the_taps_by_the_kernels_queues_which_count_what_they_drop() -> None:
    found = [(one.link, one.kind, shown(one.address)) for one in planned().endpoints]
    assert found == [
        ("phy0", "vdev", "net_af_packet0,iface=TAP-0-0,qdisc_bypass=0,framecnt=2048"),
        ("phy1", "vdev", "net_af_packet1,iface=TAP-0-1,qdisc_bypass=0,framecnt=2048"),
    ]


def test_devices_of_the_testbed_are_taken_as_they_are() -> None:
    assert lines("ports", links=CABLES)[1:] == [
        "port 1 eth0 type=system",
        "port 2 eth2 type=system",
    ]
    assert lines("ports", links=BY_XDP)[1:] == ["port 1 eth0 type=afxdp", "port 2 eth2 type=afxdp"]
    addresses = [one.address for one in planned(links=CABLES).endpoints]
    assert addresses == ["net_af_packet0,iface=eth1", "net_af_packet1,iface=eth3"]
    assert not any("make the tap" in step.action for step in planned(links=CABLES).steps)


@pytest.mark.parametrize("device", ["0000:03:00.0", "net_af_packet0,iface=eth0", "a" * 16, "a b"])
def test_what_is_no_device_of_the_kernel_is_refused(device: str) -> None:
    links = {"phy0": {"switch": device, "generator": "net_af_packet0,iface=eth1"}}
    with pytest.raises(UsageError, match="OVS without DPDK cannot take"):
        planned(links=links)


def test_cards_of_vnfs_are_taps_that_the_switch_opens_as_devices() -> None:
    case: dict[str, Any] = {"topology": {"name": "pvp", "paths": PVP}, "vnf": qemu_spec()}
    assert lines("ports", **case)[3:] == [
        "port 3 TAP-1-0 type=system",
        "port 4 TAP-1-1 type=system",
    ]
    wires = planned(**case).wires
    assert [(wire.kind, shown(wire.address)) for wire in wires] == [
        ("tap", "TAP-1-0"),
        ("tap", "TAP-1-1"),
    ]


def test_the_daemon_forwards_on_one_cpu_with_all_that_belongs_to_it() -> None:
    assert start()[:3] == ("taskset", "--cpu-list", "1")
    (need,) = Ovs().needs(plain_case()).cpus
    assert (need.role, need.count, need.busy) == ("pmd", 1, True)
    (pinned,) = Ovs().needs(plain_case({"cpus": "3"})).cpus
    assert pinned.pinned == (3,)
    assert Ovs().needs(plain_case()).hugepage_bytes == 0


def test_by_af_xdp_threads_poll_and_the_others_are_elsewhere() -> None:
    assert "pmd-cpu-mask=0x2" in lines("settings", links=BY_XDP)
    assert start(links=BY_XDP)[:3] == ("taskset", "--cpu-list", "0")
    roles = [need.role for need in Ovs().needs(plain_case(links=BY_XDP)).cpus]
    assert roles == ["pmd", "switch main"]
    assert not any("pmd-cpu-mask" in line for line in lines("settings"))


def test_a_cap_of_other_ports_bounds_nothing() -> None:
    assert not plain_case().capped


def test_nothing_is_said_to_dpdk() -> None:
    settings = lines("settings", switch={"flows": "l3"}, traffic={"flows": 500_000})
    assert not any("dpdk" in line for line in settings)
    assert "emc-insert-inv-prob=100" in settings
    assert any(line.startswith("flow-limit=") for line in settings)


def test_frames_that_the_generator_cannot_send_on_a_tap_are_refused() -> None:
    with pytest.raises(UsageError, match="do not pass the tap of link phy0"):
        planned(traffic={"frame_size": "9018B"})
    assert "mtu_request=9000" in lines("ports", traffic={"frame_size": "9018B"}, links=CABLES)[1]


def test_it_takes_a_daemon_that_needs_no_dpdk(tmp_path: Path) -> None:
    for name in ("lib/openvswitch-switch/ovs-vswitchd", "sbin/ovs-vswitchd"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = planned_programs(str(tmp_path), dpdk=False).daemon
    assert found == tmp_path / "lib/openvswitch-switch/ovs-vswitchd"
    assert planned_programs(str(tmp_path)).daemon == tmp_path / "sbin/ovs-vswitchd"


def test_what_a_packet_socket_had_no_room_for_was_lost_on_the_way_in() -> None:
    case = plain_case(links=CABLES)
    assert isinstance(case.vswitch, OvsSpec)
    ports = ports_of(case, case.vswitch)
    statistics = [
        PortStatistics(port.interface, "", {"packets": 100}, {"packets": 60}) for port in ports
    ]
    counters = switch_counters(ports, statistics, (), {}, unseen=Unseen(missed={"phy0": 30}))
    first, second = counters.ports
    assert (first.name, first.link) == ("phy0", "phy0")
    assert (first.received_frames, first.sent_frames) == (100, 60)
    assert first.drops == {"rx socket full": 30}
    assert counters.dropped_frames == 30
    assert second.drops == {}


def test_the_kernel_forwards_if_it_is_asked_to() -> None:
    kernel: dict[str, Any] = {"switch": {"datapath": "kernel"}}
    assert lines("ports", **kernel)[0].startswith("bridge vsperf-br datapath_type=system")
    assert any("has the kernel forward" in step.action for step in planned(**kernel).steps)
    assert not any("emc" in line for line in lines("settings", **kernel))
    roles = [need.role for need in Ovs().needs(plain_case({"datapath": "kernel"})).cpus]
    assert roles == ["switch main"]


@pytest.mark.parametrize("switch", [{"datapath": "kernel"}, {"ports": "packet"}])
def test_what_the_switch_opens_is_in_a_network_of_its_own(switch: dict[str, Any]) -> None:
    actions = [step.action for step in planned(switch=switch).steps]
    assert actions[:2] == [
        "make the network namespace NAME",
        "make the tap TAP-0-0 in it, silent and up",
    ]
    assert start(switch=switch)[:2] == ("nsenter", "--net=/run/netns/NAME")
    assert lines("ports", switch=switch)[1:] == [
        "port 1 TAP-0-0 type=system",
        "port 2 TAP-0-1 type=system",
    ]
    found = [(one.kind, shown(one.address)) for one in planned(switch=switch).endpoints]
    assert found == [("tap", "NAME/TAP-0-0"), ("tap", "NAME/TAP-0-1")]


@pytest.mark.parametrize("switch", [{"datapath": "kernel"}, {"ports": "packet"}])
def test_what_is_in_the_network_of_the_host_is_out_of_its_reach(switch: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="cannot reach phy0"):
        planned(switch=switch, links=CABLES)
    with pytest.raises(UsageError, match="cannot reach vm1_0"):
        planned(switch=switch, topology={"name": "pvp", "paths": PVP}, vnf=qemu_spec())


def test_a_kernel_without_the_datapath_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError, match="has no datapath of Open vSwitch") as caught:
        require_datapath(Roots(tmp_path))
    assert "vswitch.datapath=userspace" in (caught.value.problems[0].fix or "")
    modules = tmp_path / "lib" / "modules" / platform.release()
    modules.mkdir(parents=True)
    (modules / "modules.dep").write_text("kernel/net/openvswitch/openvswitch.ko.xz: x.ko\n")
    with pytest.raises(NotReadyError, match="not loaded") as caught:
        require_datapath(Roots(tmp_path))
    assert caught.value.problems[0].fix == "modprobe openvswitch"
    (tmp_path / "sys" / "module" / "openvswitch").mkdir(parents=True)
    require_datapath(Roots(tmp_path))


@pytest.mark.parametrize(
    "wrong", [{"datapath": "dpdk"}, {"pmds": 2}, {"hugepages": True}, KERNEL_WITH_TAPS]
)
def test_settings_that_cannot_be_meant_are_refused_of_kernel(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OvsSpec.model_validate({"kind": "ovs", **wrong})


# The plan of an OVS from a tree: each of its programs is run inside, and the plan shows how.

DAEMON = "usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"


def planned_of_root(root: Path, links: dict[str, Any] | None = None, **switch: Any) -> list[Step]:
    case = ovs_case({"root": str(root), "flows": "learn", **switch}, links=links)
    return [step for step in OvsDpdk().plan(case, PLACEMENT).steps if step.argv]


def inside(argv: tuple[str, ...] | None) -> tuple[list[str], list[str]]:
    """Return what stands before the program, and the program with its arguments."""
    words = list(argv or ())
    return words[: words.index("--")], words[words.index("--") + 1 :]


def test_every_program_is_run_in_the_tree_with_the_folder_of_the_deployment(tmp_path: Path) -> None:
    found = [inside(step.argv) for step in planned_of_root(tmp_path)]
    programs = [Path(program[0]).name for _, program in found]
    assert programs == ["ovsdb-tool", "ovsdb-server", "ovs-vswitchd-dpdk", "ovs-ofctl", "ovs-ofctl"]
    for before, _ in found:
        assert str(tmp_path) in before
        assert "--folder=RUN" in before


def test_the_network_is_its_own_before_the_tree_is_entered(tmp_path: Path) -> None:
    (start,) = (step for step in planned_of_root(tmp_path) if "start the switch" in step.action)
    assert start.argv is not None
    assert start.argv[:2] == ("unshare", "--net")


@pytest.mark.parametrize(
    ("switch", "links", "devices"),
    [
        ({}, {}, ["net/tun", "hugepages"]),
        ({"hugepages": False}, {}, ["net/tun"]),
        (
            {},
            {"phy0": {"switch": "0000:03:00.0", "generator": "0000:04:00.0"}},
            ["net/tun", "hugepages", "vfio", "infiniband"],
        ),
    ],
)
def test_the_daemon_gets_the_devices_that_it_needs_and_no_tool_any(
    switch: dict[str, Any], links: dict[str, Any], devices: list[str], tmp_path: Path
) -> None:
    for step in planned_of_root(tmp_path, links, **switch):
        before, (program, *_) = inside(step.argv)
        found = [w.removeprefix("--device=") for w in before if w.startswith("--device=")]
        assert found == (devices if "vswitchd" in program else [])


def test_programs_are_found_in_the_tree_and_not_on_the_machine(tmp_path: Path) -> None:
    (tmp_path / "usr" / "sbin").mkdir(parents=True)
    (tmp_path / "usr" / "sbin" / "ovs-vswitchd").symlink_to("/etc/alternatives/ovs-vswitchd")
    (tmp_path / "etc" / "alternatives").mkdir(parents=True)
    (tmp_path / "etc" / "alternatives" / "ovs-vswitchd").symlink_to(f"/{DAEMON}")
    found = planned_programs(None, Tree(tmp_path))
    assert found.daemon == Path("/", DAEMON), "nothing is there, so the first place is named"
    (tmp_path / DAEMON).parent.mkdir(parents=True)
    (tmp_path / DAEMON).touch()
    (tmp_path / "usr" / "local" / "sbin").mkdir(parents=True)
    (tmp_path / "usr" / "local" / "sbin" / "ovs-vswitchd").touch()
    assert planned_programs(None, Tree(tmp_path)).daemon == Path("/", DAEMON)
    other = planned_programs("/usr/local", Tree(tmp_path))
    assert other.daemon == Path("/usr/local/sbin/ovs-vswitchd")


def test_a_tree_without_ovs_is_refused_with_what_puts_it_there(
    tmp_path: Path, require: Any
) -> None:
    require("root")
    with pytest.raises(NotReadyError, match=f"of the tree {tmp_path} is not there") as caught:
        find_programs(None, Tree(tmp_path))
    assert f"chroot {tmp_path} apt-get install" in (caught.value.problems[0].fix or "")


def test_a_case_from_a_tree_is_another_case_and_without_one_the_same_as_ever() -> None:
    plain, rooted = ovs_case(), ovs_case({"root": "/srv/trixie"})
    assert "root" not in plain.measured()["vswitch"]
    assert plain.measured() != rooted.measured()
