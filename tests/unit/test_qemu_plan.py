"""VNFs of QEMU as they are planned: command lines, needs, and how long they are waited for."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ovs_cases import ovs_case
from pydantic import ValidationError
from qemu_cases import (
    ACCELERATED,
    EMULATED,
    IMAGE,
    PVP,
    PVVP,
    UNTRIED,
    V2V,
    placement_of,
    qemu_case,
    qemu_spec,
    vnfs,
)
from wires import wires_of

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import Nic
from vsperf.drivers.vnfs.qemu.driver import Qemu
from vsperf.drivers.vnfs.qemu.plan import (
    QemuVnf,
    needs_of,
    notes_of,
    start_message,
    steps_of,
    vnfs_of,
)
from vsperf.drivers.vnfs.qemu.spec import QemuSpec
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ovs.counters import Unseen, switch_counters
from vsperf.drivers.vswitches.ovs.diagnosis import port_problems
from vsperf.drivers.vswitches.ovs.dpdk.driver import OvsDpdk
from vsperf.drivers.vswitches.ovs.dpdk.ports import ports_of
from vsperf.drivers.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.parse import PortStatistics
from vsperf.drivers.vswitches.ports import tap_name
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed
from vsperf.host.files import Roots
from vsperf.host.tuntap import refused_frames
from vsperf.host.undo import UNDO, RemoveTap
from vsperf.qemu.command import FIRST_USER, command_line, image_format
from vsperf.qemu.emulator import require_within_reach
from vsperf.qemu.host import QemuHost, program_of
from vsperf.qemu.vm import OFF_S, RunningVm
from vsperf.records.run import Placement, shown
from vsperf.trust.programs import whole

# What VNFs of QEMU ask of the host, and what a plan says about them.

MEGABYTE = 1 << 20


def spec_of(case: CaseSpec) -> QemuSpec:
    assert isinstance(case.vnf, QemuSpec)
    return case.vnf


def messages(case: CaseSpec) -> list[dict[str, Any]]:
    return [start_message(vnf) for vnf in vnfs(case)]


def notes(case: CaseSpec, host: QemuHost) -> str:
    return "; ".join(notes_of(case, spec_of(case), host))


def test_each_vcpu_polls_and_the_rest_of_qemu_sleeps() -> None:
    case = qemu_case(PVVP, vcpus=2)
    assert needs_of(case, spec_of(case)).cpus == (
        CpuNeed("vm1", 2),
        CpuNeed("vm1 emulator", 1, busy=False),
        CpuNeed("vm2", 2),
        CpuNeed("vm2 emulator", 1, busy=False),
    )


def test_each_queue_has_a_vcpu_unless_the_user_says_otherwise() -> None:
    assert qemu_spec(queues=2).vcpu_count == 2
    assert qemu_spec(queues=2, vcpus=1).vcpu_count == 1


def test_cpus_of_the_user_are_dealt_out_vnf_by_vnf() -> None:
    case = qemu_case(PVVP, cpus="2-4", emulator_cpus="0", each={"vm2": {"vcpus": 2}})
    assert needs_of(case, spec_of(case)).cpus == (
        CpuNeed("vm1", 1, pinned=(2,)),
        CpuNeed("vm1 emulator", 1, busy=False, pinned=(0,)),
        CpuNeed("vm2", 2, pinned=(3, 4)),
        CpuNeed("vm2 emulator", 1, busy=False, pinned=(0,)),
    )


def test_too_few_cpus_for_the_vcpus_are_refused() -> None:
    case = qemu_case(PVVP, cpus="2")
    with pytest.raises(UsageError, match="names 1 CPUs, and 2 VNFs have 2 vCPUs"):
        needs_of(case, spec_of(case))


def test_guests_take_their_memory_from_hugepages_unless_told_otherwise() -> None:
    case = qemu_case(PVVP, memory=256, each={"vm2": {"memory": 128}})
    assert needs_of(case, spec_of(case)).hugepage_bytes == 384 * MEGABYTE
    without = qemu_case(PVVP, hugepages=False)
    assert needs_of(without, spec_of(without)).hugepage_bytes == 0


def test_a_guest_takes_no_more_than_half_a_gigabyte_by_itself() -> None:
    assert qemu_spec().memory <= 512


def test_all_vnfs_are_started_before_one_is_told_to_forward() -> None:
    case = qemu_case(PVVP)
    steps = steps_of(vnfs(case), EMULATED, "qemu")
    assert [step.action.split(",")[0] for step in steps] == [
        "start vm1",
        "start vm2",
        "tell vm1 to forward with testpmd",
        "tell vm2 to forward with testpmd",
    ]
    assert all(step.argv and step.argv[0] == "qemu" for step in steps[:2])
    assert json.loads(steps[2].lines[0])["verb"] == "start"


def test_a_plan_says_which_thread_runs_where() -> None:
    (first, _) = steps_of(vnfs(qemu_case()), EMULATED, "qemu")
    assert "vCPU 0 on CPU 0; its other threads on CPU 0" in first.action


def test_the_driver_plans_without_an_image_or_a_host_that_is_ready(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("VSPERF_GUEST", str(tmp_path / "nothing"))
    case = qemu_case()
    steps = Qemu().plan(case, wires_of(case), placement_of(case))
    assert f"{tmp_path}/nothing/vmlinuz" in (steps[0].argv or ())


def test_the_guest_is_told_its_cards_in_the_order_of_the_path() -> None:
    first, second = messages(qemu_case(PVVP, app="l2fwd"))
    assert first["nics"] == ["52:54:00:00:01:00", "52:54:00:00:01:01"]
    assert first["peers"][1] == second["nics"][0]
    assert second["peers"][0] == first["nics"][1]
    assert first["app"] == "l2fwd"


def test_the_guest_is_told_how_to_forward() -> None:
    (message,) = messages(
        qemu_case(
            frame_size="9018B",
            forward="macswap",
            queues=2,
            rx_descriptors=256,
            tx_descriptors=128,
            burst=64,
            testpmd_arguments=["--nb-cores=2"],
        )
    )
    assert message["forward"] == "macswap"
    assert (message["queues"], message["burst"], message["mtu"]) == (2, 64, 9000)
    assert (message["rx_descriptors"], message["tx_descriptors"]) == (256, 128)
    assert message["arguments"] == ["--nb-cores=2"]


def test_short_frames_leave_the_usual_mtu() -> None:
    assert messages(qemu_case(frame_size="64B"))[0]["mtu"] == 1500


def test_one_vnf_may_differ_and_names_may_be_filled_in() -> None:
    case = qemu_case(
        PVVP,
        append="ip=10.0.0.{{ vm.index }} host={{ vm.name }}",
        each={"vm2": {"forward": "mac", "queues": 2}},
    )
    first, second = vnfs(case)
    assert (first.spec.forward, second.spec.forward) == ("io", "mac")
    assert (first.spec.queues, second.spec.queues) == (1, 2)
    assert first.spec.append == "ip=10.0.0.1 host=vm1"
    assert second.spec.append == "ip=10.0.0.2 host=vm2"


def test_vnfs_without_a_switch_between_have_all_their_cards() -> None:
    first, second = vnfs(qemu_case(V2V))
    assert [shown(wire.address) for wire in first.nics] == ["RUN/vm1_0.sock", "RUN/vm1_1.sock"]
    assert len(second.nics) == 2


def test_devices_have_to_be_as_many_as_cards() -> None:
    with pytest.raises(UsageError, match="names 1 devices for vm1, which has 2"):
        vnfs(qemu_case(devices=["0000:03:00.1"]))


def test_a_reader_is_told_that_emulated_guests_give_no_numbers() -> None:
    case = qemu_case()
    assert notes(case, EMULATED) == "guests are emulated (TCG): the result is functional only"
    assert notes(case, ACCELERATED) == "guests run on KVM"
    assert "has not been tried" in notes(case, UNTRIED)


def test_what_the_user_chose_is_run_on_whatever_is_known() -> None:
    assert "emulated" in notes(qemu_case(accelerator="tcg"), ACCELERATED)
    assert notes(qemu_case(accelerator="kvm"), UNTRIED) == "guests run on KVM"


def test_what_is_not_known_yet_is_planned_as_emulation_and_says_so() -> None:
    (start, _) = steps_of(vnfs(qemu_case(), UNTRIED), UNTRIED, "qemu")
    assert "unless a guest boots on KVM, which has not been tried" in start.action


def test_each_vnf_may_run_on_something_else() -> None:
    case = qemu_case(PVVP, each={"vm2": {"accelerator": "tcg"}})
    kinds = [
        one.accelerator
        for one in vnfs_of(case, spec_of(case), wires_of(case), placement_of(case), ACCELERATED)
    ]
    assert kinds == ["kvm", "tcg"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": 255}, "no multiple of 2"),
        ({"rx_ring": 1000}, "no power of two"),
        ({"rx_ring": 2048}, "less than or equal to 1024"),
        ({"initrd": "x"}, "no kernel that would use it"),
        ({"cloud_init": "x"}, "no image that would read it"),
        ({"image": "x", "append": "quiet"}, "boots a kernel of its own"),
        ({"app": "l2fwd", "testpmd_arguments": ["-x"]}, "app is l2fwd"),
        ({"app": "linux_bridge", "forward": "mac", "burst": 64}, "nobody reads forward, burst"),
        ({"each": {"vm2": {"app": "none", "rx_descriptors": 64}}}, "nobody reads rx_descriptors"),
        ({"image": "x", "app": "l2fwd"}, "nobody reads app, since the guest has no agent"),
        ({"kernel": "x", "forward": "mac"}, "agent: true"),
        ({"devices": ["eth0"]}, "no PCI address"),
        ({"each": {"vm2": {"colour": "red"}}}, "vm2"),
        ({"each": {"vm2": {"emulator_cpus": "1"}}}, "emulator_cpus"),
        ({"append": "{{ vm.colour }}"}, "colour"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        qemu_spec(**settings)


def test_settings_that_somebody_reads_are_taken() -> None:
    assert qemu_spec(kernel="x", agent=True, forward="mac").forward == "mac"
    assert qemu_spec(image="x", queues=2, app="none").queues == 2
    spec = qemu_spec(forward="mac", each={"vm2": {"app": "linux_bridge"}})
    assert spec.forward == "mac"


@pytest.mark.parametrize("settings", [{"image": "x"}, {"app": "linux_bridge", "queues": 2}])
def test_settings_that_were_written_with_all_their_defaults_can_be_read_back(settings: Any) -> None:
    spec = qemu_spec(**settings)
    assert QemuSpec.model_validate(spec.model_dump(mode="json")) == spec


def one_card(dispatch: str = "mac", **settings: Any) -> CaseSpec:
    case = qemu_case(PVVP, **settings)
    topology = case.topology.model_copy(update={"nics": 1, "dispatch": dispatch})
    return case.model_copy(update={"topology": topology})


@pytest.mark.parametrize(
    "settings", [{"forward": "mac"}, {"forward": "csum"}, {"each": {"vm2": {"app": "l2fwd"}}}]
)
def test_a_single_card_needs_the_addresses_that_the_switch_looks_at(settings: Any) -> None:
    with pytest.raises(UsageError, match="one NIC for both directions") as refused:
        vnfs(one_card(**settings))
    assert "forward=io" in str(refused.value.problems[0].fix)
    with pytest.raises(UsageError):
        vnfs(one_card("udp", **settings))
    assert len(vnfs(one_card("ip", **settings))) == 2


@pytest.mark.parametrize("settings", [{}, {"app": "linux_bridge"}, {"app": "none"}])
def test_a_single_card_is_enough_where_addresses_stay(settings: Any) -> None:
    assert all(len(vnf.wires) == 1 for vnf in vnfs(one_card(**settings)))


def test_a_plan_says_that_devices_of_the_host_are_for_plans() -> None:
    assert "a run refuses them" in notes(qemu_case(devices=["03:00.1", "03:00.2"]), EMULATED)


# QEMU's command line: what each setting turns into, and what never changes.


def words(host: QemuHost = EMULATED, kind: str = "vhost-user-client", **settings: Any) -> list[str]:
    case = qemu_case(**settings)
    (vnf,) = vnfs(case, host, kind)
    return [shown(word) for word in command_line("qemu", vnf)]


def after(option: str, argv: list[str]) -> list[str]:
    return [argv[place + 1] for place, word in enumerate(argv) if word == option]


def nics(argv: list[str]) -> list[dict[str, str]]:
    found = [word for word in after("-device", argv) if word.startswith("virtio-net-pci,")]
    return [dict(part.split("=", 1) for part in word.split(",")[1:]) for word in found]


def test_a_vnf_has_nothing_that_was_not_asked_for() -> None:
    argv = words()
    assert {"-nodefaults", "-no-user-config", "-no-reboot"} <= set(argv)
    assert after("-display", argv) == ["none"]
    assert after("-monitor", argv) == ["none"]
    assert after("-sandbox", argv) == ["on,obsolete=deny,spawn=deny,elevateprivileges=deny"]
    assert not after("-drive", argv)


def test_everything_that_qemu_makes_lies_in_the_folder_of_the_deployment() -> None:
    paths = [
        part.removeprefix("path=")
        for word in after("-chardev", words())
        for part in word.split(",")
        if part.startswith("path=")
    ]
    assert len(paths) == 6
    assert all(path.startswith("RUN/vm1") for path in paths)


def test_memory_is_shared_present_and_without_a_name() -> None:
    argv = words(memory=128)
    (memory,) = after("-object", argv)
    assert memory == (
        "memory-backend-memfd,id=memory,size=128M,share=on,prealloc=on,hugetlb=on,hugetlbsize=2M"
    )
    assert after("-m", argv) == ["128M"]
    assert after("-machine", argv) == ["q35,memory-backend=memory"]


def test_memory_without_hugepages_is_as_well_shared() -> None:
    (memory,) = after("-object", words(hugepages=False))
    assert memory == "memory-backend-memfd,id=memory,size=256M,share=on,prealloc=on"


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


def test_a_vnf_calls_a_switch_that_listens_and_calls_again() -> None:
    chardevs = after("-chardev", words(kind="vhost-user"))
    assert "socket,id=wire1,path=RUN/vm1_1.sock,server=off,reconnect=1" in chardevs


def test_cards_have_the_addresses_of_their_wires_and_fixed_places() -> None:
    first, second = nics(words())
    assert (first["mac"], first["addr"]) == ("52:54:00:00:01:00", "0x10")
    assert (second["mac"], second["addr"]) == ("52:54:00:00:01:01", "0x11")
    assert first["romfile"] == ""


def test_a_card_has_its_queues_and_as_many_interrupts_as_they_need() -> None:
    one, four = nics(words(ACCELERATED))[0], nics(words(ACCELERATED, queues=4))[0]
    assert (one["mq"], one["vectors"]) == ("off", "4")
    assert (four["mq"], four["vectors"]) == ("on", "10")


def test_an_emulated_card_has_no_message_interrupts() -> None:
    assert nics(words(EMULATED, queues=4))[0]["vectors"] == "0"


def test_a_card_offers_nothing_that_joins_or_splits_frames() -> None:
    nic = nics(words())[0]
    assert {nic[name] for name in ("csum", "gso", "guest_tso4", "host_tso4", "mrg_rxbuf")} == {
        "off"
    }


def test_frames_span_buffers_only_if_they_are_long_or_the_user_says_so() -> None:
    assert nics(words(frame_size="1518B"))[0]["mrg_rxbuf"] == "off"
    assert nics(words(frame_size="1519B"))[0]["mrg_rxbuf"] == "on"
    assert nics(words(frame_size="9018B", mergeable=False))[0]["mrg_rxbuf"] == "off"
    assert nics(words(mergeable=True))[0]["mrg_rxbuf"] == "on"


def test_rings_are_as_large_as_was_asked_and_packed_on_wish() -> None:
    nic = nics(words(rx_ring=512, tx_ring=256, packed=True))[0]
    assert (nic["rx_queue_size"], nic["tx_queue_size"], nic["packed"]) == ("512", "256", "on")


@pytest.mark.parametrize(
    ("host", "accelerator", "model"),
    [(EMULATED, "tcg,thread=multi", "max"), (ACCELERATED, "kvm", "host")],
)
def test_the_cpu_fits_the_accelerator(host: QemuHost, accelerator: str, model: str) -> None:
    argv = words(host)
    assert (after("-accel", argv), after("-cpu", argv)) == ([accelerator], [model])


def test_the_user_chooses_machine_and_cpu() -> None:
    argv = words(machine="pc", cpu="Nehalem", vcpus=4)
    assert after("-machine", argv)[0].startswith("pc,")
    assert after("-cpu", argv) == ["Nehalem"]
    assert after("-smp", argv) == ["4,sockets=1,cores=4,threads=1"]


def test_our_own_guest_gets_the_words_that_it_wants_and_those_of_the_user() -> None:
    argv = words(append="loglevel=7")
    assert after("-kernel", argv) == [whole("guest/vmlinuz")]
    assert after("-initrd", argv) == [whole("guest/initrd")]
    assert after("-append", argv) == ["console=ttyS0 quiet loglevel=7"]


def test_a_kernel_of_the_users_own_gets_only_what_the_user_says() -> None:
    argv = words(kernel="bzImage", initrd="ram.gz", append="root=/dev/vda1", agent=True)
    assert (after("-kernel", argv), after("-initrd", argv)) == (
        [whole("bzImage")],
        [whole("ram.gz")],
    )
    assert after("-append", argv) == ["root=/dev/vda1"]
    assert any("name=vsperf.control" in word for word in after("-device", argv))


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


def test_devices_of_the_host_take_the_place_of_cards() -> None:
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


# How long guests are waited for when they are told to power off.


class Hung:
    """A QEMU whose guest does not power off, and that takes note of how it is asked to end."""

    def __init__(self) -> None:
        self.waited_s: list[float] = []
        self.asked: list[str] = []

    def await_end(self, patience_s: float) -> bool:
        self.waited_s.append(patience_s)
        return False

    def execute(self, command: str, timeout_s: float) -> None:
        self.asked.append(command)


def hung(told_s_ago: float) -> tuple[Hung, RunningVm]:
    (vnf,) = vnfs(qemu_case())
    qemu = Hung()
    parts: dict[str, Any] = {"program": qemu, "workspace": None, "monitor": qemu}
    told = time.monotonic() - told_s_ago
    return qemu, RunningVm(vnf, **parts, told_off_s=told)


def test_guests_that_hang_share_one_deadline() -> None:
    qemu, late = hung(told_s_ago=OFF_S)
    late.stop(1.5)
    assert (qemu.waited_s, qemu.asked) == ([0.0], ["quit"])


def test_a_guest_that_was_told_just_now_has_time_to_power_off() -> None:
    qemu, running = hung(told_s_ago=0.0)
    running.stop(1.5)
    (waited_s,) = qemu.waited_s
    assert 0 < waited_s <= OFF_S
    assert qemu.asked == ["quit"]


def test_nobody_is_asked_once_all_patience_is_spent() -> None:
    qemu, running = hung(told_s_ago=0.0)
    running.stop(0.0)
    assert (qemu.waited_s, qemu.asked) == ([0.0], [])


# VNFs on taps of the kernel: what switch and QEMU are told, and what becomes of counters.

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
