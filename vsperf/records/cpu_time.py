"""CPU time of an exchange: who used how much of it, and what each CPU did, as the kernel counts.

It is of the time between two looks, which lie where all instances run. What a kernel does not count
is None. Who pays for the work of the network's stack is who ran when it was done: it may be the
sender, the switch that hands a frame over, or, in a soft interrupt, nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from vsperf.records.base import Record

PROBE, OWN = "probe", "vsperf"
"""Roles beside clients, servers and the switch: what measures beside them, and who starts all."""


class ProgramTime(Record):
    """What a program used with all that it started, or one thread of the switch."""

    role: str
    """Clients, servers, probe, switch, or vsperf itself."""
    name: str
    """Such as `client of instance 1`, or `ovs-vswitchd`."""
    cpus: tuple[int, ...]
    """Where it may run, as the kernel says."""
    user_ns: int | None
    system_ns: int | None
    """In the kernel, as it was called; work that the kernel put off is in it where the program's
    CPU time was used for that."""
    voluntary: int | None
    """How often it gave its CPU away, as it waited for something."""
    involuntary: int | None
    """How often its CPU was taken away from it."""
    placed: tuple[int, ...] = ()
    """Where it was put; none of who is put nowhere, such as a switch that places its threads."""

    @property
    def mispinned(self) -> bool:
        """Whether it may run where it was not put."""
        return bool(self.placed) and not set(self.cpus) <= set(self.placed)

    @property
    def time_ns(self) -> int | None:
        """CPU time in all."""
        return added((self.user_ns, self.system_ns))


class CpuTime(Record):
    """What one CPU did, in whole ticks of the kernel's clock."""

    cpu: int
    user_ns: int
    system_ns: int
    interrupts_ns: int
    soft_ns: int
    """In soft interrupts, in which the kernel handles frames that came in."""
    idle_ns: int
    stolen_ns: int | None
    """That a hypervisor gave to others."""

    @property
    def busy_ns(self) -> int:
        """For which it is said to have run something."""
        return self.user_ns + self.system_ns + self.interrupts_ns + self.soft_ns


class CpuUse(Record):
    """Who used which CPUs between two looks."""

    began_ns: int
    """After the instant at which clients were to start."""
    ended_ns: int
    programs: tuple[ProgramTime, ...]
    cpus: tuple[CpuTime, ...]
    """All that a program or the switch is placed on."""
    forwarding_cpus: tuple[int, ...]
    """Where the kernel itself forwards, in soft interrupts; none where a switch has threads."""

    @property
    def length_ns(self) -> int:
        return self.ended_ns - self.began_ns

    def of(self, role: str) -> tuple[ProgramTime, ...]:
        return tuple(one for one in self.programs if one.role == role)

    def time_ns(self, role: str) -> int | None:
        """Return the CPU time of a role; None where it has no program, or one is not known."""
        found = self.of(role)
        return added(one.time_ns for one in found) if found else None

    def switched(self, role: str) -> int | None:
        """Return how often programs of a role gave their CPU away or had it taken; None likewise.

        What a kernel does in interrupts is no program, and is not counted so.
        """
        found = self.of(role)
        counts = (count for one in found for count in (one.voluntary, one.involuntary))
        return added(counts) if found else None

    @property
    def forwarding_ns(self) -> int | None:
        """Time in interrupts of the CPUs on which the kernel forwards; None where a switch does."""
        found = [self.interrupted_ns(one) for one in self.cpus if one.cpu in self.forwarding_cpus]
        return sum(found) if found else None

    def untold_ns(self, one: CpuTime) -> int:
        """Return the time of a CPU that is counted nowhere.

        A kernel that stops its clock on an idle CPU ends the idle time as an interrupt comes, and
        counts what that does by the clock that stands.
        """
        return max(0, self.length_ns - one.busy_ns - one.idle_ns - (one.stolen_ns or 0))

    def interrupted_ns(self, one: CpuTime) -> int:
        """Return its time in interrupts of both kinds, those of an idle CPU included."""
        return one.interrupts_ns + one.soft_ns + self.untold_ns(one)

    def free_ns(self, one: CpuTime) -> int:
        return min(one.idle_ns, self.length_ns)

    def share(self, time_ns: int) -> float:
        return time_ns / self.length_ns if self.length_ns > 0 else 0.0

    def placed_on(self, cpu: int) -> tuple[ProgramTime, ...]:
        return tuple(one for one in self.programs if cpu in one.cpus)

    def others_ns(self, one: CpuTime) -> int | None:
        """Return what a CPU did that none of these programs asked for; it may be about a tick off.

        That is programs of others, and the kernel's own work. None where a program may also have
        run elsewhere.
        """
        placed = self.placed_on(one.cpu)
        if any(len(program.cpus) > 1 for program in placed):
            return None
        ours = added(program.time_ns for program in placed)
        forwarded = self.interrupted_ns(one) if one.cpu in self.forwarding_cpus else 0
        busy = one.busy_ns + self.untold_ns(one)
        return None if ours is None else max(0, busy - ours - forwarded)

    def foreign_ns(self, one: CpuTime) -> int:
        """Return what programs of others used of a CPU, at least; 0 where that is not known."""
        kernel = 0 if one.cpu in self.forwarding_cpus else self.interrupted_ns(one)
        return max(0, (self.others_ns(one) or 0) - kernel)


def added(found: Iterable[int | None]) -> int | None:
    """Return a sum; None where a part of it is not known."""
    total = 0
    for one in found:
        if one is None:
            return None
        total += one
    return total
