"""The driver: a testpmd for each VNF of a case: started, asked, and nothing left of them.

Settings are called as those of virtual machines where they can be, so a testcase that sets no more
than these runs with both kinds.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_validator

from vsperf.config.case import CaseSpec
from vsperf.config.counted import PowerOfTwo
from vsperf.config.wiring import nics
from vsperf.dpdk.command import MEGABYTE, PROGRAM, Rings, Testpmd
from vsperf.dpdk.running import Patience, RunningTestpmd, drops_of, find_testpmd
from vsperf.drivers.settings import reading
from vsperf.drivers.vnfs.base import Vnf
from vsperf.drivers.vnfs.group import Group
from vsperf.drivers.vnfs.settings import VnfsSpec, by_vnf, deal_out, require_ways_told_apart
from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.host.process import Managed, managed
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import LONGEST_NAME, Workspace, require_short
from vsperf.quantities.units import CpuSet, Duration
from vsperf.records.run import Placeholder, Placement, Step, Wire
from vsperf.records.switch import NicCounters, VnfCounters
from vsperf.trust import own_python

Descriptors = Annotated[int, Field(ge=32, le=32768)]


class ProcessSpec(VnfsSpec):
    """Settings of VNFs that are processes of this host."""

    HELD_STILL: ClassVar[bool] = True
    FORWARDING: ClassVar[str] = "forwarding thread"

    kind: Literal["process"]
    app: str = "testpmd"
    """What forwards: DPDK's testpmd is all that there is without a guest."""
    forward: Literal["io", "mac", "macswap", "csum"] = "io"
    """How testpmd forwards: as it is, with the addresses of the next hop, with swapped addresses,
    or with new checksums and the addresses of the next hop."""
    queues: Annotated[int, Field(ge=1, le=16)] = 1
    """Queue pairs of each NIC."""
    vcpus: Annotated[int, Field(ge=1, le=64)] | None = None
    """CPUs of a VNF, with one forwarding thread on each; one for each queue of a NIC when not
    given."""
    memory: Annotated[int, Field(ge=64, le=1048576)] | None = None
    """Memory of a VNF [MB]; what its packet buffers take when not given."""
    hugepages: bool = True
    """Take the memory from hugepages; without, it is slower, and enough for trying things out."""
    rx_descriptors: Descriptors = 512
    """Receive descriptors that testpmd asks for; the ring has to have as many."""
    tx_descriptors: Descriptors = 512
    """Send descriptors that testpmd asks for; the ring has to have as many."""
    burst: Annotated[int, Field(ge=1, le=512)] = 32
    """Most frames that testpmd handles at once."""
    rx_ring: Annotated[int, Field(ge=64, le=32768), PowerOfTwo] = 1024
    """Size of both virtio rings of a queue pair, a power of two."""
    packed: bool = False
    """Use the packed layout of virtio rings."""
    testpmd_arguments: tuple[str, ...] = ()
    """More words for testpmd, such as --record-core-cycles."""
    arguments: tuple[str, ...] = ()
    """More words for DPDK's environment layer, such as --log-level=8."""
    boot_timeout: Duration = Duration(30_000_000_000)
    """How long a VNF may take until it forwards."""
    cpus: CpuSet | None = None
    """CPUs of all forwarding threads of all VNFs, in this order."""

    @field_validator("app")
    @classmethod
    def _app_needs_no_guest(cls, app: str) -> str:
        if app != "testpmd":
            raise ValueError(
                f"a process forwards with testpmd only; {app!r} needs a guest, which kind qemu has"
            )
        return app

    @property
    def vcpu_count(self) -> int:
        return self.queues if self.vcpus is None else self.vcpus


@dataclass(frozen=True, slots=True)
class PlannedVnf:
    """One VNF, with everything decided."""

    name: str
    spec: ProcessSpec
    wires: tuple[Wire, ...]
    """By number of the NIC."""
    cpus: tuple[int, ...]
    frame_bytes: int
    loops: bool
    """Whether frames go back out of the NIC by which they came."""

    @property
    def testpmd(self) -> Testpmd:
        spec = self.spec
        writes = spec.forward in ("mac", "csum")
        return Testpmd(
            prefix=f"{Placeholder.NAME}-{self.name}",
            cpus=self.cpus,
            devices=tuple(_device(wire, spec) for wire in self.wires),
            rings=_rings(spec, len(self.wires), self.frame_bytes),
            forward=spec.forward,
            loops=self.loops,
            peers=tuple((wire.nic, wire.peer_mac) for wire in self.wires) if writes else (),
            burst=spec.burst,
            memory=spec.memory,
            hugepages=spec.hugepages,
            arguments=spec.arguments,
            options=spec.testpmd_arguments,
        )


def needs_of(case: CaseSpec, spec: ProcessSpec) -> Needs:
    """Return a CPU for each forwarding thread, and the memory of all VNFs."""
    settings = by_vnf(spec, case.topology)
    counts = {name: own.vcpu_count for name, own in settings.items()}
    pins = deal_out(spec.cpus, counts, spec.FORWARDING)
    nics_of = Counter(nic.vnf for nic in nics(case.topology))
    memory = sum(
        own.memory or _rings(own, nics_of[name], case.traffic.longest.bytes).memory_mb
        for name, own in settings.items()
        if own.hugepages
    )
    cpus = tuple(
        CpuNeed(name, own.vcpu_count, pinned=pins.get(name)) for name, own in settings.items()
    )
    return Needs(cpus=cpus, hugepage_bytes=memory * MEGABYTE)


def vnfs_of(
    case: CaseSpec, spec: ProcessSpec, wires: Sequence[Wire], placement: Placement
) -> tuple[PlannedVnf, ...]:
    """Return every VNF, in the order of the topology."""
    settings = by_vnf(spec, case.topology)
    writers = {
        name: f"vnf.forward={own.forward}" for name, own in settings.items() if own.forward != "io"
    }
    require_ways_told_apart(case.topology, writers)
    ends = {hop for path in case.topology.paths for hop in (path[0], path[-1])}
    return tuple(
        PlannedVnf(
            name=name,
            spec=own,
            wires=tuple(
                sorted((wire for wire in wires if wire.vnf == name), key=lambda wire: wire.nic)
            ),
            cpus=placement.of(name) or (0,),
            frame_bytes=case.traffic.longest.bytes,
            loops=case.topology.nics == 1 and name not in ends,
        )
        for name, own in settings.items()
    )


def command_line(program: str, vnf: PlannedVnf) -> tuple[str, ...]:
    """Return the whole command line; one that calls the switch waits until that listens."""
    testpmd = vnf.testpmd.command_line(program)
    listening = tuple(wire.address for wire in vnf.wires if wire.kind == "vhost-user")
    if not listening:
        return testpmd
    return own_python.module("vsperf.drivers.vnfs.process.waiting", *listening, "--", *testpmd)


def _device(wire: Wire, spec: ProcessSpec) -> str:
    if wire.kind not in ("vhost-user", "vhost-user-client"):
        raise UsageError(
            f"NIC {wire.nic} of {wire.vnf} is plugged into a {wire.kind} port, which a "
            "process cannot take",
            why="it speaks vhost-user and vhost-user-client",
            fix="--vnf qemu, which takes it, or a switch with ports of that kind: for OVS-DPDK, "
            "--set vswitch.vnf_ports=vhost-user",
        )
    words = [
        f"net_virtio_user{wire.nic}",
        f"path={wire.address}",
        f"mac={wire.mac}",
        f"queues={spec.queues}",
        f"queue_size={spec.rx_ring}",
    ]
    if spec.packed:
        words.append("packed_vq=1")
    if wire.kind == "vhost-user-client":
        words.append("server=1")  # the switch calls, so it may restart
    return ",".join(words)


def _rings(spec: ProcessSpec, ports: int, frame_bytes: int) -> Rings:
    return Rings(
        ports=ports,
        threads=spec.vcpu_count,
        queues=spec.queues,
        rx_descriptors=spec.rx_descriptors,
        tx_descriptors=spec.tx_descriptors,
        frame_bytes=frame_bytes,
    )


@dataclass
class RunningVnf:
    """A testpmd that was started."""

    vnf: PlannedVnf
    program: Managed
    telemetry: Path
    look: Callable[[], None] = lambda: None
    """Raises when it would wait in vain, since another part has ended."""
    testpmd: RunningTestpmd = field(init=False)

    def __post_init__(self) -> None:
        self.testpmd = RunningTestpmd(
            self.name,
            self.program,
            self.telemetry,
            tuple(f"NIC {wire.nic}" for wire in self.vnf.wires),
        )

    @property
    def name(self) -> str:
        return self.vnf.name

    def await_forwarding(self, deadline: float) -> None:
        """Wait until testpmd answers, and all its links are up and started."""
        patience = Patience(
            self.vnf.spec.boot_timeout.seconds,
            deadline,
            "see that the switch has opened its side of the VNF's ports, or allow more time: "
            "vnf.boot_timeout",
        )
        self.testpmd.await_forwarding(patience, self.look)

    def failure(self) -> str | None:
        return self.testpmd.failure()

    def counters(self) -> VnfCounters:
        found = self.testpmd.statistics()
        return VnfCounters(name=self.name, nics=tuple(_counters(stats) for stats in found))

    def facts(self) -> dict[str, Any]:
        return {
            "app": self.vnf.spec.app,
            "dpdk": self.testpmd.dpdk,
            "argv": list(self.program.argv),
            "ports": self.testpmd.ports,
        }

    def ask_to_end(self) -> None:
        """Tell it to end; nobody waits here."""
        if self.program.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.program.pid, signal.SIGTERM)


@contextmanager
def started(vnf: PlannedVnf, program: str, workspace: Workspace) -> Iterator[RunningVnf]:
    """Start a VNF, and return before it is up; leaving the context ends it."""
    for wire in vnf.wires:
        if wire.kind == "vhost-user-client":  # it listens itself; whoever did before it is gone
            Path(workspace.fill(wire.address)).unlink(missing_ok=True)
    argv = [workspace.fill(word) for word in command_line(program, vnf)]
    environment = {"RUNTIME_DIRECTORY": str(workspace.folder)}
    with managed(
        argv,
        name=vnf.name,
        workspace=workspace,
        environment=environment,
        polling=Polling(vnf.name, LCORES),
    ) as process:
        yield RunningVnf(
            vnf,
            process,
            Path(workspace.fill(vnf.testpmd.telemetry)),
            lambda: workspace.attend(f"while {vnf.name} was waited for", but=vnf.name),
        )


def _counters(stats: dict[str, int]) -> NicCounters:
    return NicCounters(
        received_frames=int(stats["ipackets"]),
        sent_frames=int(stats["opackets"]),
        drops=drops_of(stats),
    )


_spec_of = reading("vnf.kind=process", ProcessSpec, "VNFs that are processes")
PURPOSE = "it forwards in place of a guest"
Start = Callable[[PlannedVnf, ExitStack], RunningVnf]
"""Starts a VNF, and lets a stack end it."""


class Processes(Group[RunningVnf]):
    """All VNFs of a deployment, in the order of the topology."""

    def __init__(self, vnfs: Sequence[PlannedVnf], start: Start, stack: ExitStack) -> None:
        self._start = start
        self._ends = {one.name: stack.enter_context(ExitStack()) for one in vnfs}
        super().__init__([start(one, self._ends[one.name]) for one in vnfs])

    def await_forwarding(self) -> None:
        began = time.monotonic()
        for running in self.vnfs:
            running.await_forwarding(began + running.vnf.spec.boot_timeout.seconds)

    def reboot(self) -> None:
        """End every process and start another one in its place: all that it knew is gone."""
        self.ask_to_end()
        for running in self.vnfs:
            self._ends[running.name].close()
        self.vnfs = [self._start(one.vnf, self._ends[one.name]) for one in self.vnfs]
        self.await_forwarding()

    def ask_to_end(self) -> None:
        """Tell all of them to end; nobody waits here."""
        for running in self.vnfs:
            running.ask_to_end()

    def processes(self) -> tuple[int, ...]:
        return tuple(running.program.pid for running in self.vnfs)

    def access(self) -> tuple[str, ...]:
        return tuple(line for running in self.vnfs for line in running.testpmd.access())


class ProcessVnf(Vnf):
    """Forwards as a container would: a process on vhost-user, and no guest around it."""

    kind = "process"
    summary = "testpmd on virtio_user in place of a guest, as containers run it"
    Spec = ProcessSpec

    def needs(self, case: CaseSpec) -> Needs:
        return needs_of(case, _spec_of(case))

    def plan(
        self, case: CaseSpec, wires: tuple[Wire, ...], placement: Placement
    ) -> tuple[Step, ...]:
        vnfs = vnfs_of(case, _spec_of(case), wires, placement)
        return tuple(_step(vnf) for vnf in vnfs)

    def require(self, case: CaseSpec) -> None:
        find_testpmd(PURPOSE)
        vnfs = case.topology.vnfs
        require_short(f"dpdk/{LONGEST_NAME}-{vnf}/dpdk_telemetry.v2" for vnf in vnfs)

    def notes(self, case: CaseSpec) -> tuple[str, ...]:
        return ("the VNFs are processes: what a guest would cost is not in the result",)

    @contextmanager
    def start(
        self,
        case: CaseSpec,
        wires: tuple[Wire, ...],
        placement: Placement,
        workspace: Workspace,
    ) -> Iterator[Processes]:
        program = find_testpmd(PURPOSE)

        def start(vnf: PlannedVnf, stack: ExitStack) -> RunningVnf:
            return stack.enter_context(started(vnf, program, workspace))

        with ExitStack() as stack:
            running = Processes(vnfs_of(case, _spec_of(case), wires, placement), start, stack)
            try:
                yield running
            finally:
                if not workspace.kept:
                    running.ask_to_end()  # all now; each is waited for when it is its turn


def _step(vnf: PlannedVnf) -> Step:
    cpus = ", ".join(str(cpu) for cpu in vnf.cpus)
    return Step(
        component="vnf",
        action=f"start {vnf.name}, a testpmd that forwards in mode {vnf.spec.forward}, on "
        f"CPU {cpus}",
        argv=command_line(PROGRAM, vnf),
    )
