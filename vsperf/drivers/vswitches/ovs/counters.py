"""From the daemon's statistics to the counters of a switch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vsperf.drivers.vswitches.ovs.layout import SwitchPort
from vsperf.drivers.vswitches.ovs.parse import PortStatistics, ThreadStatistics
from vsperf.records.switch import PmdCounters, PortCounters, SwitchCounters

CACHES = {
    "phwol": ("phwol hits",),
    "simple": ("simple match hits",),
    "emc": ("emc hits",),
    "smc": ("smc hits",),
    "megaflow": ("megaflow hits",),
    "upcall": ("miss with success upcall",),
    "lost": ("miss with failed upcall", "lost"),
}
"""Our name of a cache, and what versions of OVS have called its counter."""
TAP_FULL = "tx tap full"
"""The reader of a tap was too slow."""
SOCKET_FULL = "rx socket full"
"""The switch was too slow, which reads the packet socket on a device."""
DROPS = ("datapath_drop_", "drop_action_")
"""Beginnings of coverage counters that count frames."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Frames that the kernel dropped and OVS knows nothing of, by name of the port."""

    refused: Mapping[str, int] = field(default_factory=dict)
    """As the tap of a VNF was full; OVS counts them as sent."""
    missed: Mapping[str, int] = field(default_factory=dict)
    """As a packet socket was full; OVS counts them as received, unless DPDK has a ring for them."""


def switch_counters(
    ports: tuple[SwitchPort, ...],
    statistics: Iterable[PortStatistics],
    threads: Iterable[ThreadStatistics],
    coverage: Mapping[str, int],
    custom: Mapping[int, Mapping[str, int]] | None = None,
    unseen: Unseen | None = None,
) -> SwitchCounters:
    """Return the counters; a port that nobody is connected to has none.

    `custom` holds the drops, by port number, of ports that count nothing else.
    """
    by_name = {port.name: port for port in statistics}
    found = (_port(port, by_name.get(port.interface), unseen or Unseen()) for port in ports)
    pmds = (_pmd(thread) for thread in threads)
    return SwitchCounters(
        ports=tuple(port for port in found if port is not None),
        pmds=tuple(pmd for pmd in pmds if pmd is not None),
        drops={
            **{name: count for name, count in coverage.items() if name.startswith(DROPS)},
            **_custom_drops(ports, custom or {}),
        },
    )


def silent(ports: Iterable[SwitchPort]) -> bool:
    """Whether a port is among these whose frames OVS does not count."""
    return any(port.type == "dpdkvhostuser" for port in ports)


def _custom_drops(
    ports: Iterable[SwitchPort], custom: Mapping[int, Mapping[str, int]]
) -> dict[str, int]:
    return {
        f"{port.name} {name.removesuffix('_drops').replace('_', ' ')}": count
        for port in ports
        if port.type == "dpdkvhostuser"
        for name, count in custom.get(port.number, {}).items()
    }


def _port(
    port: SwitchPort, statistics: PortStatistics | None, unseen: Unseen
) -> PortCounters | None:
    if statistics is None:
        return None
    received, sent = statistics.received, statistics.sent
    if "packets" not in received or "packets" not in sent:
        return None
    ways = (("rx", received), ("tx", sent))
    drops = {
        f"{way} {reason}": counters[reason]
        for way, counters in ways
        for reason in ("dropped", "errors")
        if reason in counters
    }
    refused, missed = unseen.refused.get(port.name), unseen.missed.get(port.name)
    if refused is not None:
        drops[TAP_FULL] = refused
    if missed is not None:
        drops[SOCKET_FULL] = missed
    return PortCounters(
        name=port.name,
        link=port.link,
        vnf=port.vnf,
        received_frames=received["packets"],
        sent_frames=sent["packets"] - (refused or 0),
        drops=drops,
    )


def _cycles(count: int) -> int | None:
    """Return a sum of cycles, unless it is below zero.

    OVS adds differences of a CPU's cycle counter. A thread that was moved to a CPU whose counter is
    behind adds a negative one, and a sum that gets below zero is printed as if it had 64 bits.
    """
    return count if count < 1 << 63 else None


def _pmd(thread: ThreadStatistics) -> PmdCounters | None:
    counters = thread.counters
    needed = ("packets received", "processing cycles", "idle cycles")
    if thread.cpu is None or any(name not in counters for name in needed):
        return None
    hits = {
        cache: counters[name]
        for cache, names in CACHES.items()
        for name in names
        if name in counters
    }
    return PmdCounters(
        cpu=thread.cpu,
        frames=counters["packets received"],
        busy_cycles=_cycles(counters["processing cycles"]),
        idle_cycles=_cycles(counters["idle cycles"]),
        hits=hits,
    )
