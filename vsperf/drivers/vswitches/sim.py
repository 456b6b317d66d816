"""The simulated switch: a model instead of a program, for testing searches and for teaching."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.drivers.ending import until_left
from vsperf.drivers.settings import reading
from vsperf.drivers.vswitches.base import (
    DeploysNothing,
    Filters,
    NothingRuns,
    Rules,
    SwitchPlan,
    step,
)
from vsperf.errors import UsageError
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import FrameSize, LinkSpeed, Rate
from vsperf.records.run import Endpoint, Placement
from vsperf.records.switch import SwitchCounters
from vsperf.records.trial import TrialCounts
from vsperf.simulation.models import AddressTable
from vsperf.simulation.switch import ENDPOINT_KIND, SwitchModel, SwitchSettings


class SimulatedSwitchSpec(SwitchSettings, DriverSpec):
    """Settings of the simulated switch."""

    HELD_STILL: ClassVar[bool] = True

    kind: Literal["sim"]
    flows: Rules = "port"
    """Rules, as other switches have them. A model looks each flow up, whatever they are; with
    `learn` it is a bridge that learns addresses, too."""
    filters: Filters = 0
    """None: a model looks at no rule."""
    address_table: Annotated[int, Field(ge=1), Counted] = 8192
    """Addresses that a bridge has room for."""
    learns: Rate | None = None
    """Addresses that a bridge can learn in a second, such as `20kfps`; as many as come when not
    given."""

    @model_validator(mode="after")
    def _capacity_needs_no_line(self) -> Self:
        if self.capacity is not None and self.capacity.unit == "%":
            raise ValueError("capacity belongs to the switch and not to a line; write it as 5Mpps")
        return self

    @field_validator("filters")
    @classmethod
    def _filters_need_rules(cls, filters: int) -> int:
        if filters:
            raise ValueError(
                "a simulated switch has no rules, and its numbers would say that filters cost "
                "nothing; choose a testbed with a real switch, such as --testbed local"
            )
        return filters

    @model_validator(mode="after")
    def _learning_needs_no_line(self) -> Self:
        if self.learns is not None and self.learns.unit == "%":
            raise ValueError("learns belongs to the switch and not to a line; write it as 20kfps")
        return self

    @property
    def table(self) -> AddressTable | None:
        """The table of a bridge; None of a switch that is told where to forward."""
        if self.flows != "learn":
            return None
        rate = self.learns
        per_second = None if rate is None else rate.frames_per_second(FrameSize(64), LinkSpeed(1))
        return AddressTable(self.address_table, per_second)


@dataclass
class RunningModel(NothingRuns):
    """A model is well for as long as it is deployed; whether it forwards, only frames tell."""

    spec: SimulatedSwitchSpec = field(default_factory=lambda: SimulatedSwitchSpec(kind="sim"))
    addresses_each: int = 1
    """Addresses that the frames of one direction come from."""
    ended: bool = False
    table: AddressTable | None = field(init=False)
    _lost: int = 0

    def __post_init__(self) -> None:
        self.table = self.spec.table

    def failure(self) -> str | None:
        return "the simulated switch was stopped" if self.ended else None

    def counters(self) -> SwitchCounters | None:
        if self.table is None:
            return None
        return SwitchCounters(drops={"model": self._lost}, addresses=self.table.counts)

    def carried(self, counts: TrialCounts, duration_ns: int) -> None:
        for way in counts.directions:
            self._lost += way.sent_frames - way.good_frames
            if self.table is not None:
                seen = min(way.sent_frames, self.addresses_each)
                self.table.see(way.name, seen, duration_ns)

    def restart(self, *, kill: bool) -> None:
        """Nothing runs that could stay away: a trial is told for how long it would (`away_ns`)."""

    def away_ns(self, *, kill: bool) -> int:
        return (self.spec.kill_takes if kill else self.spec.restart_takes).ns

    def forget_flows(self) -> None:
        if self.table is not None:  # a model knows no flow
            self.table.flush()

    def change_rules(self, count: int) -> None:
        raise UsageError(
            "a simulated switch has no rules that could be changed",
            why="its numbers would say that changes cost nothing",
            fix="choose a testbed with a real switch, such as --testbed local",
        )

    def processes(self) -> tuple[int, ...]:
        return ()


class SimulatedSwitch(DeploysNothing):
    """Deploys nothing: its endpoints say all about it."""

    kind = "sim"
    summary = "a documented model of a switch; never a measurement"
    Spec = SimulatedSwitchSpec

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        spec, links = _spec_of(case), case.topology.links
        if not links:
            raise UsageError(
                f"the simulated switch has no port in topology {case.topology.name}",
                why="none of its paths uses a link, and a simulated generator sits on links",
                fix="choose a topology with links, such as p2p",
            )
        cabled = [link for link in links if case.testbed.links[link].switch is not None]
        if cabled:
            raise UsageError(
                f"testbed link {cabled[0]} names a device, and a simulated switch has none",
                why="no frame of a model leaves this program",
                fix=f"leave testbed.links.{cabled[0]}.switch out, or choose a real testbed",
            )
        model = SwitchModel(
            cost=spec.cost,
            capacity=spec.capacity,
            behaviour=spec.behaviour,
            upcall_takes=spec.upcall_takes,
            draw=spec.draw,
            warms_in=spec.warms_in,
            modify=spec.modify,
            modifies=spec.modifies,
            ports=links,
            passes=max(len(path) - 1 for path in case.topology.paths),
        )
        kind = spec.behaviour.kind
        done = f", and modifies frames: {case.modify}" if case.modify.anything else ""
        simulate = step(f"simulate a switch that behaves as `{kind}`{done}")
        address = model.address()
        endpoints = [Endpoint(link=link, kind=ENDPOINT_KIND, address=address) for link in links]
        return SwitchPlan((simulate,), tuple(endpoints))

    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> AbstractContextManager[RunningModel]:
        apart = case.traffic.vary == "mac"
        return until_left(RunningModel(_spec_of(case), int(case.traffic.flows) if apart else 1))


_spec_of = reading("vswitch.kind=sim", SimulatedSwitchSpec, "the simulated switch")
