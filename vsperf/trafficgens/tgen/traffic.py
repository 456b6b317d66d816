"""From vsperf's view of traffic to tgen's: streams, flows, and the counters back again. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vsperf.errors import ComponentError, UsageError
from vsperf.record.trial import Direction
from vsperf.spec.flows import hosts
from vsperf.spec.traffic import TrafficProfile

MOST_FLOWS = 1 << 24


@dataclass(frozen=True, slots=True)
class Way:
    """One direction of the traffic: a stream of tgen."""

    name: str
    transmit: int
    """Number of the port that sends."""
    receive: int
    """Number of the port where frames should arrive."""


def streams(profile: TrafficProfile, ways: tuple[Way, ...]) -> list[dict[str, Any]]:
    """Return the streams of a `configure` request, one for each way."""
    flows = flows_of(int(profile.flows))
    return [
        {
            "transmit_port": way.transmit,
            "receive_port": way.receive,
            "size": profile.frame_size.bytes,
            **({"flows": flows} if flows else {}),
        }
        for way in ways
    ]


def flows_of(count: int) -> dict[str, Any] | None:
    """Return how so many flows are told apart: by source host, and by destination host as well.

    Each flow has to be sent equally often, so the count must be a product of two such numbers.
    """
    if count == 1:
        return None
    if count > MOST_FLOWS:
        raise UsageError(
            f"tgen tells at most {MOST_FLOWS} flows apart, {count} are asked for",
            fix=f"--set traffic.flows={MOST_FLOWS} or less",
        )
    counts = hosts(count)
    if counts is None:
        fix = math.isqrt(count) ** 2
        raise UsageError(
            f"tgen cannot make exactly {count} flows",
            why="they are hosts times hosts of 198.18.0.0/15, and this number is no such product",
            fix=f"--set traffic.flows={fix}",
        )
    sources, destinations = counts
    variations = [{"field": "source_ip", "count": sources}]
    if destinations > 1:
        variations.append({"field": "destination_ip", "count": destinations})
    return {"vary": variations}


def direction(way: Way, intended: int, stream: Mapping[str, Any], foreign: int | None) -> Direction:
    """Return a direction's counters from the result of its stream.

    What arrived at a wrong port did not arrive, and is lost. A frame so late that tgen cannot know
    whether it is new counts as a duplicate. A frame with something behind it is a whole one.
    """
    try:
        received = stream["received"] - stream["misrouted"]
        found = Direction(
            name=way.name,
            intended_frames=intended,
            sent_frames=stream["sent"],
            received_frames=received,
            duplicate_frames=stream["duplicates"] + stream["beyond_window"],
            corrupted_frames=stream["corrupted"],
            reordered_frames=stream["reordered"],
            foreign_frames=foreign,
            refused_frames=stream.get("refused"),
            latency_histogram=stream.get("latency", {}).get("hdr"),
        )
    except KeyError as error:
        raise ComponentError(f"tgen's result has no {error}") from error
    return found
