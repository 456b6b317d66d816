"""The driver: a router of the kernel for each case, in a network of its own that ends with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.nftables import kernel
from vsperf.drivers.vswitches.nftables.plan import MTU, PMD_ROLE, Design, switch_plan, timeouts
from vsperf.drivers.vswitches.nftables.running import RunningRouter
from vsperf.drivers.vswitches.nftables.spec import NftablesSpec
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, ok
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.netns import path_of, within
from vsperf.host.networks import private_network
from vsperf.host.steering import steer
from vsperf.host.taps import tap
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement


def _router(here: Host) -> Answer:
    """Give rules to a network that nobody sees, and which ends at once."""
    if os.geteuid() != 0:
        return absent("only root can try; for vswitch.kind=nftables", "sudo vsperf doctor")
    try:
        kernel.require_nat()
    except NotReadyError as error:
        problem = error.problems[0]
        return absent(f"{problem.what}: {problem.why}", problem.fix)
    return ok(f"nft {kernel.nft_version()}, and the kernel rewrites addresses by it")


class Nftables:
    """Deploys a router of the kernel that tracks connections."""

    kind: ClassVar[str] = "nftables"
    summary: ClassVar[str] = "a router of the Linux kernel that tracks connections: NAT by nftables"
    Spec: ClassVar[type[DriverSpec]] = NftablesSpec
    wants: ClassVar[frozenset[Want]] = POLLING_SWITCH | {Want.TAPS}
    checks: ClassVar[tuple[Check, ...]] = (Check("kernel NAT", Group.DEVICES, _router),)

    def needs(self, case: CaseSpec) -> Needs:
        chosen = _spec_of(case).cpus
        cpus = None if chosen is None else chosen.cpus
        return Needs((CpuNeed(PMD_ROLE, len(cpus) if cpus else 1, pinned=cpus),))

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        if os.geteuid() != 0:
            raise NotReadyError(
                "the kernel's router needs root",
                why="it makes a network apart, taps and rules",
                fix="run vsperf with sudo",
            )
        kernel.require_nat()

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
    """Make the devices of ports and the router; each with a promise to remove it."""
    devices = {port.link: workspace.fill(port.device) for port in design.ports}
    network = stack.enter_context(private_network(workspace))
    for name in devices.values():
        stack.enter_context(tap(name, workspace, mtu=MTU, several_queues=True))
        steer(name, design.cpus)
    with kernel.refused("to make a router"):
        for name in devices.values():
            kernel.move(name, path_of(network))
        within(network, partial(kernel.FORWARD.write_text, "1\n"))
        within(network, partial(kernel.load, design.rules(devices)))
        for name, seconds in timeouts(design.spec).items():
            within(network, partial(kernel.set_sysctl, name, seconds))
    return RunningRouter(
        design=design,
        network=network,
        devices=devices,
        look=lambda: workspace.attend("while the router was waited for"),
    )


def _spec_of(case: CaseSpec) -> NftablesSpec:
    if not isinstance(case.vswitch, NftablesSpec):
        raise UsageError(
            f"the kernel's router was given settings of kind {case.vswitch.kind!r}",
            fix="--set vswitch.kind=nftables",
        )
    return case.vswitch
