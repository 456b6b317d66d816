"""The driver: a router of the kernel for each case, in a network of its own that ends with it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import NETWORK_BITS
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.kernel_ports import MTU, needs_of
from vsperf.drivers.vswitches.nftables.layout import Design, switch_plan
from vsperf.drivers.vswitches.nftables.netfilter import Addresses, Netfilter
from vsperf.drivers.vswitches.nftables.program import NAME, Nft
from vsperf.drivers.vswitches.nftables.running import RunningRouter
from vsperf.drivers.vswitches.nftables.spec import NftablesSpec
from vsperf.errors import NotReadyError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import AS_ROOT, Answer, Check, Group, Host, absent, ok
from vsperf.host.doctor.wants import Want
from vsperf.host.networks import hand_over, private_network
from vsperf.host.taps import tap
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
        if os.geteuid() != 0:
            raise NotReadyError(
                "a router of the kernel needs root",
                why="it makes a network apart, and taps and rules in it",
                fix="run vsperf with sudo",
            )
        Nft.find().require_kernel()

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningRouter]:
        design = Design(case, _spec_of(case), placement)
        self.require(case)
        with ExitStack() as stack:
            running = _made(design, workspace, stack)
            try:
                yield running
            finally:
                running.stopped = True


def _made(design: Design, workspace: Workspace, stack: ExitStack) -> RunningRouter:
    """Make the ports, each with a promise to remove it; it forwards once it has its rules."""
    devices = {port.place.name: workspace.fill(port.device) for port in design.ports}
    network = stack.enter_context(private_network(workspace))
    for name in devices.values():
        stack.enter_context(tap(name, workspace, mtu=MTU, several_queues=True))
    hand_over(devices.values(), network, design.cpus)
    talk = stack.enter_context(Addresses.connected(network))
    for port in design.ports:
        name = devices[port.place.name]
        talk.bring_up(name, port.end.device_ip, NETWORK_BITS)
        talk.know(name, dict.fromkeys(port.end.ips, port.end.mac))
    running = RunningRouter(
        design=design,
        network=network,
        devices=devices,
        talk=talk,
        netfilter=Netfilter(network),
        nft=Nft.find(),
        rules=workspace.fill(design.ruleset()),
        look=lambda: workspace.attend("while the router was waited for"),
    )
    running.nft.read(network, running.rules)
    running.settle()
    return running


def _spec_of(case: CaseSpec) -> NftablesSpec:
    return own_settings(case.vswitch, NftablesSpec, "a router of nftables", "vswitch.kind=nftables")
