"""What tgen and its ports do without a switch: they lead to each other, or to a mirror."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import outer_nics
from vsperf.dpdk.mirror import UNDER_WAY, method, mirror
from vsperf.drivers.generators.base import HostJitter
from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    directions_between,
    stalls,
    trial,
)
from vsperf.drivers.generators.tgen.client import Answer
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.process import Tgen
from vsperf.drivers.generators.tgen.traffic import flow_keys, for_everybody, frames_of, workers_of
from vsperf.errors import ComponentError
from vsperf.host.workspace import Workspace, given_or_own
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.host import Stalls

FLAT_OUT = Sending(duration_ns=500_000_000, latency=False)
ATTEMPTS = 2
"""The better of two: what a host can do is what it once did."""
MOST_ATTEMPTS = 6
"""A machine that is busy enough lets nothing through for half a second."""
THRESHOLD_NS = 10_000
NOTHING = ("net_null0",)
Loop = Literal["ring", "memif", "vhost", "vnf"]


class Cap(NamedTuple):
    """What came back of what was sent flat out."""

    fps: int
    """Per direction."""
    round_trip_ns: int | None
    """How far the CPUs were from each other at that time, there and back."""


@contextmanager
def loop(
    kind: Loop,
    mirror_cpus: tuple[int, ...],
    workspace: Workspace | None = None,
    queues: int = 1,
    *,
    withheld: Sequence[str] = (),
) -> Iterator[tuple[str, ...]]:
    """Give devices that lead to each other; the CPUs are for what vhost needs in between.

    `withheld` are features of virtio that the ports of a switch do not offer.
    """
    match kind:
        case "ring":
            yield ("net_ring0",)
        case "memif":
            with given_or_own(workspace, "a loop for a traffic generator") as place:
                common = f"id=0,socket={place.folder / 'loop.sock'},rsize=10"
                yield (f"net_memif0,role=server,{common}", f"net_memif1,role=client,{common}")
        case "vhost":
            with mirror(mirror_cpus, workspace, queues, withheld=withheld) as devices:
                yield devices
        case "vnf":
            with mirror(mirror_cpus, workspace, queues, as_vnf=True) as devices:
                yield devices


def arrived_fps(streams: Sequence[Mapping[str, Any]]) -> int:
    """Return how much came back per second of sending, of the stream with the least; 0 if none."""
    return min(_arrived_fps(stream) for stream in streams)


def _arrived_fps(stream: Mapping[str, Any]) -> int:
    span_ns = stream.get("sending_ns")
    arrived: int = stream["distinct"] + stream.get("unmarked_received", 0)
    return int(arrived * NANOSECONDS // span_ns) if span_ns else 0


def nothing_came(streams: Sequence[Mapping[str, Any]]) -> ComponentError:
    """Return the error for a trial of which nothing came back."""
    sent, arrived = (sum(one[key] for one in streams) for key in ("sent", "received"))
    return ComponentError(
        "no frame came back from the loop", why=f"{sent} were sent, {arrived} arrived"
    )


def measure_cap(
    case: CaseSpec,
    options: Options,
    senders: int,
    mirror_cpus: tuple[int, ...],
    workspace: Workspace,
) -> Cap:
    """Return the frames per second and direction that came back, sending flat out.

    A hypervisor may move the CPUs before a case is measured that goes by it, so where they were is
    a part of it: that of its nearest end, as the rate of a moment far apart is no cap of one near.
    """
    profile = case.traffic
    more = {
        **frames_of(profile),
        **for_everybody(profile),
        **flow_keys(profile),
        **workers_of(senders),
    }
    if profile.replay is not None:
        more = {"replay": profile.replay.file}
    stream = Stream(more=more)
    with (
        loop(loop_of(case), mirror_cpus, workspace, senders, withheld=case.withheld) as devices,
        at_hand(devices, options, workspace) as tgen,
    ):
        ways = directions_between(len(tgen.ports()), profile.direction)
        made: list[Cap] = []
        before_ns = _distance(tgen, options, mirror_cpus)
        for _ in range(MOST_ATTEMPTS):
            found = trial(tgen, ways, stream, FLAT_OUT, lambda event: None)["streams"]
            after_ns = _distance(tgen, options, mirror_cpus)
            if rate := arrived_fps(found):
                ends = [end for end in (before_ns, after_ns) if end is not None]
                made.append(Cap(rate, min(ends, default=None)))
            before_ns = after_ns
            if len(made) == ATTEMPTS:
                break
        workspace.attend(UNDER_WAY)  # what was mirrored until the mirror died is no cap
        if not made:
            raise nothing_came(found)
        return max(made, key=lambda one: one.fps)


def _distance(tgen: Tgen, options: Options, others: tuple[int, ...]) -> int | None:
    """Return how far another CPU is from the generator's, there and back."""
    return tgen.round_trip_ns((options.cpus[0], others[0])) if others else None


def method_of(case: CaseSpec) -> str:
    """Say how the cap of a case is measured."""
    return method(case.withheld if loop_of(case) == "vhost" else ())


def loop_of(case: CaseSpec) -> Loop:
    """Return the loop whose ports are as those of the case: plugged into a switch, or VNFs."""
    return "vnf" if outer_nics(case.topology) else "vhost"


def measure_jitter(
    options: Options, switch_cpus: tuple[int, ...], lasts_ns: int, workspace: Workspace
) -> HostJitter:
    """Return the stalls of all CPUs, and how far the switch's first is from the generator's.

    Each CPU is watched by a loop that does nothing else. It sends nothing, so it takes ordinary
    memory: more workers would ask for more hugepages than were set aside for the generator alone.
    """
    cpus = tuple(dict.fromkeys((*options.cpus, *switch_cpus)))
    looking = replace(options, cpus=cpus, hugepages=False)
    with at_hand(NOTHING, looking, workspace) as tgen:
        answer = stalls(tgen, lasts_ns, THRESHOLD_NS)
        return HostJitter(_stalls(answer, lasts_ns), _distance(tgen, options, switch_cpus))


def _stalls(answer: Answer, lasts_ns: int) -> tuple[Stalls, ...]:
    return tuple(
        Stalls(
            cpu=worker["cpu"],
            observed_ns=lasts_ns,
            threshold_ns=THRESHOLD_NS,
            gaps=worker["gaps"]["count"],
            total_ns=int(worker["gaps"]["count"] * worker["gaps"].get("mean_ns", 0)),
            longest_ns=worker["gaps"].get("max_ns", 0),
            histogram=worker["gaps"].get("hdr"),
        )
        for worker in answer["workers"]
    )
