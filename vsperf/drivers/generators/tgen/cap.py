"""What tgen and its ports do without a switch: a mirror stands in for it, on the same CPUs."""

from __future__ import annotations

from dataclasses import replace

from vsperf.config.case import CaseSpec
from vsperf.config.wiring import outer_nics
from vsperf.dpdk.mirror import method
from vsperf.drivers.generators.base import HostJitter
from vsperf.drivers.generators.tgen.byhand import (
    Sending,
    Stream,
    at_hand,
    stalls,
    trial,
    ways_between,
)
from vsperf.drivers.generators.tgen.client import Answer
from vsperf.drivers.generators.tgen.command import Options
from vsperf.drivers.generators.tgen.loop import Loop, arrived_fps, loop, nothing_came
from vsperf.drivers.generators.tgen.traffic import flow_keys, for_everybody, frames_of, workers_of
from vsperf.host.workspace import Workspace
from vsperf.records.host import Stalls

FLAT_OUT = Sending(duration_ns=500_000_000, latency=False)
ATTEMPTS = 2
"""The better of two: what a host can do is what it once did."""
MOST_ATTEMPTS = 6
"""A machine that is busy enough lets nothing through for half a second."""
THRESHOLD_NS = 10_000
NOTHING = ("net_null0",)


def measure_cap(
    case: CaseSpec,
    options: Options,
    senders: int,
    mirror_cpus: tuple[int, ...],
    workspace: Workspace,
) -> int:
    """Return the frames per second and direction that came back, sending flat out."""
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
        ways = ways_between(len(tgen.ports()), profile.direction)
        rates: list[int] = []
        for _ in range(MOST_ATTEMPTS):
            found = trial(tgen, ways, stream, FLAT_OUT, lambda event: None)["streams"]
            if rate := arrived_fps(found):
                rates.append(rate)
            if len(rates) == ATTEMPTS:
                break
        if not rates:
            raise nothing_came(found)
        return max(rates)


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
        distance_ns = tgen.round_trip_ns((options.cpus[0], switch_cpus[0])) if switch_cpus else None
    return HostJitter(_stalls(answer, lasts_ns), distance_ns)


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
