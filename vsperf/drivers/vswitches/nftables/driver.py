"""The driver: a router of the kernel for each case, in a network of its own that ends with it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan, require_root
from vsperf.drivers.vswitches.hops import Hop, made_hop
from vsperf.drivers.vswitches.kernel_ports import needs_of
from vsperf.drivers.vswitches.nftables.layout import Design, switch_plan
from vsperf.drivers.vswitches.nftables.netfilter import Netfilter
from vsperf.drivers.vswitches.nftables.program import NAME, Nft
from vsperf.drivers.vswitches.nftables.running import RunningRouter
from vsperf.drivers.vswitches.nftables.spec import NftablesSpec
from vsperf.errors import NotReadyError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import AS_ROOT, Answer, Check, Group, Host, absent, ok
from vsperf.host.doctor.wants import Want
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement


def _rules(here: Host) -> Answer:
    """Tell the kernel rules where nobody sees them, and which end at once."""
    try:
        nft = Nft.find()
        if os.geteuid() != 0:
            return absent("only root can try; for vswitch.kind=nftables", AS_ROOT)
        nft.require_kernel()
    except NotReadyError as error:
        problem = error.problems[0]
        return absent(f"{problem.what}: {problem.why}", problem.fix)
    version = nft.version().removeprefix("nftables ")
    return ok(f"{nft.path} {version}; kernel {platform.release()} tracks connections by its rules")


CHECKS = (Check(NAME, Group.PROGRAMS, _rules),)
"""Not among the checks of a run: the driver tries it itself before it starts."""


class Nftables:
    """Deploys a router of the Linux kernel that tracks connections by nftables."""

    kind: ClassVar[str] = "nftables"
    summary: ClassVar[str] = (
        "a router of the Linux kernel that tracks connections: a firewall, a NAT or a load "
        "balancer by nftables"
    )
    Spec: ClassVar[type[DriverSpec]] = NftablesSpec
    wants: ClassVar[frozenset[Want]] = frozenset({Want.QUIET_CPUS, Want.ROOT, Want.TAPS})
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(_spec_of(case).cpus)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        require_root("a router of the kernel", "it makes a network apart, and taps and rules in it")
        Nft.find().require_kernel()

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningRouter]:
        design = Design(case, _spec_of(case), placement)
        self.require(case)
        with made_hop(design.ports, design.cpus, workspace) as hop:
            running = _told(design, hop, workspace)
            try:
                yield running
            finally:
                running.stopped = True


def _told(design: Design, hop: Hop, workspace: Workspace) -> RunningRouter:
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
