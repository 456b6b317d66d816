"""What a switch says about itself: counters before and after a trial, and what they say of it.

Counters are cumulative and may start anywhere; only differences mean something. What a switch does
not count is missing, never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import Field

from vsperf.records.base import Record, growth


class PortCounters(Record):
    """Frames through one port, as the switch sees them."""

    name: str
    link: str | None = None
    """The testbed link behind it; None for a port inside."""
    vnf: str | None = None
    """The VNF behind it; None for a link."""
    received_frames: int
    sent_frames: int
    drops: dict[str, int] = Field(default_factory=dict)
    """Frames lost at this port by reason, such as `rx full`; the first word is `rx` or `tx`, and
    `full` is in one that can only be a ring or a queue without room: so `why` knows it as one."""

    @property
    def all_counts(self) -> tuple[int, ...]:
        return (self.received_frames, self.sent_frames, *self.drops.values())

    @property
    def lost_on_sending(self) -> int:
        """Frames that did not go out by this port."""
        return sum(count for reason, count in self.drops.items() if reason.startswith("tx "))


class StageCounters(Record):
    """One stage of the way through a switch, such as a node of VPP's graph, on one thread.

    Some switches copy these now and then while they forward, so a few may be missing or too many.
    """

    name: str
    calls: int
    """How often it was called; with as many frames as there were, up to a full vector."""
    frames: int
    cycles: int


class PmdCounters(Record):
    """One polling thread of the switch."""

    cpu: int
    frames: int
    busy_cycles: int | None
    """None where that cannot be known: a switch reckons them from a clock that, when a machine
    moves its CPUs, may go back."""
    idle_cycles: int | None
    hits: dict[str, int] = Field(default_factory=dict)
    """Lookups by the cache that answered them: emc, smc, megaflow, upcall, lost."""
    stages: tuple[StageCounters, ...] = ()
    """What it did, where the switch says it."""

    @property
    def all_counts(self) -> tuple[int, ...]:
        """Every counter of it that never shrinks."""
        return (self.frames, *self.hits.values())


class AddressCounts(Record):
    """The table of a switch that learns behind which of its ports each address is."""

    known: int
    """Addresses that it holds, at that moment: it does not grow, and is never a difference."""
    most: int
    """As many as it has room for."""
    learned: int
    """Addresses that were entered."""
    evicted: int
    """Addresses that had to leave it for others."""
    expired: int
    """Addresses that were taken out since they had not been seen for long."""

    @property
    def all_counts(self) -> tuple[int, ...]:
        return (self.learned, self.evicted, self.expired)

    def since(self, before: AddressCounts) -> AddressCounts:
        """Return how much each counter grew, and what is known now."""
        return self.model_copy(
            update={
                "learned": self.learned - before.learned,
                "evicted": self.evicted - before.evicted,
                "expired": self.expired - before.expired,
            }
        )


class ConnectionCounters(Record):
    """Connections by a switch's own count: an end of each, as a proxy is, or what chooses ends."""

    accepted: int
    """From clients."""
    opened: int
    """To servers, whether or not these answered."""

    @property
    def all_counts(self) -> tuple[int, ...]:
        return (self.accepted, self.opened)

    def since(self, before: ConnectionCounters) -> ConnectionCounters:
        """Return how much each counter grew."""
        return ConnectionCounters(
            accepted=self.accepted - before.accepted, opened=self.opened - before.opened
        )


class Kept(Record):
    """What a switch keeps of connections at one moment."""

    entries: int | None = None
    """Connections in its table; None where it does not tell."""
    memory_bytes: int | None = None
    """Of its process, or of the kernel for connections; None where nobody tells."""

    def most(self, other: Kept) -> Kept:
        """Return the larger ones of both moments."""
        return Kept(
            entries=_larger(self.entries, other.entries),
            memory_bytes=_larger(self.memory_bytes, other.memory_bytes),
        )


def _larger(one: int | None, other: int | None) -> int | None:
    known = [count for count in (one, other) if count is not None]
    return max(known, default=None)


class SwitchCounters(Record):
    """All counters of a switch at one moment, or their growth over a trial."""

    ports: tuple[PortCounters, ...] = ()
    pmds: tuple[PmdCounters, ...] = ()
    drops: dict[str, int] = Field(default_factory=dict)
    """Frames lost anywhere else by reason, such as a coverage counter of drops."""
    addresses: AddressCounts | None = None
    """Of a switch that learns addresses; None where it does not, or does not say."""
    connections: ConnectionCounters | None = None
    """Of a switch that counts connections itself; None where it does not."""
    reasons: dict[str, int] = Field(default_factory=dict)
    """What else it counted, by stage and reason: why frames were dropped inside, but also of frames
    that went on. So no account is made of them."""

    def since(self, before: SwitchCounters) -> SwitchCounters:
        """Return how much each counter grew; what is new counts from 0."""
        ports = {port.name: port for port in before.ports}
        pmds = {pmd.cpu: pmd for pmd in before.pmds}
        addresses = self.addresses
        if addresses is not None and before.addresses is not None:
            addresses = addresses.since(before.addresses)
        connections = self.connections
        if connections is not None and before.connections is not None:
            connections = connections.since(before.connections)
        return SwitchCounters(
            ports=tuple(_port_growth(port, ports.get(port.name)) for port in self.ports),
            pmds=tuple(_pmd_growth(pmd, pmds.get(pmd.cpu)) for pmd in self.pmds),
            drops=growth(self.drops, before.drops),
            addresses=addresses,
            connections=connections,
            reasons={
                name: count for name, count in growth(self.reasons, before.reasons).items() if count
            },
        )

    @property
    def refused_by_vnfs(self) -> int:
        """Frames that the switch could not hand to a VNF, whose ring was full."""
        return sum(port.lost_on_sending for port in self.ports if port.vnf is not None)

    @property
    def cycles_per_frame(self) -> float | None:
        """Busy cycles for a frame that a polling thread took; None where nobody counts cycles."""
        frames, (busy, idle) = sum(pmd.frames for pmd in self.pmds), cycles_of(self.pmds)
        if busy is None or idle is None or busy + idle == 0 or frames <= 0:
            return None
        return busy / frames

    @property
    def least_growth(self) -> int:
        """The least of what counters grew by; below zero where one was reset."""
        ports = (count for port in self.ports for count in port.all_counts)
        pmds = (count for pmd in self.pmds for count in pmd.all_counts)
        others = (one.all_counts for one in (self.addresses, self.connections) if one is not None)
        counts = (count for one in others for count in one)
        return min((*self.drops.values(), *counts, *ports, *pmds), default=0)

    @property
    def lost_on_the_way(self) -> int:
        """Frames that the switch lost before it had them at a link's port to be sent."""
        at_links = sum(port.lost_on_sending for port in self.ports if port.link is not None)
        return self.dropped_frames - at_links

    @property
    def dropped_frames(self) -> int:
        """Frames that the switch knows it lost."""
        at_ports = sum(sum(port.drops.values()) for port in self.ports)
        return at_ports + sum(self.drops.values())


def _port_growth(now: PortCounters, before: PortCounters | None) -> PortCounters:
    if before is None:
        return now
    return PortCounters(
        name=now.name,
        link=now.link,
        vnf=now.vnf,
        received_frames=now.received_frames - before.received_frames,
        sent_frames=now.sent_frames - before.sent_frames,
        drops=growth(now.drops, before.drops),
    )


def _pmd_growth(now: PmdCounters, before: PmdCounters | None) -> PmdCounters:
    if before is None:
        return now
    return PmdCounters(
        cpu=now.cpu,
        frames=now.frames - before.frames,
        busy_cycles=_cycles_growth(now.busy_cycles, before.busy_cycles),
        idle_cycles=_cycles_growth(now.idle_cycles, before.idle_cycles),
        hits=growth(now.hits, before.hits),
        stages=tuple(_stages_growth(now.stages, before.stages)),
    )


def _cycles_growth(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None or now < before else now - before


def cycles_of(pmds: Iterable[PmdCounters]) -> tuple[int | None, int | None]:
    """Return the busy and the idle cycles of all these threads; None where one's are not known."""
    busy, idle = 0, 0
    for pmd in pmds:
        if pmd.busy_cycles is None or pmd.idle_cycles is None:
            return None, None
        if min(pmd.busy_cycles, pmd.idle_cycles) < 0:  # in a record of others
            return None, None
        busy, idle = busy + pmd.busy_cycles, idle + pmd.idle_cycles
    return busy, idle


def _stages_growth(
    now: Iterable[StageCounters], before: Iterable[StageCounters]
) -> Iterator[StageCounters]:
    """Yield what was done in between; stages that did nothing are left out."""
    earlier = {stage.name: stage for stage in before}
    for stage in now:
        then = earlier.get(stage.name, StageCounters(name=stage.name, calls=0, frames=0, cycles=0))
        if stage.calls > then.calls:
            yield StageCounters(
                name=stage.name,
                calls=stage.calls - then.calls,
                frames=stage.frames - then.frames,
                cycles=stage.cycles - then.cycles,
            )


# What a VNF says about itself: counters of its NICs.
#
# Counters are cumulative and may start anywhere; only differences mean something. What a VNF
# does not count is missing, never 0.


class NicCounters(Record):
    """Frames through one NIC, as the VNF sees them."""

    received_frames: int
    sent_frames: int
    drops: dict[str, int] = Field(default_factory=dict)
    """Frames lost at this NIC by reason, such as `no buffer`."""

    @property
    def all_counts(self) -> tuple[int, ...]:
        return (self.received_frames, self.sent_frames, *self.drops.values())


class VnfCounters(Record):
    """All counters of a VNF at one moment, or their growth over a trial."""

    name: str
    """Such as vm1."""
    nics: tuple[NicCounters, ...] = ()
    """In the order of its NICs; empty when it counts nothing."""

    def since(self, before: VnfCounters) -> VnfCounters:
        """Return how much each counter grew."""
        pairs = zip(self.nics, before.nics, strict=False)
        return VnfCounters(name=self.name, nics=tuple(_growth(now, then) for now, then in pairs))

    @property
    def least_growth(self) -> int:
        """The least of what counters grew by; below zero where one was reset."""
        return min((count for nic in self.nics for count in nic.all_counts), default=0)

    @property
    def lost_frames(self) -> int | None:
        """Frames that came in and did not go out again; None when it counts nothing."""
        if not self.nics:
            return None
        return sum(nic.received_frames - nic.sent_frames for nic in self.nics)


def _growth(now: NicCounters, before: NicCounters) -> NicCounters:
    return NicCounters(
        received_frames=now.received_frames - before.received_frames,
        sent_frames=now.sent_frames - before.sent_frames,
        drops=growth(now.drops, before.drops),
    )


# What a group of the last-level cache held and moved, by the processor's own monitoring.


class CacheActivity(Record):
    """One group during a trial; what the processor does not monitor is missing, never 0."""

    role: str
    """Whose group it is, such as `switch`."""
    occupancy_bytes: int | None = None
    """What it held in the cache at the end of the trial."""
    total_bytes: int | None = None
    """What it read from memory and wrote to it."""
    local_bytes: int | None = None
    """The part of that on its own memory node."""

    def since(self, before: CacheActivity) -> CacheActivity:
        """Return what was moved from one look to another; what is held is that of the later."""
        known = ("total_bytes", "local_bytes")
        now = {name: count for name in known if (count := getattr(self, name)) is not None}
        then = {name: getattr(before, name) for name in now}
        if None in then.values():
            return self.model_copy(update=dict.fromkeys(known))
        return self.model_copy(update=growth(now, then))


# What a load beside a case did during a trial, by its own count and the kernel's.


class NoiseActivity(Record):
    """One instance of a load, between its last words before a trial and its last ones in it.

    What nobody counted is missing, never 0.
    """

    instance: str
    """Such as `noise 1`."""
    elapsed_ns: int | None = None
    """Time between the two counts."""
    read_bytes: int | None = None
    written_bytes: int | None = None
    cpu_ns: int | None = None
    """CPU time that it got."""
    worked_ns: int | None = None
    """Time in which its guest says that it worked. A guest that is emulated does not see that it
    waits for a CPU, and takes that for work."""

    def since(self, before: NoiseActivity) -> NoiseActivity:
        """Return what was done from one count to another of the same instance."""
        return NoiseActivity(
            instance=self.instance,
            elapsed_ns=_grown(self.elapsed_ns, before.elapsed_ns),
            read_bytes=_grown(self.read_bytes, before.read_bytes),
            written_bytes=_grown(self.written_bytes, before.written_bytes),
            cpu_ns=_grown(self.cpu_ns, before.cpu_ns),
            worked_ns=_grown(self.worked_ns, before.worked_ns),
        )

    @property
    def bytes_per_second(self) -> float | None:
        """What it read and wrote together; None where it does not count that."""
        if self.read_bytes is None or self.written_bytes is None or not self.elapsed_ns:
            return None
        return (self.read_bytes + self.written_bytes) * 1e9 / self.elapsed_ns

    @property
    def cpu_share(self) -> float | None:
        """The part of the time in which it had a CPU; None where that is not known."""
        return None if self.cpu_ns is None or not self.elapsed_ns else self.cpu_ns / self.elapsed_ns


def _grown(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None else now - before
