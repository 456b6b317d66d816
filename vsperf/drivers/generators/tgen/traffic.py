"""From vsperf's view of traffic to tgen's: streams, flows, files, and the counters back again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from vsperf.config.case import CaseSpec
from vsperf.config.flows import MOST_FLOWS, counts, group_mac, hosts
from vsperf.config.topology import Dispatch
from vsperf.config.traffic import Encapsulation, Replay, TrafficProfile
from vsperf.config.wiring import load_share
from vsperf.errors import ComponentError, UsageError
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.trial import Direction, StepCounts
from vsperf.trust.trusted import without_waiting

ID_KEYS = {"gre": "key", "gtpu": "teid"}
"""What tgen calls the id of a tunnel, where it is no VNI."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A file as tgen has read it."""

    replay: Replay
    found: Mapping[str, Any]
    """What tgen says is in it."""
    sha256: str

    @classmethod
    def of(cls, traffic: TrafficProfile, configured: Mapping[str, Any]) -> Self | None:
        """Return the file of a traffic, after tgen was configured; None if it has none."""
        if traffic.replay is None:
            return None
        with (
            ComponentError.if_refused(
                f"{traffic.replay.file} cannot be read",
                fix="name a pcap file that whoever runs vsperf can read as traffic.replay.file",
            ),
            open(traffic.replay.file, "rb", opener=without_waiting) as file,
        ):
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(traffic.replay, configured["replays"][0], digest)

    @property
    def own_rhythm(self) -> bool:
        """Whether frames are as far apart as they were when they were captured."""
        return self.replay.rhythm == "file"

    @property
    def own_fps(self) -> Fraction | None:
        """The mean rate at which they were captured; None when all have the same time."""
        period_ns = self.found.get("period_ns")
        return Fraction(self.found["frames"] * NANOSECONDS, period_ns) if period_ns else None

    def speed(self, load_fps: int) -> dict[str, Any]:
        """Return how a trial says its load, as a mean rate.

        One that is the file's own to the frame per second means its own times, exactly.
        """
        own = self.own_fps
        as_it_was = own is not None and abs(own - load_fps) < 1
        return {"rhythm": "file"} | ({} if as_it_was else {"rate_fps": load_fps})

    def facts(self) -> dict[str, Any]:
        own = self.own_fps
        return {
            "file": self.replay.file,
            "sha256": self.sha256,
            **{key: value for key, value in self.found.items() if key != "stream"},
            **({} if own is None else {"own_fps": round(float(own), 3)}),
        }


@dataclass(frozen=True, slots=True)
class TrafficDirection:
    """One direction of the traffic: a stream of tgen."""

    name: str
    transmit: int
    """Number of the port that sends."""
    receive: int
    """Number of the port where frames should arrive."""
    lanes: int = 1
    """Parallel paths that its frames take in turn."""
    share: Fraction = Fraction(1)
    """What it is offered of the load."""


def traffic_directions(
    case: CaseSpec, directions: Iterable[tuple[str, str]], numbers: Mapping[str, int]
) -> tuple[TrafficDirection, ...]:
    """Return the directions of a case, by the numbers of their ports."""
    return tuple(
        TrafficDirection(
            f"{enters} to {leaves}",
            numbers[enters],
            numbers[leaves],
            case.topology.lanes(enters, leaves),
            load_share(case.topology, case.traffic, (enters, leaves)),
        )
        for enters, leaves in directions
    )


def senders_each(workers: int, ways: int, queues: int) -> int:
    """Return how many workers send each way; of several, half of them send at all.

    Each has a queue of its own, so no more do than a port has queues.
    """
    sending = max(1, workers // 2)
    return max(1, min(queues, sending // max(1, ways)))


def streams(
    profile: TrafficProfile,
    ways: tuple[TrafficDirection, ...],
    dispatch: Dispatch = "mac",
    senders: int = 1,
) -> list[dict[str, Any]]:
    """Return the streams of a `configure` request, one for each way, by so many workers each.

    With parallel paths there are as many flows on each of them as the profile says.
    """
    if profile.replay is not None:
        return [replayed(profile.replay, way) for way in ways]
    return [
        {
            "transmit_port": way.transmit,
            "receive_port": way.receive,
            **frames_of(profile),
            **addressed(profile, way),
            **for_everybody(profile),
            **flow_keys(profile, lanes_of(way.lanes, dispatch, profile)),
            **workers_of(senders),
        }
        for way in ways
    ]


def frames_of(profile: TrafficProfile) -> dict[str, Any]:
    """Return the keys of a stream that say how long its frames are, and what headers they have."""
    found: dict[str, Any] = (
        {"sizes": list(profile.imix.sizes)}
        if profile.imix is not None
        else {"size": profile.frame_size.bytes}
    )
    if profile.vlans:
        found["vlans"] = list(profile.vlans)
    if profile.mpls:
        found["mpls"] = list(profile.mpls)
    if profile.layer3 != "ipv4":
        found["layer3"] = profile.layer3
    return found | tunnel_of(profile.encapsulation)


def flow_keys(profile: TrafficProfile, before: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the key of a stream with several flows; `before` varies faster than they do."""
    vary = [*before, *variations(profile)]
    if not vary:
        return {}
    order = {"order": profile.flow_order} if profile.flow_order != "in-order" else {}
    return {"flows": {"vary": vary, **order}}


def addressed(profile: TrafficProfile, way: TrafficDirection) -> dict[str, Any]:
    """Return the key of a stream whose frames are for more than one station."""
    if profile.destination == "unicast":
        return {}
    if way.lanes > 1:
        raise UsageError(
            f"{profile.destination} frames cannot take {way.lanes} parallel paths in turn",
            why="what tells these apart is whom frames are for, and these are for all",
            fix="choose a topology without parallel paths, or --set traffic.destination=unicast",
        )
    return {"destination_mac": group_mac(profile.destination, way.receive)}


def for_everybody(profile: TrafficProfile) -> dict[str, Any]:
    """Return the key of a stream of which some frames are for everybody."""
    return {"broadcast_every": profile.broadcast_every} if profile.broadcast_every else {}


def replayed(replay: Replay, way: TrafficDirection) -> dict[str, Any]:
    """Return the stream that sends a file."""
    if way.lanes > 1:
        raise UsageError(
            f"a file cannot be replayed over {way.lanes} parallel paths",
            why="what tells these apart are addresses that the generator chooses",
            fix="choose a topology without parallel paths, or no traffic.replay",
        )
    return {"transmit_port": way.transmit, "receive_port": way.receive, "replay": replay.file}


def workers_of(senders: int) -> dict[str, Any]:
    """Return the key of a stream that several workers send."""
    return {"workers": senders} if senders > 1 else {}


def tunnel_of(encapsulation: Encapsulation | None) -> dict[str, Any]:
    """Return the key of a stream that has its frames carried."""
    if encapsulation is None:
        return {}
    tunnel: dict[str, Any] = {"layer3": encapsulation.underlay}
    if encapsulation.id is not None:
        tunnel[ID_KEYS.get(encapsulation.kind, "vni")] = encapsulation.id
    if encapsulation.vlans:
        tunnel["vlans"] = list(encapsulation.vlans)
    return {encapsulation.kind: tunnel}


def lanes_of(lanes: int, dispatch: Dispatch, profile: TrafficProfile) -> list[dict[str, Any]]:
    """Return how the frames of parallel paths are told apart."""
    if lanes <= 1:
        return []
    if profile.encapsulation is not None:
        raise UsageError(
            f"frames in {profile.encapsulation.kind} cannot take {lanes} parallel paths in turn",
            why="what tells these apart lies inside of the tunnel",
            fix="choose a topology without parallel paths, or no traffic.encapsulation",
        )
    fields = {"mac": "destination_mac", "ip": "destination_ip", "udp": "destination_port"}
    if any(one["field"] == fields[dispatch] for one in variations(profile)):
        raise UsageError(
            f"{profile.flows} flows on each of {lanes} parallel paths are too many",
            why="flows beyond the source hosts or ports differ by destination, as these paths do",
            fix="--set topology.dispatch=mac, or fewer flows",
        )
    return [{"field": fields[dispatch], "count": lanes}]


FIELDS = {
    "ip": ("source_ip", "destination_ip"),
    "mac": ("source_mac", "destination_mac"),
    "port": ("source_port", "destination_port"),
}
"""What flows differ by, first and second."""


def variations(profile: TrafficProfile) -> list[dict[str, Any]]:
    """Return how the flows of a profile are told apart."""
    if profile.vary == "ip" and profile.layer3 == "ipv4":
        return flows_of(int(profile.flows))
    found = counts(profile)
    if found is None:
        most = MOST_FLOWS if profile.vary != "port" else 1 << 20
        raise UsageError(
            f"tgen cannot make exactly {profile.flows} flows that differ by {profile.vary}",
            why=f"there are at most {MOST_FLOWS}, and by ports they are source ports times "
            "destination ports",
            fix=f"--set traffic.flows={most}",
        )
    return [
        {"field": field, "count": count}
        for field, count in zip(FIELDS[profile.vary], found, strict=True)
        if count > 1
    ]


def flows_of(count: int) -> list[dict[str, Any]]:
    """Return how so many flows are told apart: by source host, and by destination host as well.

    Each flow has to be sent equally often, so the count must be a product of two such numbers.
    """
    if count == 1:
        return []
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
    return variations


def step_of(step: Mapping[str, Any]) -> StepCounts:
    """Return the counters of a step."""
    return StepCounts(
        intended_frames=step["intended"],
        sent_frames=step["sent"],
        refused_frames=step["refused"],
        began_ns=step.get("began_ns"),
    )


def direction(
    way: TrafficDirection, intended: int | None, stream: Mapping[str, Any], foreign: int | None
) -> Direction:
    """Return a direction's counters from the result of its stream.

    Without a number of its own, intended is what tgen says: what was due by the times of a file.
    What arrived at a wrong port did not arrive, and is lost. A frame so late that tgen cannot know
    whether it is new counts as a duplicate. A frame with something behind it is a whole one.
    """
    try:
        received = stream["received"] - stream["misrouted"] + stream.get("unmarked_received", 0)
        found = Direction(
            name=way.name,
            intended_frames=stream["intended"] if intended is None else intended,
            sent_frames=stream["sent"],
            received_frames=received,
            duplicate_frames=stream["duplicates"] + stream["beyond_window"],
            corrupted_frames=stream["corrupted"],
            reordered_frames=stream.get("reordered"),
            foreign_frames=foreign,
            refused_frames=stream.get("refused"),
            unmarked_frames=stream.get("unmarked") or None,
            longest_silence_ns=stream.get("longest_silence_ns"),
            receiving_ns=stream.get("receiving_ns"),
            latency_histogram=stream.get("latency", {}).get("hdr"),
            first_latency_ns=stream.get("latency_first", {}).get("latency_ns"),
            first_sent_ns=stream.get("latency_first", {}).get("sent_ns"),
            range_histograms=tuple(one.get("hdr") for one in stream.get("latency_ranges", ())),
            last_loss_ns=stream.get("last_loss_ns"),
            steps=tuple(step_of(step) for step in stream.get("steps", ())),
        )
    except KeyError as error:
        raise ComponentError(f"tgen's result has no {error}") from error
    return found
