"""Simulated machines: a model of a switch counts its passes, and nothing else happens in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal

from pydantic import Field

from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.record.machine import MachineCounters
from vsperf.record.plan import Placement, Step, Wire
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec


class SimulatedVnfSpec(DriverSpec):
    """Settings of simulated machines; none of them changes a number."""

    kind: Literal["sim"]
    queues: int = Field(default=1, ge=1)
    """Accepted so that testcases about queues can be tried; a model has none."""


class SimulatedMachines:
    """Machines that lose nothing and take no time."""

    def await_forwarding(self) -> None:
        pass

    def failure(self) -> str | None:
        return None

    def counters(self) -> tuple[MachineCounters, ...]:
        return ()

    def facts(self) -> dict[str, Any]:
        return {}

    def access(self) -> tuple[str, ...]:
        return ()


class SimulatedVnf:
    """Runs nothing: what the passes through the switch cost is in the switch's model."""

    kind: ClassVar[str] = "sim"
    summary: ClassVar[str] = "nothing in place of a machine, for simulated testbeds"
    Spec: ClassVar[type[DriverSpec]] = SimulatedVnfSpec

    def needs(self, case: CaseSpec) -> Needs:
        return Needs()

    def plan(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
    ) -> tuple[Step, ...]:
        names = ", ".join(case.topology.machines)
        return (Step(component="vnf", action=f"simulate {names}: frames pass unchanged"),)

    def require(self, case: CaseSpec) -> None:
        pass

    def notes(self, case: CaseSpec) -> tuple[str, ...]:
        return ()

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        wires: tuple[Wire, ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[SimulatedMachines]:
        yield SimulatedMachines()
