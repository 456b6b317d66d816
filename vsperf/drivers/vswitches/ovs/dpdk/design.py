"""What one case makes of an OVS with DPDK. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from vsperf.drivers.vswitches.ovs.dpdk.memory import memory_mb
from vsperf.drivers.vswitches.ovs.dpdk.ports import (
    endpoints_of,
    needs_network,
    needs_pci,
    ports_of,
    wires_of,
)
from vsperf.drivers.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.plan import MAIN_ROLE, PMD_ROLE, Design, caches, limits, word
from vsperf.errors import UsageError
from vsperf.host.threads import Polling
from vsperf.quantities.units import CpuSet
from vsperf.records import threads
from vsperf.records.run import Endpoint, Placeholder, Placement, Wire

CARDS = ("vfio", "infiniband")
"""Where the kernel lets programs have NICs; some are reached by RDMA."""


@dataclass(frozen=True)
class DpdkDesign(Design):
    """An OVS that polls its ports, with memory of its own."""

    spec: OvsDpdkSpec

    title: ClassVar[str] = "OVS-DPDK"
    dpdk: ClassVar[bool] = True
    patience_s: ClassVar[float] = 60.0
    """DPDK clears its memory, which takes long for many gigabytes."""

    @cached_property
    def ports(self) -> tuple[SwitchPort, ...]:
        return ports_of(self.case, self.spec)

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return endpoints_of(self.case, self.ports)

    @property
    def wires(self) -> tuple[Wire, ...]:
        return wires_of(self.ports)

    @property
    def other_config(self) -> dict[str, str]:
        self._check_affinity()
        return other_config(
            self.spec,
            self.placement,
            memory_mb=memory_mb(self.spec, self.ports),
            pci=self._cards,
            rules=self.rules,
            tags=self.tags,
        )

    @property
    def host_ports(self) -> tuple[SwitchPort, ...]:
        return () if self.apart else tuple(port for port in self.ports if needs_network(port))

    @property
    def apart(self) -> bool:
        return self.case.has_places

    @property
    def polling(self) -> Polling:
        return Polling(threads.SWITCH, "pmd-c")

    @property
    def about(self) -> str:
        pmds = ", ".join(str(cpu) for cpu in self.placement.of(PMD_ROLE))
        slow = "" if self.spec.hugepages else "; WITHOUT HUGEPAGES, so it is slower than it can be"
        return f"polling on CPU {pmds}{slow}"

    @property
    def devices(self) -> tuple[str, ...]:
        memory = ("hugepages",) if self.spec.hugepages else ()
        return (*super().devices, *memory, *(CARDS if self._cards else ()))

    @property
    def _cards(self) -> bool:
        return any(needs_pci(port) for port in self.ports)

    def _check_affinity(self) -> None:
        """Refuse what OVS would only mention in its log, to choose another CPU by itself."""
        pmds = self.placement.of(PMD_ROLE)
        for link, text in self.spec.rxq_affinity.items():
            for pair in text.split(","):
                if (cpu := int(pair.partition(":")[2])) not in pmds:
                    raise UsageError(
                        f"vswitch.rxq_affinity.{link} names CPU {cpu}, where no thread polls",
                        why=f"the polling threads run on CPU {', '.join(map(str, pmds))}",
                        fix="name one of these, or say where they run: vswitch.pmd_cpus",
                    )


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
