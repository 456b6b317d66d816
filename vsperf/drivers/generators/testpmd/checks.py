"""What testpmd cannot send, beside what follows from its abilities. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.config.case import CaseSpec
from vsperf.config.traffic import FULL, TrafficProfile
from vsperf.config.wiring import directions_of
from vsperf.drivers.generators.testpmd.spec import TestpmdGeneratorSpec
from vsperf.errors import UsageError
from vsperf.methods.base import loads_of, method_of

MOST_FLOWS = 1 << 24
OTHER = "--set generator.kind=tgen"


def check(case: CaseSpec, spec: TestpmdGeneratorSpec) -> None:
    """Refuse what it cannot send, or could not defend."""
    _check_frames(case.traffic)
    _check_flows(case, spec)
    if case.trial.learning:
        raise UsageError(
            "testpmd sends no learning frames",
            why="it sends nothing but its test frames, whose addresses are its own",
            fix="--set trial.learning=false",
        )
    if case.rewriting is not None:
        raise UsageError(
            f"testpmd does not see whether the switch does what {case.rewriting} asks",
            why="it counts frames that arrive, and looks at none",
            fix=f"{OTHER}, or a switch that leaves frames as they are",
        )
    _check_ways(case, spec)
    _check_loads(case)


def _check_frames(traffic: TrafficProfile) -> None:
    for setting in _unusual(traffic):
        raise UsageError(
            f"testpmd cannot send what traffic.{setting} asks for",
            why="its frames are UDP on IPv4, all of one size, with addresses of its own",
            fix=f"leave traffic.{setting} out, or {OTHER}",
        )


def _unusual(traffic: TrafficProfile) -> Iterator[str]:
    """Yield the settings that make other frames than it has, or send them in another way."""
    usual: dict[str, object] = {"layer3": "ipv4", "destination": "unicast", "vary": "ip"}
    usual |= {"reverse_load": FULL, "flow_order": "in-order", "vlans": (), "mpls": ()}
    usual |= dict.fromkeys(("imix", "bursts", "encapsulation", "replay"))
    yield from (name for name, value in usual.items() if getattr(traffic, name) != value)
    if traffic.broadcasts.value:
        yield "broadcasts"


def _check_flows(case: CaseSpec, spec: TestpmdGeneratorSpec) -> None:
    flows = int(case.traffic.flows)
    if spec.mode == "txonly" and flows > 1:
        raise UsageError(
            f"testpmd cannot send {flows} flows in mode txonly",
            why="it sends one frame over and over",
            fix="--set generator.mode=flowgen, or --set traffic.flows=1",
        )
    if flows > MOST_FLOWS:
        raise UsageError(
            f"testpmd sends {MOST_FLOWS} flows at most, and {flows} are wanted",
            fix=f"--set traffic.flows={MOST_FLOWS}",
        )


def _check_ways(case: CaseSpec, spec: TestpmdGeneratorSpec) -> None:
    ways = directions_of(case.topology, case.traffic.direction)
    if any(case.topology.lanes(*way) > 1 for way in ways):
        raise UsageError(
            f"testpmd cannot send to the parallel paths of topology {case.topology.name}",
            why="what tells their frames apart are addresses, and its addresses are its own",
            fix=f"--set topology=p2p, or {OTHER}",
        )
    if spec.mode == "txonly" and len(ways) != 1:
        raise UsageError(
            "testpmd sends one way only in mode txonly",
            why="who sends does not receive: a port that frames come back to is nobody's",
            fix="--set traffic.direction=forward, or --set generator.mode=flowgen",
        )
    ends = [end for way in ways for end in way]
    if spec.mode == "flowgen" and len(set(ends)) != 2:
        raise UsageError(
            f"testpmd sends between two ports, and topology {case.topology.name} has "
            f"{len(set(ends))} ends",
            why="what comes in at a port of its is for the other one",
            fix=f"--set topology=p2p, or {OTHER}",
        )
    if spec.mode == "flowgen" and len(ways) != 2:
        raise UsageError(
            "testpmd sends both ways in mode flowgen",
            why="its thread sends on every port that it receives on",
            fix="--set traffic.direction=both, or --set generator.mode=txonly",
        )


def _check_loads(case: CaseSpec) -> None:
    """Refuse loads that are not all it can do; a method that needs a pace has been refused."""
    loads = loads_of(case)
    lowest = min(method_of(case).offered(loads))
    if lowest < loads.line_rate:
        raise UsageError(
            f"testpmd cannot send {lowest} frames per second",
            why="it is unpaced: it sends as fast as it can, which stands for 100% and nothing else",
            fix=f"{OTHER}, or 100% alone: --set search.loads=100%, or --set search.min_load=99%",
        )
