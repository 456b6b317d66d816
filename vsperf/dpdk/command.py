"""testpmd's command line, and the memory that it takes. Pure.

Memory without names in a file system leaves nothing behind. One segment per file, since vhost-user
takes few of them; without that a link never comes up.
"""

from __future__ import annotations

from dataclasses import dataclass

from vsperf.records.run import Placeholder

PROGRAM = "dpdk-testpmd"
USUAL_FRAME = 1518
USUAL_BUFFER = 2176
"""Data and headroom of a buffer that holds a usual frame, as testpmd makes it."""
HEADROOM = 128
LEAST_BUFFERS = 16_384
CACHED_BUFFERS = 512
"""Buffers that each thread may hold back."""
OVERHEAD_BYTES = 256
"""Of each buffer: what DPDK says of the frame, and the pool's own."""
MEGABYTE = 1 << 20
SPARE_MB = 64
"""For all that is no buffer."""
MEMORY_STEP_MB = 64
STATISTICS_S = 43_200
"""How often testpmd prints its counters. It must where nobody tells it what to do: otherwise it
ends when it has no terminal. It takes less than 2^16, and from DPDK 25.11 on refuses more."""


@dataclass(frozen=True, slots=True)
class Rings:
    """How many rings there are, how long they are, and what their buffers hold."""

    ports: int
    threads: int
    queues: int = 1
    """Of each port."""
    rx_descriptors: int = 512
    tx_descriptors: int = 512
    frame_bytes: int = USUAL_FRAME
    """Of the longest frame."""

    @property
    def buffers(self) -> int:
        """As many as can be in use at a time, and some to spare."""
        rings = self.ports * self.queues * (self.rx_descriptors + self.tx_descriptors)
        return max(LEAST_BUFFERS, 2 * rings + self.threads * CACHED_BUFFERS)

    @property
    def buffer_bytes(self) -> int:
        """Room for the longest frame in one buffer."""
        return max(USUAL_BUFFER, -(-(self.frame_bytes + HEADROOM) // 64) * 64)

    @property
    def memory_mb(self) -> int:
        """Memory that suffices for all of them."""
        taken = self.buffers * (self.buffer_bytes + OVERHEAD_BYTES)
        whole = -(-taken // MEGABYTE) + SPARE_MB
        return -(-whole // MEMORY_STEP_MB) * MEMORY_STEP_MB


@dataclass(frozen=True, slots=True)
class Testpmd:
    """One testpmd, with everything decided."""

    prefix: str
    """What DPDK calls it; not filled in."""
    cpus: tuple[int, ...]
    """Of its forwarding threads, one each."""
    devices: tuple[str, ...]
    """Its virtual devices, in the order of its ports."""
    rings: Rings
    nics: tuple[str, ...] = ()
    """Its devices on the PCI bus."""
    main_cpu: int | None = None
    """Of the thread that mostly sleeps; the first of the others unless told."""
    forward: str = "io"
    loops: bool = False
    """Whether frames go back out of the port by which they came."""
    peers: tuple[tuple[int, str], ...] = ()
    """By number of a port, the address that frames which leave there go to."""
    burst: int = 32
    memory: int | None = None
    """Memory [MB]; what the buffers take when not given."""
    hugepages: bool = True
    counts_cycles: bool = False
    """Whether it counts how long its threads are busy, which costs them a little."""
    waits_for_links: bool = True
    """Whether it begins to forward when all links are up, or a few seconds later; else at once."""
    commands: str | None = None
    """Where it reads what to do, instead of forwarding as soon as it can; not filled in."""
    arguments: tuple[str, ...] = ()
    """More words for DPDK's environment layer."""
    options: tuple[str, ...] = ()
    """More words for testpmd."""

    @property
    def telemetry(self) -> str:
        """Its socket for questions; not filled in."""
        return f"{Placeholder.RUN}/dpdk/{self.prefix}/dpdk_telemetry.v2"

    @property
    def memory_mb(self) -> int:
        return self.memory or self.rings.memory_mb

    def command_line(self, program: str) -> tuple[str, ...]:
        return (
            program,
            *(() if self.nics else ("--no-pci",)),
            *self._memory(),
            f"--file-prefix={self.prefix}",
            f"--lcores={lcores(self.cpus, self.main_cpu)}",
            *(f"--allow={nic}" for nic in self.nics),
            *(f"--vdev={device}" for device in self.devices),
            *self.arguments,
            "--",
            *self._options(),
            *self.options,
        )

    def _memory(self) -> tuple[str, ...]:
        amount = ("-m", str(self.memory_mb))
        if self.hugepages:
            return ("--in-memory", "--single-file-segments", *amount)
        return ("--no-huge", "--no-shconf", *amount)

    def _options(self) -> tuple[str, ...]:
        rings, by_itself = self.rings, self.commands is None
        longer = rings.frame_bytes > USUAL_FRAME
        frames = (f"--max-pkt-len={rings.frame_bytes}", f"--mbuf-size={rings.buffer_bytes}")
        return (
            *(("--auto-start",) if by_itself else ("-i", f"--cmdline-file={self.commands}")),
            f"--forward-mode={self.forward}",
            f"--port-topology={'loop' if self.loops else 'paired'}",
            f"--nb-cores={len(self.cpus)}",
            f"--rxq={rings.queues}",
            f"--txq={rings.queues}",
            f"--rxd={rings.rx_descriptors}",
            f"--txd={rings.tx_descriptors}",
            f"--burst={self.burst}",
            f"--total-num-mbufs={rings.buffers}",
            *(frames if longer else ()),
            *(f"--eth-peer={port},{mac}" for port, mac in self.peers),
            *(("--record-core-cycles",) if self.counts_cycles else ()),
            *(() if self.waits_for_links else ("--disable-link-check",)),
            "--no-flush-rx",  # frames that come early are not thrown away
            "--no-mlockall",
            *((f"--stats-period={STATISTICS_S}",) if by_itself else ()),
        )


def lcores(cpus: tuple[int, ...], main_cpu: int | None = None) -> str:
    """Return which thread runs where: lcore 0 is the main thread, the others work."""
    main = cpus[0] if main_cpu is None else main_cpu
    workers = (f"{number}@{cpu}" for number, cpu in enumerate(cpus, start=1))
    return ",".join((f"0@{main}", *workers))
