"""The driver: testpmd on the ports of a switch, started once for all trials of a case.

It sends as fast as it can, or a handful of frames; they are counted by ports, after a drain.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.case import CaseSpec
from vsperf.config.traffic import TrialPolicy
from vsperf.config.wiring import directions_of, outer_nics
from vsperf.dpdk.command import MEGABYTE
from vsperf.dpdk.console import Console, Forwarded
from vsperf.dpdk.mirror import UNDER_WAY, method, mirror
from vsperf.dpdk.running import Patience, RunningTestpmd, find_testpmd
from vsperf.drivers.ending import until_left
from vsperf.drivers.generators.base import GeneratorSession, OnSample, TrialRequest, Unmeasured
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.testpmd.plan import (
    FCS,
    MOST_FLOWS,
    ROLE,
    Design,
    Part,
    TestpmdGeneratorSpec,
    check,
)
from vsperf.drivers.settings import reading
from vsperf.errors import ComponentError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.programs import program_check
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.process import log_of, managed
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import NANOSECONDS
from vsperf.records import threads
from vsperf.records.host import Calibration
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.trial import Direction, TrialCounts
from vsperf.waits import sleep

_spec_of = reading("generator.kind=testpmd", TestpmdGeneratorSpec, "testpmd")
HANDFUL = 512
"""Frames that it sends at once, in one burst, and not more; testpmd takes no longer one."""
REST_S = 0.02
"""Counters that do not move for so long are at rest."""
SETTLE_S = 2.0
"""Patience with counters after the drain."""
HANDFUL_S = 5.0

Ports = dict[str, dict[str, int]]
"""What the port of each link counts, by DPDK's names."""


@dataclass
class Running:
    """One testpmd of the generator that runs."""

    part: Part
    testpmd: RunningTestpmd
    console: Console

    def look(self) -> None:
        if self.testpmd.program.poll() is not None:
            raise self.testpmd.obituary("in the middle of a trial")

    def counted(self) -> Ports:
        return dict(zip(self.part.links, self.testpmd.statistics(), strict=True))

    def stop(self) -> dict[str, Forwarded]:
        """Stop; return what the port of each link did since the start."""
        told = self.console.stop(self.look)
        return {self.part.links[number]: did for number, did in told.items()}


@dataclass
class TestpmdSession:
    """A testpmd, or two, whose ports are up."""

    __test__ = False  # its name looks like that of tests

    running: tuple[Running, ...]
    ways: tuple[tuple[str, str], ...]
    policy: TrialPolicy
    mode: str
    size: int
    """Of a frame with FCS."""
    burst: int
    ended: bool = False
    receiving: bool = field(default=False, init=False)
    """Whether those that only receive do so by now."""

    def run(self, request: TrialRequest, on_sample: OnSample | None = None) -> TrialCounts:
        if self.ended:
            raise ComponentError("testpmd is no longer connected")
        _check(request)
        began = time.monotonic_ns()
        self._receive()
        before = self._counted()
        if request.frames <= HANDFUL:
            refused, sending_ns = self._send_handful(request.frames, before)
        else:
            refused, sending_ns = self._send(request.duration_ns)
        settled = self._drain()
        after = self._counted()
        self._check_size(before, after)
        sleep(self.policy.pause.ns / NANOSECONDS)
        return TrialCounts(
            directions=tuple(
                self._direction(way, request, before, after, refused) for way in self.ways
            ),
            sending_ns=sending_ns,
            elapsed_ns=time.monotonic_ns() - began,
            settled=settled,
        )

    def failure(self) -> str | None:
        if self.ended:
            return "testpmd is no longer connected"
        found = (one.testpmd.failure() or one.testpmd.silence() for one in self.running)
        return next((why for why in found if why is not None), None)

    def facts(self) -> dict[str, Any]:
        for one in self.running:
            one.testpmd.waiting_for(())  # what was negotiated is known now
        return {
            "dpdk": self.running[0].testpmd.dpdk,
            "mode": self.mode,
            "paced": False,
            "counts": "by ports",
            "argv": [list(one.testpmd.program.argv) for one in self.running],
            "ports": [
                {"place": link, **port}
                for one in self.running
                for link, port in zip(one.part.links, one.testpmd.ports, strict=False)
            ],
        }

    @property
    def _senders(self) -> tuple[Running, ...]:
        return tuple(one for one in self.running if one.part.sends)

    def _receive(self) -> None:
        """Have those receive that do nothing else."""
        if not self.receiving:
            for one in self.running:
                if not one.part.sends:
                    one.console.say("set fwd rxonly", "start")
            self.receiving = True

    def _counted(self) -> Ports:
        return {link: port for one in self.running for link, port in one.counted().items()}

    def _send(self, duration_ns: int) -> tuple[dict[str, Forwarded], int]:
        """Send as fast as it goes for a while; return what was refused, and for how long it was.

        The time is that from the word to start to the word to stop; it heeds both equally soon.
        """
        length = self.size if self.mode == "flowgen" else self.size - FCS
        told: dict[str, Forwarded] = {}
        began = time.monotonic_ns()
        for one in self._senders:
            one.console.say(
                f"set fwd {self.mode}", f"set txpkts {length}", f"set burst {self.burst}", "start"
            )
        sleep(duration_ns / NANOSECONDS)  # this is what is measured
        sending_ns = time.monotonic_ns() - began
        for one in self._senders:
            told |= one.stop()
        return told, sending_ns

    def _send_handful(self, frames: int, before: Ports) -> tuple[dict[str, Forwarded], int]:
        """Send a few frames at once, exactly as many; who sent them goes on to receive.

        That is faster than any load, and the time says so.
        """
        senders = {way[0] for way in self.ways}
        began = time.monotonic_ns()
        for one in self._senders:
            mode = "rxonly" if one.part.receives else "io"
            one.console.say(
                f"set fwd {mode}",
                f"set txpkts {self.size - FCS}",
                f"set burst {frames}",
                "start tx_first 1",
            )
        deadline = time.monotonic() + HANDFUL_S
        while time.monotonic() < deadline:
            now = self._counted()
            if all(_grown(now, before, link, "opackets") >= frames for link in senders):
                break
        sending_ns = time.monotonic_ns() - began
        sleep(self.policy.drain.ns / NANOSECONDS)
        for one in self._senders:
            one.stop()
        return {}, sending_ns

    def _drain(self) -> bool:
        """Receive what is still on its way until the counters rest; say whether they came to it."""
        both = [one for one in self._senders if one.part.receives]
        for one in both:
            one.console.say("set fwd rxonly", "start")
        sleep(self.policy.drain.ns / NANOSECONDS)
        deadline, settled = time.monotonic() + SETTLE_S, False
        last = self._counted()
        while not settled and time.monotonic() < deadline:
            sleep(REST_S)  # between two looks at a condition, never instead of one
            now = self._counted()
            settled, last = now == last, now
        for one in both:
            one.stop()
        return settled

    def _direction(
        self,
        way: tuple[str, str],
        request: TrialRequest,
        before: Ports,
        after: Ports,
        told: Mapping[str, Forwarded],
    ) -> Direction:
        enters, leaves = way
        sent = _grown(after, before, enters, "opackets")
        unsent = max(0, request.frames - sent)
        refused = min(told[enters].refused, unsent) if enters in told else None
        return Direction(
            name=f"{enters} to {leaves}",
            intended_frames=request.frames,
            sent_frames=sent,
            received_frames=_grown(after, before, leaves, "ipackets"),
            refused_frames=refused,
            unmarked_frames=sent,
        )

    def _check_size(self, before: Ports, after: Ports) -> None:
        """See that frames had the size that was asked for, where the port counts bytes."""
        for enters, _ in self.ways:
            frames = _grown(after, before, enters, "opackets")
            size, counted = self.size - FCS, _grown(after, before, enters, "obytes")
            if counted not in (0, frames * size):
                raise ComponentError(
                    f"testpmd sent {frames} frames of {counted / max(1, frames):g} B at {enters}, "
                    f"and they should have {size} B without FCS",
                    why="another version of DPDK takes its settings otherwise",
                )


def _grown(after: Ports, before: Ports, link: str, counter: str) -> int:
    """Return how far a counter came; a negative number where it was reset, which is told."""
    return int(after[link][counter]) - int(before[link][counter])


def _check(request: TrialRequest) -> None:
    request.require_frames()
    if request.steps or request.latency or request.latency_ranges:
        raise ComponentError(
            "testpmd makes no trials with steps, nor with latencies",
            why="it is unpaced, and stamps no frame",
            fix="--set generator.kind=tgen",
        )


PURPOSE = "it is the generator (generator.kind=testpmd)"
ABILITIES = frozenset({Ability.PER_DIRECTION, Ability.OWN_COUNTS, Ability.TIMED, Ability.VARY_IP})
SWITCH_ROLE = "pmd"
"""CPUs of the switch that take part in every frame's way."""
START_S = 30.0
LINKS_S = 60.0


class TestpmdGenerator(Unmeasured):
    """Sends frames as fast as testpmd can, and believes what ports count."""

    __test__ = False  # its name looks like that of tests

    kind = "testpmd"
    summary = "DPDK's testpmd: unpaced, unchecked frames, counted by ports"
    Spec = TestpmdGeneratorSpec
    checks = (
        program_check("testpmd", "calibration", "dpdk-dev", names=("dpdk-testpmd", "testpmd")),
    )
    wants = POLLING_SWITCH | {Want.CYCLE_COUNTER}

    def capabilities(self, case: CaseSpec) -> Capabilities:
        both = _spec_of(case).mode == "flowgen"
        return Capabilities(ABILITIES, flows=MOST_FLOWS if both else 1, directions=2 if both else 1)

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        programs = 1 if spec.mode == "flowgen" else 2
        memory = programs * Design(case, spec, ()).rings.memory_mb * MEGABYTE
        return Needs(
            cpus=(CpuNeed.of(ROLE, spec.cpus, spec.threads),),
            hugepage_bytes=memory if spec.hugepages else 0,
        )

    def plan(
        self, case: CaseSpec, endpoints: tuple[Endpoint, ...], placement: Placement
    ) -> tuple[Step, ...]:
        spec = _spec_of(case)
        check(case, spec)
        return Design(case, spec, endpoints, placement).steps()

    def calibrate(
        self, case: CaseSpec, placement: Placement, workspace: Workspace
    ) -> Calibration | None:
        """Return what comes back from a mirror; None where the ports of the case are others."""
        own, switch_cpus = placement.of(ROLE), placement.of(SWITCH_ROLE)
        if outer_nics(case.topology) or not switch_cpus or switch_cpus[0] in own:
            return None
        ways = directions_of(case.topology, case.traffic.direction)
        ends = dict.fromkeys(end for way in ways for end in way)
        ring = _spec_of(case).ring
        with mirror(switch_cpus, workspace, withheld=case.withheld, ring=ring) as devices:
            endpoints = tuple(
                Endpoint(link=link, kind="vdev", address=device)
                for link, device in zip(ends, devices, strict=True)
            )
            with self.start(case, endpoints, ways, placement, workspace) as session:
                cap_fps = measure_cap(session)
                workspace.attend(UNDER_WAY)
        return Calibration(
            frame_size=case.traffic.frame_size.bytes,
            cap_fps=cap_fps,
            method=method(case.withheld),
            measured_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            cpus=(*own, switch_cpus[0]),
        )

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        endpoints: tuple[Endpoint, ...],
        directions: tuple[tuple[str, str], ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[TestpmdSession]:
        spec = _spec_of(case)
        design = Design(case, spec, endpoints, placement)
        links = {endpoint.link for endpoint in endpoints}
        check_directions("testpmd", links, directions)
        with ExitStack() as stack:
            running = tuple(_start(design, part, workspace, stack) for part in design.parts)
            for one in running:
                _await_links(one, workspace)
            size = case.traffic.frame_size.bytes
            session = TestpmdSession(running, directions, case.trial, spec.mode, size, spec.burst)
            yield stack.enter_context(until_left(session))


def _start(design: Design, part: Part, workspace: Workspace, stack: ExitStack) -> Running:
    """Start one of the programs; it is there when it reads its commands."""
    testpmd = design.testpmd(part)
    path = Path(workspace.fill(testpmd.commands or ""))
    console = stack.enter_context(closing(Console(path, log_of(part.name, workspace))))
    console.make()
    program = stack.enter_context(
        managed(
            [workspace.fill(word) for word in design.command(part, find_testpmd(PURPOSE))],
            name=part.name,
            workspace=workspace,
            ready=console.open,
            timeout_s=START_S,
            environment={"RUNTIME_DIRECTORY": str(workspace.folder)},
            stop=lambda patience_s: console.close(),
            polling=Polling(threads.GENERATOR, LCORES),
        )
    )
    telemetry = Path(workspace.fill(testpmd.telemetry))
    return Running(part, RunningTestpmd(part.name, program, telemetry, part.links), console)


def _await_links(one: Running, workspace: Workspace) -> None:
    fix = "see that the switch runs and has opened its side of the port"
    one.testpmd.await_forwarding(
        Patience(LINKS_S, time.monotonic() + LINKS_S, fix),
        lambda: workspace.attend(f"while {one.part.name} started", but=one.part.name),
    )


FLAT_OUT = TrialRequest(load_fps=10_000_000, duration_ns=500_000_000)
"""testpmd is unpaced: all that the load says is that it is more than a handful of frames."""
ATTEMPTS = 2
"""The better of two: what a host can do is what it once did."""
MOST_ATTEMPTS = 6
"""A machine that is busy enough lets nothing through for half a second."""


def measure_cap(session: GeneratorSession) -> int:
    """Return the frames per second and direction that came back, sending flat out."""
    rates: list[int] = []
    for _ in range(MOST_ATTEMPTS):
        counts = session.run(FLAT_OUT)
        if rate := arrived_fps(counts):
            rates.append(rate)
        if len(rates) == ATTEMPTS:
            break
    if not rates:
        sent = sum(way.sent_frames for way in counts.directions)
        raise ComponentError(
            "no frame of testpmd came back from the mirror", why=f"{sent} were sent"
        )
    return max(rates)


def arrived_fps(counts: TrialCounts) -> int:
    """Return how much came back per second of sending, of the direction with the least."""
    if not counts.sending_ns:
        return 0
    least = min(way.received_frames for way in counts.directions)
    return least * NANOSECONDS // counts.sending_ns
