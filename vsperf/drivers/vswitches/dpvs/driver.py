"""The driver: an instance of DPVS of its own for each case, and nothing left of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.dpdk.command import MEGABYTE
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan, require_root
from vsperf.drivers.vswitches.dpvs.layout import (
    CONFIGURATION,
    IPC_SOCKET,
    MAIN_ROLE,
    NAME,
    PID_FILE,
    Design,
    check_ends,
    switch_plan,
)
from vsperf.drivers.vswitches.dpvs.programs import Programs, Talk, find_programs, planned_program
from vsperf.drivers.vswitches.dpvs.running import RunningDpvs
from vsperf.drivers.vswitches.dpvs.spec import DpvsSpec
from vsperf.drivers.vswitches.kernel_ports import MTU, PMD_ROLE
from vsperf.errors import NotReadyError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.networks import hand_over, private_network
from vsperf.host.process import Managed, end, managed
from vsperf.host.taps import tap
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import Workspace, require_fitting
from vsperf.records import threads
from vsperf.records.run import Placement

START_S = 60.0
"""Patience until it listens: it takes all of its memory before."""
END_S = 5.0


def _programs(here: Host) -> Answer:
    """Look for the install that was chosen, or that is used where a case names no other."""
    chosen = here.settings(DpvsSpec)
    try:
        found = find_programs(chosen, here.environment.get("PATH"))
    except NotReadyError as error:
        return missing(error.problems[0], wanted=chosen is not None)
    return ok(f"{found.daemon}, version {found.version}")


CHECKS = (Check(NAME, Group.PROGRAMS, _programs),)
"""Not among the checks of a run: a case may name another install, and the driver looks at that."""


class Dpvs:
    """Deploys DPVS."""

    kind: ClassVar[str] = "dpvs"
    summary: ClassVar[str] = "DPVS, a load balancer on DPDK, a private instance beside any other"
    Spec: ClassVar[type[DriverSpec]] = DpvsSpec
    sockets: ClassVar[tuple[str, ...]] = (IPC_SOCKET,)
    wants: ClassVar[frozenset[Want]] = POLLING_SWITCH | {Want.TAPS}
    checks: ClassVar[tuple[Check, ...]] = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        check_ends(case)
        workers = None if spec.worker_cpus is None else spec.worker_cpus.cpus
        main = spec.main_cpu
        master = () if main is None else (CpuNeed(MAIN_ROLE, 1, busy=False, pinned=(main,)),)
        memory = Design(case, spec, Placement()).memory_mb
        return Needs(
            cpus=(CpuNeed(PMD_ROLE, spec.worker_count, pinned=workers), *master),
            hugepage_bytes=memory * MEGABYTE if spec.hugepages else 0,
        )

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        spec = _spec_of(case)
        return switch_plan(Design(case, spec, placement), planned_program(spec.install))

    def require(self, case: CaseSpec) -> None:
        require_root("DPVS", "it takes memory that only root may give, and has devices of its own")
        find_programs(_spec_of(case))

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningDpvs]:
        design = Design(case, _spec_of(case), placement)
        self.require(case)
        require_fitting(design.sockets, workspace)
        with ExitStack() as stack:
            _make_taps(design, workspace, stack)
            text = "".join(f"{line}\n" for line in design.configuration())
            Path(workspace.fill(CONFIGURATION)).write_text(text)
            made = _Maker(design, find_programs(design.spec), workspace, stack)
            running = RunningDpvs(
                design=design,
                talk=Talk(made.programs, workspace.fill(IPC_SOCKET)),
                workspace=workspace,
                daemon=made.started(),
                start_again=made.start_again,
            )
            try:
                yield running
            finally:
                running.stopped = True


def _make_taps(design: Design, workspace: Workspace, stack: ExitStack) -> None:
    """Make the network and the taps in it, each with a promise to remove it; if there are any."""
    names = tuple(workspace.fill(name) for name in design.taps)
    if not names:
        return
    network = stack.enter_context(private_network(workspace))
    for name in names:
        stack.enter_context(tap(name, workspace, mtu=MTU, several_queues=True))
    hand_over(names, network, design.cpus)


@dataclass(frozen=True)
class _Maker:
    """Starts it, as often as it is asked to."""

    design: Design
    programs: Programs
    workspace: Workspace
    stack: ExitStack
    """Ends what was started."""

    def started(self) -> Managed:
        """Start it, and wait until it listens: it answers later, when it has its ports."""
        for file in (PID_FILE, *self.design.sockets):  # DPDK does not listen where something is
            Path(self.workspace.fill(file)).unlink(missing_ok=True)
        listens = Path(self.workspace.fill(IPC_SOCKET))
        argv = self.design.command(self.programs.daemon)
        return self.stack.enter_context(
            managed(
                [self.workspace.fill(word) for word in argv],
                name=NAME,
                workspace=self.workspace,
                ready=listens.is_socket,
                timeout_s=START_S,
                environment={"RUNTIME_DIRECTORY": str(self.workspace.folder)},
                polling=Polling(threads.SWITCH, LCORES),
            )
        )

    def start_again(self, before: Managed, kill: bool) -> Managed:
        """End it, and start another one in its place."""
        if kill:
            before.process.kill()
            before.await_end(END_S)
        end(before, self.workspace)
        return self.started()


def _spec_of(case: CaseSpec) -> DpvsSpec:
    return own_settings(case.vswitch, DpvsSpec, "DPVS", "vswitch.kind=dpvs")
