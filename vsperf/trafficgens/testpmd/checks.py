"""What testpmd cannot send, and which methods cannot do without what it does not have. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vsperf.errors import UsageError
from vsperf.methods.base import loads_of
from vsperf.methods.sweep import LoadSweep
from vsperf.spec.case import CaseSpec
from vsperf.spec.traffic import FULL, TrafficProfile
from vsperf.spec.wiring import directions_of
from vsperf.trafficgens.testpmd.spec import TestpmdGeneratorSpec

PLAIN_METHODS = ("fixed", "forwarding", "loss")
"""Methods whose trials are plain: one load for a while, and what became of it."""
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
    _check_method(case)


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
            fix="--set generator.mode=flowgen, or traffic.flows=1",
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
            fix="--set traffic.direction=forward, or generator.mode=flowgen",
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
            fix="--set traffic.direction=both, or generator.mode=txonly",
        )


def _check_method(case: CaseSpec) -> None:
    kind = case.search.kind
    if kind not in PLAIN_METHODS:
        raise UsageError(
            f"the method {kind} needs a generator that can be told how fast to send",
            why="testpmd is unpaced: it sends as fast as it can, so no load can be searched",
            fix=f"{OTHER}, or offer all it can: --set search.kind=fixed --set search.loads=100%",
        )
    if getattr(case.search, "event", None) is not None:
        raise UsageError(
            "testpmd cannot tell how long frames stay away when something is done to the switch",
            why="it counts frames that arrive, and not when",
            fix=f"{OTHER}, or no search.event",
        )
    loads = loads_of(case)
    offered = case.search.ladder(loads) if isinstance(case.search, LoadSweep) else loads.fixed
    lowest = min(offered)
    if lowest < loads.line_rate:
        raise UsageError(
            f"testpmd cannot send {lowest} frames per second",
            why="it is unpaced: it sends as fast as it can, which stands for 100% and nothing else",
            fix=f"{OTHER}, or 100% alone: search.loads=100%, or search.min_load=99%",
        )
