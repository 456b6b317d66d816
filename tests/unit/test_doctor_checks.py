"""Each check on machines made of files: what it sees, and what it advises."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from doctor_machine import answer, fixture_here, fixture_tree
from machine_tree import SERVER_FLAGS, MachineTree, write

from vsperf.drivers.vswitches.ovs.plain.driver import Ovs
from vsperf.host.activity import Activity, Process, competitors, stolen_ppm
from vsperf.host.doctor.devices import ask_kvm
from vsperf.host.doctor.examine import examine
from vsperf.host.doctor.finding import Host, Status
from vsperf.host.doctor.programs import program_check
from vsperf.host.resctrl import MOUNT, REMOUNT

__all__ = ["fixture_here", "fixture_tree"]


def test_root_with_all_rights_is_well(here: Host) -> None:
    assert answer(here, "privileges").status is Status.OK


def test_a_user_is_told_to_use_sudo(tree: MachineTree, here: Host) -> None:
    tree.user(1000, "0")
    found = answer(here, "privileges")
    assert found.status is Status.FAILURE
    assert "user 1000" in found.evidence
    assert "sudo" in (found.fix or "")


@pytest.mark.parametrize(
    ("bit", "name", "status"), [(12, "NET_ADMIN", Status.FAILURE), (23, "SYS_NICE", Status.WARNING)]
)
def test_root_in_a_container_is_told_which_right_it_lacks(
    tree: MachineTree, here: Host, bit: int, name: str, status: Status
) -> None:
    tree.user(0, f"{(1 << 41) - 1 & ~(1 << bit):016x}")
    found = answer(here, "privileges")
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
    tree: MachineTree, here: Host, limit: str, rights: str, status: Status
) -> None:
    tree.user(0, rights)
    tree.proc("self/limits", f"Max locked memory         {limit}   {limit}   bytes\n")
    assert answer(here, "locked memory").status is status


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
    tree: MachineTree, here: Host, limit: str, status: Status
) -> None:
    tree.proc("self/limits", f"Max open files            {limit}   {limit}   files\n")
    found = answer(here, "open files")
    assert found.status is status
    assert f"{limit}" in found.evidence
    assert (found.fix is not None) is (status is Status.FAILURE)


def test_free_hugepages_are_counted_per_node_and_size(tree: MachineTree, here: Host) -> None:
    tree.hugepages(0, 2048, 1024, 1000)
    tree.hugepages(0, 1048576, 0, 0)
    tree.hugepages(1, 1048576, 2, 1)
    found = answer(here, "hugepages")
    assert found.status is Status.OK
    assert found.evidence == (
        "node 0: 1000 of 1024 pages of 2 MB free; node 1: 1 of 2 pages of 1 GB free"
    )


def test_hugepages_that_a_run_can_reserve_are_well(tree: MachineTree, here: Host) -> None:
    tree.hugepages(0, 2048, 0, 0)
    tree.memory(8192)
    found = answer(here, "hugepages")
    assert found.status is Status.OK
    assert "8 GB more could be reserved on node 0" in found.evidence


def test_too_little_memory_for_hugepages_is_a_failure_with_numbers(
    tree: MachineTree, here: Host
) -> None:
    tree.hugepages(0, 2048, 10, 10)
    tree.memory(512)
    found = answer(here, "hugepages")
    assert found.status is Status.FAILURE
    assert "512 MB" in found.evidence


def test_hugepages_behind_an_unknown_amount_of_memory_cannot_be_told(
    tree: MachineTree, here: Host
) -> None:
    tree.hugepages(0, 2048, 0, 0)
    assert answer(here, "hugepages").status is Status.UNKNOWN


def test_a_kernel_without_hugepages_is_a_failure(here: Host) -> None:
    assert answer(here, "hugepages").status is Status.FAILURE


def test_a_mount_of_hugetlbfs_is_named_and_missing_only_to_guests(
    tree: MachineTree, here: Host
) -> None:
    tree.proc("mounts", "none / ext4 rw 0 0\n")
    assert answer(here, "hugetlbfs").status is Status.ABSENT
    tree.proc("mounts", "none /mnt/huge hugetlbfs rw,pagesize=1024M 0 0\n")
    assert answer(here, "hugetlbfs").evidence == "/mnt/huge (rw,pagesize=1024M)"


def test_memory_that_wanders_between_nodes_is_a_warning(tree: MachineTree, here: Host) -> None:
    for node in (0, 1):
        tree.sys(f"devices/system/node/node{node}/cpulist", f"{2 * node}-{2 * node + 1}\n")
        line = f"Node {node} MemTotal: {64 << 20} kB\n"
        tree.sys(f"devices/system/node/node{node}/meminfo", line)
    tree.proc("sys/kernel/numa_balancing", "0\n")
    found = answer(here, "memory nodes")
    assert found.status is Status.OK
    assert found.evidence == "node 0: CPUs 0-1, 64.0 GB; node 1: CPUs 2-3, 64.0 GB"
    tree.proc("sys/kernel/numa_balancing", "1\n")
    assert answer(here, "memory nodes").status is Status.WARNING


@pytest.mark.parametrize(
    ("text", "status"),
    [("[always] madvise never", Status.WARNING), ("always [madvise] never", Status.OK)],
)
def test_transparent_hugepages_everywhere_are_a_warning(
    tree: MachineTree, here: Host, text: str, status: Status
) -> None:
    tree.sys("kernel/mm/transparent_hugepage/enabled", text)
    assert answer(here, "transparent hugepages").status is status


def test_a_cache_that_can_be_shared_out_is_told_with_its_ways(
    tree: MachineTree, here: Host
) -> None:
    found = answer(here, "cache partitions")
    assert (found.status, found.fix) == (Status.ABSENT, None)
    assert "no resctrl" in found.evidence
    here.roots.resctrl.mkdir(parents=True)
    found = answer(here, "cache partitions")
    assert (found.status, found.fix) == (Status.ABSENT, MOUNT)
    for name, value in {"cbm_mask": "7ff", "min_cbm_bits": "1", "num_closids": "4"}.items():
        write(here.roots.resctrl / "info" / "L3" / name, f"{value}\n")
    found = answer(here, "cache partitions")
    assert (found.status, found.evidence) == (
        Status.OK,
        "11 ways for up to 3 parts, and for all others",
    )
    (here.roots.resctrl / "info" / "L3").rename(here.roots.resctrl / "info" / "L3CODE")
    found = answer(here, "cache partitions")
    assert (found.status, found.fix) == (Status.ABSENT, REMOUNT)
    assert "cdp" in found.evidence


def test_a_bridge_of_ovs_wants_the_tap_device(here: Host) -> None:
    assert answer(here, "tap devices").status is Status.FAILURE
    write(here.roots.dev / "net" / "tun", "")
    assert answer(here, "tap devices").status is Status.OK


def test_an_iommu_and_its_groups_are_counted(tree: MachineTree, here: Host) -> None:
    assert answer(here, "iommu").status is Status.ABSENT
    tree.sys("class/iommu/dmar0/name", "dmar0")
    tree.device("0000:03:00.0", "i40e", group=3)
    assert answer(here, "iommu").evidence == "dmar0; 1 groups"


def test_a_module_that_is_there_and_not_loaded_gets_its_command(
    tree: MachineTree, here: Host
) -> None:
    assert answer(here, "vfio").fix == "use a kernel that has it"
    folder = here.roots.root / "lib" / "modules" / os.uname().release
    write(folder / "modules.dep", "kernel/drivers/vfio/pci/vfio-pci.ko.xz: kernel/vfio.ko.xz\n")
    assert answer(here, "vfio").fix == "modprobe vfio-pci"
    tree.driver("vfio-pci")
    assert answer(here, "vfio").status is Status.OK


def test_nics_are_shown_with_what_speaks_against_each(tree: MachineTree, here: Host) -> None:
    assert answer(here, "nics").status is Status.ABSENT
    tree.device("0000:03:00.0", "i40e", group=3)
    tree.device("0000:04:00.0", "i40e")
    found = answer(here, "nics")
    assert found.status is Status.OK
    assert "0000:03:00.0 [8086:1572] i40e, node 0: can be used" in found.evidence
    assert "0000:04:00.0 [8086:1572] i40e, node 0: not to be used, there is no IO" in found.evidence


def test_kvm_that_answers_no_question_is_not_well(here: Host) -> None:
    assert ask_kvm(here).status is Status.ABSENT
    write(here.roots.dev / "kvm", "no device")
    assert ask_kvm(here).status is Status.WARNING


def test_programs_are_found_by_any_of_their_names(here: Host, tmp_path: Path) -> None:
    check = program_check("forwarder", "forwarding", names=("dpdk-testpmd", "testpmd"))
    (found,) = examine(here, [check])
    assert (found.name, found.status) == ("forwarder", Status.ABSENT)
    write(tmp_path / "bin" / "testpmd", "#!/bin/sh\n").chmod(0o755)
    (found,) = examine(here, [check])
    assert found.status is Status.OK
    assert found.evidence.startswith(str(tmp_path / "bin" / "testpmd"))


def test_a_slow_clock_source_is_a_warning(tree: MachineTree, here: Host) -> None:
    folder = "devices/system/clocksource/clocksource0"
    tree.sys(f"{folder}/current_clocksource", "hpet\n")
    tree.sys(f"{folder}/available_clocksource", "tsc hpet acpi_pm\n")
    found = answer(here, "clock source")
    assert found.status is Status.WARNING
    assert (found.fix or "").startswith("echo tsc > ")
    tree.sys(f"{folder}/current_clocksource", "tsc\n")
    assert answer(here, "clock source").status is Status.OK


def test_a_cycle_counter_that_rests_with_its_cpu_is_a_warning(
    tree: MachineTree, here: Host
) -> None:
    assert answer(here, "cycle counter").status is Status.OK
    tree.cpus(4, "fpu tsc constant_tsc")
    found = answer(here, "cycle counter")
    assert found.status is Status.WARNING
    assert "nonstop_tsc" in found.evidence


def test_a_system_switch_is_named_and_left_alone(tree: MachineTree, here: Host) -> None:
    assert answer(here, "system switch", Ovs.checks).evidence == "none runs"
    tree.proc("77/cmdline", "/usr/sbin/ovs-vswitchd\0unix:/run/openvswitch/db.sock\0")
    found = answer(here, "system switch", Ovs.checks)
    assert found.status is Status.OK
    assert "ovs-vswitchd (77)" in found.evidence


def test_programs_of_a_run_are_no_strangers(tree: MachineTree, here: Host) -> None:
    tree.proc("77/cmdline", "/usr/sbin/ovs-vswitchd\0")
    tree.proc("77/environ", "PATH=/bin\0VSPERF_PROCESS=vsperf-1-a/ovs\0")
    assert answer(here, "system switch", Ovs.checks).evidence == "none runs"


def test_another_program_on_dpdk_is_a_warning_with_its_number(
    tree: MachineTree, here: Host
) -> None:
    tree.proc("88/cmdline", "/usr/bin/forwarder\0")
    tree.proc("88/maps", "7f00-7f01 r-xp 0 00:00 1 /usr/lib/librte_eal.so.23.0\n")
    tree.proc("89/cmdline", "/bin/cat\0")
    tree.proc("89/maps", "7f00-7f01 r-xp 0 00:00 1 /usr/lib/libc.so.6\n")
    found = answer(here, "polling programs")
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
    tree: MachineTree,
    here: Host,
    monkeypatch: pytest.MonkeyPatch,
    user: int,
    hidden: int,
    evidence: str,
) -> None:
    for pid in range(88, 88 + hidden):
        tree.proc(f"{pid}/cmdline", "/usr/bin/secret\0")
    monkeypatch.setattr("vsperf.host.doctor.others._polls", lambda *_: None)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    found = answer(here, "polling programs")
    assert found.status is Status.UNKNOWN
    assert found.evidence.endswith(evidence)


def test_nothing_is_left_by_runs_that_were_killed_on_a_new_machine(here: Host) -> None:
    assert answer(here, "leftovers").status is Status.OK


def test_a_workspace_of_a_dead_owner_is_left_over(here: Host) -> None:
    folder = here.roots.root / "run" / "vsperf" / "vsperf-99999999-a0b1c2"
    folder.mkdir(parents=True)
    found = answer(here, "leftovers")
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


def test_a_process_with_a_strange_name_is_read(tree: MachineTree) -> None:
    columns = " ".join(["S", "1", *["0"] * 9, "30", "12", "0"])
    tree.proc("66/stat", f"66 (tmux: (a) b) {columns}")
    found = Activity.read(tree.roots).processes[66]
    assert (found.name, found.parent, found.ticks) == ("tmux: (a) b", 1, 42)


# What the checks say of CPUs: how many, how quiet, how fast, and what they share.


def test_one_cpu_is_too_few(here: Host) -> None:
    assert answer(here, "cpus").status is Status.OK
    found = answer(replace(here, usable=frozenset({3})), "cpus")
    assert found.status is Status.WARNING
    assert "1 of 4 usable: 3" in found.evidence


def test_isolated_cpus_are_named_and_missing_ones_advised(tree: MachineTree, here: Host) -> None:
    found = answer(here, "isolated cpus")
    assert found.status is Status.WARNING
    assert found.fix == "boot with isolcpus=managed_irq,domain,1-3"
    tree.sys("devices/system/cpu/isolated", "2-3\n")
    assert answer(here, "isolated cpus").evidence == "2-3"


def test_isolated_cpus_that_this_process_may_not_use_do_not_help(
    tree: MachineTree, here: Host
) -> None:
    tree.sys("devices/system/cpu/isolated", "8-9\n")
    assert answer(here, "isolated cpus").status is Status.WARNING


def test_cpus_without_a_tick_are_named(tree: MachineTree, here: Host) -> None:
    assert "CONFIG_NO_HZ_FULL" in answer(here, "tickless cpus").evidence
    tree.sys("devices/system/cpu/nohz_full", "(null)\n")
    assert answer(here, "tickless cpus").status is Status.WARNING
    tree.sys("devices/system/cpu/nohz_full", "2-3\n")
    tree.proc("cmdline", "quiet rcu_nocbs=2-3")
    found = answer(here, "tickless cpus")
    assert found.status is Status.OK
    assert found.evidence == "nohz_full on 2-3, rcu_nocbs on 2-3"


def test_one_cpu_that_saves_power_spoils_the_governor(tree: MachineTree, here: Host) -> None:
    for cpu, governor in enumerate(("performance", "performance", "powersave", "performance")):
        tree.sys(f"devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", governor)
    assert answer(here, "governor").status is Status.WARNING
    tree.sys("devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance")
    assert answer(here, "governor").status is Status.OK


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
    tree: MachineTree, here: Host, file: str, value: str, status: Status
) -> None:
    path = tree.sys(f"devices/system/cpu/{file}", value)
    found = answer(here, "turbo")
    assert found.status is status
    assert status is Status.OK or str(path) in (found.fix or "")


def test_idle_states_that_wake_slowly_are_named_unless_disabled(
    tree: MachineTree, here: Host
) -> None:
    folder = "devices/system/cpu/cpu0/cpuidle/state3"
    tree.sys(f"{folder}/name", "C6\n")
    tree.sys(f"{folder}/latency", "133\n")
    tree.sys(f"{folder}/disable", "0\n")
    found = answer(here, "idle states")
    assert found.status is Status.WARNING
    assert "C6 (133 µs)" in found.evidence
    tree.sys(f"{folder}/disable", "1\n")
    assert answer(here, "idle states").status is Status.OK


def test_threads_of_one_core_are_named(tree: MachineTree, here: Host) -> None:
    tree.sys("devices/system/cpu/smt/active", "1\n")
    for cpu in range(4):
        siblings = "0,2" if cpu % 2 == 0 else "1,3"
        tree.sys(f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings)
    found = answer(here, "smt")
    assert found.status is Status.WARNING
    assert "0,2; 1,3" in found.evidence


def test_a_virtual_machine_cannot_tell_whether_its_cpus_share_a_core(
    tree: MachineTree, here: Host
) -> None:
    tree.sys("devices/system/cpu/smt/active", "0\n")
    assert answer(here, "smt").status is Status.OK
    tree.cpus(4, f"{SERVER_FLAGS} hypervisor")
    assert answer(here, "smt").status is Status.UNKNOWN
    assert answer(here, "virtualisation").status is Status.WARNING


def test_mitigations_are_named_and_not_judged(tree: MachineTree, here: Host) -> None:
    tree.sys("devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n")
    tree.sys("devices/system/cpu/vulnerabilities/retbleed", "Vulnerable\n")
    tree.sys("devices/system/cpu/vulnerabilities/l1tf", "Not affected\n")
    found = answer(here, "mitigations")
    assert found.status is Status.OK
    assert found.evidence == "1 mitigated (meltdown); 1 open (retbleed)"
