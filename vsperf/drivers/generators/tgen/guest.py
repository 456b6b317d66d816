"""tgen in a guest: the VM that a case makes of it, and its conversation over a serial port.

The NICs of the guest are plugged in where tgen's own ports would be. So neither the switch nor a
topology sees a difference. What the host cannot see of it is missing: nobody knows how far its CPU
is from the switch's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vsperf.config.abilities import OF_CONNECTIONS, Ability, Capabilities
from vsperf.dpdk.command import lcores
from vsperf.drivers.generators.dpdk_ports import Port
from vsperf.drivers.generators.tgen.client import Answer, Client, Gone, Silent
from vsperf.drivers.generators.tgen.command import Options, more_memory, sizes
from vsperf.drivers.generators.tgen.process import ANSWER_S, Tgen, greet
from vsperf.drivers.generators.tgen.spec import TgenSpec
from vsperf.drivers.generators.tgen.tsc import Drift, Reading, read_clock
from vsperf.errors import ComponentError, NotReadyError, UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.threads import Polling
from vsperf.host.workspace import Workspace
from vsperf.qemu.agent import Agent
from vsperf.qemu.checks import check_accelerator, check_program
from vsperf.qemu.command import Vm, command_line
from vsperf.qemu.host import ON, PROGRAM, QemuHost, probe
from vsperf.qemu.image import BUILD_COMMAND, find_image
from vsperf.qemu.launch import started
from vsperf.qemu.settings import OwnGuest
from vsperf.qemu.vm import RunningVm
from vsperf.records.run import Endpoint, Placement, Step, Wire
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
NAME = "tgen-vm"
"""Of the VM."""
GUEST_PORT = "vsperf.tgen"
"""The serial port in the guest that tgen reads and writes."""
PROGRAM_THERE = "/usr/bin/tgen"
DRIVERS_THERE = "/lib/dpdk"
KINDS = ("vhost-user", "vhost-user-client")
"""Endpoints that a NIC of a guest can be plugged into as well as a port of tgen."""
EMULATOR = "generator emulator"
"""The role of the guest's first vCPU, where all but frames is done, and of QEMU's other threads."""
MEGABYTE = 1 << 20
TGEN_MB = 256
"""Hugepages in the guest, with one worker and one queue."""
REST_MB = 192
"""Memory of the guest beside them."""
ABLE = Capabilities(
    frozenset(Ability) - OF_CONNECTIONS - {Ability.REPLAY, Ability.HEADERS, Ability.TURNS},
    clock="the time stamp counter of its guest",
)
"""What tgen can do there: all but what takes a file or process that both it and the host see."""
LONGEST_RING = 1024
LEAST_RING = 256


@dataclass(frozen=True, slots=True)
class GuestPlan:
    """tgen in a guest, with everything decided."""

    vm: Vm[OwnGuest]
    options: Options
    """tgen's, on the CPUs of the guest."""
    ports: dict[str, Port]
    """The guest's NICs, by link."""

    @property
    def message(self) -> dict[str, Any]:
        """Return what the agent is told to start."""
        return {
            "app": "tgen",
            "nics": [wire.mac for wire in self.vm.wires],
            "memory": tgen_mb(self.options),
            "arguments": list(self.words),
        }

    @property
    def words(self) -> tuple[str, ...]:
        """Return tgen's command line in the guest, behind its own name."""
        return (
            "--in-memory",
            "--iova-mode=pa",
            "-d",
            DRIVERS_THERE,
            f"--lcores=0@0,{lcores(self.options.cpus).partition(',')[2]}",
            *(f"--allow={port.device}" for port in self.ports.values()),
            *self.options.extra,
            "--",
            "--stdin",
            *sizes(self.options),
        )


def needs_of(spec: TgenSpec) -> Needs:
    """Return a CPU for each worker, one for all else of the guest, and its memory."""
    pinned = spec.cpus.cpus if spec.cpus else None
    workers = len(pinned) if pinned else spec.workers
    memory = memory_mb(workers, spec.queues, spec.ring) * MEGABYTE
    return Needs(
        cpus=(
            CpuNeed("generator", workers, pinned=pinned),
            CpuNeed(EMULATOR, 1, busy=False),
        ),
        hugepage_bytes=memory if spec.hugepages else 0,
    )


def guest_of(
    spec: TgenSpec,
    endpoints: tuple[Endpoint, ...],
    placement: Placement,
    options: Options,
    here: QemuHost,
) -> GuestPlan:
    """Return tgen in a guest; `options` are those that it would have on the host."""
    check_guest(endpoints)
    workers = len(options.cpus)
    own = OwnGuest(
        app="tgen",
        queues=options.queues,
        vcpu_count=workers + 1,
        memory=memory_mb(workers, options.queues, options.ring),
        hugepages=spec.hugepages,
        rx_ring=_ring(options.ring),
        tx_ring=_ring(options.ring),
        accelerator=spec.accelerator,
        boot_timeout=spec.boot_timeout,
    )
    vm = Vm(
        name=NAME,
        index=0,
        spec=own,
        wires=tuple(_wire(number, endpoint) for number, endpoint in enumerate(endpoints)),
        accelerator=here.accelerator_of(own) or "tcg",
        image=here.image,
        frame_bytes=options.max_frame,
        cpus=(*placement.of(EMULATOR)[:1], *options.cpus),
        emulator_cpus=placement.of(EMULATOR),
        nodes=placement.nodes.get("generator", (0,)) if here.nodes > 1 else (),
        root=here.root,
        run_with=here.run_with,
        settings="generator",
        port=GUEST_PORT,
    )
    there = Options(
        cpus=tuple(range(1, workers + 1)),
        queues=options.queues,
        ring=options.ring,
        max_frame=options.max_frame,
        extra=options.extra,
    )
    nics = {endpoint.link: vm.nic_address(number) for number, endpoint in enumerate(endpoints)}
    ports = {link: Port(address, address, pci=True) for link, address in nics.items()}
    return GuestPlan(vm, there, ports)


def steps_of(plan: GuestPlan, here: QemuHost) -> tuple[Step, ...]:
    """Return how the guest and tgen in it are started."""
    vm = plan.vm
    known = here.accelerator_of(vm.spec)
    only = ", so the result is functional only" if known == "tcg" else ""
    first, *workers = vm.cpus
    busy = ", ".join(str(cpu) for cpu in workers)
    return (
        Step(
            component="generator",
            action=f"start {vm.name}, vsperf's own guest for tgen, {ON[known]}{only}; its "
            f"workers on CPU {busy}, all else on CPU {first}",
            argv=command_line(PROGRAM, vm),
        ),
        Step(
            component="generator",
            action=f"tell {vm.name} to start tgen, which is spoken to over {GUEST_PORT}",
            argv=(PROGRAM_THERE, *plan.words),
            lines=(json.dumps({"verb": "start", **plan.message}),),
        ),
    )


def check_guest(endpoints: tuple[Endpoint, ...]) -> None:
    """Refuse ports that only tgen on the host can have."""
    for endpoint in endpoints:
        if endpoint.kind not in KINDS:
            raise UsageError(
                f"tgen in a VM cannot send to {endpoint.link}, which is a {endpoint.kind} port",
                why="NICs of its guest are plugged into " + " or ".join(KINDS) + " ports",
                fix="--set generator.place=host, or a switch that offers one of these",
            )


def tgen_mb(options: Options) -> int:
    """Return the hugepages that tgen needs in its guest."""
    return TGEN_MB + (more_memory(len(options.cpus), options.queues, options.ring) >> 20)


def memory_mb(workers: int, queues: int, ring: int) -> int:
    """Return how much memory the guest has, in whole hugepages."""
    return tgen_mb(Options(cpus=tuple(range(workers)), queues=queues, ring=ring)) + REST_MB


def _wire(number: int, endpoint: Endpoint) -> Wire:
    return Wire(
        vnf=NAME,
        nic=number,
        kind=endpoint.kind,
        address=endpoint.address,
        mac=f"52:54:00:01:00:{number:02x}",
        peer_mac="ff:ff:ff:ff:ff:ff",
    )


def _ring(ring: int) -> int:
    """Return the least ring that QEMU has and that is not below `ring`, or its longest."""
    return min(LONGEST_RING, max(LEAST_RING, 1 << max(ring - 1, 1).bit_length()))


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
        return {**found, **super().facts()}

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
    with ComponentError.if_refused("no connection to tgen in its guest"):
        return GuestClient.connect(path, ANSWER_S)


def _fix(why: str) -> str | None:
    """Say what can be done about an end whose reason is known."""
    if ILLEGAL not in why:
        return None
    return (
        "tgen was built for the processor of this machine, and QEMU emulates another one: "
        "meson setup build/tgen-guest tools/tgen -Dtests=disabled -Dmarch=x86-64-v2; "
        "ninja -C build/tgen-guest tgen; vnfs/build"
    )
