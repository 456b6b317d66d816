"""The driver: a router of the kernel for each case, in a network of its own that ends with it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.hops import WANTS, Hop, running_hop
from vsperf.drivers.vswitches.kernel_ports import needs_of
from vsperf.drivers.vswitches.nftables.layout import Design, switch_plan
from vsperf.drivers.vswitches.nftables.netfilter import Netfilter
from vsperf.drivers.vswitches.nftables.program import Nft
from vsperf.drivers.vswitches.nftables.running import RunningRouter
from vsperf.drivers.vswitches.nftables.spec import NftablesSpec
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Check, Group
from vsperf.host.doctor.wants import Want
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement

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
