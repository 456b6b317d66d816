"""Each check on machines made of files: what it sees, and what it advises."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from doctor_machine import Machine, fixture_machine
from machine_tree import SERVER_FLAGS, write

from vsperf.drivers.vswitches.ovs.plain.driver import Ovs
from vsperf.host.activity import Activity, Process, competitors, stolen_ppm
from vsperf.host.doctor.devices import ask_kvm
from vsperf.host.doctor.examine import examine
from vsperf.host.doctor.finding import Status
from vsperf.host.doctor.programs import program_check
from vsperf.host.resctrl import MOUNT, REMOUNT

__all__ = ["fixture_machine"]


def test_root_with_all_rights_is_well(machine: Machine) -> None:
    assert machine.answer("privileges").status is Status.OK


def test_a_user_is_told_to_use_sudo(machine: Machine) -> None:
    machine.user(1000, "0")
    found = machine.answer("privileges")
    assert found.status is Status.FAILURE
    assert "user 1000" in found.evidence
    assert "sudo" in (found.fix or "")


@pytest.mark.parametrize(
    ("bit", "name", "status"), [(12, "NET_ADMIN", Status.FAILURE), (23, "SYS_NICE", Status.WARNING)]
)
def test_root_in_a_container_is_told_which_right_it_lacks(
    machine: Machine, bit: int, name: str, status: Status
) -> None:
    machine.user(0, f"{(1 << 41) - 1 & ~(1 << bit):016x}")
    found = machine.answer("privileges")
    assert found.status is status
    assert found.fix == f"in a container: --cap-add={name}"


@pytest.mark.parametrize(
    ("limit", "rights", "status"),
    [
        ("8388608", "0", Status.WARNING),
        ("unlimited", "0", Status.OK),
        ("8388608", "4000", Status.OK),
    ],
)
def test_locked_memory_is_judged_with_the_right_that_lifts_it(
    machine: Machine, limit: str, rights: str, status: Status
) -> None:
    machine.user(0, rights)
    machine.proc("self/limits", f"Max locked memory         {limit}   {limit}   bytes\n")
    assert machine.answer("locked memory").status is status


@pytest.mark.parametrize(
    ("limit", "status"),
    [
        ("64", Status.FAILURE),
        ("255", Status.FAILURE),
        ("1024", Status.OK),
        ("unlimited", Status.OK),
    ],
)
def test_too_few_open_files_are_known_before_anything_starts(
    machine: Machine, limit: str, status: Status
) -> None:
    machine.proc("self/limits", f"Max open files            {limit}   {limit}   files\n")
    found = machine.answer("open files")
    assert found.status is status
    assert f"{limit}" in found.evidence
    assert (found.fix is not None) is (status is Status.FAILURE)


def test_free_hugepages_are_counted_per_node_and_size(machine: Machine) -> None:
    machine.hugepages(0, 2048, 1024, 1000)
    machine.hugepages(0, 1048576, 0, 0)
    machine.hugepages(1, 1048576, 2, 1)
    found = machine.answer("hugepages")
    assert found.status is Status.OK
    assert found.evidence == (
        "node 0: 1000 of 1024 pages of 2 MB free; node 1: 1 of 2 pages of 1 GB free"
    )


def test_hugepages_that_a_run_can_reserve_are_well(machine: Machine) -> None:
    machine.hugepages(0, 2048, 0, 0)
    machine.memory(8192)
    found = machine.answer("hugepages")
    assert found.status is Status.OK
    assert "8 GB more could be reserved on node 0" in found.evidence


def test_too_little_memory_for_hugepages_is_a_failure_with_numbers(machine: Machine) -> None:
    machine.hugepages(0, 2048, 10, 10)
    machine.memory(512)
    found = machine.answer("hugepages")
    assert found.status is Status.FAILURE
    assert "512 MB" in found.evidence


def test_hugepages_behind_an_unknown_amount_of_memory_cannot_be_told(machine: Machine) -> None:
    machine.hugepages(0, 2048, 0, 0)
    assert machine.answer("hugepages").status is Status.UNKNOWN


def test_a_kernel_without_hugepages_is_a_failure(machine: Machine) -> None:
    assert machine.answer("hugepages").status is Status.FAILURE


def test_a_mount_of_hugetlbfs_is_named_and_missing_only_to_guests(machine: Machine) -> None:
    machine.proc("mounts", "none / ext4 rw 0 0\n")
    assert machine.answer("hugetlbfs").status is Status.ABSENT
    machine.proc("mounts", "none /mnt/huge hugetlbfs rw,pagesize=1024M 0 0\n")
    assert machine.answer("hugetlbfs").evidence == "/mnt/huge (rw,pagesize=1024M)"


def test_memory_that_wanders_between_nodes_is_a_warning(machine: Machine) -> None:
    for node in (0, 1):
        machine.sys(f"devices/system/node/node{node}/cpulist", f"{2 * node}-{2 * node + 1}\n")
        line = f"Node {node} MemTotal: {64 << 20} kB\n"
        machine.sys(f"devices/system/node/node{node}/meminfo", line)
    machine.proc("sys/kernel/numa_balancing", "0\n")
    found = machine.answer("memory nodes")
    assert found.status is Status.OK
    assert found.evidence == "node 0: CPUs 0-1, 64.0 GB; node 1: CPUs 2-3, 64.0 GB"
    machine.proc("sys/kernel/numa_balancing", "1\n")
    assert machine.answer("memory nodes").status is Status.WARNING


@pytest.mark.parametrize(
    ("text", "status"),
    [("[always] madvise never", Status.WARNING), ("always [madvise] never", Status.OK)],
)
def test_transparent_hugepages_everywhere_are_a_warning(
    machine: Machine, text: str, status: Status
) -> None:
    machine.sys("kernel/mm/transparent_hugepage/enabled", text)
    assert machine.answer("transparent hugepages").status is status


def test_a_cache_that_can_be_shared_out_is_told_with_its_ways(machine: Machine) -> None:
    found = machine.answer("cache partitions")
    assert (found.status, found.fix) == (Status.ABSENT, None)
    assert "no resctrl" in found.evidence
    machine.roots.resctrl.mkdir(parents=True)
    found = machine.answer("cache partitions")
    assert (found.status, found.fix) == (Status.ABSENT, MOUNT)
    for name, value in {"cbm_mask": "7ff", "min_cbm_bits": "1", "num_closids": "4"}.items():
        write(machine.roots.resctrl / "info" / "L3" / name, f"{value}\n")
    found = machine.answer("cache partitions")
    assert (found.status, found.evidence) == (
        Status.OK,
        "11 ways for up to 3 parts, and for all others",
    )
    (machine.roots.resctrl / "info" / "L3").rename(machine.roots.resctrl / "info" / "L3CODE")
    found = machine.answer("cache partitions")
    assert (found.status, found.fix) == (Status.ABSENT, REMOUNT)
    assert "cdp" in found.evidence


def test_a_bridge_of_ovs_wants_the_tap_device(machine: Machine) -> None:
    assert machine.answer("tap devices").status is Status.FAILURE
    write(machine.roots.dev / "net" / "tun", "")
    assert machine.answer("tap devices").status is Status.OK


def test_an_iommu_and_its_groups_are_counted(machine: Machine) -> None:
    assert machine.answer("iommu").status is Status.ABSENT
    machine.sys("class/iommu/dmar0/name", "dmar0")
    machine.device("0000:03:00.0", "i40e", group=3)
    assert machine.answer("iommu").evidence == "dmar0; 1 groups"


def test_a_module_that_is_there_and_not_loaded_gets_its_command(machine: Machine) -> None:
    assert machine.answer("vfio").fix == "use a kernel that has it"
    folder = machine.roots.root / "lib" / "modules" / os.uname().release
    write(folder / "modules.dep", "kernel/drivers/vfio/pci/vfio-pci.ko.xz: kernel/vfio.ko.xz\n")
    assert machine.answer("vfio").fix == "modprobe vfio-pci"
    machine.driver("vfio-pci")
    assert machine.answer("vfio").status is Status.OK


def test_nics_are_shown_with_what_speaks_against_each(machine: Machine) -> None:
    assert machine.answer("nics").status is Status.ABSENT
    machine.device("0000:03:00.0", "i40e", group=3)
    machine.device("0000:04:00.0", "i40e")
    found = machine.answer("nics")
    assert found.status is Status.OK
    assert "0000:03:00.0 [8086:1572] i40e, node 0: can be used" in found.evidence
    assert "0000:04:00.0 [8086:1572] i40e, node 0: not to be used, there is no IO" in found.evidence


def test_kvm_that_answers_no_question_is_not_well(machine: Machine) -> None:
    assert ask_kvm(machine.here).status is Status.ABSENT
    write(machine.roots.dev / "kvm", "no device")
    assert ask_kvm(machine.here).status is Status.WARNING


def test_programs_are_found_by_any_of_their_names(machine: Machine, tmp_path: Path) -> None:
    check = program_check("forwarder", "forwarding", names=("dpdk-testpmd", "testpmd"))
    (found,) = examine(machine.here, [check])
    assert (found.name, found.status) == ("forwarder", Status.ABSENT)
    write(tmp_path / "bin" / "testpmd", "#!/bin/sh\n").chmod(0o755)
    (found,) = examine(machine.here, [check])
    assert found.status is Status.OK
    assert found.evidence.startswith(str(tmp_path / "bin" / "testpmd"))


def test_a_slow_clock_source_is_a_warning(machine: Machine) -> None:
    folder = "devices/system/clocksource/clocksource0"
    machine.sys(f"{folder}/current_clocksource", "hpet\n")
    machine.sys(f"{folder}/available_clocksource", "tsc hpet acpi_pm\n")
    found = machine.answer("clock source")
    assert found.status is Status.WARNING
    assert (found.fix or "").startswith("echo tsc > ")
    machine.sys(f"{folder}/current_clocksource", "tsc\n")
    assert machine.answer("clock source").status is Status.OK


def test_a_cycle_counter_that_rests_with_its_cpu_is_a_warning(machine: Machine) -> None:
    assert machine.answer("cycle counter").status is Status.OK
    machine.cpus(4, "fpu tsc constant_tsc")
    found = machine.answer("cycle counter")
    assert found.status is Status.WARNING
    assert "nonstop_tsc" in found.evidence


def test_a_system_switch_is_named_and_left_alone(machine: Machine) -> None:
    assert machine.answer("system switch", Ovs.checks).evidence == "none runs"
    machine.proc("77/cmdline", "/usr/sbin/ovs-vswitchd\0unix:/run/openvswitch/db.sock\0")
    found = machine.answer("system switch", Ovs.checks)
    assert found.status is Status.OK
    assert "ovs-vswitchd (77)" in found.evidence


def test_programs_of_a_run_are_no_strangers(machine: Machine) -> None:
    machine.proc("77/cmdline", "/usr/sbin/ovs-vswitchd\0")
    machine.proc("77/environ", "PATH=/bin\0VSPERF_PROCESS=vsperf-1-a/ovs\0")
    assert machine.answer("system switch", Ovs.checks).evidence == "none runs"


def test_another_program_on_dpdk_is_a_warning_with_its_number(machine: Machine) -> None:
    machine.proc("88/cmdline", "/usr/bin/forwarder\0")
    machine.proc("88/maps", "7f00-7f01 r-xp 0 00:00 1 /usr/lib/librte_eal.so.23.0\n")
    machine.proc("89/cmdline", "/bin/cat\0")
    machine.proc("89/maps", "7f00-7f01 r-xp 0 00:00 1 /usr/lib/libc.so.6\n")
    found = machine.answer("polling programs")
    assert found.status is Status.WARNING
    assert found.evidence.startswith("forwarder (88): ")


@pytest.mark.parametrize(
    ("user", "hidden", "evidence"),
    [
        (1000, 1, "1 process shows its memory to root only"),
        (1000, 2, "2 processes show their memory to root only"),
        (0, 1, "1 process shows its memory to nobody, not even to root"),
    ],
)
def test_memory_that_is_not_shown_is_not_promised_to_root_who_saw_none(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, user: int, hidden: int, evidence: str
) -> None:
    for pid in range(88, 88 + hidden):
        machine.proc(f"{pid}/cmdline", "/usr/bin/secret\0")
    monkeypatch.setattr("vsperf.host.doctor.others._polls", lambda *_: None)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    found = machine.answer("polling programs")
    assert found.status is Status.UNKNOWN
    assert found.evidence.endswith(evidence)


def test_nothing_is_left_by_runs_that_were_killed_on_a_new_machine(machine: Machine) -> None:
    assert machine.answer("leftovers").status is Status.OK


def test_a_workspace_of_a_dead_owner_is_left_over(machine: Machine) -> None:
    folder = machine.roots.root / "run" / "vsperf" / "vsperf-99999999-a0b1c2"
    folder.mkdir(parents=True)
    found = machine.answer("leftovers")
    assert found.status is Status.WARNING
    assert (str(folder) in found.evidence, found.fix) == (True, "vsperf clean")


def activity(
    time_ns: int, stolen: int, ticks: int, idle: int = 100, processes: bool = True
) -> Activity:
    busy = {7: Process(7, 1, "stress", ticks), 8: Process(8, 99, "own child", ticks)}
    return Activity(time_ns, {0: (0, 0, 0, idle, 0, 0, 0, stolen, 5, 0)}, busy if processes else {})


def test_stolen_time_is_a_share_of_all_time_of_the_cpus() -> None:
    before, after = activity(0, 10, 0, 100), activity(10**9, 20, 0, 190)
    assert stolen_ppm(before, after, frozenset({0})) == 100_000
    assert stolen_ppm(before, after, frozenset({1})) is None


def test_a_kernel_that_does_not_count_stolen_time_gives_none() -> None:
    old = Activity(0, {0: (1, 2, 3, 4)}, {})
    assert stolen_ppm(old, old, frozenset({0})) is None


def test_competitors_are_other_processes_and_not_the_own_children() -> None:
    before, after = activity(0, 0, 10), activity(10**9, 0, 60)
    (found,) = competitors(before, after, own=99, ticks_per_s=100)
    assert (found.pid, str(found)) == (7, "stress (7) 50 %")


def test_a_process_that_is_new_has_no_share_yet() -> None:
    before, after = activity(0, 0, 0, processes=False), activity(10**9, 0, 60)
    assert competitors(before, after, own=99, ticks_per_s=100) == ()


def test_a_process_with_a_strange_name_is_read(machine: Machine) -> None:
    columns = " ".join(["S", "1", *["0"] * 9, "30", "12", "0"])
    machine.proc("66/stat", f"66 (tmux: (a) b) {columns}")
    found = Activity.read(machine.roots).processes[66]
    assert (found.name, found.parent, found.ticks) == ("tmux: (a) b", 1, 42)


# What the checks say of CPUs: how many, how quiet, how fast, and what they share.


def test_one_cpu_is_too_few(machine: Machine) -> None:
    assert machine.answer("cpus").status is Status.OK
    machine.here = replace(machine.here, usable=frozenset({3}))
    found = machine.answer("cpus")
    assert found.status is Status.WARNING
    assert "1 of 4 usable: 3" in found.evidence


def test_isolated_cpus_are_named_and_missing_ones_advised(machine: Machine) -> None:
    found = machine.answer("isolated cpus")
    assert found.status is Status.WARNING
    assert found.fix == "boot with isolcpus=managed_irq,domain,1-3"
    machine.sys("devices/system/cpu/isolated", "2-3\n")
    assert machine.answer("isolated cpus").evidence == "2-3"


def test_isolated_cpus_that_this_process_may_not_use_do_not_help(machine: Machine) -> None:
    machine.sys("devices/system/cpu/isolated", "8-9\n")
    assert machine.answer("isolated cpus").status is Status.WARNING


def test_cpus_without_a_tick_are_named(machine: Machine) -> None:
    assert "CONFIG_NO_HZ_FULL" in machine.answer("tickless cpus").evidence
    machine.sys("devices/system/cpu/nohz_full", "(null)\n")
    assert machine.answer("tickless cpus").status is Status.WARNING
    machine.sys("devices/system/cpu/nohz_full", "2-3\n")
    machine.proc("cmdline", "quiet rcu_nocbs=2-3")
    found = machine.answer("tickless cpus")
    assert found.status is Status.OK
    assert found.evidence == "nohz_full on 2-3, rcu_nocbs on 2-3"


def test_one_cpu_that_saves_power_spoils_the_governor(machine: Machine) -> None:
    for cpu, governor in enumerate(("performance", "performance", "powersave", "performance")):
        machine.sys(f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", governor)
    assert machine.answer("governor").status is Status.WARNING
    machine.sys("devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance")
    assert machine.answer("governor").status is Status.OK


@pytest.mark.parametrize(
    ("file", "value", "status"),
    [
        ("intel_pstate/no_turbo", "1", Status.OK),
        ("intel_pstate/no_turbo", "0", Status.WARNING),
        ("cpufreq/boost", "0", Status.OK),
        ("cpufreq/boost", "1", Status.WARNING),
    ],
)
def test_turbo_is_read_where_the_driver_puts_it(
    machine: Machine, file: str, value: str, status: Status
) -> None:
    path = machine.sys(f"devices/system/cpu/{file}", value)
    found = machine.answer("turbo")
    assert found.status is status
    assert status is Status.OK or str(path) in (found.fix or "")


def test_idle_states_that_wake_slowly_are_named_unless_disabled(machine: Machine) -> None:
    folder = "devices/system/cpu/cpu0/cpuidle/state3"
    machine.sys(f"{folder}/name", "C6\n")
    machine.sys(f"{folder}/latency", "133\n")
    machine.sys(f"{folder}/disable", "0\n")
    found = machine.answer("idle states")
    assert found.status is Status.WARNING
    assert "C6 (133 µs)" in found.evidence
    machine.sys(f"{folder}/disable", "1\n")
    assert machine.answer("idle states").status is Status.OK


def test_threads_of_one_core_are_named(machine: Machine) -> None:
    machine.sys("devices/system/cpu/smt/active", "1\n")
    for cpu in range(4):
        siblings = "0,2" if cpu % 2 == 0 else "1,3"
        machine.sys(f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings)
    found = machine.answer("smt")
    assert found.status is Status.WARNING
    assert "0,2; 1,3" in found.evidence


def test_a_virtual_machine_cannot_tell_whether_its_cpus_share_a_core(machine: Machine) -> None:
    machine.sys("devices/system/cpu/smt/active", "0\n")
    assert machine.answer("smt").status is Status.OK
    machine.cpus(4, f"{SERVER_FLAGS} hypervisor")
    assert machine.answer("smt").status is Status.UNKNOWN
    assert machine.answer("virtualisation").status is Status.WARNING


def test_mitigations_are_named_and_not_judged(machine: Machine) -> None:
    machine.sys("devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n")
    machine.sys("devices/system/cpu/vulnerabilities/retbleed", "Vulnerable\n")
    machine.sys("devices/system/cpu/vulnerabilities/l1tf", "Not affected\n")
    found = machine.answer("mitigations")
    assert found.status is Status.OK
    assert found.evidence == "1 mitigated (meltdown); 1 open (retbleed)"
