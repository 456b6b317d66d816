"""The driver: testpmd on the ports of a switch, started once for all trials of a case."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from vsperf.config.abilities import Ability, Capabilities
from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.wiring import directions_of, outer_nics
from vsperf.dpdk.command import MEGABYTE
from vsperf.dpdk.console import Console
from vsperf.dpdk.mirror import UNDER_WAY, method, mirror
from vsperf.dpdk.running import Patience, RunningTestpmd, find_testpmd
from vsperf.drivers.generators.base import GeneratorSession, TrialRequest, Unmeasured
from vsperf.drivers.generators.directions import check_directions
from vsperf.drivers.generators.testpmd.plan import MOST_FLOWS, ROLE, Design, Part, check
from vsperf.drivers.generators.testpmd.session import Running, TestpmdSession
from vsperf.drivers.generators.testpmd.spec import TestpmdGeneratorSpec
from vsperf.drivers.settings import own_settings
from vsperf.errors import ComponentError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Check
from vsperf.host.doctor.programs import program_check
from vsperf.host.doctor.wants import POLLING_SWITCH, Want
from vsperf.host.process import log_of, managed
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import NANOSECONDS
from vsperf.records import threads
from vsperf.records.host import Calibration
from vsperf.records.run import Endpoint, Placement, Step
from vsperf.records.trial import TrialCounts

PURPOSE = "it is the generator (generator.kind=testpmd)"
ABILITIES = frozenset({Ability.PER_DIRECTION, Ability.OWN_COUNTS, Ability.TIMED, Ability.VARY_IP})
SWITCH_ROLE = "pmd"
"""CPUs of the switch that take part in every frame's way."""
START_S = 30.0
LINKS_S = 60.0


class TestpmdGenerator(Unmeasured):
    """Sends frames as fast as testpmd can, and believes what ports count."""

    __test__ = False  # its name looks like that of tests

    kind: ClassVar[str] = "testpmd"
    summary: ClassVar[str] = "DPDK's testpmd: unpaced, unchecked frames, counted by ports"
    Spec: ClassVar[type[DriverSpec]] = TestpmdGeneratorSpec
    checks: ClassVar[tuple[Check, ...]] = (
        program_check("testpmd", "calibration", "dpdk", names=("dpdk-testpmd", "testpmd")),
    )
    wants: ClassVar[frozenset[Want]] = POLLING_SWITCH | {Want.CYCLE_COUNTER}

    def capabilities(self, case: CaseSpec) -> Capabilities:
        both = _spec_of(case).mode == "flowgen"
        return Capabilities(ABILITIES, flows=MOST_FLOWS if both else 1, directions=2 if both else 1)

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        pinned = None if spec.cpus is None else spec.cpus.cpus
        programs = 1 if spec.mode == "flowgen" else 2
        memory = programs * Design(case, spec, ()).rings.memory_mb * MEGABYTE
        return Needs(
            cpus=(CpuNeed(ROLE, spec.threads, pinned=pinned),),
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
            try:
                yield session
            finally:
                session.closed = True


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


def _spec_of(case: CaseSpec) -> TestpmdGeneratorSpec:
    return own_settings(case.generator, TestpmdGeneratorSpec, "testpmd", "generator.kind=testpmd")


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
