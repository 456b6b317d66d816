"""From the daemon's statistics to the counters of a switch. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vsperf.record.switch import PmdCounters, PortCounters, SwitchCounters
from vsperf.vswitches.ovs.layout import SwitchPort
from vsperf.vswitches.ovs.parse import PortStatistics, ThreadStatistics

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
DROPS = ("datapath_drop_", "drop_action_")
"""Beginnings of coverage counters that count frames."""


def switch_counters(
    ports: tuple[SwitchPort, ...],
    statistics: Iterable[PortStatistics],
    threads: Iterable[ThreadStatistics],
    coverage: Mapping[str, int],
    custom: Mapping[int, Mapping[str, int]] | None = None,
    refused: Mapping[str, int] | None = None,
) -> SwitchCounters:
    """Return the counters; a port that nobody is connected to has none.

    `custom` holds the drops, by port number, of ports that count nothing else; `refused` the
    frames, by name of the port, that OVS sent and that the kernel dropped as a tap was full.
    """
    by_name = {port.name: port for port in statistics}
    found = (_port(port, by_name.get(port.name), (refused or {}).get(port.name)) for port in ports)
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
    port: SwitchPort, statistics: PortStatistics | None, refused: int | None
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
    if refused is not None:
        drops[TAP_FULL] = refused
    return PortCounters(
        name=port.name,
        link=port.link,
        machine=port.machine,
        received_frames=received["packets"],
        sent_frames=sent["packets"] - (refused or 0),
        drops=drops,
    )


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
        busy_cycles=counters["processing cycles"],
        idle_cycles=counters["idle cycles"],
        hits=hits,
    )
