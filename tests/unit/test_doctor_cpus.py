"""What the checks say of CPUs: how many, how quiet, how fast, and what they share."""

from __future__ import annotations

from dataclasses import replace

import pytest
from doctor_machine import answer, fixture_here, fixture_tree
from machine_tree import SERVER_FLAGS, MachineTree

from vsperf.host.doctor.finding import Host, Status

__all__ = ["fixture_here", "fixture_tree"]


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
