"""The driver: an instance of OVS-DPDK of its own for each case, and nothing left of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar

from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Check
from vsperf.host.workspace import Workspace
from vsperf.record.plan import Placement
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import SwitchPlan
from vsperf.vswitches.ovs.bringup import instance
from vsperf.vswitches.ovs.checks import check, require_network
from vsperf.vswitches.ovs.doctor import CHECKS
from vsperf.vswitches.ovs.dpdk.memory import MEGABYTE, memory_mb
from vsperf.vswitches.ovs.dpdk.settings import MAIN_ROLE, PMD_ROLE
from vsperf.vswitches.ovs.dpdk.spec import OvsDpdkSpec
from vsperf.vswitches.ovs.layout import ports_of
from vsperf.vswitches.ovs.plan import Design, switch_plan
from vsperf.vswitches.ovs.programs import find_programs, planned_programs
from vsperf.vswitches.ovs.running import RunningOvs


class OvsDpdk:
    """Deploys Open vSwitch with its userspace datapath on DPDK."""

    kind: ClassVar[str] = "ovs-dpdk"
    summary: ClassVar[str] = "Open vSwitch with DPDK, a private instance beside any other"
    Spec: ClassVar[type[DriverSpec]] = OvsDpdkSpec
    checks: ClassVar[tuple[Check, ...]] = CHECKS

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
        spec = _spec_of(case)
        return switch_plan(Design(case, spec, placement), planned_programs(spec.install))

    def require(self, case: CaseSpec) -> None:
        spec = _spec_of(case)
        find_programs(spec.install)
        require_network(ports_of(case, spec))

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningOvs]:
        return _started(Design(case, _spec_of(case), placement), workspace)


@contextmanager
def _started(design: Design, workspace: Workspace) -> Iterator[RunningOvs]:
    programs = find_programs(design.spec.install)
    check(design, workspace)
    with instance(design, programs, workspace) as running:
        try:
            yield running
        finally:
            running.stopped = True


def _spec_of(case: CaseSpec) -> OvsDpdkSpec:
    if not isinstance(case.vswitch, OvsDpdkSpec):
        raise UsageError(
            f"OVS-DPDK was given settings of kind {case.vswitch.kind!r}",
            fix="--set vswitch.kind=ovs-dpdk",
        )
    return case.vswitch
