"""The simulated switch: a model instead of a program, for testing searches and for teaching."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from vsperf.errors import UsageError
from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.record.plan import Endpoint, Placement, Step
from vsperf.record.switch import SwitchCounters
from vsperf.simulation.switch import ENDPOINT_KIND, SwitchModel, SwitchSettings
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec
from vsperf.vswitches.base import SwitchPlan


class SimulatedSwitchSpec(SwitchSettings, DriverSpec):
    """Settings of the simulated switch."""

    kind: Literal["sim"]

    @model_validator(mode="after")
    def _capacity_needs_no_line(self) -> Self:
        if self.capacity is not None and self.capacity.unit == "%":
            raise ValueError("capacity belongs to the switch and not to a line; write it as 5Mpps")
        return self


@dataclass
class RunningModel:
    """A model is well for as long as it is deployed; whether it forwards, only frames tell."""

    stopped: bool = False

    def failure(self) -> str | None:
        return "the simulated switch was stopped" if self.stopped else None

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        pass

    def counters(self) -> SwitchCounters | None:
        return None

    def facts(self) -> dict[str, Any]:
        return {}

    def restart(self, *, kill: bool) -> None:
        raise UsageError(
            "a simulated switch cannot be restarted",
            why="nothing runs that could stay away",
            fix="choose a testbed with a real switch, such as --testbed local",
        )

    def access(self) -> tuple[str, ...]:
        return ()


class SimulatedSwitch:
    """Deploys nothing: its endpoints say all about it."""

    kind: ClassVar[str] = "sim"
    summary: ClassVar[str] = "a documented model of a switch; never a measurement"
    Spec: ClassVar[type[DriverSpec]] = SimulatedSwitchSpec

    def needs(self, case: CaseSpec) -> Needs:
        return Needs()

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        spec, links = _spec_of(case), case.topology.links
        if not links:
            raise UsageError(
                f"the simulated switch has no port in topology {case.topology.name}",
                why="none of its paths uses a link, and a simulated generator sits on links",
                fix="choose a topology with links, such as p2p",
            )
        model = SwitchModel(
            cost=spec.cost,
            capacity=spec.capacity,
            behaviour=spec.behaviour,
            ports=links,
            passes=max(len(path) - 1 for path in case.topology.paths),
        )
        kind = spec.behaviour.kind
        step = Step(component="vswitch", action=f"simulate a switch that behaves as `{kind}`")
        address = model.address()
        endpoints = [Endpoint(link=link, kind=ENDPOINT_KIND, address=address) for link in links]
        return SwitchPlan((step,), tuple(endpoints))

    def require(self, case: CaseSpec) -> None:
        pass

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningModel]:
        running = RunningModel()
        try:
            yield running
        finally:
            running.stopped = True


def _spec_of(case: CaseSpec) -> SimulatedSwitchSpec:
    if not isinstance(case.vswitch, SimulatedSwitchSpec):
        raise UsageError(
            f"the simulated switch was given settings of kind {case.vswitch.kind!r}",
            fix="--set vswitch.kind=sim",
        )
    return case.vswitch
