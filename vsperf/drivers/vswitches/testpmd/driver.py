"""The driver: a testpmd of its own for each case, and nothing left of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vsperf.config.case import CaseSpec
from vsperf.dpdk.command import MEGABYTE
from vsperf.dpdk.running import Look, Patience, RunningTestpmd, find_testpmd
from vsperf.drivers.ending import until_left
from vsperf.drivers.settings import reading
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch
from vsperf.drivers.vswitches.ports import Place
from vsperf.drivers.vswitches.testpmd.plan import (
    MAIN_ROLE,
    NAME,
    PMD_ROLE,
    Design,
    TestpmdSpec,
    check_restart,
    switch_plan,
)
from vsperf.errors import ComponentError, DiedError, NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.wants import POLLING_SWITCH
from vsperf.host.process import Managed, end, managed
from vsperf.host.software import package_versions
from vsperf.host.threads import LCORES, Polling
from vsperf.host.tree import HERE, Tree
from vsperf.host.workspace import LONGEST_NAME, Workspace, require_short
from vsperf.records import threads
from vsperf.records.run import Placement
from vsperf.records.switch import PmdCounters, PortCounters, SwitchCounters

_spec_of = reading("vswitch.kind=testpmd", TestpmdSpec, "testpmd")
START_S = 20.0
LOST = {"imissed": "rx missed", "ierrors": "rx errors"}
"""DPDK's name of a counter → why frames were lost before testpmd had them."""
NOT_TAKEN = "tx not taken"
"""What came in by the partner of a port and did not leave by this one: its other end had no room.
testpmd throws such frames away and counts them nowhere that can be asked; but it holds none back,
so the difference is exact while no frame is on its way."""


@dataclass
class RunningSwitch:
    """A testpmd with its ports, whoever is at their other ends."""

    spec: TestpmdSpec
    places: tuple[Place, ...]
    """By number of the port."""
    testpmd: RunningTestpmd
    start_again: Callable[[bool], RunningTestpmd]
    """Ends it, kindly or by SIGKILL, and starts another one."""
    cpus: tuple[int, ...]
    """Of its forwarding threads."""
    look: Look = lambda: None
    """Raises when another part of the deployment has ended."""
    ended: bool = False

    def failure(self) -> str | None:
        if self.ended:
            return "the switch was stopped"
        return self.testpmd.failure() or self.testpmd.silence()

    def await_ports(self, places: tuple[str, ...], patience_s: float) -> None:
        patience = Patience(
            patience_s,
            time.monotonic() + patience_s,
            "see that whoever is at the other end of the port runs, and speaks vhost-user",
        )
        try:
            self.testpmd.await_forwarding(patience, self.look, places)
        except DiedError:
            raise
        except ComponentError as error:
            if (reason := self.failure()) is not None:
                raise DiedError(
                    "the switch failed while it took up its ports", why=reason
                ) from error
            raise

    def counters(self) -> SwitchCounters:
        counted = self.testpmd.statistics()
        ports = tuple(
            _port(place, counted[number], counted[number ^ 1])
            for number, place in enumerate(self.places)
        )
        return SwitchCounters(ports=ports, pmds=self._pmds(ports))

    def _pmds(self, ports: tuple[PortCounters, ...]) -> tuple[PmdCounters, ...]:
        """Return how busy its thread was; which of several had which frames, nobody tells."""
        if not self.spec.cycles or len(self.cpus) > 1:
            return ()
        cycles = self.testpmd.busy_cycles(1)
        if cycles is None:
            return ()
        frames = sum(port.received_frames for port in ports)
        busy, idle = cycles
        return (PmdCounters(cpu=self.cpus[0], frames=frames, busy_cycles=busy, idle_cycles=idle),)

    def facts(self) -> dict[str, Any]:
        self.testpmd.waiting_for(())  # what was negotiated is known now
        names = [place.name for place in self.places]
        return {
            "dpdk_version": self.testpmd.dpdk,
            "argv": list(self.testpmd.program.argv),
            **({"tree": tree} if (tree := Tree.of(self.spec).facts()) else {}),
            "forward": self.spec.forward,
            "ports": [
                {"place": name, **port}
                for name, port in zip(names, self.testpmd.ports, strict=False)
            ],
        }

    def restart(self, *, kill: bool) -> None:
        check_restart(self.spec)
        self.testpmd = self.start_again(kill)

    def forget_flows(self) -> None:
        """Do nothing: it knows no flow, and no address."""

    def change_rules(self, count: int) -> None:
        raise UsageError(
            "testpmd has no rules that could be changed",
            why="frames of a port go to another one, whatever is in them",
            fix="choose a switch with rules: --vswitch ovs-dpdk",
        )

    def processes(self) -> tuple[int, ...]:
        return (self.testpmd.program.pid,)

    def access(self) -> tuple[str, ...]:
        return self.testpmd.access()


def _port(place: Place, counted: dict[str, int], other: dict[str, int]) -> PortCounters:
    """Return what a port counts; `other` is what its partner does."""
    sent = int(counted["opackets"])
    before = {reason: int(counted[name]) for name, reason in LOST.items() if name in counted}
    return PortCounters(
        name=place.name,
        link=place.link,
        vnf=place.vnf,
        received_frames=int(counted["ipackets"]),
        sent_frames=sent,
        drops={**before, NOT_TAKEN: max(0, int(other["ipackets"]) - sent)},
    )


END_S = 5.0


PACKAGE = "dpdk"
PURPOSE = "it is the switch (vswitch.kind=testpmd)"


def _program(here: Host) -> Answer:
    """Look for the program that was chosen, or the machine's own."""
    chosen = here.settings(TestpmdSpec)
    tree = HERE if chosen is None else Tree.of(chosen)
    try:
        program = find_testpmd(PURPOSE, tree)
    except NotReadyError as error:
        return missing(error.problems[0], wanted=chosen is not None)
    known = package_versions((PACKAGE,), tree.root)  # the program itself tells none
    about = "".join(f", package {name} {version}" for name, version in known.items())
    return ok(f"{program}{tree.within}{about}")


CHECKS = (Check("testpmd as a switch", Group.PROGRAMS, _program),)
"""Not among the checks of a run: a case may name a tree, and the driver looks at that."""


class TestpmdSwitch(VSwitch):
    """Deploys testpmd in the place of a switch: the least that one could cost on its ports."""

    __test__ = False  # its name looks like that of tests

    kind = "testpmd"
    summary = "DPDK's testpmd, which joins ports in pairs and looks at no frame"
    Spec = TestpmdSpec
    wants = POLLING_SWITCH
    checks = CHECKS

    def needs(self, case: CaseSpec) -> Needs:
        spec = _spec_of(case)
        main = None if spec.main_cpu is None else (spec.main_cpu,)
        memory = spec.memory or Design(case, spec).rings.memory_mb
        return Needs(
            cpus=(
                CpuNeed.of(PMD_ROLE, spec.pmd_cpus, spec.pmds),
                CpuNeed(MAIN_ROLE, 1, busy=False, pinned=main),
            ),
            hugepage_bytes=memory * MEGABYTE if spec.hugepages else 0,
        )

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        return switch_plan(Design(case, _spec_of(case), placement))

    def require(self, case: CaseSpec) -> None:
        find_testpmd(PURPOSE, Tree.of(_spec_of(case)))
        names = (place.name for place in Design(case, _spec_of(case)).places)
        telemetry = f"dpdk/{LONGEST_NAME}-{NAME}/dpdk_telemetry.v2"
        require_short((telemetry, *(f"{name}.sock" for name in names)))

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningSwitch]:
        design = Design(case, _spec_of(case), placement)
        with ExitStack() as stack:
            made = _Instance(design, find_testpmd(PURPOSE, design.tree), workspace, stack)
            running = RunningSwitch(
                design.spec,
                design.places,
                made.start(),
                made.start_again,
                placement.of(PMD_ROLE),
                made.look,
            )
            yield stack.enter_context(until_left(running))


@dataclass
class _Instance:
    """What runs, and how another one takes its place."""

    design: Design
    program: str
    workspace: Workspace
    stack: ExitStack
    """Ends what was started."""
    process: Managed | None = None

    def look(self) -> None:
        """Raise when another part of the deployment does not run any more."""
        self.workspace.attend("while the switch was waited for", but=NAME)

    def start(self) -> RunningTestpmd:
        """Start it, and wait until its ports are open."""
        for socket in self.design.sockets:  # DPDK does not listen where something is
            Path(self.workspace.fill(socket)).unlink(missing_ok=True)
        self.process = self.stack.enter_context(self._managed())
        running = RunningTestpmd(
            NAME,
            self.process,
            Path(self.workspace.fill(self.design.testpmd.telemetry)),
            tuple(place.name for place in self.design.places),
        )
        patience = Patience(
            START_S, time.monotonic() + START_S, "`vsperf plan` shows its command line; try it"
        )
        running.await_forwarding(patience, self.look, linked=())
        return running

    def start_again(self, kill: bool) -> RunningTestpmd:
        if self.process is not None:
            if kill:
                self.process.process.kill()
                self.process.await_end(END_S)
            end(self.process, self.workspace)
        return self.start()

    def _managed(self) -> AbstractContextManager[Managed]:
        argv = self.design.command(self.program)
        return managed(
            [self.workspace.fill(word) for word in argv],
            name=NAME,
            workspace=self.workspace,
            environment={"RUNTIME_DIRECTORY": str(self.workspace.folder)},
            polling=Polling(threads.SWITCH, LCORES),
        )
