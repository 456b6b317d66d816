"""The CPUs of a machine: which there are, and which of them share a core or a memory node."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from vsperf.host.files import Roots, cpu_list, integer
from vsperf.quantities.units import CpuSet

LAST_LEVEL = 3
"""The least level of a cache that several cores share; the others are a core's own."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """One CPU as the kernel counts them: a hardware thread."""

    number: int
    node: int = 0
    """Memory node that is near."""
    core: int = 0
    """Same number for the threads of one core."""
    isolated: bool = False
    """Whether the kernel leaves it alone (`isolcpus`)."""
    cache: int | None = None
    """Same number for the CPUs of one last-level cache; None where the machine does not say."""
    socket: int = 0
    """Same number for the CPUs of one processor."""


@dataclass(frozen=True, slots=True)
class CpuTopology:
    """All CPUs that may be used."""

    cpus: tuple[Cpu, ...]
    devices: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Memory nodes of the devices on the PCI bus that have one, by address."""

    def __getitem__(self, number: int) -> Cpu:
        return next(cpu for cpu in self.cpus if cpu.number == number)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of all CPUs, ascending."""
        return tuple(cpu.number for cpu in self.cpus)


@dataclass(frozen=True, slots=True)
class Beside:
    """Where a load runs, seen from the part that it is to disturb."""

    role: str
    """Of that part, such as `pmd`."""
    near: str
    """`same-cpu`, `sibling`, `same-cache` or `other-socket`."""
    share: bool = False
    """Whether it may have a CPU together with a part that never sleeps, where no other one fits."""


@dataclass(frozen=True, slots=True)
class CpuNeed:
    """CPUs that a part of a deployment asks for."""

    role: str
    """Such as `pmd`; unique in a deployment."""
    count: int
    busy: bool = True
    """Whether it never sleeps, and so wants each CPU for itself."""
    pinned: tuple[int, ...] | None = None
    """CPUs that the user chose."""
    beside: Beside | None = None
    """For a load that disturbs another part: where it is placed when all parts have their CPUs."""
    apart_from: str = ""
    """Of one that sleeps: a role whose CPUs it does not share, whichever others it has to."""

    @classmethod
    def of(cls, role: str, chosen: CpuSet | None, count: int = 1, *, busy: bool = True) -> Self:
        """Return as many as a user chose, and these; so many where nobody chose any."""
        cpus = None if chosen is None else chosen.cpus
        return cls(role, len(cpus) if cpus else count, busy, cpus)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a part of a deployment asks of the machine."""

    cpus: tuple[CpuNeed, ...] = ()
    hugepage_bytes: int = 0
    """Per memory node that it runs on."""


def read_topology(allowed: frozenset[int] | None = None, roots: Roots | None = None) -> CpuTopology:
    """Return the CPUs that this process may use; `allowed` replaces what the kernel says."""
    roots = roots or Roots()
    usable = os.sched_getaffinity(0) if allowed is None else allowed
    isolated = cpu_list(roots.cpus / "isolated") or frozenset()
    found = []
    for number in sorted(usable):
        folder = roots.cpus / f"cpu{number}"
        siblings = cpu_list(folder / "topology" / "thread_siblings_list") or {number}
        nodes = sorted(folder.glob("node[0-9]*"))
        node = int(nodes[0].name.removeprefix("node")) if nodes else 0
        core, socket = min(siblings), integer(folder / "topology" / "physical_package_id")
        cache = _last_cache(folder / "cache")
        found.append(Cpu(number, node, core, number in isolated, cache, socket or 0))
    return CpuTopology(tuple(found), _device_nodes(roots))


def _device_nodes(roots: Roots) -> dict[str, int]:
    folders = (roots.pci / "devices").glob("*")
    nodes = {folder.name: integer(folder / "numa_node") for folder in folders}
    return {address: node for address, node in nodes.items() if node is not None and node >= 0}


def _last_cache(folder: Path) -> int | None:
    """Return the first CPU of those that share a CPU's last-level cache."""
    levels = {integer(one / "level") or 0: one for one in folder.glob("index[0-9]*")}
    if not levels or max(levels) < LAST_LEVEL:
        return None
    return min(cpu_list(levels[max(levels)] / "shared_cpu_list") or (), default=None)


@contextmanager
def running_on(cpus: tuple[int, ...]) -> Iterator[None]:
    """Keep this program, and whatever it starts, to some CPUs; none means where it is."""
    if not cpus:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
