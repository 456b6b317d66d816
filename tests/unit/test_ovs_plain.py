"""The plan of an OVS without DPDK: taps that it holds, devices of the kernel, and who forwards."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import pytest
from ovs_cases import plain_case
from places import PLACEMENT
from pydantic import ValidationError
from qemu_cases import PVP, qemu_spec

from vsperf.errors import NotReadyError, UsageError
from vsperf.host.files import Roots
from vsperf.record.placeholder import shown
from vsperf.record.plan import Placement
from vsperf.vswitches.base import SwitchPlan
from vsperf.vswitches.ovs.counters import Unseen, switch_counters
from vsperf.vswitches.ovs.parse import PortStatistics
from vsperf.vswitches.ovs.plain.driver import Ovs
from vsperf.vswitches.ovs.plain.kernel import require_datapath
from vsperf.vswitches.ovs.plain.ports import ports_of
from vsperf.vswitches.ovs.plain.spec import OvsSpec
from vsperf.vswitches.ovs.programs import planned_programs

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


def test_cards_of_machines_are_taps_that_the_switch_opens_as_devices() -> None:
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
def test_settings_that_cannot_be_meant_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OvsSpec.model_validate({"kind": "ovs", **wrong})
