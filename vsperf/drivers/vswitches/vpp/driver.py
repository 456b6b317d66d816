"""The driver: an instance of VPP of its own for each case, and nothing left of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.vpp import layout
from vsperf.drivers.vswitches.vpp.bringup import MEMORY_FIX, instance
from vsperf.drivers.vswitches.vpp.layout import ports_of
from vsperf.drivers.vswitches.vpp.plan import Design, switch_plan
from vsperf.drivers.vswitches.vpp.programs import find_programs, planned_programs
from vsperf.drivers.vswitches.vpp.running import RunningVpp
from vsperf.drivers.vswitches.vpp.spec import VppSpec
from vsperf.drivers.vswitches.vpp.startup import MAIN_ROLE, WORKER_ROLE, hugepage_bytes
from vsperf.errors import NotReadyError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.hugepages import read_pools
from vsperf.host.tree import HERE, Tree
from vsperf.host.workspace import Workspace, require_fitting
from vsperf.records.run import Placement


def _programs(here: Host) -> Answer:
    """Look for the install that was chosen, or that is used where a case names no other."""
    chosen = here.settings(VppSpec)
    tree = HERE if chosen is None else Tree.of(chosen)
    try:
        programs = find_programs(None if chosen is None else chosen.install, tree)
        version = programs.version().partition("\n")[0]
    except NotReadyError as error:
        return missing(error.problems[0], wanted=chosen is not None)
    return ok(f"{programs.daemon}{tree.within}: {version}")


CHECKS = (Check("vpp", Group.PROGRAMS, _programs),)
"""Not among the checks of a run: a case may name another install, and the driver looks at that."""


class Vpp:
    """Deploys VPP."""

    kind: ClassVar[str] = "vpp"
    summary: ClassVar[str] = "VPP of FD.io, a private instance beside any other"
    Spec: ClassVar[type[DriverSpec]] = VppSpec
    sockets: ClassVar[tuple[str, ...]] = layout.SOCKETS
    wants: ClassVar[frozenset[Want]] = POLLING_SWITCH
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        workers = None if spec.worker_cpus is None else spec.worker_cpus.cpus
        main = None if spec.main_cpu is None else (spec.main_cpu,)
        return Needs(
            cpus=(
                CpuNeed(WORKER_ROLE, spec.worker_count, pinned=workers),
                CpuNeed(MAIN_ROLE, 1, busy=False, pinned=main),
            ),
            hugepage_bytes=hugepage_bytes(spec, ports_of(case, spec)),
        )

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        spec = _spec_of(case)
        return switch_plan(
            Design(case, spec, placement), planned_programs(spec.install, Tree.of(spec))
        )

    def require(self, case: CaseSpec) -> None:
        spec = _spec_of(case)
        find_programs(spec.install, Tree.of(spec))

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningVpp]:
        return _started(Design(case, _spec_of(case), placement), workspace)


@contextmanager
def _started(design: Design, workspace: Workspace) -> Iterator[RunningVpp]:
    programs = find_programs(design.spec.install, Tree.of(design.spec))
    check(design, workspace)
    check_hugepages(design)
    with instance(design, programs, workspace) as running:
        try:
            yield running
        finally:
            running.stopped = True


def check(design: Design, workspace: Workspace, user: int | None = None) -> None:
    """Raise `NotReadyError` for the first thing that cannot work; `user` stands in for the own."""
    if (os.geteuid() if user is None else user) != 0:
        raise NotReadyError(
            "VPP needs root",
            why="it takes hugepages, pins threads, and reads where memory is",
            fix="run vsperf with sudo",
        )
    own = [port.endpoint for port in design.ports if port.kind in ("vhost", "memif")]
    require_fitting((*layout.SOCKETS, *own), workspace)


def check_hugepages(design: Design) -> None:
    """Refuse too few: VPP would take more from the machine itself, and never give them back."""
    roles = (WORKER_ROLE, MAIN_ROLE)
    nodes = {node for role in roles for node in design.placement.nodes.get(role, (0,))}
    needed = hugepage_bytes(design.spec, design.ports)
    for node in sorted(nodes):
        pools = [pool for pool in read_pools() if pool.node == node]
        most = max((pool.free * pool.page_bytes for pool in pools), default=0)
        if most < needed:
            raise NotReadyError(
                f"there are too few free hugepages on node {node} for the buffers of VPP",
                why=f"{needed >> 20} MB are needed, and {most >> 20} MB are free",
                fix=MEMORY_FIX,
            )


def _spec_of(case: CaseSpec) -> VppSpec:
    return own_settings(case.vswitch, VppSpec, "VPP", "vswitch.kind=vpp")
