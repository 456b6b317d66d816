"""The driver: a router of the kernel for each case, in a network of its own that ends with it."""

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
from vsperf.drivers.vswitches.hops import WANTS, Hop, RunningHop, running_hop
from vsperf.drivers.vswitches.kernel_ports import needs_of
from vsperf.drivers.vswitches.nftables.layout import (
    BEGUN,
    NO_IDLE_RULES,
    REFUSED,
    TABLE,
    Design,
    Nft,
    NftablesSpec,
    idle_rules,
    switch_plan,
    sysctls,
)
from vsperf.drivers.vswitches.nftables.netfilter import Netfilter
from vsperf.errors import ComponentError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Check, Group
from vsperf.host.doctor.wants import Want
from vsperf.host.netns import entering
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement
from vsperf.records.switch import ConnectionCounters, Kept, SwitchCounters

FORWARDING = "ipv4/ip_forward"


@dataclass(kw_only=True)
class RunningRouter(RunningHop):
    """The device with its two ports, whoever is at the other ends of the taps."""

    design: Design
    netfilter: Netfilter
    nft: Nft
    rules: str
    """As they are told, with the names of devices."""
    idle: int = 0
    """Rules that were added and that no frame matches."""

    def failure(self) -> str | None:
        if (reason := super().failure()) is not None:
            return reason
        try:
            tables = self.netfilter.tables()
        except ComponentError as error:
            return error.with_why
        return None if TABLE in tables else "its rules of nftables are gone"

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand.

        What was dropped for its connection and what no rule let pass is lost inside, as is what
        explains it: so a connection that failed is found in one of these. What began is counted by
        the frame, so never lower than connections that passed.
        """
        tracking, counted = self.netfilter.tracking(), self.netfilter.counted()
        refused, begun = counted.get(REFUSED), counted.get(BEGUN)
        return SwitchCounters(
            ports=self.hop.counted(),
            drops=tracking.drops | ({} if refused is None else {"no rule lets it pass": refused}),
            connections=None if begun is None else ConnectionCounters(accepted=begun, opened=begun),
            reasons=tracking.reasons,
        )

    def kept(self) -> Kept:
        return Kept(
            entries=self.netfilter.connections(), memory_bytes=self.netfilter.memory_bytes()
        )

    def facts(self) -> dict[str, Any]:
        return {
            "kernel": platform.release(),
            Nft.NAME: self.nft.version(),
            **self.hop.facts(),
            "nat": self.design.spec.nat,
            "service": self.design.service,
            "forwarding_cpus": list(self.design.cpus),
            "connection_tracking": self.netfilter.facts(),
            "rules": self.rules.splitlines(),
        }

    def restart(self, *, kill: bool) -> None:
        """Forward nothing, forget rules and connections, and begin anew; the kernel has no kill."""
        self.hop.settle({FORWARDING: "0"})
        self.idle = 0
        self.nft.read(self.network, self.rules)
        self.netfilter.forget()
        self.settle()

    def forget_flows(self) -> None:
        self.netfilter.forget()

    def change_rules(self, count: int) -> None:
        if count < 0:
            self.nft.read(self.network, NO_IDLE_RULES)
            self.idle = 0
            return
        self.nft.read(self.network, idle_rules(self.idle, count))
        self.idle += count

    def access(self) -> tuple[str, ...]:
        before = " ".join(entering(self.network))
        return (
            f"{before} {self.nft.path} list ruleset",
            f"{before} cat /proc/net/stat/nf_conntrack",
            f"ip -netns {self.network} -statistics link",
        )

    def settle(self) -> None:
        """Tell the kernel all that is told it of the network beside rules: forwarding begins."""
        self.hop.settle(sysctls(self.design.spec))


CHECKS = (Check(Nft.NAME, Group.PROGRAMS, Nft.doctor),)
"""Not among the checks of a run: the driver tries it itself before it starts."""


class Nftables:
    """Deploys a router of the Linux kernel that tracks connections by nftables."""

    kind: ClassVar[str] = "nftables"
    summary: ClassVar[str] = (
        "a router of the Linux kernel that tracks connections: a firewall, a NAT or a load "
        "balancer by nftables"
    )
    Spec: ClassVar[type[DriverSpec]] = NftablesSpec
    wants: ClassVar[frozenset[Want]] = WANTS
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(_spec_of(case).cpus)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        Nft.require()

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningRouter]:
        self.require(case)
        design = Design(case, _spec_of(case), placement)
        return running_hop(design, workspace, partial(_told, design, workspace))


def _told(design: Design, workspace: Workspace, hop: Hop) -> RunningRouter:
    """Tell the kernel what becomes of connections: it forwards once it has its rules."""
    running = RunningRouter(
        hop=hop,
        who="the router",
        workspace=workspace,
        design=design,
        netfilter=Netfilter(hop.network),
        nft=Nft.find(),
        rules=workspace.fill(design.ruleset()),
    )
    running.nft.read(hop.network, running.rules)
    running.settle()
    return running


def _spec_of(case: CaseSpec) -> NftablesSpec:
    return own_settings(case.vswitch, NftablesSpec, "a router of nftables", "vswitch.kind=nftables")
