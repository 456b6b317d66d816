"""The driver: bridges of the kernel for each case, in a network of their own that ends with it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan, require_root
from vsperf.drivers.vswitches.kernel_ports import MTU, await_held, needs_of
from vsperf.drivers.vswitches.linux_bridge.layout import Design, switch_plan
from vsperf.drivers.vswitches.linux_bridge.netlink import Netlink, connected, require_bridges
from vsperf.drivers.vswitches.linux_bridge.running import RunningBridge
from vsperf.drivers.vswitches.linux_bridge.spec import LinuxBridgeSpec
from vsperf.drivers.vswitches.ports import far_end
from vsperf.errors import NotReadyError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import AS_ROOT, Answer, Check, Group, Host, absent, ok
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.networks import hand_over, private_network
from vsperf.host.taps import tap
from vsperf.host.veths import veth
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement


def _bridge(here: Host) -> Answer:
    """Make a bridge where nobody sees it, and which ends at once."""
    if os.geteuid() != 0:
        return absent("only root can try; for vswitch.kind=linux-bridge", AS_ROOT)
    try:
        require_bridges()
    except NotReadyError as error:
        problem = error.problems[0]
        return absent(f"{problem.what}: {problem.why}", problem.fix)
    return ok(f"kernel {platform.release()} makes one, in a network of its own")


CHECKS = (Check("kernel bridge", Group.DEVICES, _bridge),)
"""Not among the checks of a run: the driver tries it itself before it starts."""


class LinuxBridge:
    """Deploys the bridge of the Linux kernel on taps."""

    kind: ClassVar[str] = "linux-bridge"
    summary: ClassVar[str] = "the bridge of the Linux kernel on taps, in a network of its own"
    Spec: ClassVar[type[DriverSpec]] = LinuxBridgeSpec
    wants: ClassVar[frozenset[Want]] = POLLING_SWITCH | {Want.TAPS}
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(_spec_of(case).cpus)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        require_root("the kernel's bridge", "it makes a network apart, bridges and taps")
        require_bridges()

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningBridge]:
        design = Design(case, _spec_of(case), placement)
        self.require(case)
        with ExitStack() as stack:
            running = _made(design, workspace, stack)
            try:
                yield running
            finally:
                running.stopped = True


def _made(design: Design, workspace: Workspace, stack: ExitStack) -> RunningBridge:
    """Make the devices of ports and bridges; each with a promise to remove it."""
    devices = {port.place.name: workspace.fill(port.device) for port in design.ports}
    network = stack.enter_context(private_network(workspace))
    for port in design.ports:
        name = devices[port.place.name]
        if port.place.name in design.case.guests:  # as with a VNF, below
            await_held(name, 1, workspace)
        elif port.place.link is not None and design.case.has_places:
            far = far_end(design.case, port.place.link, workspace)
            stack.enter_context(veth(name, workspace, mtu=MTU, far=far))
        elif port.place.link is not None:
            stack.enter_context(tap(name, workspace, mtu=MTU, several_queues=True))
        else:  # the VNF has made it, and finds it by its name in the host's network
            await_held(name, design.case.vnf_queues, workspace)
    hand_over(devices.values(), network, design.cpus)
    instance = _Instance(design, devices, stack.enter_context(connected(network)))
    instance.make()
    return RunningBridge(
        design=design,
        network=network,
        devices=devices,
        netlink=instance.netlink,
        make_again=instance.make_again,
        look=lambda: workspace.attend("while the bridge was waited for"),
    )


@dataclass
class _Instance:
    """What is made, and can be made again."""

    design: Design
    devices: dict[str, str]
    netlink: Netlink

    def make(self) -> None:
        """Make the bridges, their ports, and what they know."""
        for name in self.design.bridges:
            self.netlink.add_bridge(name, ageing_ns=self.design.spec.ageing.ns, mtu=MTU)
        for port in self.design.ports:
            self.netlink.join(
                self.devices[port.place.name],
                port.bridge,
                learns=self.design.learns,
                floods=self.design.floods(port),
            )
        for port in self.design.ports:
            known = [entry.mac for entry in self.design.entries if entry.port == port.place.name]
            self.netlink.know(self.devices[port.place.name], known)

    def make_again(self) -> None:
        """Remove the bridges, and make them anew."""
        for name in self.design.bridges:
            self.netlink.remove(name)
        self.make()


def _spec_of(case: CaseSpec) -> LinuxBridgeSpec:
    return own_settings(
        case.vswitch, LinuxBridgeSpec, "the kernel's bridge", "vswitch.kind=linux-bridge"
    )
