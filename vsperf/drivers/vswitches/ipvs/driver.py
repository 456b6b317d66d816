"""The driver: IPVS for each case, in a network of its own that ends with it."""

from __future__ import annotations

import platform
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.hops import WANTS, Hop, RunningHop, running_hop, slab_memory
from vsperf.drivers.vswitches.ipvs.layout import (
    FORWARDING,
    HOST_BITS,
    Design,
    Ipvsadm,
    switch_plan,
)
from vsperf.drivers.vswitches.ipvs.spec import IpvsSpec
from vsperf.drivers.vswitches.ipvs.table import SLAB, connections, table
from vsperf.drivers.vswitches.kernel_ports import needs_of
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Check, Group
from vsperf.host.doctor.wants import Want
from vsperf.host.netns import entering
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement
from vsperf.records.switch import ConnectionCounters, Kept, SwitchCounters

CHECKS = (Check(Ipvsadm.NAME, Group.PROGRAMS, Ipvsadm.doctor),)
"""Not among the checks of a run: the driver tries it itself before it starts."""


@dataclass(kw_only=True)
class RunningIpvs(RunningHop):
    """The device with its two ports, whoever is at the other ends of the taps."""

    design: Design
    program: Ipvsadm

    def failure(self) -> str | None:
        if (reason := super().failure()) is not None:
            return reason
        try:
            return table(self.network).missing(self.design.service, self.design.servers)
        except ComponentError as error:
            return error.with_why

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand; its own count of connections among them."""
        shared_out = connections(self.network)
        return SwitchCounters(
            ports=self.hop.counted(),
            connections=ConnectionCounters(accepted=shared_out, opened=shared_out),
        )

    def kept(self) -> Kept:
        return Kept(
            entries=sum(table(self.network).servers.values()), memory_bytes=slab_memory(SLAB)
        )

    def facts(self) -> dict[str, Any]:
        return {
            "kernel": platform.release(),
            Ipvsadm.NAME: self.program.version(),
            **self.hop.facts(),
            "mode": self.design.spec.mode,
            "service": self.design.service,
            "forwarding_cpus": list(self.design.cpus),
            "table_size": table(self.network).size,
            "rules": self.design.rules().splitlines(),
        }

    def restart(self, *, kill: bool) -> None:
        """Forward nothing, take the service away and make it anew; the kernel has no kill.

        Nobody can take connections out of its table: those that were open go on.
        """
        self.hop.settle({FORWARDING: "0"})
        self.tell()

    def forget_flows(self) -> None:
        raise UsageError(
            "IPVS cannot be told to forget its connections",
            why="even those of a service that is taken away stay until their time is over",
            fix="choose a switch that can: --vswitch nftables",
        )

    def change_rules(self, count: int) -> None:
        raise UsageError(
            "IPVS has no rules that could be changed here",
            why="whoever calls its service is passed on to a server",
            fix="choose a switch with rules: --vswitch nftables",
        )

    def access(self) -> tuple[str, ...]:
        before = " ".join(entering(self.network))
        return (
            f"{before} {self.program.path} -ln --stats",
            f"{before} cat /proc/net/ip_vs_stats",
            f"ip -netns {self.network} -statistics link",
        )

    def tell(self) -> None:
        """Tell it its service, see that it has taken it, and have the kernel forward."""
        self.program.read(self.network, self.design.rules())
        missing = table(self.network).missing(self.design.service, self.design.servers)
        if missing is not None:
            raise ComponentError(
                "IPVS was told its service, and refused a part",
                why=missing,
                fix="`vsperf plan` prints what it is told, to be tried by hand",
            )
        settings = self.design.settings().items()
        self.hop.settle({self.workspace.fill(name): value for name, value in settings})


class Ipvs:
    """Deploys the load balancer of the Linux kernel."""

    kind: ClassVar[str] = "ipvs"
    summary: ClassVar[str] = "IPVS, the load balancer of the Linux kernel"
    Spec: ClassVar[type[DriverSpec]] = IpvsSpec
    wants: ClassVar[frozenset[Want]] = WANTS
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(_spec_of(case).cpus)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        Ipvsadm.require()

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningIpvs]:
        self.require(case)
        design = Design(case, _spec_of(case), placement)
        return running_hop(design, workspace, partial(_told, design, workspace))


def _told(design: Design, workspace: Workspace, hop: Hop) -> RunningIpvs:
    """Tell IPVS its service: it shares connections out once it has it."""
    hop.talk.give(hop.devices[design.ports[0].place.name], design.service_ip, HOST_BITS)
    running = RunningIpvs(
        hop=hop, who="IPVS", workspace=workspace, design=design, program=Ipvsadm.find()
    )
    running.tell()
    return running


def _spec_of(case: CaseSpec) -> IpvsSpec:
    return own_settings(case.vswitch, IpvsSpec, "IPVS", "vswitch.kind=ipvs")
