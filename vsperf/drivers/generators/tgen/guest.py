"""tgen in a guest that runs: its conversation goes over a serial port of the guest.

What the host cannot see of it is missing: nobody knows how far its CPU is from the switch's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vsperf.drivers.generators.tgen.client import Answer, Client, Gone, Silent
from vsperf.drivers.generators.tgen.guest_clock import Drift, Reading, read_clock
from vsperf.drivers.generators.tgen.guest_plan import GuestPlan
from vsperf.drivers.generators.tgen.process import ANSWER_S, Tgen, greet
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.threads import Polling
from vsperf.host.workspace import Workspace
from vsperf.qemu.agent import Agent
from vsperf.qemu.checks import check_accelerator, check_program
from vsperf.qemu.host import PROGRAM, probe
from vsperf.qemu.image import BUILD_COMMAND, find_image
from vsperf.qemu.launch import started
from vsperf.qemu.vm import RunningVm
from vsperf.records.threads import GENERATOR
from vsperf.waits import wait_for

WORKERS = r"CPU [1-9]\d*/"
"""How QEMU names the threads of vCPUs on which frames are sent: all but the first."""
ENDING_S = 0.5
"""Between a socket that is closed and the end of its process."""
ILLEGAL = "signal 4"
CLOCK = "clock"
EMULATED = 6.0
"""How much longer an emulated guest may take to answer: each of its steps is many of the host's,
which may be busy. That it ended, or hangs as a whole, is noticed meanwhile."""
TIMED = ("trial", "burst")
"""Requests in which frames are sent at the pace of its clock."""


@dataclass
class GuestClient(Client):
    """Hears tgen, and its guest's agent at the same time: a port tells of no end."""

    agent: Agent | None = None

    def _read(self, patience_s: float) -> bytes:
        agent = self.agent
        if agent is None:
            return super()._read(patience_s)
        ours, agents = self.connection.fileno(), agent.connection.fileno()
        heard = wait_for((ours, agents), patience_s)
        if ours in heard:
            return super()._read(0.0)
        if agents in heard:
            try:
                agent.notice()
            except ComponentError as error:
                raise Gone("the guest has hung up") from error
            if agent.ended is not None:
                raise Gone("tgen has ended in its guest")
        return b""


@dataclass
class GuestTgen(Tgen):
    """A tgen in a guest."""

    guest: RunningVm | None = None
    began: Reading | None = None
    """Both clocks, when it first answered."""
    patience: float = 1.0
    """By how much longer than a tgen of the host it may take to answer."""

    def ask(self, verb: str, timeout_s: float = ANSWER_S, **parameters: object) -> Answer:
        """Return tgen's answer; a trial by a clock that went wrong meanwhile is refused."""
        if verb not in TIMED:
            return self._answer(verb, timeout_s, **parameters)
        before = self.read_clock()
        answer = self._answer(verb, timeout_s, **parameters)
        problem = Drift.between(before, self.read_clock()).problem
        if problem is None:
            return answer
        raise ComponentError(
            f"no rate and no time of tgen in {self.program.name} holds: {problem}",
            why="somebody paused the VM, or it does not know how fast its clock is",
        )

    def read_clock(self) -> Reading:
        """Return one moment on the clocks of tgen and of this machine."""
        return read_clock(lambda: self._answer(CLOCK, ANSWER_S), int(self.hello["tsc_hz"]))

    def _answer(self, verb: str, timeout_s: float, **parameters: object) -> Answer:
        try:
            return super().ask(verb, timeout_s * self.patience, **parameters)
        except Silent as error:
            if (why := self._failure()) is not None:
                raise ComponentError(f"{why}, and did not answer `{verb}`") from error
            raise

    def round_trip_ns(self, cpus: tuple[int, int]) -> int | None:
        """Return None: the CPUs that it could ask about are those of its guest."""
        return None

    def alive(self) -> bool:
        return not self.silent and self._failure() is None

    def obituary(self, when: str) -> ComponentError:
        self.program.await_end(ENDING_S)
        why = self._failure() or f"tgen in {self.program.name} no longer answers"
        said = "its last words" in why or "its console" in why
        words = None if said else self.last_words()
        return ComponentError(f"{why} ({when})", why=words, fix=_fix(why))

    def last_words(self) -> str | None:
        return None if self.guest is None else self.guest.console_words()

    def facts(self) -> dict[str, Any]:
        found = {} if self.guest is None else {"place": "vm", **self.guest.facts()}
        if self.began is not None:
            found["clock"] = Drift.between(self.began, self.read_clock()).facts()
        return found

    def other_sources(self) -> NotReadyError | None:
        about = super().other_sources()
        if about is None and CLOCK in self.hello.get("verbs", ()):
            return None
        return NotReadyError(
            f"the tgen in {self.program.name} is older than this vsperf, or newer",
            why="the guest image was built from other sources",
            fix=BUILD_COMMAND,
        )

    def _failure(self) -> str | None:
        return None if self.guest is None else self.guest.failure()


def check(spec: TgenSpec) -> None:
    """Raise `NotReadyError` for the first thing without which no guest can send."""
    check_program(PROGRAM)
    image = find_image()
    versions = image.manifest.get("versions")
    if not isinstance(versions, dict) or "tgen" not in versions:
        raise NotReadyError(
            f"the guest image in {image.folder} has no tgen",
            why="tgen was not built when the image was",
            fix=BUILD_COMMAND,
        )
    check_accelerator({spec.accelerator}, probe(), "generator")


@contextmanager
def running_in_guest(plan: GuestPlan, workspace: Workspace) -> Iterator[GuestTgen]:
    """Start the guest and tgen in it, and leave nothing of them."""
    vm = plan.vm
    polling = Polling(GENERATOR, WORKERS)
    with started(vm, PROGRAM, workspace, polling) as guest:
        deadline = time.monotonic() + vm.spec.boot_timeout.seconds
        guest.boot(deadline)
        guest.pin()
        control = Path(workspace.fill(vm.application))
        client = _connected(control)
        try:
            client.agent = guest.agent
            guest.tell(deadline, plan.message)
            guest.await_application(deadline)
            tgen = GuestTgen(vm.name, control, guest.program, client, guest=guest)
            tgen.patience = EMULATED if vm.accelerator == "tcg" else 1.0
            tgen.look = lambda: workspace.attend("while tgen started", but=vm.name)
            greet(tgen, max(ANSWER_S, deadline - time.monotonic()))
            tgen.began = tgen.read_clock()
            try:
                yield tgen
            finally:
                tgen.client = None
                if not workspace.kept:
                    guest.power_off()
        finally:
            client.close()


def _connected(path: Path) -> GuestClient:
    try:
        return GuestClient.connect(path, ANSWER_S)
    except OSError as error:
        raise ComponentError(
            "no connection to tgen in its guest", why=error.strerror or str(error)
        ) from error


def _fix(why: str) -> str | None:
    """Say what can be done about an end whose reason is known."""
    if ILLEGAL not in why:
        return None
    return (
        "tgen was built for the processor of this machine, and QEMU emulates another one: "
        "meson setup build/tgen-guest tools/tgen -Dtests=disabled -Dmarch=x86-64-v2; "
        "ninja -C build/tgen-guest tgen; vnfs/build"
    )
