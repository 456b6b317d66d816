"""Simulated VNFs: a model of a switch counts its passes, and nothing else happens in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.settings import reading
from vsperf.drivers.vnfs.base import Vnf
from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import Duration
from vsperf.records.run import Placement, Step, Wire
from vsperf.records.switch import VnfCounters


class SimulatedVnfSpec(DriverSpec):
    """Settings of simulated VNFs; none changes a number, but where they reboot."""

    MODEL: ClassVar[bool] = True

    kind: Literal["sim"]
    queues: int = Field(default=1, ge=1)
    """Accepted so that testcases about queues can be tried; a model has none."""
    reboot_takes: Duration = Duration(2_000_000_000)
    """For how long they forward nothing when they reboot."""


@dataclass(frozen=True, slots=True)
class SimulatedVnfs:
    """VNFs that lose nothing and take no time."""

    spec: SimulatedVnfSpec

    def await_forwarding(self) -> None:
        pass

    def reboot(self) -> None:
        """Nothing runs that could stay away: a trial is told for how long it would (`away_ns`)."""

    def away_ns(self) -> int:
        return self.spec.reboot_takes.ns

    def failure(self) -> str | None:
        return None

    def counters(self) -> tuple[VnfCounters, ...]:
        return ()

    def facts(self) -> dict[str, Any]:
        return {}

    def access(self) -> tuple[str, ...]:
        return ()


class SimulatedVnf(Vnf):
    """Runs nothing: what the passes through the switch cost is in the switch's model."""

    kind = "sim"
    summary = "nothing in place of a VNF, for simulated testbeds"
    Spec = SimulatedVnfSpec

    def needs(self, case: CaseSpec) -> Needs:
        return Needs()

    def plan(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
    ) -> tuple[Step, ...]:
        names = ", ".join(case.topology.vnfs)
        return (Step(component="vnf", action=f"simulate {names}: frames pass unchanged"),)

    def require(self, case: CaseSpec) -> None:
        pass

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        wires: tuple[Wire, ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[SimulatedVnfs]:
        yield SimulatedVnfs(_spec_of(case))


_spec_of = reading("vnf.kind=sim", SimulatedVnfSpec, "simulated VNFs")
