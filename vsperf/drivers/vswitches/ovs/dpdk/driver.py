"""The driver: an instance of OVS-DPDK of its own for each case, and nothing left of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.ovs.bringup import deployed, planned, required
from vsperf.drivers.vswitches.ovs.dpdk.design import MEGABYTE, DpdkDesign, memory_mb, ports_of
from vsperf.drivers.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.drivers.vswitches.ovs.layout import SOCKETS
from vsperf.drivers.vswitches.ovs.plan import MAIN_ROLE, PMD_ROLE
from vsperf.drivers.vswitches.ovs.programs import SYSTEM_SWITCH, check_of
from vsperf.drivers.vswitches.ovs.running import RunningOvs
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Check
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement


class OvsDpdk:
    """Deploys Open vSwitch with its userspace datapath on DPDK."""

    kind: ClassVar[str] = "ovs-dpdk"
    summary: ClassVar[str] = "Open vSwitch with DPDK, a private instance beside any other"
    Spec: ClassVar[type[DriverSpec]] = OvsDpdkSpec
    sockets: ClassVar[tuple[str, ...]] = SOCKETS
    wants: ClassVar[frozenset[Want]] = POLLING_SWITCH | {Want.TAPS}
    checks: ClassVar[tuple[Check, ...]] = (check_of(kind, OvsDpdkSpec, dpdk=True), SYSTEM_SWITCH)

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        pmds = None if spec.pmd_cpus is None else spec.pmd_cpus.cpus
        memory = memory_mb(spec, ports_of(case, spec))
        main = None if spec.main_cpus is None else spec.main_cpus.cpus
        return Needs(
            cpus=(
                CpuNeed(PMD_ROLE, spec.pmd_count, pinned=pmds),
                CpuNeed(MAIN_ROLE, len(main) if main else 1, busy=False, pinned=main),
            ),
            hugepage_bytes=memory * MEGABYTE if spec.hugepages else 0,
        )

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return planned(DpdkDesign(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        required(DpdkDesign(case, _spec_of(case), Placement()))

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningOvs]:
        return deployed(DpdkDesign(case, _spec_of(case), placement), workspace)


def _spec_of(case: CaseSpec) -> OvsDpdkSpec:
    return own_settings(case.vswitch, OvsDpdkSpec, "OVS-DPDK", "vswitch.kind=ovs-dpdk")
