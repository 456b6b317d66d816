"""How a proxy becomes the device: a network of its own, two taps, and a program between them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.config.connections import SERVICE_PORT
from vsperf.drivers.ending import until_left
from vsperf.drivers.settings import own_settings
from vsperf.drivers.vswitches.base import SwitchPlan, VSwitch, require_root
from vsperf.drivers.vswitches.hops import WANTS, Hop, asked_in, made_hop
from vsperf.drivers.vswitches.kernel_ports import POLL_S, needs_of
from vsperf.drivers.vswitches.proxy.layout import (
    FILES_EACH,
    HOST_BITS,
    Design,
    ProxySpec,
    configuration_file,
    entered,
    switch_plan,
)
from vsperf.drivers.vswitches.proxy.running import InstalledProxy, Instance, RunningProxy, Tcp, Told
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.cpus import Needs
from vsperf.host.doctor.finding import Answer, Check, Group, Host, missing, ok
from vsperf.host.doctor.wants import Want
from vsperf.host.open_files import most_open_files
from vsperf.host.process import Managed, end, managed
from vsperf.host.procfs import end_all, in_session, listens
from vsperf.host.threads import Polling
from vsperf.host.workspace import Workspace, require_short
from vsperf.records import threads
from vsperf.records.run import Placement
from vsperf.trust.printable import printable
from vsperf.waits import run, sleep

START_S = 20.0
END_S = 5.0
MOST_LINES = 5
"""Of what a program complains of, that are quoted."""
ANYBODY = "thread-self"


def proxy_check(
    name: str, kind: type[ProxySpec], find: Callable[[ProxySpec | None], InstalledProxy]
) -> Check:
    """Return what doctor asks of a proxy: whether it is there, and can pass TCP on.

    Not among the checks of a run: the driver looks itself before it starts.
    """

    def ask(here: Host) -> Answer:
        chosen = here.settings(kind)
        try:
            found = find(chosen)
        except NotReadyError as error:
            return missing(error.problems[0], wanted=chosen is not None)
        module = f", which loads {found.module}" if found.module else ""
        return ok(f"{found.path}, version {found.version}{module}")

    return Check(f"{name} as a proxy", Group.PROGRAMS, ask)


class ProxySwitch(ABC, VSwitch):
    """Deploys a program that ends connections of clients, and makes others to servers."""

    kind: ClassVar[str]
    program: ClassVar[str]
    """What it is called, and what its log and its configuration are called after."""
    Spec: ClassVar[type[DriverSpec]]
    wants: ClassVar[frozenset[Want]] = WANTS
    sockets: ClassVar[tuple[str, ...]] = ()
    """Names of what it listens at in the folder of a deployment."""
    leads: ClassVar[bool] = False
    """Whether the process that is started only leads others, which pass bytes on."""

    @classmethod
    @abstractmethod
    def find(cls, spec: ProxySpec | None) -> InstalledProxy:
        """Return where the program is; raise `NotReadyError` where it is missing, or cannot."""

    @abstractmethod
    def configuration(self, design: Design, found: InstalledProxy | None) -> tuple[str, ...]:
        """Return its configuration line by line, with nothing of a deployment filled in.

        Without what was found it is that of a program of which nothing is known yet.
        """

    @abstractmethod
    def words(self, program: str) -> tuple[str, ...]:
        """Return how it is run in the foreground, with nothing of a deployment filled in."""

    def proof(self, program: str) -> tuple[str, ...]:
        """Return how it is asked whether it understands its configuration, where it needs to be."""
        return ()

    def ask(self, folder: Path) -> Told:
        """Ask the program that runs in a folder what it counts."""
        return Told()

    def commands(self, folder: Path) -> tuple[str, ...]:
        """Return the commands by which a person looks at it."""
        return (f"tail -f {folder / self.program}.log",)

    def needs(self, case: CaseSpec) -> Needs:
        spec = self._spec_of(case)
        return needs_of(spec.cpus, spec.worker_count)

    def plan(self, case: CaseSpec, placement: Placement) -> SwitchPlan:
        design = Design(case, self._spec_of(case), placement)
        argv = entered(*self.words(design.spec.path or self.program))
        return switch_plan(design, self.configuration(design, None), argv)

    def require(self, case: CaseSpec) -> None:
        require_root(
            "a proxy as the device",
            "it is run in a network apart, between taps that are made there",
        )
        spec = self._spec_of(case)
        self.find(spec)
        require_short(self.sockets)
        if (most := most_open_files()) < spec.files:
            raise NotReadyError(
                f"{self.program} may have {most:,} files open, and needs {spec.files:,}",
                why=f"each of {spec.connections:,} connections takes {FILES_EACH}",
                fix="fewer of them: --set vswitch.connections=…, or allow root more (ulimit -Hn)",
            )

    @contextmanager
    def start(
        self, case: CaseSpec, plan: SwitchPlan, placement: Placement, workspace: Workspace
    ) -> Iterator[RunningProxy]:
        design = Design(case, self._spec_of(case), placement)
        self.require(case)
        found = self.find(design.spec)
        written = tuple(workspace.fill(line) for line in self.configuration(design, found))
        with made_hop(design.ports, design.cpus, workspace) as hop, ExitStack() as stack:
            hop.talk.give(hop.devices[design.ports[0].place.name], design.service, HOST_BITS)
            hop.settle(design.settings())
            text = "".join(f"{line}\n" for line in written)
            Path(workspace.fill(configuration_file(self.program))).write_text(text)
            made = _Maker(self, design, found, hop, workspace, stack)
            made.prove()
            running = RunningProxy(
                hop=hop,
                who=self.program,
                workspace=workspace,
                design=design,
                found=found,
                configuration=written,
                instance=made.started(),
                start_again=made.start_again,
                ask=lambda: self.ask(workspace.folder),
                commands=self.commands(workspace.folder),
            )
            yield stack.enter_context(until_left(running))

    def _spec_of(self, case: CaseSpec) -> ProxySpec:
        assert issubclass(self.Spec, ProxySpec)
        return own_settings(case.vswitch, self.Spec, self.program, f"vswitch.kind={self.kind}")


@dataclass(frozen=True)
class _Maker:
    """Starts the program, as often as it is asked to."""

    proxy: ProxySwitch
    design: Design
    found: InstalledProxy
    hop: Hop
    workspace: Workspace
    stack: ExitStack
    """Ends what was started."""

    def started(self) -> Instance:
        """Start it, and wait until it can be called and all of its workers are there."""
        opened = Tcp.of(self.hop.network).opened
        argv = entered(*self.proxy.words(self.found.path))
        program = self.stack.enter_context(
            managed(
                [self.workspace.fill(word) for word in argv],
                name=self.proxy.program,
                workspace=self.workspace,
                ready=self._can_be_called,
                timeout_s=START_S,
                polling=Polling(threads.SWITCH, ""),
            )
        )
        return Instance(program, self._workers(program), opened)

    def start_again(self, before: Instance, kill: bool) -> Instance:
        program = before.program
        if kill:
            for pid in in_session(program.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            program.await_end(END_S)
            end_all(lambda: in_session(program.pid), 0.0)  # until none listens in its place
        end(program, self.workspace)
        return self.started()

    def prove(self) -> None:
        """Raise where it does not understand its configuration, in its own words.

        Once: while it is asked in the midst of a restart nobody could connect.
        """
        argv = [self.workspace.fill(word) for word in self.proxy.proof(self.found.path)]
        if not argv:
            return
        try:
            done = run(argv, START_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ComponentError(f"{argv[0]} cannot be run", why=str(error)) from error
        if done.returncode != 0:
            words = f"{done.stdout}{done.stderr}".strip().splitlines()
            raise ComponentError(
                f"{self.proxy.program} does not understand its configuration",
                why=printable(" | ".join(words[:MOST_LINES])),
                fix="`vsperf plan` shows it, line by line",
            )

    def _can_be_called(self) -> bool:
        """Whether clients can call it, and so can who asks what it counts."""
        if not asked_in(self.hop.network, "who listens", lambda: listens(ANYBODY, SERVICE_PORT)):
            return False
        try:
            self.proxy.ask(self.workspace.folder)
        except ComponentError:
            return False
        return True

    def _workers(self, program: Managed) -> tuple[int, ...]:
        """Return the processes that pass bytes on, once all are there."""
        if not self.proxy.leads:
            return (program.pid,)
        deadline = time.monotonic() + START_S
        while True:
            found = tuple(pid for pid in in_session(program.pid) if pid != program.pid)
            if len(found) == self.design.spec.worker_count:
                return found
            if program.poll() is not None or time.monotonic() > deadline:
                raise ComponentError(
                    f"{program.name} has {len(found)} of {self.design.spec.worker_count} workers",
                    why=program.obituary(),
                )
            self.workspace.attend(f"while {program.name} started", but=program.name)
            sleep(POLL_S)  # between two looks at a condition, never instead of one
