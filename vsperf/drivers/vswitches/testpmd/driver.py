"""The driver: a testpmd of its own for each case, and nothing left of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.dpdk.command import MEGABYTE
from vsperf.dpdk.running import Patience, RunningTestpmd, find_testpmd
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan
from vsperf.drivers.vswitches.testpmd.plan import MAIN_ROLE, NAME, PMD_ROLE, Design, switch_plan
from vsperf.drivers.vswitches.testpmd.running import START_S, RunningSwitch
from vsperf.drivers.vswitches.testpmd.spec import TestpmdSpec
from vsperf.errors import NotReadyError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.process import Managed, end, managed
from vsperf.host.software import package_versions
from vsperf.host.threads import LCORES, Polling
from vsperf.host.tree import HERE, Tree
from vsperf.host.workspace import LONGEST_NAME, Workspace, require_short
from vsperf.records import threads
from vsperf.records.run import Placement

END_S = 5.0


PACKAGE = "dpdk"
PURPOSE = "it is the switch (vswitch.kind=testpmd)"


def _program(here: Host) -> Answer:
    """Look for the program that was chosen, or the machine's own."""
    chosen = here.settings(TestpmdSpec)
    tree = HERE if chosen is None else Tree.of(chosen)
    try:
        program = find_testpmd(PURPOSE, tree)
    except NotReadyError as error:
        return missing(error.problems[0], wanted=chosen is not None)
    known = package_versions((PACKAGE,), tree.root)  # the program itself tells none
    about = "".join(f", package {name} {version}" for name, version in known.items())
    return ok(f"{program}{tree.within}{about}")


CHECKS = (Check("testpmd as a switch", Group.PROGRAMS, _program),)
"""Not among the checks of a run: a case may name a tree, and the driver looks at that."""


class TestpmdSwitch:
    """Deploys testpmd in the place of a switch: the least that one could cost on its ports."""

    __test__ = False  # its name looks like that of tests

    kind: ClassVar[str] = "testpmd"
    summary: ClassVar[str] = "DPDK's testpmd, which joins ports in pairs and looks at no frame"
    Spec: ClassVar[type[DriverSpec]] = TestpmdSpec
    wants: ClassVar[frozenset[Want]] = POLLING_SWITCH
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        pmds = None if spec.pmd_cpus is None else spec.pmd_cpus.cpus
        main = None if spec.main_cpu is None else (spec.main_cpu,)
        memory = spec.memory or Design(case, spec).rings.memory_mb
        return Needs(
            cpus=(
                CpuNeed(PMD_ROLE, spec.pmd_count, pinned=pmds),
                CpuNeed(MAIN_ROLE, 1, busy=False, pinned=main),
            ),
            hugepage_bytes=memory * MEGABYTE if spec.hugepages else 0,
        )

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        find_testpmd(PURPOSE, Tree.of(_spec_of(case)))
        names = (place.name for place in Design(case, _spec_of(case)).places)
        telemetry = f"dpdk/{LONGEST_NAME}-{NAME}/dpdk_telemetry.v2"
        require_short((telemetry, *(f"{name}.sock" for name in names)))

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningSwitch]:
        design = Design(case, _spec_of(case), placement)
        with ExitStack() as stack:
            made = _Instance(design, find_testpmd(PURPOSE, design.tree), workspace, stack)
            running = RunningSwitch(
                design.spec,
                design.places,
                made.start(),
                made.start_again,
                placement.of(PMD_ROLE),
                made.look,
            )
            try:
                yield running
            finally:
                running.stopped = True


@dataclass
class _Instance:
    """What runs, and how another one takes its place."""

    design: Design
    program: str
    workspace: Workspace
    stack: ExitStack
    """Ends what was started."""
    process: Managed | None = None

    def look(self) -> None:
        """Raise when another part of the deployment does not run any more."""
        self.workspace.attend("while the switch was waited for", but=NAME)

    def start(self) -> RunningTestpmd:
        """Start it, and wait until its ports are open."""
        for socket in self.design.sockets:  # DPDK does not listen where something is
            Path(self.workspace.fill(socket)).unlink(missing_ok=True)
        self.process = self.stack.enter_context(self._managed())
        running = RunningTestpmd(
            NAME,
            self.process,
            Path(self.workspace.fill(self.design.testpmd.telemetry)),
            tuple(place.name for place in self.design.places),
        )
        patience = Patience(
            START_S, time.monotonic() + START_S, "`vsperf plan` shows its command line; try it"
        )
        running.await_forwarding(patience, self.look, linked=())
        return running

    def start_again(self, kill: bool) -> RunningTestpmd:
        """End it, and start another one in its place."""
        if self.process is not None:
            if kill:
                self.process.process.kill()
                self.process.await_end(END_S)
            end(self.process, self.workspace)
        return self.start()

    def _managed(self) -> AbstractContextManager[Managed]:
        argv = self.design.command(self.program)
        return managed(
            [self.workspace.fill(word) for word in argv],
            name=NAME,
            workspace=self.workspace,
            environment={"RUNTIME_DIRECTORY": str(self.workspace.folder)},
            polling=Polling(threads.SWITCH, LCORES),
        )


def _spec_of(case: CaseSpec) -> TestpmdSpec:
    return own_settings(case.vswitch, TestpmdSpec, "testpmd", "vswitch.kind=testpmd")
