"""One testpmd that stands in for a guest: started, asked, and never left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.dpdk.running import Patience, RunningTestpmd, drops_of
from vsperf.drivers.vnfs.process.command import PlannedVnf, command_line
from vsperf.host.process import Managed, managed
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import Workspace
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
