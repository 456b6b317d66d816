"""What a case makes of each machine, and testpmd's command line. Pure.

Memory without names in a file system leaves nothing behind. One segment per file, since vhost-user
takes few of them; without that the link never comes up.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from vsperf.errors import UsageError
from vsperf.host.cpus import CpuNeed, Needs
from vsperf.record.placeholder import Placeholder
from vsperf.record.plan import Placement, Wire
from vsperf.spec.case import CaseSpec
from vsperf.spec.wiring import nics
from vsperf.vnfs.process.spec import ProcessSpec
from vsperf.vnfs.settings import by_machine, deal_out, require_ways_told_apart

PROGRAM = "dpdk-testpmd"
MEGABYTE = 1 << 20
USUAL_FRAME = 1518
USUAL_BUFFER = 2176
"""Data and headroom of a buffer that holds a usual frame, as testpmd makes it."""
HEADROOM = 128
LEAST_BUFFERS = 16_384
CACHED_BUFFERS = 512
"""Buffers that each thread may hold back."""
OVERHEAD_BYTES = 256
"""Of each buffer: what DPDK says of the frame, and the pool's own."""
SPARE_MB = 64
"""For all that is no buffer."""
MEMORY_STEP_MB = 64
STATISTICS_S = 86_400
"""How often testpmd prints its counters. It must: otherwise it ends when it has no terminal."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine, with everything decided."""

    name: str
    spec: ProcessSpec
    wires: tuple[Wire, ...]
    """By number of the card."""
    cpus: tuple[int, ...]
    frame_bytes: int
    loops: bool
    """Whether frames go back out of the card by which they came."""

    @property
    def prefix(self) -> str:
        """What DPDK calls it."""
        return f"{Placeholder.NAME}-{self.name}"

    @property
    def telemetry(self) -> str:
        """Its socket for questions."""
        return f"{Placeholder.RUN}/dpdk/{self.prefix}/dpdk_telemetry.v2"

    @property
    def memory_mb(self) -> int:
        """Memory that it is given."""
        return self.spec.memory or _memory_mb(self.spec, len(self.wires), self.frame_bytes)


def needs_of(case: CaseSpec, spec: ProcessSpec) -> Needs:
    """Return a CPU for each forwarding thread, and the memory of all machines."""
    settings = by_machine(spec, case.topology)
    counts = {name: own.vcpu_count for name, own in settings.items()}
    pins = deal_out(spec.cpus, counts, "forwarding threads")
    cards = Counter(nic.machine for nic in nics(case.topology))
    memory = sum(
        own.memory or _memory_mb(own, cards[name], case.traffic.longest.bytes)
        for name, own in settings.items()
        if own.hugepages
    )
    cpus = tuple(
        CpuNeed(name, own.vcpu_count, pinned=pins.get(name)) for name, own in settings.items()
    )
    return Needs(cpus=cpus, hugepage_bytes=memory * MEGABYTE)


def machines_of(
    case: CaseSpec, spec: ProcessSpec, wires: Sequence[Wire], placement: Placement
) -> tuple[Machine, ...]:
    """Return every machine, in the order of the topology."""
    settings = by_machine(spec, case.topology)
    writers = {
        name: f"vnf.forward={own.forward}" for name, own in settings.items() if own.forward != "io"
    }
    require_ways_told_apart(case.topology, writers)
    ends = {hop for path in case.topology.paths for hop in (path[0], path[-1])}
    return tuple(
        Machine(
            name=name,
            spec=own,
            wires=tuple(
                sorted((wire for wire in wires if wire.machine == name), key=lambda wire: wire.nic)
            ),
            cpus=placement.of(name) or (0,),
            frame_bytes=case.traffic.longest.bytes,
            loops=case.topology.nics == 1 and name not in ends,
        )
        for name, own in settings.items()
    )


def command_line(program: str, machine: Machine) -> tuple[str, ...]:
    """Return the whole command line; one that calls the switch waits until that listens."""
    spec = machine.spec
    testpmd = (
        program,
        "--no-pci",
        *_memory(machine),
        f"--file-prefix={machine.prefix}",
        f"--lcores={_lcores(machine.cpus)}",
        *(f"--vdev={_device(wire, spec)}" for wire in machine.wires),
        *spec.arguments,
        "--",
        *_options(machine),
        *spec.testpmd_arguments,
    )
    listening = tuple(wire.address for wire in machine.wires if wire.kind == "vhost-user")
    if not listening:
        return testpmd
    return (sys.executable, "-m", "vsperf.vnfs.process.waiting", *listening, "--", *testpmd)


def _memory(machine: Machine) -> tuple[str, ...]:
    amount = ("-m", str(machine.memory_mb))
    if machine.spec.hugepages:
        return ("--in-memory", "--single-file-segments", *amount)
    return ("--no-huge", "--no-shconf", *amount)


def _device(wire: Wire, spec: ProcessSpec) -> str:
    if wire.kind not in ("vhost-user", "vhost-user-client"):
        raise UsageError(
            f"card {wire.nic} of {wire.machine} is plugged into a {wire.kind} port, which a "
            "process cannot take",
            why="it speaks vhost-user and vhost-user-client",
            fix="--vnf qemu, which takes it, or a switch with ports of that kind: for OVS-DPDK, "
            "vswitch.machine_ports=vhost-user",
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


def _options(machine: Machine) -> tuple[str, ...]:
    spec = machine.spec
    peers = tuple(f"--eth-peer={wire.nic},{wire.peer_mac}" for wire in machine.wires)
    longer = machine.frame_bytes > USUAL_FRAME
    frames = (
        f"--max-pkt-len={machine.frame_bytes}",
        f"--mbuf-size={_buffer_bytes(machine.frame_bytes)}",
    )
    return (
        "--auto-start",
        f"--forward-mode={spec.forward}",
        f"--port-topology={'loop' if machine.loops else 'paired'}",
        f"--nb-cores={len(machine.cpus)}",
        f"--rxq={spec.queues}",
        f"--txq={spec.queues}",
        f"--rxd={spec.rx_descriptors}",
        f"--txd={spec.tx_descriptors}",
        f"--burst={spec.burst}",
        f"--total-num-mbufs={_buffers(spec, len(machine.wires))}",
        *(frames if longer else ()),
        *(peers if spec.forward in ("mac", "csum") else ()),
        "--no-flush-rx",  # frames that come early are not thrown away
        "--no-mlockall",
        f"--stats-period={STATISTICS_S}",
    )


def _lcores(cpus: tuple[int, ...]) -> str:
    """Return which thread runs where: lcore 0 is the main thread, the others forward."""
    workers = (f"{number}@{cpu}" for number, cpu in enumerate(cpus, start=1))
    return ",".join((f"0@{cpus[0]}", *workers))


def _buffers(spec: ProcessSpec, cards: int) -> int:
    rings = cards * spec.queues * (spec.rx_descriptors + spec.tx_descriptors)
    return max(LEAST_BUFFERS, 2 * rings + spec.vcpu_count * CACHED_BUFFERS)


def _buffer_bytes(frame_bytes: int) -> int:
    return max(USUAL_BUFFER, -(-(frame_bytes + HEADROOM) // 64) * 64)


def _memory_mb(spec: ProcessSpec, cards: int, frame_bytes: int) -> int:
    taken = _buffers(spec, cards) * (_buffer_bytes(frame_bytes) + OVERHEAD_BYTES)
    whole = -(-taken // MEGABYTE) + SPARE_MB
    return -(-whole // MEMORY_STEP_MB) * MEMORY_STEP_MB
