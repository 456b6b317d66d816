"""tgen's command line: which ports it takes, on which CPUs, with which memory. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vsperf.dpdk.command import lcores
from vsperf.drivers.generators.dpdk_ports import Port, entering, reaching
from vsperf.records.run import Endpoint

ORDINARY_MEMORY_MB = 512
"""Taken where there are no hugepages; pages that are not touched cost nothing."""
BUFFER_BYTES = 2560
"""Of a buffer for an ordinary frame, with all that DPDK has beside it."""
POOLS = 4
"""To send from and to receive into, for each of two ports."""
CACHED = 768
"""Buffers that a worker may keep from the others, of each pool."""
HISTOGRAM_BYTES = 40 << 10
MEMORY_BYTES = 256 << 20
"""Hugepages that it takes, per memory node that it runs on, with one worker and one queue."""
BURST = 64
PAGE_BYTES = 2 << 20

ONE_RING = ("vhost-user", "vhost-user-client")
"""Ports from whose ring a switch takes frames, with nothing between that could hold any."""
PACKET_SOCKET = "net_af_packet"
IN_PACKET_SOCKETS = 64
"""Frames that may be on their way from one. It has memory for some 90 long ones: others wait in its
ring until somebody sends again, which would be in the next trial, and a call sends all of those."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is chosen about a tgen process beside its ports."""

    cpus: tuple[int, ...] = (0,)
    """One worker each; the main thread, which mostly sleeps, shares the first one."""
    hugepages: bool = True
    queues: int = 1
    ring: int = 1024
    max_frame: int = 9216
    """Longest frame with FCS; its buffers have room for it."""
    extra: tuple[str, ...] = ()
    """More arguments for DPDK's environment layer."""


def most_in_flight(endpoints: Iterable[Endpoint]) -> int:
    """Return how many frames of a direction may be on their way to such ports; 0: any number."""
    return IN_PACKET_SOCKETS if {one.kind for one in endpoints} == {"packet"} else 0


def port_of(endpoint: Endpoint, number: int, options: Options) -> Port:
    """Return the port that reaches an endpoint.

    Packet sockets of its own are for this one alone, which bounds what is on its way from them.
    """
    if endpoint.kind == "packet":
        network, device = endpoint.located
        name = f"{PACKET_SOCKET}{number}"
        rings = f"qdisc_bypass=0,framecnt={options.ring}"
        return Port(name, f"{name},iface={device},{rings}", network=network)
    return reaching(endpoint, number, "tgen", ring=options.ring, queues=options.queues)


def command_line(
    binary: str, name: str, control: Path, ports: Iterable[Port], options: Options
) -> tuple[str, ...]:
    """Return the whole command line of a tgen that is called `name` and listens at `control`.

    Memory without names in a file system leaves nothing behind, whatever kills the process. One
    segment per file, since vhost-user takes few of them. All of it at once, since memory that comes
    later is told to the switch: a vhost-user switch forwards nothing while it takes that up, and
    OVS does so in a thread of its own, which may be late.
    """
    memory = (
        ("--in-memory", "--single-file-segments", "-m", str(_hugepages_mb(options)))
        if options.hugepages
        else ("--no-huge", "--no-shconf", "-m", str(_ordinary_mb(options)))
    )
    named = tuple(ports)
    bus = () if any(port.pci for port in named) else ("--no-pci",)
    return (
        *entering(named, "tgen"),
        binary,
        *bus,
        *memory,
        f"--file-prefix={name}",
        f"--lcores={lcores(options.cpus)}",
        *(f"--{'allow' if port.pci else 'vdev'}={port.device}" for port in named),
        *options.extra,
        "--",
        "--control",
        str(control),
        "--exit-without-controller",
        *sizes(options),
    )


def sizes(options: Options) -> tuple[str, ...]:
    """Return the words that say how large queues and frames are."""
    return (
        "--queues",
        str(options.queues),
        "--ring",
        str(options.ring),
        "--max-frame",
        str(options.max_frame),
    )


def more_memory(workers: int, queues: int, ring: int) -> int:
    """Return what several workers and queues take beside what one of each does, in whole pages.

    Queues have rings of buffers, and bursts that were built or not yet looked at; each worker that
    receives has histograms of what each worker sends.
    """
    buffers = (queues - 1) * (2 * ring + BURST) + (workers - 1) * CACHED
    if queues > 1:
        buffers += 32 * BURST
    needed = POOLS * BUFFER_BYTES * buffers + (workers // 2) ** 2 * HISTOGRAM_BYTES
    return -(-needed // PAGE_BYTES) * PAGE_BYTES


def memory_bytes(workers: int, queues: int, ring: int) -> int:
    """Return how many bytes of hugepages it takes, per memory node that it runs on."""
    return MEMORY_BYTES + more_memory(workers, queues, ring)


def _hugepages_mb(options: Options) -> int:
    return memory_bytes(len(options.cpus), options.queues, options.ring) >> 20


def _ordinary_mb(options: Options) -> int:
    more = more_memory(len(options.cpus), options.queues, options.ring)
    return ORDINARY_MEMORY_MB + (more >> 20)
