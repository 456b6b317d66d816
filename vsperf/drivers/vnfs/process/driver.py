"""The driver: a testpmd for each VNF of a case, and nothing left of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.dpdk.command import PROGRAM
from vsperf.dpdk.running import find_testpmd
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vnfs.group import Group
from vsperf.drivers.vnfs.process.command import PlannedVnf, command_line, needs_of, vnfs_of
from vsperf.drivers.vnfs.process.spec import ProcessSpec
from vsperf.drivers.vnfs.process.vnf import RunningVnf, started
from vsperf.host.cpus import Needs
from vsperf.host.workspace import LONGEST_NAME, Workspace, require_short
from vsperf.records.run import Placement, Step, Wire

PURPOSE = "it forwards in place of a guest"
Start = Callable[[PlannedVnf, ExitStack], RunningVnf]
"""Starts a VNF, and lets a stack end it."""


class Processes(Group[RunningVnf]):
    """All VNFs of a deployment, in the order of the topology."""

    def __init__(self, vnfs: Sequence[PlannedVnf], start: Start, stack: ExitStack) -> None:
        self._start = start
        self._ends = {one.name: stack.enter_context(ExitStack()) for one in vnfs}
        super().__init__([start(one, self._ends[one.name]) for one in vnfs])

    def await_forwarding(self) -> None:
        began = time.monotonic()
        for running in self.vnfs:
            running.await_forwarding(began + running.vnf.spec.boot_timeout.seconds)

    def reboot(self) -> None:
        """End every process and start another one in its place: all that it knew is gone."""
        self.ask_to_end()
        for running in self.vnfs:
            self._ends[running.name].close()
        self.vnfs = [self._start(one.vnf, self._ends[one.name]) for one in self.vnfs]
        self.await_forwarding()

    def ask_to_end(self) -> None:
        """Tell all of them to end; nobody waits here."""
        for running in self.vnfs:
            running.ask_to_end()

    def processes(self) -> tuple[int, ...]:
        return tuple(running.program.pid for running in self.vnfs)

    def access(self) -> tuple[str, ...]:
        return tuple(line for running in self.vnfs for line in running.testpmd.access())


class ProcessVnf:
    """Forwards as a container would: a process on vhost-user, and no guest around it."""

    kind: ClassVar[str] = "process"
    summary: ClassVar[str] = "testpmd on virtio_user in place of a guest, as containers run it"
    Spec: ClassVar[type[DriverSpec]] = ProcessSpec

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(case, _spec_of(case))

    def plan(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
    ) -> tuple[Step, ...]:
        vnfs = vnfs_of(case, _spec_of(case), wires, placement)
        return tuple(_step(vnf) for vnf in vnfs)

    def require(self, case: CaseSpec) -> None:
        find_testpmd(PURPOSE)
        vnfs = case.topology.vnfs
        require_short(f"dpdk/{LONGEST_NAME}-{vnf}/dpdk_telemetry.v2" for vnf in vnfs)

    def notes(self, case: CaseSpec) -> tuple[str, ...]:
        return ("the VNFs are processes: what a guest would cost is not in the result",)

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        wires: tuple[Wire, ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[Processes]:
        program = find_testpmd(PURPOSE)

        def start(vnf: PlannedVnf, stack: ExitStack) -> RunningVnf:
            return stack.enter_context(started(vnf, program, workspace))

        with ExitStack() as stack:
            running = Processes(vnfs_of(case, _spec_of(case), wires, placement), start, stack)
            try:
                yield running
            finally:
                if not workspace.kept:
                    running.ask_to_end()  # all now; each is waited for when it is its turn


def _step(vnf: PlannedVnf) -> Step:
    cpus = ", ".join(str(cpu) for cpu in vnf.cpus)
    return Step(
        component="vnf",
        action=f"start {vnf.name}, a testpmd that forwards in mode {vnf.spec.forward}, on "
        f"CPU {cpus}",
        argv=command_line(PROGRAM, vnf),
    )


def _spec_of(case: CaseSpec) -> ProcessSpec:
    return own_settings(case.vnf, ProcessSpec, "VNFs that are processes", "vnf.kind=process")
