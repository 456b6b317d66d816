"""What a driver of VNFs offers: all VNFs of a topology, which forward.

A VNF may be a real guest, or a process that does what a guest would do.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol, runtime_checkable

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement, Step, Wire
from vsperf.records.switch import VnfCounters


class RunningVnfs(Protocol):
    """All VNFs of a deployment."""

    def await_forwarding(self) -> None:
        """Wait until every VNF forwards; raises `ComponentError` with what it said last.

        Called once the switch and the generator are up, as the NICs need both to be.
        """

    def reboot(self) -> None:
        """Let all VNFs start anew, as after a reboot, and wait until they forward again.

        Switch and generator go on meanwhile. Raises `ComponentError` as `await_forwarding` does.
        """

    def failure(self) -> str | None:
        """Return why a VNF no longer works, such as `vm1 was killed by SIGKILL`, or None."""

    def counters(self) -> tuple[VnfCounters, ...]:
        """Return the counters of every VNF, those without any included; none of a model."""

    def facts(self) -> dict[str, Any]:
        """Return accelerator, versions and settings as found, by VNF, for the record."""

    def access(self) -> tuple[str, ...]:
        """Return the commands by which a person gets at the VNFs."""


@runtime_checkable
class HeldVnfs(Protocol):
    """VNFs that can be held still with their switch, and go on where they were (`HELD_STILL`)."""

    def processes(self) -> tuple[int, ...]:
        """Return the numbers of the processes that forward, such as QEMUs with their guests."""


@runtime_checkable
class ModelledVnfs(Protocol):
    """VNFs that are models: what is done to them happens in the time of a trial."""

    def away_ns(self) -> int:
        """Return for how long they forward nothing when they reboot."""


class Vnf(Protocol):
    """Runs one kind of VNF."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]

    def needs(self, case: CaseSpec) -> Needs:
        """Return what the VNFs ask of the host; touches nothing.

        The roles of their CPUs begin with the VNF's name: `vm1` for what forwards.
        """

    def plan(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
    ) -> tuple[Step, ...]:
        """Say what `start` will do; touches nothing but files that it names, such as an image."""

    def require(self, case: CaseSpec) -> None:
        """Raise `NotReadyError` for what the host lacks; asked before anything is started."""

    def notes(self, case: CaseSpec) -> tuple[str, ...]:
        """Return what a reader of the result must know, such as that guests are emulated."""
        return ()

    def start(
        self,
        case: CaseSpec,
        wires: tuple[Wire, ...],
        placement: Placement,
        workspace: Workspace,
    ) -> AbstractContextManager[RunningVnfs]:
        """Start every VNF, and return before they are up; leaving the context ends them."""
