"""VNFs on taps of the kernel: what switch and QEMU are told, and what counters become."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ovs_cases import ovs_case
from qemu_cases import (
    EMULATED,
    IMAGE,
    PVP,
    V2V,
    placement_of,
    qemu_spec,
)

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import Nic
from vsperf.drivers.vnfs.qemu.plan import (
    QemuSpec,
    QemuVnf,
    steps_of,
    vnfs_of,
)
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk, OvsDpdkSpec, ports_of
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.parse import PortStatistics
from vsperf.drivers.vswitches.ovs.running import Unseen, port_problems, switch_counters
from vsperf.drivers.vswitches.ports import tap_name
from vsperf.errors import UsageError
from vsperf.host.files import Roots
from vsperf.host.tuntap import refused_frames
from vsperf.host.undo import UNDO, RemoveTap
from vsperf.qemu.command import command_line
from vsperf.qemu.host import QemuHost
from vsperf.records.run import shown

VHOST_NET = QemuHost(IMAGE, "kvm", vhost=True)


def tapped(
    paths: Sequence[Sequence[str]] = PVP,
    frame_size: str = "64B",
    switch: dict[str, Any] | None = None,
    **vnf: Any,
) -> CaseSpec:
    """Return a case whose VNFs are plugged into taps."""
    return ovs_case(
        {"vnf_ports": "tap", **(switch or {})},
        topology={"name": "vnfs", "paths": paths},
        traffic={"frame_size": frame_size},
        vnf=qemu_spec(**vnf),
    )


def planned(case: CaseSpec) -> SwitchPlan:
    return OvsDpdk().plan(case, placement_of(case))


def ports(case: CaseSpec) -> tuple[SwitchPort, ...]:
    assert isinstance(case.vswitch, OvsDpdkSpec)
    return tuple(port for port in ports_of(case, case.vswitch) if port.vnf is not None)


def vnfs_on_taps(case: CaseSpec, host: QemuHost = EMULATED) -> tuple[QemuVnf, ...]:
    assert isinstance(case.vnf, QemuSpec)
    wires = planned(case).wires
    return vnfs_of(case, case.vnf, wires, placement_of(case), host)


def plugs(case: CaseSpec, host: QemuHost = EMULATED) -> list[str]:
    (vnf,) = vnfs_on_taps(case, host)
    argv = command_line("qemu", vnf)
    return [shown(argv[place + 1]) for place, word in enumerate(argv) if word == "-netdev"]


def test_the_switch_opens_the_tap_of_each_card_as_a_packet_socket() -> None:
    assert [shown(port.options["dpdk-devargs"]) for port in ports(tapped())] == [
        "net_af_packet_vm1_0,iface=TAP-1-0,qdisc_bypass=0,framecnt=2048",
        "net_af_packet_vm1_1,iface=TAP-1-1,qdisc_bypass=0,framecnt=2048",
    ]
    wires = planned(tapped()).wires
    assert [(wire.kind, shown(wire.address)) for wire in wires] == [
        ("tap", "TAP-1-0"),
        ("tap", "TAP-1-1"),
    ]


def test_links_stay_what_they_are() -> None:
    assert {endpoint.kind for endpoint in planned(tapped()).endpoints} == {"vhost-user-client"}


def test_the_switch_finds_taps_in_the_network_of_the_host() -> None:
    argv = [step.argv for step in planned(tapped()).steps if "start the switch" in step.action]
    assert argv[0] is not None and argv[0][0] != "unshare"


def test_rings_and_queues_of_the_switch_are_those_of_its_settings() -> None:
    port, _ = ports(tapped(switch={"rxqs": 2, "rx_ring": 4096}))
    assert port.options["dpdk-devargs"].endswith("framecnt=4096,qpairs=2")
    assert port.options["n_rxq"] == "2"


def test_packets_that_are_too_long_for_the_switch_on_a_tap_are_refused() -> None:
    planned(tapped(frame_size="1518B"))
    with pytest.raises(UsageError, match="9000 bytes"):
        planned(tapped(frame_size="9018B"))


def test_a_device_whose_name_the_kernel_would_not_take_is_refused() -> None:
    assert shown(tap_name(Nic("vm999", 1, "phy1", "02:01:00:00:00:01"))) == "TAP-999-1"
    with pytest.raises(UsageError, match="vm1000"):
        tap_name(Nic("vm1000", 1, "phy1", "02:01:00:00:00:01"))


def test_qemu_takes_a_tap_that_is_there_and_runs_no_script() -> None:
    assert plugs(tapped()) == [
        f"tap,id=net{number},ifname=TAP-1-{number},script=no,downscript=no,vhost=off,queues=1"
        for number in range(2)
    ]


def test_the_kernel_copies_the_frames_where_it_can() -> None:
    assert all("vhost=on" in plug for plug in plugs(tapped(), VHOST_NET))


def test_a_card_on_a_tap_offloads_nothing_and_has_the_ring_that_qemu_allows() -> None:
    (vnf,) = vnfs_on_taps(tapped(rx_ring=1024, tx_ring=1024))
    argv = command_line("qemu", vnf)
    nic = next(word for word in argv if word.startswith("virtio-net-pci"))
    words = dict(part.split("=", 1) for part in nic.split(",")[1:])
    assert (words["rx_queue_size"], words["tx_queue_size"]) == ("1024", "256")
    assert {words[name] for name in ("csum", "gso", "guest_tso4", "host_tso4")} == {"off"}


def test_the_plan_says_which_taps_are_made_and_who_copies_the_frames() -> None:
    case = tapped(queues=2)
    first = steps_of(vnfs_on_taps(case), EMULATED, "qemu")[0]
    assert "no vhost-net" in first.action
    assert first.lines[0] == "tap TAP-1-0 up, mtu 1500, without IPv6 and ARP, for several queues"
    assert (
        "vhost-net copies" in steps_of(vnfs_on_taps(case, VHOST_NET), VHOST_NET, "qemu")[0].action
    )


def test_outer_cards_are_plugged_into_the_generator_and_not_into_taps() -> None:
    inner = [[shown(wire.address) for wire in vnf.taps] for vnf in vnfs_on_taps(tapped(V2V))]
    assert inner == [["TAP-1-1"], ["TAP-2-0"]]


def test_frames_that_a_full_tap_refused_have_not_left_the_switch() -> None:
    first, second = ports(tapped())
    statistics = [
        PortStatistics(port.name, "", {"packets": 5}, {"packets": 100}) for port in (first, second)
    ]
    found = switch_counters((first, second), statistics, (), {}, unseen=Unseen({"vm1_0": 30}))
    assert [port.sent_frames for port in found.ports] == [70, 100]
    assert found.ports[0].drops == {"tx tap full": 30}
    assert found.ports[1].drops == {}
    assert found.refused_by_vnfs == 30


def test_the_kernel_is_asked_what_a_tap_refused_and_a_tap_that_is_gone_has_no_number(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "sys/class/net/vspa0b1c2-1-0/statistics"
    folder.mkdir(parents=True)
    (folder / "tx_dropped").write_text("17\n")
    assert refused_frames("vspa0b1c2-1-0", Roots(tmp_path)) == 17
    assert refused_frames("vspa0b1c2-1-1", Roots(tmp_path)) is None


def test_a_tap_that_the_switch_cannot_open_is_not_the_testbeds_fault() -> None:
    problem = port_problems(ports(tapped()), (), "")
    assert problem is not None and "vm1_0" in str(problem)
    assert "testbed" not in str(problem.problems[0].fix)


def test_the_promise_to_remove_a_tap_can_be_read_back() -> None:
    promise = RemoveTap(name="vspa0b1c2-1-0")
    assert UNDO.validate_python(promise.model_dump(mode="json")) == promise
    assert promise.text == "remove the tap vspa0b1c2-1-0"
    promise.carry_out()
