"""The driver: what a trial of vsperf is to tgen."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.case import CaseSpec
from vsperf.config.connections import FIRST_PORT
from vsperf.config.traffic import Bursts, TrafficProfile, TrialPolicy
from vsperf.config.wiring import directions_of, outer_nics
from vsperf.drivers.ending import until_left
from vsperf.drivers.generators.base import (
    ConnectionsRequest,
    HostJitter,
    OnSample,
    TrafficGenerator,
    TrialRequest,
    TurnSide,
)
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.dpdk_ports import Port
from vsperf.drivers.generators.tgen import guest as in_guest
from vsperf.drivers.generators.tgen.cap import measure_cap, measure_jitter, method_of
from vsperf.drivers.generators.tgen.client import longest_ns
from vsperf.drivers.generators.tgen.command import (
    ONE_RING,
    Options,
    command_line,
    memory_bytes,
    most_in_flight,
    port_of,
)
from vsperf.drivers.generators.tgen.connections import asked_of, make_connections, port_behind
from vsperf.drivers.generators.tgen.guest import check as check_place
from vsperf.drivers.generators.tgen.guest import running_in_guest
from vsperf.drivers.generators.tgen.look import Look
from vsperf.drivers.generators.tgen.messages import asked_ns, counts, sampler, trial_message
from vsperf.drivers.generators.tgen.process import CONTROL, PREFIX, PROTOCOL, TGEN, Tgen, running
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.generators.tgen.traffic import (
    Replayed,
    TrafficDirection,
    senders_each,
    streams,
    traffic_directions,
)
from vsperf.drivers.generators.tgen.tsc import Tsc
from vsperf.drivers.generators.tgen.turns_session import (
    TgenTurnsSession,
    check_turns,
    planned_for,
    turns_by,
)
from vsperf.drivers.settings import reading
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, failure, ok, warning
from vsperf.host.doctor.wants import Want
from vsperf.host.packet_sockets import Rings
from vsperf.host.workspace import Workspace
from vsperf.qemu.host import qemu_host
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.connections import ConnectionCounts
from vsperf.records.host import Calibration
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.trial import TrialCounts
from vsperf.waits import KilledError, how_it_ended, run, sleep

_spec_of = reading("generator.kind=tgen", TgenSpec, "tgen")
QUESTION = '{"id":1,"verb":"hello"}\n'
ANSWER_S = 5.0
AGAIN = "try again; where it happens again, see what else goes on here: journalctl --dmesg"
NO_PROGRAM = (errno.ENOENT, errno.EACCES, errno.ENOEXEC)
BROKEN: tuple[int, ...] = (
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGABRT,
    signal.SIGFPE,
)
"""By these a program ends itself; SIGILL where it was built for another processor."""
BY_SIGNAL: dict[int, str] = {
    signal.SIGXFSZ: "ulimit -f unlimited",
    signal.SIGXCPU: "ulimit -t unlimited",
}
MEMORY = ("--no-huge", "--no-shconf", "--no-telemetry", "-m", "64")
"""Ordinary memory, and no file anywhere: asking leaves no trace."""


def _tgen(here: Host) -> Answer:
    try:
        binary = str(TGEN.find(here.environment))
    except NotReadyError as error:
        return failure(f"{error}: {error.problems[0].why}", error.problems[0].fix)
    cpu = min(here.usable)
    argv = [binary, "--no-pci", *MEMORY, "--vdev=net_ring0", f"--lcores=0@{cpu},1@{cpu}"]
    try:
        done = run([*argv, "--", "--stdin"], ANSWER_S, given=QUESTION)
    except KilledError as error:
        done = error.done
    except OSError as error:
        fix = TGEN.build_command if error.errno in NO_PROGRAM else AGAIN
        return failure(f"{binary} cannot be started: {error.strerror or error}", fix)
    except subprocess.TimeoutExpired:
        return failure(f"{binary} does not answer within {ANSWER_S:g} s", AGAIN)
    hello = _hello(done.stdout)
    return _silent(binary, done) if hello is None else _greeted(binary, hello)


def _greeted(binary: str, hello: Mapping[str, Any]) -> Answer:
    """Judge what it says of itself."""
    if hello.get("protocol") != PROTOCOL:
        return failure(
            f"{binary} speaks protocol {hello.get('protocol')}, and this vsperf {PROTOCOL}",
            TGEN.build_command,
        )
    build = hello.get("build") or {}
    evidence = f"{binary}: tgen {hello.get('tgen')}, protocol {PROTOCOL}, {hello.get('dpdk')}, " + (
        f"{build.get('type')} build for {build.get('march')} by {build.get('compiler')}"
    )
    if build.get("type") not in ("release", "debugoptimized"):
        return warning(f"{evidence}: slower than it could be", TGEN.build_command)
    return ok(evidence)


def _silent(binary: str, done: subprocess.CompletedProcess[str]) -> Answer:
    """Say how a tgen ended that gave no answer; whoever ended it is not mended by building it."""
    said = [line for line in done.stderr.splitlines() if line.strip()]
    words = f"; its last words: {said[-1]}" if said else ""
    how = f"{binary} {how_it_ended(done.returncode)}"
    if done.returncode < 0:
        number = -done.returncode
        fix = BY_SIGNAL.get(number, TGEN.build_command if number in BROKEN else AGAIN)
        return failure(f"{how}{words}", fix)
    return failure(f"{how} and gave no answer{words}", TGEN.build_command)


def _hello(output: str) -> dict[str, Any] | None:
    for line in output.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and isinstance(answer.get("result"), dict):
            return dict(answer["result"])
    return None


CHECKS = (Check("tgen", Group.PROGRAMS, _tgen, before_runs=True),)


ORDINARY_FRAME = 1518
ROLE = "generator"
SWITCH_ROLE = "pmd"
"""CPUs of the switch that take part in every frame's way."""
SLACK_S = 5.0
"""Patience with a trial beyond its own time."""
BURST_MOST = 64
PACKET_SOCKET = "net_af_packet"
"""DPDK's driver whose devices do not tell what found their rings full, or not in all versions."""


@dataclass
class TgenSession:
    """A tgen whose traffic is configured."""

    tgen: Tgen
    spec: TgenSpec
    policy: TrialPolicy
    ways: tuple[TrafficDirection, ...]
    replay: Replayed | None = None
    look: Look | None = None
    """Sees the headers of frames that arrive; None where they have no mark that says whose they
    are."""
    bursts: Bursts | None = None
    in_flight: int = 0
    """Most frames of a direction on their way; 0 for no bound."""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """tgen's ports, by the link that they are at the end of."""
    rings: Rings | None = None
    """Those of tgen's packet sockets, of which the kernel is asked; None where there are none."""
    begin_port: int = FIRST_PORT
    """Of clients: with which the next trial of connections begins."""
    ended: bool = False
    tsc: Tsc = field(init=False)

    def __post_init__(self) -> None:
        self.tsc = Tsc.of(self.tgen.hello)

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        if self.ended:
            raise ComponentError("tgen is no longer connected")
        request.require_frames()
        began = time.monotonic_ns()
        if self.policy.learning:
            self.tgen.ask("learn")
            _rest(self.policy.settle.ns)
        message = trial_message(
            request, self.ways, self.spec, self.policy, self.replay, self.bursts
        )
        message["in_flight"] = self.in_flight
        verb, limit = ("burst", "timeout_ns") if self.bursts else ("trial", "duration_ns")
        sending_ns = message.get(limit, request.duration_ns) + message.get("grace_ns", 0)
        message["slot_ns"] = asked_ns(sending_ns)
        patience_s = (longest_ns(sending_ns) + message["drain_ns"]) / NANOSECONDS + SLACK_S
        look = self.look if request.headers else None
        if look is not None:
            look.arm()
        before = self._missed()
        with self.tgen.listening(sampler(self.ways, on_sample)):
            result = self.tgen.ask(verb, patience_s, **message)
        missed = self._missed() - before
        # In a guest its clock has been held against the host's, which says more.
        self.tsc.hear(result, refuse=self.spec.place == "host")
        _rest(self.policy.pause.ns)
        elapsed_ns = time.monotonic_ns() - began
        intended = None if self.bursts else message.get("frames")
        found = counts(result, self.ways, intended, elapsed_ns, self.spec.ring, missed)
        return found if look is None else look.added_to(found)

    def connect(self, request: ConnectionsRequest) -> ConnectionCounts:
        if self.ended:
            raise ComponentError("tgen is no longer connected")
        began = time.monotonic_ns()
        asked = request.asked
        lasts_ns = asked.asking_ns or asked.duration_ns
        grace_ns = min(self.spec.grace.ns, self.policy.allowed_late_ns(lasts_ns) // 2)
        wanted = asked_of(request, self.numbers, grace_ns, self.begin_port)
        self.begin_port = port_behind(wanted, None)
        before = self._missed()
        made, answer = make_connections(self.tgen, wanted)
        self.begin_port = port_behind(wanted, made)
        missed = made.missed_frames + self._missed() - before
        self.tsc.hear(answer, refuse=self.spec.place == "host")
        _rest(self.policy.pause.ns)
        elapsed_ns = time.monotonic_ns() - began
        return made.model_copy(update={"elapsed_ns": elapsed_ns, "missed_frames": missed})

    def failure(self) -> str | None:
        if self.ended:
            return "tgen is no longer connected"
        return None if self.tgen.alive() else str(self.tgen.obituary("between two trials"))

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        return self.tgen.round_trip_ns(cpus)

    def facts(self) -> dict[str, Any]:
        replay = {} if self.replay is None else {"replay": self.replay.facts()}
        return {**self.tgen.facts(), **replay, **self.late_facts()}

    def late_facts(self) -> dict[str, Any]:
        return {"tsc": self.tsc.facts()}

    def _missed(self) -> int:
        """Return the frames that rings had no room for, as far as no device tells, until now."""
        return 0 if self.rings is None else sum(self.rings.drops_of(self.tgen.process.pid).values())


class TgenGenerator(TrafficGenerator):
    """Sends real frames, and checks every one that comes back."""

    kind = "tgen"
    summary = "the DPDK traffic generator of this project, on any DPDK port"
    Spec = TgenSpec
    sockets = (CONTROL,)
    wants = frozenset({Want.QUIET_CPUS, Want.CYCLE_COUNTER})
    checks = CHECKS

    def capabilities(self, case: CaseSpec) -> Capabilities:
        if _spec_of(case).place == "vm":
            return in_guest.ABLE
        return Capabilities(frozenset(Ability), clock="the CPU's time stamp counter")

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        if spec.place == "vm":
            return in_guest.needs_of(spec)
        pinned = spec.cpus.cpus if spec.cpus else None
        workers = len(pinned) if pinned else spec.workers
        needed = memory_bytes(workers, spec.queues, spec.ring)
        return Needs(
            cpus=(CpuNeed(ROLE, workers, pinned=pinned),),
            hugepage_bytes=needed if spec.hugepages else 0,
        )

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = _spec_of(case)
        options = _options(case, spec, placement)
        check_queues(case, endpoints, options.queues)
        check_sockets(case, endpoints, options)
        check_hosts(case, spec)
        configure = Step(
            component="generator",
            action=f"configure {_shown(case.traffic)}, bursts of at most {spec.burst}"
            + _shared(senders(case, options)),
        )
        if spec.place == "vm":
            here = qemu_host()
            guest = in_guest.guest_of(spec, endpoints, placement, options, here)
            return (*in_guest.steps_of(guest, here), configure)
        argv = command_line(
            TGEN.planned(),
            PREFIX,
            Path(CONTROL),
            _ports(endpoints, options).values(),
            options,
        )
        ports = ", ".join(f"{endpoint.link} ({endpoint.kind})" for endpoint in endpoints)
        cpus = ", ".join(str(cpu) for cpu in options.cpus)
        return (
            Step(
                component="generator",
                action=f"start tgen on CPU {cpus} with the ports {ports}{_halves(options.cpus)}",
                argv=argv,
            ),
            configure,
        )

    def calibrate(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Calibration | None:
        switch_cpus = placement.of(SWITCH_ROLE)
        spec = _spec_of(case)
        options = _options(case, spec, placement)
        if spec.place == "vm" or not switch_cpus or switch_cpus[0] in options.cpus:
            return None
        found = measure_cap(case, options, senders(case, options), switch_cpus, workspace)
        return Calibration(
            frame_size=case.traffic.frame_size.bytes,
            cap_fps=found.fps,
            round_trip_ns=found.round_trip_ns,
            method=method_of(case),
            measured_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            cpus=(*options.cpus, switch_cpus[0]),
        )

    def jitter(self, case: CaseSpec, placement: Placement, workspace: Workspace) -> HostJitter:
        spec = _spec_of(case)
        options = _options(case, spec, placement)
        if spec.place == "vm":
            check_place(spec)  # before there is a switch that would wait for it
        return measure_jitter(options, placement.of(SWITCH_ROLE), spec.stalls.ns, workspace)

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[TgenSession]:
        spec = _spec_of(case)
        options = _options(case, spec, placement)
        with _started(case, endpoints, directions, placement, workspace) as (tgen, ports):
            numbers = tgen.port_numbers(ports)
            ways = traffic_directions(case, directions, numbers)
            each = senders(case, options)
            opened = tgen.ports()
            check_devices(opened, each)
            asked = streams(case.traffic, ways, case.topology.dispatch, each)
            found = tgen.ask("configure", streams=asked)
            if spec.respond:
                tgen.ask("respond")
            replay = Replayed.of(case.traffic, found)
            in_flight = _in_flight(case, spec, endpoints)
            seen = replay is None and spec.place == "host"  # captures are files
            look = Look(tgen, ways, each, workspace.folder) if seen else None
            rings = None
            if spec.place == "host" and _has_packet_sockets(opened):
                rings = Rings(next((port.network for port in ports.values()), ""))
            session = TgenSession(
                tgen,
                spec,
                case.trial,
                ways,
                replay,
                look,
                case.traffic.bursts,
                in_flight,
                numbers,
                rings,
            )
            with until_left(session):
                yield session

    def plan_turns(
        self, case: CaseSpec, sides: tuple[tuple[Endpoint, ...], ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = _spec_of(case)
        options = _options(case, spec, placement)
        check_turns(case, options, sides)
        check_hosts(case, spec)
        argv = planned_for(sides, options)
        action = f"start tgen on CPU {options.cpus[0]} with ports to {len(sides)} switches"
        shown = f"configure {_shown(case.traffic)} for each of them, to be sent in turns"
        return (
            Step(component="generator", action=action, argv=argv),
            Step(component="generator", action=shown),
        )

    @contextmanager
    def start_turns(
        self,
        case: CaseSpec,
        sides: tuple[TurnSide, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[TgenTurnsSession]:
        spec = _spec_of(case)
        options = _options(case, spec, placement)
        with turns_by(case, spec, options, sides, directions, workspace) as session:
            yield session


@contextmanager
def _started(
    case: CaseSpec,
    endpoints: tuple[Endpoint, ...],
    directions: tuple[tuple[str, str], ...],
    placement: Placement,
    workspace: Workspace,
) -> Iterator[tuple[Tgen, dict[str, Port]]]:
    """Start tgen where it is to run; gives its ports by link, too."""
    spec = _spec_of(case)
    options = _options(case, spec, placement)
    if spec.place == "vm":
        check_place(spec)
        here = qemu_host()
        guest = in_guest.guest_of(spec, endpoints, placement, options, here)
        check_directions("tgen", guest.ports, directions)
        with running_in_guest(guest, workspace) as tgen:
            yield tgen, guest.ports
        return
    ports = _ports(endpoints, options)
    check_directions("tgen", ports, directions)
    with running(ports.values(), options, workspace) as tgen:
        yield tgen, ports


def _options(case: CaseSpec, spec: TgenSpec, placement: Placement) -> Options:
    cpus = placement.of(ROLE)
    longest = max(case.longest_bytes, ORDINARY_FRAME)
    return Options(cpus, spec.hugepages, spec.queues, spec.ring, longest, spec.eal)


def _in_flight(case: CaseSpec, spec: TgenSpec, endpoints: tuple[Endpoint, ...]) -> int:
    """Return how many frames of a direction may be on their way, so that they fit into its ring.

    VNFs and other devices hold more of them than that, and NICs lose them.
    """
    if spec.in_flight is not None:
        return spec.in_flight
    if bound := most_in_flight(endpoints):
        return bound
    virtual = all(endpoint.kind in ONE_RING for endpoint in endpoints)
    alone = not case.topology.vnfs and not getattr(case.vswitch, "ELSEWHERE", False)
    return max(BURST_MOST, spec.ring - 2 * BURST_MOST) if virtual and alone else 0


def _shown(traffic: TrafficProfile) -> str:
    if traffic.replay is not None:
        return f"the frames of {traffic.replay.file}, rhythm {traffic.replay.rhythm}"
    bursts = traffic.bursts
    rhythm = f", in bursts of {bursts.frames} and gaps of {bursts.gap}" if bursts else ""
    every = traffic.broadcast_every
    some = f", one frame in {every} for everybody" if every else ""
    flows = "1 flow" if int(traffic.flows) == 1 else f"{traffic.flows} flows"
    return f"{traffic.size_label} frames, {flows} per direction{some}{rhythm}"


def senders(case: CaseSpec, options: Options) -> int:
    """Return how many workers send each direction: at most a queue each.

    The frames of a file, and bursts, come from one.
    """
    if case.traffic.replay is not None or case.traffic.bursts is not None:
        return 1
    ways = directions_of(case.topology, case.traffic.direction)
    queues = options.queues
    if outer_nics(case.topology):
        queues = min(queues, case.vnf_queues)
    return senders_each(len(options.cpus), len(ways), queues)


def _halves(cpus: tuple[int, ...]) -> str:
    """Say who sends, where not all do both."""
    half = len(cpus) // 2
    if half == 0:
        return ""
    sending, receiving = (
        ", ".join(str(cpu) for cpu in part) for part in (cpus[:half], cpus[half:])
    )
    return f"; {sending} sends, {receiving} receives"


def _shared(each: int) -> str:
    return f", each by {each} workers with a queue of their own" if each > 1 else ""


def _ports(endpoints: tuple[Endpoint, ...], options: Options) -> dict[str, Port]:
    return {
        endpoint.link: port_of(endpoint, number, options)
        for number, endpoint in enumerate(endpoints)
    }


def _rest(ns: int) -> None:
    """Wait as the trial's policy asks."""
    sleep(ns / NANOSECONDS)


def _has_packet_sockets(ports: list[dict[str, Any]]) -> bool:
    return any(port["driver"] == PACKET_SOCKET for port in ports)


def check_devices(ports: list[dict[str, Any]], each: int) -> None:
    """Refuse a device that has fewer queues than workers are to send on."""
    for port in ports:
        if port["transmit_queues"] < each:
            raise ComponentError(
                f"{port['name']} has {port['transmit_queues']} queues to send on, and {each} "
                "workers are to send each direction",
                why="each of them needs a queue of its own",
                fix=f"--set generator.queues={port['transmit_queues']}, or a device with more",
            )


def check_queues(case: CaseSpec, endpoints: tuple[Endpoint, ...], queues: int) -> None:
    """Refuse a VNF that would send on queues which nobody empties."""
    plugged_in = any(endpoint.kind == "vhost-user-backend" for endpoint in endpoints)
    if plugged_in and queues < case.vnf_queues:
        raise UsageError(
            f"tgen serves {queues} of the {case.vnf_queues} queues of a VNF's NIC",
            why=f"in topology {case.topology.name} the generator is plugged into VNFs",
            fix=f"set generator.queues to {case.vnf_queues}, or vnf.queues to {queues}",
        )


def check_sockets(case: CaseSpec, endpoints: tuple[Endpoint, ...], options: Options) -> None:
    """Refuse packet sockets from which nobody knows how many frames are on their way."""
    if not most_in_flight(endpoints):
        return
    if case.traffic.replay is not None:
        raise UsageError(
            "a file cannot be sent by packet sockets",
            why="its frames may have no mark, so nobody knows which are on their way, and more "
            "than a socket has memory for would leave in the next trial",
            fix="no traffic.replay, or --set vswitch.ports=tap",
        )
    if len(options.cpus) > 1:
        raise UsageError(
            f"{len(options.cpus)} workers cannot send by packet sockets",
            why="who sends does not know what others have received, and more frames than a socket "
            "has memory for would leave in the next trial",
            fix="--set generator.workers=1, one CPU in generator.cpus, or --set vswitch.ports=tap",
        )


def check_hosts(case: CaseSpec, spec: TgenSpec) -> None:
    """Refuse to say where hosts are that nobody knows, or that are nowhere."""
    traffic = case.traffic
    if traffic.destination != "unicast" and (case.trial.learning or spec.respond):
        setting = "trial.learning" if case.trial.learning else "generator.respond"
        raise UsageError(
            f"{setting} says where the hosts of the traffic are, and {traffic.destination} frames "
            "are for no single host",
            why="a switch that learns an address of a group is not one that anybody has",
            fix=f"--set {setting}=false, or --set traffic.destination=unicast",
        )
    if traffic.replay is not None and spec.respond:
        raise UsageError(
            "tgen answers for no hosts of a file that is replayed",
            why="whose addresses those in it are, nobody knows",
            fix="--set generator.respond=false, or no traffic.replay",
        )
