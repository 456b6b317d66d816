"""What one case makes of an OVS without DPDK. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.plain.ports import endpoints_of, ports_of, wires_of
from vsperf.drivers.vswitches.ovs.plain.spec import OvsSpec
from vsperf.drivers.vswitches.ovs.plan import MAIN_ROLE, PMD_ROLE, Design, caches, limits
from vsperf.host.threads import Polling
from vsperf.quantities.units import CpuSet
from vsperf.records import threads
from vsperf.records.run import Endpoint, Wire


@dataclass(frozen=True)
class PlainDesign(Design):
    """An OVS whose main thread forwards, or whose polling threads have AF_XDP, or the kernel."""

    spec: OvsSpec

    title: ClassVar[str] = "OVS"
    dpdk: ClassVar[bool] = False
    patience_s: ClassVar[float] = 10.0

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
    def host_ports(self) -> tuple[SwitchPort, ...]:
        return () if self.spec.apart else self.ports

    @property
    def apart(self) -> bool:
        return self.spec.apart

    @property
    def polls(self) -> bool:
        """Whether threads of its own poll, as they do for AF_XDP."""
        return any(port.type == "afxdp" for port in self.ports)

    @property
    def userspace(self) -> bool:
        return self.spec.datapath == "userspace"

    @property
    def other_config(self) -> dict[str, str]:
        polling = {"pmd-cpu-mask": CpuSet.of(self.polling_cpus).mask} if self.polls else {}
        cached = caches(self.spec) if self.userspace else {}
        return {**polling, **cached, **limits(self.rules, self.tags), **self.spec.other_config}

    @property
    def polling(self) -> Polling:
        names = "pmd-c" if self.polls else "ovs-vswitchd"
        return Polling(threads.SWITCH, names, forwards=self.userspace)

    @property
    def polling_cpus(self) -> tuple[int, ...]:
        return self.placement.of(PMD_ROLE) if self.polls else ()

    @property
    def pinned(self) -> tuple[str, ...]:
        role = PMD_ROLE if self.userspace and not self.polls else MAIN_ROLE
        cpus = self.placement.of(role)
        return ("taskset", "--cpu-list", str(CpuSet.of(cpus))) if cpus else ()

    @property
    def about(self) -> str:
        if not self.userspace:
            return "which has the kernel forward"
        cpus = ", ".join(str(cpu) for cpu in self.placement.of(PMD_ROLE))
        return f"{'polling' if self.polls else 'forwarding'} on CPU {cpus}"
