"""VNFs of QEMU as they are planned: needs, steps, and how long they are waited for."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from config_world import see_refused
from pydantic import ValidationError
from qemu_cases import (
    ACCELERATED,
    EMULATED,
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
from vsperf.drivers.vnfs.qemu.driver import Qemu
from vsperf.drivers.vnfs.qemu.plan import (
    QemuSpec,
    needs_of,
    notes_of,
    start_message,
    steps_of,
    vnfs_of,
)
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed
from vsperf.qemu.host import QemuHost
from vsperf.qemu.vm import OFF_S, RunningVm
from vsperf.records.run import shown

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
    with pytest.raises(UsageError, match="names 1 CPU, and 2 VNFs have 2 vCPUs"):
        needs_of(case, spec_of(case))


def test_too_few_cpus_are_told_with_their_place(capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--set", "vnf.vcpus=2", "--set", "vnf.cpus=1")
    told = ("`vnf.cpus` names 1 CPU, and 1 VNF has 2 vCPUs", "--set vnf.cpus=1:10", "name 2 CPUs")
    see_refused(capfd, "pvp_tput", words, told)


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


def test_vnfs_without_a_switch_between_have_all_their_nics() -> None:
    first, second = vnfs(qemu_case(V2V))
    assert [shown(wire.address) for wire in first.nics] == ["RUN/vm1_0.sock", "RUN/vm1_1.sock"]
    assert len(second.nics) == 2


def test_devices_have_to_be_as_many_as_nics() -> None:
    with pytest.raises(UsageError, match="names 1 device for vm1, which has 2 NICs"):
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


def one_nic(dispatch: str = "mac", **settings: Any) -> CaseSpec:
    case = qemu_case(PVVP, **settings)
    topology = case.topology.model_copy(update={"nics": 1, "dispatch": dispatch})
    return case.model_copy(update={"topology": topology})


@pytest.mark.parametrize(
    "settings", [{"forward": "mac"}, {"forward": "csum"}, {"each": {"vm2": {"app": "l2fwd"}}}]
)
def test_a_single_nic_needs_the_addresses_that_the_switch_looks_at(settings: Any) -> None:
    with pytest.raises(UsageError, match="one NIC for both directions") as refused:
        vnfs(one_nic(**settings))
    assert "forward=io" in str(refused.value.problems[0].fix)
    with pytest.raises(UsageError):
        vnfs(one_nic("udp", **settings))
    assert len(vnfs(one_nic("ip", **settings))) == 2


@pytest.mark.parametrize("settings", [{}, {"app": "linux_bridge"}, {"app": "none"}])
def test_a_single_nic_is_enough_where_addresses_stay(settings: Any) -> None:
    assert all(len(vnf.wires) == 1 for vnf in vnfs(one_nic(**settings)))


def test_a_plan_says_that_devices_of_the_host_are_for_plans() -> None:
    assert "a run refuses them" in notes(qemu_case(devices=["03:00.1", "03:00.2"]), EMULATED)


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
