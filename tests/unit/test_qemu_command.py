"""QEMU's command line: what each setting turns into, and what never changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ovs_cases import ovs_case
from qemu_cases import (
    ACCELERATED,
    EMULATED,
    IMAGE,
    PVP,
    V2V,
    placement_of,
    qemu_case,
    qemu_spec,
    vnfs,
)

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import Nic
from vsperf.drivers.vnfs.qemu.plan import QemuSpec, QemuVnf, steps_of, vnfs_of
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk, OvsDpdkSpec, ports_of
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.parse import PortStatistics
from vsperf.drivers.vswitches.ovs.running import Unseen, port_problems, switch_counters
from vsperf.drivers.vswitches.ports import tap_name
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.files import Roots
from vsperf.host.tuntap import refused_frames
from vsperf.host.undo import UNDO, RemoveTap
from vsperf.qemu.command import FIRST_USER, command_line, image_format, require_within_reach
from vsperf.qemu.host import QemuHost, has_run_with, program_of
from vsperf.records.run import Placement, shown
from vsperf.trust.programs import whole


def words(host: QemuHost = EMULATED, kind: str = "vhost-user-client", **settings: Any) -> list[str]:
    case = qemu_case(**settings)
    (vnf,) = vnfs(case, host, kind)
    return [shown(word) for word in command_line("qemu", vnf)]


def after(option: str, argv: list[str]) -> list[str]:
    return [argv[place + 1] for place, word in enumerate(argv) if word == option]


def nics(argv: list[str]) -> list[dict[str, str]]:
    found = [word for word in after("-device", argv) if word.startswith("virtio-net-pci,")]
    return [dict(part.split("=", 1) for part in word.split(",")[1:]) for word in found]


SHARED = "memory-backend-memfd,id=memory,size={},share=on,prealloc=on"
OF_THEIRS: dict[str, Any] = {
    **{"kernel": "bzImage", "initrd": "ram.gz", "append": "root=/dev/vda1"},
    "agent": True,
}


@pytest.mark.parametrize(
    ("settings", "option", "told"),
    [
        # Nothing that was not asked for.
        ({}, "-display", ["none"]),
        ({}, "-monitor", ["none"]),
        ({}, "-sandbox", ["on,obsolete=deny,spawn=deny,elevateprivileges=deny"]),
        ({}, "-drive", []),
        # Memory is shared, present and without a name, from hugepages or not.
        ({"memory": 128}, "-object", [f"{SHARED.format('128M')},hugetlb=on,hugetlbsize=2M"]),
        ({"memory": 128}, "-m", ["128M"]),
        ({"memory": 128}, "-machine", ["q35,memory-backend=memory"]),
        ({"hugepages": False}, "-object", [SHARED.format("256M")]),
        # The CPU fits the accelerator, unless the user chooses another one.
        ({"host": EMULATED}, "-accel", ["tcg,thread=multi"]),
        ({"host": EMULATED}, "-cpu", ["max"]),
        ({"host": ACCELERATED}, "-accel", ["kvm"]),
        ({"host": ACCELERATED}, "-cpu", ["host"]),
        ({"cpu": "Nehalem"}, "-cpu", ["Nehalem"]),
        ({"machine": "pc"}, "-machine", ["pc,memory-backend=memory"]),
        ({"vcpus": 4}, "-smp", ["4,sockets=1,cores=4,threads=1"]),
        # Our own guest gets the words that it wants, and one of theirs only what the user says.
        ({}, "-kernel", [whole("guest/vmlinuz")]),
        ({}, "-initrd", [whole("guest/initrd")]),
        ({"append": "loglevel=7"}, "-append", ["console=ttyS0 quiet loglevel=7"]),
        (OF_THEIRS, "-kernel", [whole("bzImage")]),
        (OF_THEIRS, "-initrd", [whole("ram.gz")]),
        (OF_THEIRS, "-append", ["root=/dev/vda1"]),
    ],
)
def test_qemu_is_told_what_was_asked_for(
    settings: dict[str, Any], option: str, told: list[str]
) -> None:
    argv = words(**settings)
    assert {"-nodefaults", "-no-user-config", "-no-reboot"} <= set(argv)
    assert after(option, argv) == told


def test_a_vnf_calls_a_switch_that_listens_and_calls_again() -> None:
    chardevs = after("-chardev", words(kind="vhost-user"))
    assert "socket,id=wire1,path=RUN/vm1_1.sock,server=off,reconnect=1" in chardevs


def test_everything_that_qemu_makes_lies_in_the_folder_of_the_deployment() -> None:
    paths = [
        part.removeprefix("path=")
        for word in after("-chardev", words())
        for part in word.split(",")
        if part.startswith("path=")
    ]
    assert len(paths) == 6
    assert all(path.startswith("RUN/vm1") for path in paths)


def test_memory_is_bound_to_the_node_of_the_cpus_where_there_are_several() -> None:
    case = qemu_case()
    assert isinstance(case.vnf, QemuSpec)
    placement = Placement(cpus={"vm1": (9,)}, nodes={"vm1": (1,)})
    (far,) = vnfs_of(case, case.vnf, (), placement, QemuHost(IMAGE, "kvm", nodes=2))
    assert after("-object", list(command_line("qemu", far)))[0].endswith("host-nodes=1,policy=bind")
    (only,) = vnfs_of(case, case.vnf, (), placement, QemuHost(IMAGE, "kvm", nodes=1))
    assert "host-nodes" not in after("-object", list(command_line("qemu", only)))[0]


def test_the_switch_calls_a_vnf_that_listens() -> None:
    argv = words()
    assert "socket,id=wire0,path=RUN/vm1_0.sock,server=on,wait=off" in after("-chardev", argv)
    assert after("-netdev", argv) == [
        "vhost-user,id=net0,chardev=wire0,queues=1",
        "vhost-user,id=net1,chardev=wire1,queues=1",
    ]


def test_cards_have_the_addresses_of_their_wires_and_fixed_places() -> None:
    first, second = nics(words())
    assert (first["mac"], first["addr"]) == ("52:54:00:00:01:00", "0x10")
    assert (second["mac"], second["addr"]) == ("52:54:00:00:01:01", "0x11")
    assert first["romfile"] == ""


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        # As many interrupts as queues need, and emulated none.
        ({"host": ACCELERATED}, {"mq": "off", "vectors": "4"}),
        ({"host": ACCELERATED, "queues": 4}, {"mq": "on", "vectors": "10"}),
        ({"host": EMULATED, "queues": 4}, {"vectors": "0"}),
        # Nothing joins or splits frames, which span buffers if they are long or the user says so.
        ({}, dict.fromkeys(("csum", "gso", "guest_tso4", "host_tso4", "mrg_rxbuf"), "off")),
        ({"frame_size": "1518B"}, {"mrg_rxbuf": "off"}),
        ({"frame_size": "1519B"}, {"mrg_rxbuf": "on"}),
        ({"frame_size": "9018B", "mergeable": False}, {"mrg_rxbuf": "off"}),
        ({"mergeable": True}, {"mrg_rxbuf": "on"}),
        # Rings are as large as was asked, and packed on wish.
        ({"rx_ring": 512, "tx_ring": 256}, {"rx_queue_size": "512", "tx_queue_size": "256"}),
        ({"packed": True}, {"packed": "on"}),
    ],
)
def test_a_card_is_what_was_asked_for(settings: dict[str, Any], told: dict[str, str]) -> None:
    assert told.items() <= nics(words(**settings))[0].items()


def test_a_kernel_of_the_users_own_may_have_the_agent() -> None:
    found = after("-device", words(**OF_THEIRS))
    assert any("name=vsperf.control" in word for word in found)


def test_an_image_is_never_written_to_and_has_no_agent(tmp_path: Path) -> None:
    path = tmp_path / "a,b.img"
    path.write_bytes(b"QFI\xfb" + bytes(600))
    argv = words(image=str(path), cloud_init="user-data")
    disk, seed = after("-drive", argv)
    assert disk == f"if=virtio,format=qcow2,snapshot=on,file={tmp_path}/a,,b.img"
    assert "file.driver=vvfat,file.label=cidata,file.dir=RUN/vm1.cidata" in seed
    assert "readonly=on" in seed
    assert not after("-kernel", argv)
    assert not any("vsperf.control" in word for word in argv)


def test_the_format_of_an_image_is_what_is_in_it_and_not_its_name(tmp_path: Path) -> None:
    raw = tmp_path / "disk.qcow2"
    raw.write_bytes(bytes(1024))
    assert image_format(raw) == "raw"
    assert image_format(tmp_path / "not there.qcow2") == "qcow2"


def test_devices_of_the_host_take_the_place_of_nics() -> None:
    argv = words(devices=["0000:03:00.1", "03:00.2"])
    assert [word for word in after("-device", argv) if word.startswith("vfio-pci")] == [
        "vfio-pci,host=0000:03:00.1,addr=0x10,romfile=",
        "vfio-pci,host=0000:03:00.2,addr=0x11,romfile=",
    ]
    assert not after("-netdev", argv)
    assert not nics(argv)


def test_more_words_of_the_user_come_last() -> None:
    assert words(arguments=["-device", "virtio-rng-pci"])[-2:] == ["-device", "virtio-rng-pci"]


def test_a_qemu_of_a_tree_is_run_in_it_and_finds_what_it_boots(tmp_path: Path) -> None:
    """The folders stay where they are, and /dev has what QEMU opens."""
    kernel = tmp_path / "vmlinuz"
    argv = words(root="/srv/trees/next", kernel=str(kernel))
    before, program = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    assert "/srv/trees/next" in before
    assert [word for word in before if word.startswith("--folder=")] == [
        "--folder=RUN", f"--folder={tmp_path.resolve()}",
    ]  # fmt: skip
    assert "--device=kvm" in before
    assert after("-kernel", program) == [str(kernel.resolve())]
    tree = qemu_spec(root="/srv/trees/next").tree
    assert program_of(tree) == "/usr/bin/qemu-system-x86_64"


def test_the_tree_is_that_of_all_vnfs() -> None:
    with pytest.raises(ValueError, match="cannot set root"):
        qemu_spec(each={"vm1": {"root": "/srv/trees/next"}})


def test_what_lies_where_a_tree_has_its_programs_cannot_be_shown_to_it() -> None:
    spec = qemu_spec(root="/srv/trees/next")
    with pytest.raises(NotReadyError, match="cannot be shown the folder /usr/share") as caught:
        require_within_reach(spec, ["/usr/share/vmlinuz"])
    assert caught.value.problems[0].fix
    require_within_reach(spec, ["/srv/guests/vmlinuz", "/var/lib/guests/initrd"])
    require_within_reach(qemu_spec(), ["/usr/share/vmlinuz"])


def test_qemu_lets_go_of_the_rights_of_root_where_it_opens_nothing_later() -> None:
    assert after("-runas", words(QemuHost(IMAGE, "tcg", root=True))) == [
        f"{FIRST_USER + 1}:{FIRST_USER + 1}"
    ]
    newer = words(QemuHost(IMAGE, "tcg", root=True, run_with=True))
    assert after("-run-with", newer) == [f"user={FIRST_USER + 1}:{FIRST_USER + 1}"]
    assert not after("-runas", newer), "newer versions do not know it"
    assert not after("-runas", words(EMULATED)), "who is not root has no rights to let go of"
    assert not after("-runas", words(QemuHost(IMAGE, "tcg", root=True), "vhost-user"))


def test_a_qemu_that_was_killed_when_it_was_asked_has_not_said_no() -> None:
    assert not has_run_with(("no-such-qemu", "-help"))
    assert has_run_with(("echo", "-run-with user=name"))
    with pytest.raises(NotReadyError, match="does not tell how it gives up root's rights"):
        has_run_with(("sh", "-c", "kill -KILL $$"))


# VNFs on taps of the kernel: what switch and QEMU are told, and what counters become.

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
