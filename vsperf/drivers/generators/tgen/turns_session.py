"""One tgen with ports to several switches, to which it sends in turns: how it is told so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.drivers.generators.base import TurnSide, TurnsRequest
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.dpdk_ports import Port
from vsperf.drivers.generators.tgen.command import (
    ONE_RING,
    PACKET_SOCKET,
    Options,
    command_line,
    port_of,
)
from vsperf.drivers.generators.tgen.process import CONTROL, PREFIX, TGEN, Tgen, running
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.generators.tgen.traffic import TrafficDirection, streams, traffic_directions
from vsperf.drivers.generators.tgen.tsc import Tsc
from vsperf.drivers.generators.tgen.turns import GAP_NS, StreamSide, StreamTurns, take_turns
from vsperf.errors import ComponentError, UsageError
from vsperf.host.workspace import Workspace
from vsperf.records.run import Endpoint
from vsperf.records.turns import AWAY, Turns
from vsperf.waits import sleep

NANOSECONDS = 1_000_000_000
MOST_PORTS = 16
"""Of one tgen."""


@dataclass
class TgenTurnsSession:
    """A tgen whose traffic is configured for each of several switches."""

    tgen: Tgen
    spec: TgenSpec
    case: CaseSpec
    sides: tuple[StreamSide, ...]
    shares: tuple[float, ...]
    """What each stream is offered of the load."""
    ring_frames: int | None = None
    """In which frames wait for this tgen; None where it knows none of that size."""
    of_the_kernel: bool = False
    """Whether a port is a device of the kernel, so that its own work takes longer than gaps do."""
    closed: bool = False
    tsc: Tsc = field(init=False)

    def __post_init__(self) -> None:
        self.tsc = Tsc.of(self.tgen.hello)

    def take_turns(self, request: TurnsRequest) -> Turns:
        if self.closed:
            raise ComponentError("tgen is no longer connected")
        policy = self.case.trial
        if policy.learning:  # while all of them run
            self.tgen.ask("learn")
            sleep(policy.settle.ns / NANOSECONDS)
        asked = StreamTurns(
            self.sides,
            request.order,
            tuple(max(1, round(request.load_fps * share)) for share in self.shares),
            request.turn_ns,
            request.guard_ns,
            request.silent_ns,
            gap_ns=request.turn_ns // AWAY if self.of_the_kernel else GAP_NS,
            latency=request.latency,
        )
        found, result = take_turns(self.tgen, asked, self.spec.burst)
        self.tsc.hear(result)
        if found.end != "complete":
            raise ComponentError(
                f"turns ended after {len(found.columns.side)} of {len(request.order)}",
                why=_why(found),
            )
        return found.model_copy(update={"ring_frames": self.ring_frames})

    def failure(self) -> str | None:
        if self.closed:
            return "tgen is no longer connected"
        return None if self.tgen.alive() else str(self.tgen.obituary("between two rounds"))

    def facts(self) -> dict[str, Any]:
        hello = self.tgen.hello
        known: dict[str, Any] = {
            key: hello[key] for key in ("tgen", "dpdk", "build") if key in hello
        }
        return {
            **self.tgen.facts(),
            **known,
            "tsc": self.tsc.facts(),
            "argv": list(self.tgen.argv),
            "ports": self.tgen.ports(),
        }


def _why(found: Turns) -> str:
    match found.end:
        case "process-ended":
            return f"process {found.ended_process}, which takes turns, has ended"
        case "worker-lost":
            return "the generator's CPU did not run it for seconds"
        case _:
            return "they were stopped"


def check_turns(case: CaseSpec, options: Options, sides: Sequence[tuple[Endpoint, ...]]) -> None:
    """Refuse what tgen cannot send in turns."""
    if len(options.cpus) != 1:
        raise UsageError(
            f"tgen takes turns with one worker, and has {len(options.cpus)}",
            why="the thread that holds switches still is the one that sends and receives",
            fix="--set generator.workers=1, or one CPU in generator.cpus",
        )
    if case.traffic.replay is not None or case.traffic.bursts is not None:
        what = "a file" if case.traffic.replay is not None else "bursts"
        raise UsageError(
            f"tgen cannot send {what} in turns",
            why="each turn begins its schedule anew, and theirs goes on",
            fix="no traffic.replay and no traffic.bursts",
        )
    if (ports := sum(map(len, sides))) > MOST_PORTS:
        again = len(sides) - 1 - len(case.rivals)
        once_more = ", the first of them once more," if again else ""
        without = ", or --set search.control=false" if again else ""
        raise UsageError(
            f"`vswitch` has {1 + len(case.rivals)} switches{once_more} with {ports} ports in all, "
            f"and tgen has at most {MOST_PORTS}",
            why="one generator has ports to all of them at the same time",
            fix=f"name at most {MOST_PORTS // len(sides[0]) - again} under `vswitch`{without}",
        )


def planned_for(sides: Sequence[tuple[Endpoint, ...]], options: Options) -> tuple[str, ...]:
    """Return the command line of a tgen with ports to all of them."""
    ports = [port for own in _ports_of(sides, options) for port in own.values()]
    return command_line(TGEN.planned(), PREFIX, Path(CONTROL), ports, options)


@contextmanager
def turns_by(
    case: CaseSpec,
    spec: TgenSpec,
    options: Options,
    sides: tuple[TurnSide, ...],
    directions: tuple[tuple[str, str], ...],
    workspace: Workspace,
) -> Iterator[TgenTurnsSession]:
    """Start a tgen that is connected to all of them."""
    ports = _ports_of([side.endpoints for side in sides], options)
    every = [port for own in ports for port in own.values()]
    with running(every, options, workspace) as tgen:
        found, shares = _configured(tgen, case, sides, ports, directions)
        if spec.respond:
            tgen.ask("respond")
        kinds = {one.kind for side in sides for one in side.endpoints}
        ring = options.ring if kinds <= set(ONE_RING) else None
        slow = any(_is_of_the_kernel(one) for side in sides for one in side.endpoints)
        session = TgenTurnsSession(tgen, spec, case, found, shares, ring, slow)
        try:
            yield session
        finally:
            session.closed = True


def _is_of_the_kernel(one: Endpoint) -> bool:
    """Whether a port is a device of the kernel, which wants a call for each frame."""
    return one.kind == "tap" or one.address.startswith(PACKET_SOCKET)


def _ports_of(
    sides: Sequence[tuple[Endpoint, ...]], options: Options
) -> tuple[dict[str, Port], ...]:
    """Return the ports to each switch by link, numbered over all of them."""
    found: list[dict[str, Port]] = []
    number = 0
    for endpoints in sides:
        ports: dict[str, Port] = {}
        for endpoint in endpoints:
            ports[endpoint.link] = port_of(endpoint, number, options)
            number += 1
        found.append(ports)
    return tuple(found)


def _configured(
    tgen: Tgen,
    case: CaseSpec,
    sides: Sequence[TurnSide],
    ports: Sequence[dict[str, Port]],
    directions: tuple[tuple[str, str], ...],
) -> tuple[tuple[StreamSide, ...], tuple[float, ...]]:
    """Tell tgen what to send to each switch; return whose streams are whose, and their loads."""
    ways: list[TrafficDirection] = []
    found: list[StreamSide] = []
    for side, own in zip(sides, ports, strict=True):
        check_directions("tgen", own, directions)
        first = len(ways)
        ways += traffic_directions(case, directions, tgen.port_numbers(own))
        found.append(StreamSide(tuple(range(first, len(ways))), side.processes))
    tgen.ask("configure", streams=streams(case.traffic, tuple(ways), case.topology.dispatch))
    return tuple(found), tuple(float(way.share) for way in ways)
