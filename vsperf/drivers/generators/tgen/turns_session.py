"""One tgen with ports to several switches, to which it sends in turns: told so, and answering."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vsperf.config.case import CaseSpec
from vsperf.drivers.ending import until_left
from vsperf.drivers.generators.base import TurnSide, TurnsRequest
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.dpdk_ports import Port
from vsperf.drivers.generators.tgen.client import longest_ns
from vsperf.drivers.generators.tgen.command import (
    ONE_RING,
    PACKET_SOCKET,
    Options,
    command_line,
    most_in_flight,
    port_of,
)
from vsperf.drivers.generators.tgen.process import CONTROL, PREFIX, TGEN, Tgen, running
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.generators.tgen.traffic import TrafficDirection, streams, traffic_directions
from vsperf.drivers.generators.tgen.tsc import Tsc
from vsperf.errors import ComponentError, UsageError
from vsperf.host.workspace import Workspace
from vsperf.records.run import OF_THE_KERNEL, Endpoint
from vsperf.records.turn_columns import TurnColumns
from vsperf.records.turns import AWAY, SideCounts, Turns
from vsperf.waits import sleep

VERB = "turns"
GAP_NS = 10_000
"""More than that tgen does not need from one look at its ports to the next, but of the kernel's."""
BUSY_GAP_NS = 50_000
"""Nor more than this under an overload, when each look has full bursts to take and to check, and
CPUs may be far apart: as long as a ring lasts for longer, to rates it makes no difference."""
CHANGE_NS = 10_000_000
"""More than a change of sides takes, on a machine that has the time for it."""
AT_THE_END_S = 10.0
"""For what is waited for behind the last turn, with some patience."""
COLUMNS = {
    "side": "side",
    "began_ns": "began_ns",
    "ended_ns": "ended_ns",
    "measured_ns": "measured_ns",
    "sent_frames": "sent",
    "received_frames": "distinct",
    "slots_ns": "slots_ns",
    "received_by_slot": "slots_distinct",
    "full_ns": "full_ns",
    "gaps_ns": "gaps_ns",
    "longest_gap_ns": "longest_gap_ns",
    "behind_ns": "behind_ns",
    "silence_ns": "silence_ns",
    "turn_sent_frames": "turn_sent",
    "turn_received_frames": "turn_distinct",
    "sent_by_direction": "streams_sent",
    "received_by_direction": "streams_distinct",
    "elsewhere_frames": "elsewhere",
    "continue_ns": "continue_ns",
    "first_ns": "first_ns",
    "drain_ns": "drain_ns",
    "drained": "drained",
    "hold_ns": "hold_ns",
}
"""What tgen calls the columns of a record."""
PERHAPS = {
    "intended_frames": "intended",
    "refused_frames": "refused",
    "latencies": "latencies",
    "latency_sum_ns": "latency_sum_ns",
    "latency_p50_ns": "latency_p50_ns",
    "latency_p99_ns": "latency_p99_ns",
    "missed_frames": "missed",
    "fillings": "fillings",
    "fillings_behind": "fillings_behind",
    "fillings_short": "fillings_short",
}
"""Those which are not always there."""


@dataclass(frozen=True, slots=True)
class StreamSide:
    """One that takes turns, as tgen knows it."""

    streams: tuple[int, ...]
    """Numbers of those whose frames are for it."""
    processes: tuple[int, ...] = ()
    """Held still while others have their turn; none where it is enough to send nothing."""
    in_flight: int = 0
    """Most frames of a stream on their way; 0 for no bound."""
    rings: bool = False
    """Whether its rings are filled while it is held, and it is measured how it empties them."""
    ring_frames: int | None = None
    """In which its frames wait for this tgen; None where it knows none of that size."""
    of_the_kernel: bool = False
    """Whether a port is a device of the kernel, so that tgen's own work takes longer than gaps."""
    gap_ns: int = GAP_NS
    """What this tgen itself needs from one look at its ports to the next; more is a gap."""


@dataclass(frozen=True, slots=True)
class StreamTurns:
    """Turns as tgen is asked for them."""

    sides: tuple[StreamSide, ...]
    order: tuple[int, ...]
    """Whose turn it is: numbers of sides, from 0."""
    loads_fps: tuple[int | None, ...] = ()
    """Of each stream; None for flat out, as are all if none is given."""
    turn_ns: int = 10_000_000
    """What is measured of a turn."""
    guard_ns: int = 2_000_000
    """Sent before that and not measured: caches are cold when a switch goes on."""
    silent_ns: int = 50_000
    """A switch has forwarded what it had, when nothing has come for so long."""
    latency: bool = False


def take_turns(tgen: Tgen, request: StreamTurns, burst: int = 32) -> tuple[Turns, dict[str, Any]]:
    """Have tgen, whose traffic is configured, take turns; its answer as it is comes second."""
    if VERB not in tgen.hello["verbs"]:
        raise ComponentError(
            "this tgen takes no turns",
            why="it was built from other sources than this vsperf",
            fix="build it anew: `make setup`",
        )
    result = tgen.ask(VERB, patience_s(request), **turns_message(request, burst))
    return turns_of(result), result


def turns_message(request: StreamTurns, burst: int) -> dict[str, Any]:
    """Return the parameters of `turns`."""
    found: dict[str, Any] = {
        "sides": [
            {
                "streams": list(side.streams),
                "processes": list(side.processes),
                "in_flight": side.in_flight,
                "rings": side.rings,
                "gap_ns": side.gap_ns,
            }
            for side in request.sides
        ],
        "order": list(request.order),
        "turn_ns": request.turn_ns,
        "guard_ns": request.guard_ns,
        "silent_ns": request.silent_ns,
        "latency": request.latency,
        "burst": burst,
    }
    if request.loads_fps:
        found["rate_fps"] = [load or 0 for load in request.loads_fps]
    return found


def gap_ns(request: TurnsRequest, side: StreamSide) -> int:
    """Return from when on it is a gap that this tgen does not look at the ports of a side."""
    if side.of_the_kernel:
        return request.turn_ns // AWAY
    if request.rings:  # what waits meanwhile is counted, and when it came makes no difference
        return BUSY_GAP_NS
    if request.latency or side.ring_frames is None:
        return GAP_NS
    lasts_ns = side.ring_frames * NANOSECONDS // max(1, request.load_fps)
    return max(GAP_NS, min(BUSY_GAP_NS, request.turn_ns // AWAY, lasts_ns))


def patience_s(request: StreamTurns) -> float:
    """Return how long the answer may take."""
    turn_ns = request.turn_ns + request.guard_ns + CHANGE_NS
    return longest_ns(len(request.order) * turn_ns) / NANOSECONDS + AT_THE_END_S


def turns_of(result: Mapping[str, Any]) -> Turns:
    """Return the turns in an answer."""
    try:
        found = result["turns"]
        columns = {name: found[key] for name, key in COLUMNS.items()}
        columns |= {name: found.get(key) for name, key in PERHAPS.items()}
        return Turns(
            end=result["end"],
            ended_side=result.get("ended_side"),
            ended_process=result.get("ended_process"),
            settled=result["settled"],
            started_unix_ns=result["started_unix_ns"],
            elapsed_ns=result["elapsed_ns"],
            columns=TurnColumns(**columns),
            sides=tuple(_side(side) for side in result["sides"]),
        )
    except KeyError as error:
        raise ComponentError(f"tgen's turns have no {error}") from error
    except (ValidationError, TypeError) as error:
        raise ComponentError("tgen's turns cannot be read", why=str(error)) from error


def _side(side: Mapping[str, Any]) -> SideCounts:
    return SideCounts(
        directions=tuple(side["streams"]),
        sent_frames=side["sent"],
        arrived_frames=side["received"],
        received_frames=side["distinct"],
        duplicate_frames=side["duplicates"] + side["beyond_window"],
        corrupted_frames=side["corrupted"],
        misrouted_frames=side["misrouted"],
        reordered_frames=side["reordered"],
        wrong_size_frames=side["wrong_size"],
        foreign_frames=side["foreign"],
        stale_frames=side["stale"],
        unreadable_frames=side["unreadable"],
        elsewhere_frames=side["elsewhere"],
        latency_histogram=side.get("latency", {}).get("hdr"),
    )


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
    """Of whom rings can be filled, says so."""
    shares: tuple[float, ...]
    """What each stream is offered of the load."""
    ended: bool = False
    tsc: Tsc = field(init=False)

    def __post_init__(self) -> None:
        self.tsc = Tsc.of(self.tgen.hello)

    def take_turns(self, request: TurnsRequest) -> Turns:
        if self.ended:
            raise ComponentError("tgen is no longer connected")
        policy = self.case.trial
        if policy.learning:  # while all of them run
            self.tgen.ask("learn")
            sleep(policy.settle.ns / NANOSECONDS)
        asked = StreamTurns(
            tuple(
                replace(side, rings=request.rings and side.rings, gap_ns=gap_ns(request, side))
                for side in self.sides
            ),
            request.order,
            tuple(max(1, round(request.load_fps * share)) for share in self.shares),
            request.turn_ns,
            request.guard_ns,
            request.silent_ns,
            latency=request.latency,
        )
        found, result = take_turns(self.tgen, asked, self.spec.burst)
        self.tsc.hear(result)
        if found.end != "complete":
            raise ComponentError(
                f"turns ended after {len(found.columns.side)} of {len(request.order)}",
                why=_why(found),
            )
        rings = {side.ring_frames for side in self.sides}
        return found.model_copy(update={"ring_frames": rings.pop() if len(rings) == 1 else None})

    def failure(self) -> str | None:
        if self.ended:
            return "tgen is no longer connected"
        return None if self.tgen.alive() else str(self.tgen.obituary("between two rounds"))

    def facts(self) -> dict[str, Any]:
        return {**self.tgen.facts(), "tsc": self.tsc.facts()}


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
        found, shares = _configured(tgen, case, spec, sides, ports, directions)
        if spec.respond:
            tgen.ask("respond")
        session = TgenTurnsSession(tgen, spec, case, found, shares)
        with until_left(session):
            yield session


def _is_of_the_kernel(one: Endpoint) -> bool:
    """Whether a port is a device of the kernel, which wants a call for each frame or burst."""
    return one.kind in OF_THE_KERNEL or one.address.startswith(PACKET_SOCKET)


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


def most_into_one(directions: Sequence[tuple[str, str]]) -> int:
    """Return how many directions end at one port, and share its ring."""
    return max(Counter(there for _, there in directions).values())


def lasting(ring: int, bound: int) -> int:
    """Return how many frames of a direction come while nobody looks: a ring, or all under way."""
    return min(ring, bound or ring)


def _configured(
    tgen: Tgen,
    case: CaseSpec,
    spec: TgenSpec,
    sides: Sequence[TurnSide],
    ports: Sequence[dict[str, Port]],
    directions: tuple[tuple[str, str], ...],
) -> tuple[tuple[StreamSide, ...], tuple[float, ...]]:
    """Tell tgen what to send to each switch; return whose streams are whose, and their loads."""
    ways: list[TrafficDirection] = []
    found: list[StreamSide] = []
    into_one = most_into_one(directions)
    for side, own in zip(sides, ports, strict=True):
        check_directions("tgen", own, directions)
        first = len(ways)
        ways += traffic_directions(case, directions, tgen.port_numbers(own))
        bound = most_in_flight(side.endpoints) if spec.in_flight is None else spec.in_flight
        own_streams = tuple(range(first, len(ways)))
        has_rings = {one.kind for one in side.endpoints} <= set(ONE_RING)
        found.append(
            StreamSide(
                own_streams,
                side.processes,
                in_flight=bound,
                rings=has_rings and bool(side.processes) and not bound and into_one == 1,
                ring_frames=lasting(spec.ring // into_one, bound) if has_rings else None,
                of_the_kernel=any(map(_is_of_the_kernel, side.endpoints)),
            )
        )
    tgen.ask("configure", streams=streams(case.traffic, tuple(ways), case.topology.dispatch))
    return tuple(found), tuple(float(way.share) for way in ways)
