"""The driver: an instance of OVS without DPDK for each case, and nothing left of it."""

from __future__ import annotations

import platform
from contextlib import AbstractContextManager, suppress
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ovs.bringup import deployed, planned, required
from vsperf.drivers.vswitches.ovs.layout import SOCKETS
from vsperf.drivers.vswitches.ovs.plain.design import PlainDesign
from vsperf.drivers.vswitches.ovs.plain.spec import OvsSpec
from vsperf.drivers.vswitches.ovs.plan import MAIN_ROLE, PMD_ROLE
from vsperf.drivers.vswitches.ovs.programs import SYSTEM_SWITCH, check_of
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Check
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.files import Roots
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import CpuSet
from vsperf.records.run import Placement

FOR_PLACES = {
    "afxdp": "name a device in the testbed, such as `switch: afxdp:eth1`",
    "internal": "--set vswitch.ports=tap: in user space an internal port is a tap",
}
"""Ports that a generator cannot have, and what it can have instead."""


class Ovs:
    """Deploys Open vSwitch without DPDK, on devices of the kernel."""

    kind: ClassVar[str] = "ovs"
    summary: ClassVar[str] = "Open vSwitch without DPDK: taps, devices of the kernel, AF_XDP"
    Spec: ClassVar[type[DriverSpec]] = OvsSpec
    sockets: ClassVar[tuple[str, ...]] = SOCKETS
    wants: ClassVar[frozenset[Want]] = POLLING_SWITCH | {Want.TAPS}
    checks: ClassVar[tuple[Check, ...]] = (check_of(kind, OvsSpec, dpdk=False), SYSTEM_SWITCH)

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        design = PlainDesign(case, spec, Placement())
        forwarding, main = _need(PMD_ROLE, spec.cpus), _need(MAIN_ROLE, spec.main_cpus, busy=False)
        if not design.userspace:
            return Needs(cpus=(main,))
        return Needs(cpus=(forwarding, main) if design.polls else (forwarding,))

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return planned(PlainDesign(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        design = PlainDesign(case, _spec_of(case), Placement())
        if not design.userspace:
            require_datapath()
        required(design)

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningOvs]:
        design = PlainDesign(case, _spec_of(case), placement)
        if not design.userspace:
            require_datapath()
        return deployed(design, workspace)


def _need(role: str, pinned: CpuSet | None, *, busy: bool = True) -> CpuNeed:
    cpus = None if pinned is None else pinned.cpus
    return CpuNeed(role, len(cpus) if cpus else 1, busy=busy, pinned=cpus)


def _spec_of(case: CaseSpec) -> OvsSpec:
    spec = own_settings(case.vswitch, OvsSpec, "OVS without DPDK", "vswitch.kind=ovs")
    if not case.has_places and (instead := FOR_PLACES.get(spec.ports or "")):
        raise UsageError(
            f"vswitch.ports={spec.ports} is for places, and here is a generator at the ends of "
            "links",
            fix=instead,
        )
    # Whoever looks at the settings finds there what ports of places are.
    unsaid = case.has_places and spec.ports is None
    return spec.model_copy(update={"ports": "packet"}) if unsaid else spec


MODULE = "openvswitch"


def require_datapath(roots: Roots | None = None) -> None:
    """Raise `NotReadyError` where the kernel has no datapath of Open vSwitch in it."""
    roots = roots or Roots()
    if (roots.sys / "module" / MODULE).is_dir():
        return
    release = platform.release()
    modules = roots.root / "lib" / "modules" / release
    for table in ("modules.dep", "modules.builtin"):
        with suppress(OSError):
            if f"/{MODULE}.ko" in (modules / table).read_text():
                raise NotReadyError(
                    "the kernel's datapath of Open vSwitch is not loaded",
                    why=f"there is no {roots.sys}/module/{MODULE}",
                    fix=f"modprobe {MODULE}",
                )
    raise NotReadyError(
        "this kernel has no datapath of Open vSwitch",
        why=f"the module {MODULE} is neither loaded nor in {modules}",
        fix="use a kernel that has it, or let the daemon forward: --set vswitch.datapath=userspace",
    )
