"""The CPUs of a machine: which there are, and which of them share a core or a memory node."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vsperf.host.files import Roots, integer
from vsperf.units import CpuSet


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
class CpuNeed:
    """CPUs that a part of a deployment asks for."""

    role: str
    """Such as `pmd`; unique in a deployment."""
    count: int
    busy: bool = True
    """Whether it never sleeps, and so wants each CPU for itself."""
    pinned: tuple[int, ...] | None = None
    """CPUs that the user chose."""


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
    isolated = _cpu_list(roots.cpus / "isolated")
    found = []
    for number in sorted(usable):
        folder = roots.cpus / f"cpu{number}"
        siblings = _cpu_list(folder / "topology" / "thread_siblings_list") or {number}
        nodes = sorted(folder.glob("node[0-9]*"))
        node = int(nodes[0].name.removeprefix("node")) if nodes else 0
        found.append(Cpu(number, node, min(siblings), number in isolated))
    return CpuTopology(tuple(found), _device_nodes(roots))


def _device_nodes(roots: Roots) -> dict[str, int]:
    folders = (roots.pci / "devices").glob("*")
    nodes = {folder.name: integer(folder / "numa_node") for folder in folders}
    return {address: node for address, node in nodes.items() if node is not None and node >= 0}


def _cpu_list(path: Path) -> set[int]:
    try:
        text = path.read_text().strip()
    except OSError:
        return set()
    return set(CpuSet.parse(text).cpus) if text else set()
