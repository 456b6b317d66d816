"""The simulated generator: makes trials on a simulated path, in virtual time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from vsperf.config.abilities import OF_CONNECTIONS, Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.wiring import load_share
from vsperf.drivers.ending import until_left
from vsperf.drivers.generators.base import (
    OnSample,
    TrialRequest,
    TurnSide,
    TurnsRequest,
    Unmeasured,
)
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.settings import reading
from vsperf.errors import ComponentError, UsageError
from vsperf.host.cpus import Needs
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.trial import TrialCounts
from vsperf.records.turn_columns import TurnColumns
from vsperf.records.turns import Turns
from vsperf.simulation.generator import Fault, GeneratorSettings
from vsperf.simulation.path import Asked, SimulatedPath, TrafficDirection
from vsperf.simulation.restless import Restless, RestlessHost
from vsperf.simulation.switch import ENDPOINT_KIND, SwitchModel
from vsperf.simulation.turns import RING_FRAMES, SimulatedTurns


class SimulatedGeneratorSpec(GeneratorSettings, DriverSpec):
    """Settings of the simulated generator."""

    MODEL: ClassVar[bool] = True

    kind: Literal["sim"]


@dataclass(kw_only=True)
class _Session:
    """What is connected until its context is left."""

    ended: bool = False

    def require_connected(self) -> None:
        if (why := self.failure()) is not None:
            raise ComponentError(why)

    def failure(self) -> str | None:
        return "the simulated generator is no longer connected" if self.ended else None

    def facts(self) -> dict[str, Any]:
        return {}


@dataclass
class SimulatedSession(_Session):
    """A generator that is connected to a simulated path."""

    path: SimulatedPath

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        self.require_connected()
        if any(min(step.load_fps, step.duration_ns) <= 0 for step in request.parts):
            raise ComponentError(
                f"a trial of {request.load_fps} fps for {request.duration_ns} ns cannot be made",
                why="load and duration must be above zero",
            )
        return self.path.run(
            Asked(
                request.parts,
                request.latency,
                request.latency_after_ns,
                request.latency_ranges,
                request.event,
                on_sample,
                request.headers,
            )
        )

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        return None if self.path.host is None else self.path.host.round_trip_ns()

    def let_pass(self, ns: int) -> None:
        self.path.let_pass(ns)


@dataclass
class SimulatedTurnsSession(_Session):
    """A generator that is connected to several simulated switches."""

    model: SimulatedTurns

    def take_turns(self, request: TurnsRequest) -> Turns:
        self.require_connected()
        asked = (request.order, request.load_fps, request.turn_ns, request.guard_ns)
        turns = self.model.run(*asked, request.latency, request.rings)
        return Turns(
            end="complete",
            settled=True,
            ring_frames=RING_FRAMES,
            started_unix_ns=0,
            elapsed_ns=request.length_ns,
            columns=TurnColumns.of(turns),
            sides=(),
        )


class SimulatedGenerator(Unmeasured):
    """Sends nothing: it computes what would arrive."""

    kind = "sim"
    summary = "trials on a simulated switch, in virtual time"
    Spec = SimulatedGeneratorSpec

    def capabilities(self, case: CaseSpec) -> Capabilities:
        return Capabilities(
            frozenset(Ability) - OF_CONNECTIONS - {Ability.REPLAY},
            clock="virtual time",
        )

    def needs(self, case: CaseSpec) -> Needs:
        return Needs()

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = _spec_of(case)
        _switch_behind(endpoints)
        action = f"simulate a generator with seed {spec.seed}"
        if spec.max_rate is not None:
            action += f" that sends at most {spec.max_rate} per direction"
        if spec.fault is not Fault.NONE:
            action += f" and the fault `{spec.fault}`"
        return (Step(component="generator", action=action),)

    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> AbstractContextManager[SimulatedSession]:
        spec = _spec_of(case)
        path = SimulatedPath(
            switch=_switch_behind(endpoints),
            generator=spec,
            traffic=case.traffic,
            ways=_ways(case, endpoints, directions),
            overhead_ns=case.trial.overhead_ns,
            host=RestlessHost(spec.host, spec.seed) if spec.host is not None else None,
        )
        return until_left(SimulatedSession(path))

    def plan_turns(
        self, case: CaseSpec, sides: tuple[tuple[Endpoint, ...], ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = _spec_of(case)
        for endpoints in sides:
            _switch_behind(endpoints)
        action = f"simulate a generator with seed {spec.seed}, for {len(sides)} switches in turns"
        return (Step(component="generator", action=action),)

    def start_turns(
        self,
        case: CaseSpec,
        sides: tuple[TurnSide, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> AbstractContextManager[SimulatedTurnsSession]:
        spec = _spec_of(case)
        size, link = case.traffic.frame_size, case.slowest_link
        line_fps = int(link.frames_per_second(size))
        most = spec.max_rate.frames_per_second(size, link) if spec.max_rate else line_fps
        session = SimulatedTurnsSession(
            SimulatedTurns(
                switches=[_switch_behind(side.endpoints) for side in sides],
                traffic=case.traffic,
                directions=len(directions),
                most_fps=min(line_fps, int(most)),
                host=RestlessHost(spec.host or Restless(), spec.seed),
            )
        )
        return until_left(session)


_spec_of = reading("generator.kind=sim", SimulatedGeneratorSpec, "the simulated generator")


def _switch_behind(endpoints: tuple[Endpoint, ...]) -> SwitchModel:
    """Return the one switch that all endpoints belong to."""
    for endpoint in endpoints:
        if endpoint.kind != ENDPOINT_KIND:
            raise UsageError(
                f"the simulated generator cannot send to {endpoint.link}, which is a "
                f"{endpoint.kind} port",
                why="it computes what a simulated switch would do, and sends no frames",
                fix="take a real generator, or the simulated switch: --set vswitch.kind=sim",
            )
    addresses = {endpoint.address for endpoint in endpoints}
    if len(addresses) != 1:
        raise UsageError(
            f"the simulated generator is joined to {len(addresses)} switches",
            why="all its ports must lead to one simulated switch",
            fix="choose a topology whose links end at one switch, such as p2p",
        )
    return SwitchModel.at(addresses.pop())


def _ways(
    case: CaseSpec, endpoints: tuple[Endpoint, ...], directions: tuple[tuple[str, str], ...]
) -> tuple[TrafficDirection, ...]:
    known = {endpoint.link for endpoint in endpoints}
    check_directions("the simulated generator", known, directions)
    speed = {name: link.speed for name, link in case.testbed.links.items()}
    return tuple(
        TrafficDirection(
            *way,
            entry=speed[way[0]],
            exit=speed[way[1]],
            share=load_share(case.topology, case.traffic, way),
        )
        for way in directions
    )
