"""The driver: a testpmd for each VNF of a case: started, asked, and nothing left of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.dpdk.command import PROGRAM
from vsperf.dpdk.running import Patience, RunningTestpmd, drops_of, find_testpmd
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vnfs.group import Group
from vsperf.drivers.vnfs.process.command import PlannedVnf, command_line, needs_of, vnfs_of
from vsperf.drivers.vnfs.process.spec import ProcessSpec
from vsperf.host.cpus import Needs
from vsperf.host.process import Managed, managed
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import LONGEST_NAME, Workspace, require_short
from vsperf.records.run import Placement, Step, Wire
from vsperf.records.switch import NicCounters, VnfCounters


@dataclass
class RunningVnf:
    """A testpmd that was started."""

    vnf: PlannedVnf
    program: Managed
    telemetry: Path
    look: Callable[[], None] = lambda: None
    """Raises when it would wait in vain, since another part has ended."""
    testpmd: RunningTestpmd = field(init=False)

    def __post_init__(self) -> None:
        self.testpmd = RunningTestpmd(
            self.name,
            self.program,
            self.telemetry,
            tuple(f"NIC {wire.nic}" for wire in self.vnf.wires),
        )

    @property
    def name(self) -> str:
        """The VNF's name, such as vm1."""
        return self.vnf.name

    def await_forwarding(self, deadline: float) -> None:
        """Wait until testpmd answers, and all its links are up and started."""
        patience = Patience(
            self.vnf.spec.boot_timeout.seconds,
            deadline,
            "see that the switch has opened its side of the VNF's ports, or allow more time: "
            "vnf.boot_timeout",
        )
        self.testpmd.await_forwarding(patience, self.look)

    def failure(self) -> str | None:
        """Return how it ended, or None while it runs."""
        return self.testpmd.failure()

    def counters(self) -> VnfCounters:
        """Return what each NIC counts."""
        found = self.testpmd.statistics()
        return VnfCounters(name=self.name, nics=tuple(_counters(stats) for stats in found))

    def facts(self) -> dict[str, Any]:
        """Return versions and what was negotiated, for the record."""
        return {
            "app": self.vnf.spec.app,
            "dpdk": self.testpmd.dpdk,
            "argv": list(self.program.argv),
            "ports": self.testpmd.ports,
        }

    def ask_to_end(self) -> None:
        """Tell it to end; nobody waits here."""
        if self.program.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.program.pid, signal.SIGTERM)


@contextmanager
def started(vnf: PlannedVnf, program: str, workspace: Workspace) -> Iterator[RunningVnf]:
    """Start a VNF, and return before it is up; leaving the context ends it."""
    for wire in vnf.wires:
        if wire.kind == "vhost-user-client":  # it listens itself; whoever did before it is gone
            Path(workspace.fill(wire.address)).unlink(missing_ok=True)
    argv = [workspace.fill(word) for word in command_line(program, vnf)]
    environment = {"RUNTIME_DIRECTORY": str(workspace.folder)}
    with managed(
        argv,
        name=vnf.name,
        workspace=workspace,
        environment=environment,
        polling=Polling(vnf.name, LCORES),
    ) as process:
        yield RunningVnf(
            vnf,
            process,
            Path(workspace.fill(vnf.testpmd.telemetry)),
            lambda: workspace.attend(f"while {vnf.name} was waited for"),
        )


def _counters(stats: dict[str, int]) -> NicCounters:
    return NicCounters(
        received_frames=int(stats["ipackets"]),
        sent_frames=int(stats["opackets"]),
        drops=drops_of(stats),
    )


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
