# vsperf-wires/vsperf_wires/vnf.py
"""VNFs on sockets: a relay for each, which carries frames from one NIC to the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vnfs.group import Group
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.wants import Want
from vsperf.host.process import Managed, managed, written
from vsperf.host.workspace import Workspace
from vsperf.records.run import Placement, Step, Wire
from vsperf.records.switch import VnfCounters
from vsperf.trust.own_python import script
from vsperf.waits import sleep
from vsperf_wires import relay
from vsperf_wires.switch import PORT

PATIENCE_S = 30.0


class RelayVnfSpec(DriverSpec):
    """Settings of VNFs; there are none."""

    kind: Literal["relay"]


@dataclass(frozen=True, slots=True)
class Vnf:
    """A VNF that runs."""

    name: str
    program: Managed
    workspace: Workspace
    joined: int
    """How often its name had joined before it was started."""

    def failure(self) -> str | None:
        return self.program.failure()

    def await_forwarding(self, deadline: float) -> None:
        """Wait until it has called at its ports; the switch is there by now."""
        while joined(self.name, self.workspace) <= self.joined:
            self.workspace.attend(f"while {self.name} was waited for")
            if time.monotonic() > deadline:
                raise ComponentError(f"{self.name} has not called at its ports")
            sleep(0.01)

    def counters(self) -> VnfCounters:
        return VnfCounters(name=self.name)  # it counts nothing

    def facts(self) -> dict[str, Any]:
        return {"argv": list(self.program.argv)}


class Vnfs(Group[Vnf]):
    """All VNFs of a deployment."""

    def __init__(self, starts: Sequence[Callable[[ExitStack], Vnf]], stack: ExitStack) -> None:
        self._starts = starts
        self._ends = stack.enter_context(ExitStack())
        super().__init__([start(self._ends) for start in starts])

    def await_forwarding(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        for one in self.vnfs:
            one.await_forwarding(deadline)

    def reboot(self) -> None:
        self._ends.close()
        self.vnfs = [start(self._ends) for start in self._starts]
        self.await_forwarding()

    def access(self) -> tuple[str, ...]:
        return tuple(f"tail -f {one.program.log}" for one in self.vnfs)


class RelayVnfs:
    """Runs relays in place of VNFs."""

    kind: ClassVar[str] = "relay"
    summary: ClassVar[str] = "a relay in place of each VNF, on sockets of the switch"
    Spec: ClassVar[type[DriverSpec]] = RelayVnfSpec
    wants: ClassVar[frozenset[Want]] = frozenset({Want.QUIET_CPUS})

    def needs(self, case: CaseSpec) -> Needs:
        return Needs(cpus=tuple(CpuNeed(name, 1, busy=False) for name in case.topology.vnfs))

    def plan(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
    ) -> tuple[Step, ...]:
        lines = command_lines(case, wires, placement)
        return tuple(
            Step(component="vnf", action=f"start {name}, which joins its NICs", argv=argv)
            for name, argv in lines.items()
        )

    def require(self, case: CaseSpec) -> None:
        """Python is there, and so are sockets."""

    def notes(self, case: CaseSpec) -> tuple[str, ...]:
        return ("the VNFs are relays: what a guest would cost is not in the result",)

    @contextmanager
    def start(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement, workspace: Workspace
    ) -> Iterator[Vnfs]:
        lines = command_lines(case, wires, placement)
        with ExitStack() as stack:
            starts = [partial(started, name, argv, workspace) for name, argv in lines.items()]
            yield Vnfs(starts, stack)


def started(name: str, argv: tuple[str, ...], workspace: Workspace, stack: ExitStack) -> Vnf:
    """Start a VNF; the switch is not there yet, so nothing is waited for."""
    words = [workspace.fill(word) for word in argv]
    before = joined(name, workspace)
    program = stack.enter_context(managed(words, name=name, workspace=workspace))
    return Vnf(name, program, workspace, before)


def joined(name: str, workspace: Workspace) -> int:
    """Return how often a VNF has said so; what it writes outlives a reboot."""
    return written(name, workspace).count("joined")


def command_lines(
    case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
) -> dict[str, tuple[str, ...]]:
    """Return what is run for each VNF, with the folder of a deployment not filled in."""
    own_settings(case.vnf, RelayVnfSpec, "relays", "vnf.kind=relay")
    found = {}
    for name in case.topology.vnfs:
        nics = [wire for wire in wires if wire.vnf == name]
        if len(nics) != 2 or any(nic.kind != PORT for nic in nics):
            kinds = ", ".join(nic.kind for nic in nics) or "none"
            raise UsageError(
                f"a relay joins two sockets, and the NICs of {name} are plugged into: {kinds}",
                fix="--vswitch relay, and a topology such as pvp",
            )
        cpus = ",".join(map(str, placement.of(name)))
        sockets = (nic.address for nic in nics)
        found[name] = script(Path(relay.__file__), cpus or "any", "call", *sockets)
    return found
