"""Turns: how tgen is asked for them, and what it answers as a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from vsperf.drivers.generators.tgen.client import longest_ns
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.errors import ComponentError
from vsperf.records.turn_columns import TurnColumns
from vsperf.records.turns import SideCounts, Turns

NANOSECONDS = 1_000_000_000
VERB = "turns"
GAP_NS = 10_000
"""More than that tgen does not need from one look at its ports to the next, but of the kernel's."""
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
}
"""Those which are not always there."""


@dataclass(frozen=True, slots=True)
class StreamSide:
    """One that takes turns, as tgen knows it."""

    streams: tuple[int, ...]
    """Numbers of those whose frames are for it."""
    processes: tuple[int, ...] = ()
    """Held still while others have their turn; none where it is enough to send nothing."""


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
    gap_ns: int = GAP_NS
    """What this tgen itself needs from one look at its ports to the next; more is a gap."""
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
            {"streams": list(side.streams), "processes": list(side.processes)}
            for side in request.sides
        ],
        "order": list(request.order),
        "turn_ns": request.turn_ns,
        "guard_ns": request.guard_ns,
        "silent_ns": request.silent_ns,
        "gap_ns": request.gap_ns,
        "latency": request.latency,
        "burst": burst,
    }
    if request.loads_fps:
        found["rate_fps"] = [load or 0 for load in request.loads_fps]
    return found


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
