"""What is written into other_config before a daemon with DPDK starts. Pure."""

from __future__ import annotations

from vsperf.drivers.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.settings import MAIN_ROLE, PMD_ROLE, caches, limits, word
from vsperf.errors import UsageError
from vsperf.quantities.units import CpuSet
from vsperf.records.run import Placeholder, Placement


def other_config(
    spec: OvsDpdkSpec, placement: Placement, *, memory_mb: int, pci: bool, rules: int, tags: int = 0
) -> dict[str, str]:
    """Return the entries.

    `pci` says whether a NIC is used, `tags` how many VLAN tags are looked at in a frame.
    """
    pmds, main = placement.of(PMD_ROLE), placement.of(MAIN_ROLE)
    if not pmds:
        raise UsageError(
            "no CPU was found for the polling threads of the switch",
            fix="--set vswitch.pmd_cpus=1, or give the testbed's machine more CPUs",
        )
    settings = {
        "dpdk-init": "true",
        "dpdk-lcore-mask": CpuSet.of(main or pmds[:1]).mask,
        "dpdk-extra": " ".join(extra_arguments(spec, memory_mb, pci)),
        "pmd-cpu-mask": CpuSet.of(pmds).mask,
        "per-port-memory": "true",
        **caches(spec),
        "pmd-auto-lb": word(spec.auto_lb),
        **limits(rules, tags),
    }
    if spec.hugepages:
        settings["dpdk-socket-mem"] = socket_memory(memory_mb, placement)
        settings["dpdk-socket-limit"] = settings["dpdk-socket-mem"]  # else it takes what it can get
    return {**settings, **spec.other_config}


def extra_arguments(spec: OvsDpdkSpec, memory_mb: int, pci: bool) -> tuple[str, ...]:
    """Return the arguments of DPDK's environment layer that OVS has no setting for.

    Memory without names in a file system needs no mount and leaves nothing behind. Where NICs
    are used, DPDK is told to begin with none: it would take the generator's, too.
    """
    ordinary = ("--no-huge", "--legacy-mem", "--no-shconf", "-m", str(memory_mb))
    memory = ("--in-memory",) if spec.hugepages else ordinary
    devices = ("--allow=0000:00:00.0",) if pci else ("--no-pci",)
    return (*memory, *devices, f"--file-prefix={Placeholder.NAME}-ovs")


def socket_memory(memory_mb: int, placement: Placement) -> str:
    """Return the memory [MB] of each node, for the nodes of polling threads; others get none."""
    nodes = set(placement.nodes.get(PMD_ROLE, (0,)))
    return ",".join(str(memory_mb if node in nodes else 0) for node in range(max(nodes) + 1))
