"""The driver: what a trial of vsperf is to tgen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from vsperf.errors import ComponentError, UsageError
from vsperf.record.plan import Endpoint, Step
from vsperf.record.trial import TrialCounts, intended_frames
from vsperf.spec.base import DriverSpec
from vsperf.spec.case import CaseSpec
from vsperf.spec.traffic import TrialPolicy
from vsperf.trafficgens.base import TrialRequest
from vsperf.trafficgens.tgen.binary import planned_binary
from vsperf.trafficgens.tgen.command import Options, Port, command_line, port_of
from vsperf.trafficgens.tgen.process import NAME, Tgen, running
from vsperf.trafficgens.tgen.spec import TgenSpec
from vsperf.trafficgens.tgen.traffic import Way, direction, streams

NANOSECONDS = 1_000_000_000
ORDINARY_FRAME = 1518
SLACK_S = 15.0
"""Patience with a trial beyond its own time."""


@dataclass
class TgenSession:
    """A tgen whose traffic is configured."""

    tgen: Tgen
    spec: TgenSpec
    policy: TrialPolicy
    ways: tuple[Way, ...]
    closed: bool = False

    def run(self, request: TrialRequest) -> TrialCounts:
        if self.closed:
            raise ComponentError("tgen is no longer connected")
        intended = intended_frames(request.load_fps, request.duration_ns)
        if request.load_fps <= 0 or request.duration_ns <= 0 or intended <= 0:
            raise ComponentError(
                f"a trial of {request.load_fps} fps for {request.duration_ns} ns has no frames",
                why="load and duration must be above zero",
            )
        began = time.monotonic_ns()
        if self.policy.learning:
            self.tgen.ask("learn")
            _rest(self.policy.settle.ns)
        message = trial_message(request, intended, self.spec, self.policy)
        patience_s = (message["duration_ns"] + message["drain_ns"]) / NANOSECONDS + SLACK_S
        result = self.tgen.ask("trial", patience_s, **message)
        _rest(self.policy.pause.ns)
        return counts(result, self.ways, intended, time.monotonic_ns() - began)


class TgenGenerator:
    """Sends real frames, and checks every one that comes back."""

    kind: ClassVar[str] = "tgen"
    summary: ClassVar[str] = "the DPDK traffic generator of this project, on any DPDK port"
    Spec: ClassVar[type[DriverSpec]] = TgenSpec

    def plan(self, case: CaseSpec, endpoints: tuple[Endpoint, ...]) -> tuple[Step, ...]:
        spec = _spec_of(case)
        options = _options(case, spec)
        argv = command_line(
            planned_binary(),
            f"{NAME}RUN",
            Path(f"/run/{NAME}RUN.sock"),
            _ports(endpoints, options).values(),
            options,
        )
        ports = ", ".join(f"{endpoint.link} ({endpoint.kind})" for endpoint in endpoints)
        cpus = ", ".join(str(cpu) for cpu in options.cpus)
        return (
            Step(
                component="generator",
                action=f"start tgen on CPU {cpus} with the ports {ports}; RUN is a name of its own",
                argv=argv,
            ),
            Step(
                component="generator",
                action=f"configure {case.traffic.frame_size} frames, "
                f"{case.traffic.flows} flows per direction, bursts of at most {spec.burst}",
            ),
        )

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
    ) -> Iterator[TgenSession]:
        spec = _spec_of(case)
        options = _options(case, spec)
        ports = _ports(endpoints, options)
        _check_directions(ports, directions)
        with running(ports.values(), options) as tgen:
            numbers = tgen.port_numbers(ports)
            ways = tuple(
                Way(f"{enters} to {leaves}", numbers[enters], numbers[leaves])
                for enters, leaves in directions
            )
            tgen.ask("configure", streams=streams(case.traffic, ways))
            session = TgenSession(tgen, spec, case.trial, ways)
            try:
                yield session
            finally:
                session.closed = True


def trial_message(
    request: TrialRequest, intended: int, spec: TgenSpec, policy: TrialPolicy
) -> dict[str, Any]:
    """Return the parameters of a `trial`: exact frames, and when to give up sending the rest."""
    grace_ns = min(spec.grace.ns, int(policy.stretch_tolerance.value * request.duration_ns))
    quiet_ns = max(policy.drain.ns, 1_000_000)
    return {
        "rate_fps": request.load_fps,
        "frames": intended,
        "duration_ns": request.duration_ns + grace_ns,
        "burst": spec.burst,
        "quiet_ns": quiet_ns,
        "drain_ns": 2 * quiet_ns + NANOSECONDS,
        "latency": request.latency,
    }


def counts(
    result: dict[str, Any], ways: tuple[Way, ...], intended: int, elapsed_ns: int
) -> TrialCounts:
    """Return vsperf's view of a trial's result."""
    ports = {port["port"]: port for port in result.get("ports", ())}
    found = []
    sending = []
    for way, stream in zip(ways, result["streams"], strict=True):
        foreign = ports.get(way.receive, {}).get("foreign")
        found.append(direction(way, intended, stream, foreign))
        sending.append(stream.get("sending_ns"))
    known = [span for span in sending if span is not None]
    return TrialCounts(
        directions=tuple(found),
        sending_ns=max(known) if known else None,
        elapsed_ns=elapsed_ns,
        settled=bool(result["settled"]),
    )


def _spec_of(case: CaseSpec) -> TgenSpec:
    if not isinstance(case.generator, TgenSpec):
        raise UsageError(
            f"tgen was given settings of kind {case.generator.kind!r}",
            fix="--set generator.kind=tgen",
        )
    return case.generator


def _options(case: CaseSpec, spec: TgenSpec) -> Options:
    machine = case.testbed.machines.get("local")
    allowed = machine.cpus.cpus if machine and machine.cpus else (0,)
    cpus = spec.cpus.cpus if spec.cpus else allowed[:1]
    longest = max(case.traffic.frame_size.bytes, ORDINARY_FRAME)
    return Options(cpus, spec.hugepages, spec.queues, spec.ring, longest, spec.eal)


def _ports(endpoints: tuple[Endpoint, ...], options: Options) -> dict[str, Port]:
    return {
        endpoint.link: port_of(endpoint, number, options)
        for number, endpoint in enumerate(endpoints)
    }


def _check_directions(ports: dict[str, Port], directions: tuple[tuple[str, str], ...]) -> None:
    if not directions:
        raise UsageError(
            "tgen was given no direction to send in",
            fix="choose a topology whose paths begin and end at links, such as p2p",
        )
    for way in directions:
        for link in way:
            if link not in ports:
                raise UsageError(
                    f"tgen has no endpoint on link {link!r}",
                    why=f"traffic goes from {way[0]} to {way[1]}, but the switch has a port on "
                    + ", ".join(sorted(ports)),
                    fix="use links in the topology that the switch has ports on",
                )


def _rest(ns: int) -> None:
    """Wait as the trial's policy asks."""
    time.sleep(ns / NANOSECONDS)
