"""One testpmd that stands in for a machine: started, asked, and never left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.dpdk.running import Patience, RunningTestpmd, drops_of
from vsperf.drivers.vnfs.process.command import Machine, command_line
from vsperf.host.process import Managed, managed
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import Workspace
from vsperf.records.switch import MachineCounters, NicCounters


@dataclass
class RunningMachine:
    """A testpmd that was started."""

    machine: Machine
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
            tuple(f"NIC {wire.nic}" for wire in self.machine.wires),
        )

    @property
    def name(self) -> str:
        """The machine's name, such as vm1."""
        return self.machine.name

    def await_forwarding(self, deadline: float) -> None:
        """Wait until testpmd answers, and all its links are up and started."""
        patience = Patience(
            self.machine.spec.boot_timeout.seconds,
            deadline,
            "see that the switch has opened its side of the machine's ports, or allow more time: "
            "vnf.boot_timeout",
        )
        self.testpmd.await_forwarding(patience, self.look)

    def failure(self) -> str | None:
        """Return how it ended, or None while it runs."""
        return self.testpmd.failure()

    def counters(self) -> MachineCounters:
        """Return what each NIC counts."""
        found = self.testpmd.statistics()
        return MachineCounters(name=self.name, nics=tuple(_counters(stats) for stats in found))

    def facts(self) -> dict[str, Any]:
        """Return versions and what was negotiated, for the record."""
        return {
            "app": self.machine.spec.app,
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
def started(machine: Machine, program: str, workspace: Workspace) -> Iterator[RunningMachine]:
    """Start a machine, and return before it is up; leaving the context ends it."""
    for wire in machine.wires:
        if wire.kind == "vhost-user-client":  # it listens itself; whoever did before it is gone
            Path(workspace.fill(wire.address)).unlink(missing_ok=True)
    argv = [workspace.fill(word) for word in command_line(program, machine)]
    environment = {"RUNTIME_DIRECTORY": str(workspace.folder)}
    with managed(
        argv,
        name=machine.name,
        workspace=workspace,
        environment=environment,
        polling=Polling(machine.name, LCORES),
    ) as process:
        yield RunningMachine(
            machine,
            process,
            Path(workspace.fill(machine.testpmd.telemetry)),
            lambda: workspace.attend(f"while {machine.name} was waited for"),
        )


def _counters(stats: dict[str, int]) -> NicCounters:
    return NicCounters(
        received_frames=int(stats["ipackets"]),
        sent_frames=int(stats["opackets"]),
        drops=drops_of(stats),
    )
