"""Checks of the memory: its nodes, and the hugepages that programs on DPDK take."""

from __future__ import annotations

from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import (
    Answer,
    Check,
    Group,
    Host,
    absent,
    failure,
    listed,
    ok,
    unknown,
    warning,
)
from vsperf.host.doctor.wants import Want
from vsperf.host.files import cpu_list, integer, kilobytes, numbered, text
from vsperf.host.hugepages import HostMemory, read_pools, usable_bytes
from vsperf.host.resctrl import MOUNT, REMOUNT, abilities

MEGABYTE = 2**20
GIGABYTE = 2**30
LEAST_MEMORY_BYTES = 2 * GIGABYTE
WANTED_HUGEPAGE_BYTES = GIGABYTE
"""What a switch and a generator take on one node, with a margin."""


def _memory(here: Host) -> Answer:
    table = here.roots.proc / "meminfo"
    size, available = kilobytes(table, "MemTotal"), kilobytes(table, "MemAvailable")
    if size is None:
        return unknown(f"{table} does not say it")
    free = "" if available is None else f", {available / GIGABYTE:.1f} GB available"
    evidence = f"{size / GIGABYTE:.1f} GB{free}"
    if size < LEAST_MEMORY_BYTES:
        return warning(evidence, "give the machine 2 GB or more")
    return ok(evidence)


def _nodes(here: Host) -> Answer:
    nodes = numbered(here.roots.nodes, "node")
    if not nodes:
        return unknown("the kernel lists no memory nodes")
    texts, usable = [], []
    for number, folder in nodes:
        cpus = (cpu_list(folder / "cpulist") or frozenset()) & here.usable
        size = kilobytes(folder / "meminfo", f"Node {number} MemTotal")
        known = "memory unknown" if size is None else f"{size / GIGABYTE:.1f} GB"
        texts.append(f"node {number}: CPUs {listed(cpus) or 'none'}, {known}")
        usable += [number] if cpus else []
    evidence = "; ".join(texts)
    balancing = integer(here.roots.proc / "sys" / "kernel" / "numa_balancing")
    if len(usable) > 1 and balancing:
        evidence = f"{evidence}; the kernel moves memory between them while programs run"
        return warning(evidence, "sysctl kernel.numa_balancing=0")
    return ok(evidence)


def _hugepages(here: Host) -> Answer:
    """Look whether enough are free, or could be reserved by a run that has the right to."""
    host = HostMemory(here.roots.sys, here.roots.proc)
    pools = read_pools(host)
    if not pools:
        return failure("this kernel has no hugepages", "use a kernel with CONFIG_HUGETLBFS")
    nodes = sorted({pool.node for pool in pools})
    free = {n: sum(p.free * p.page_bytes for p in pools if p.node == n) for n in nodes}
    usual = min(pool.page_bytes for pool in pools)
    evidence = "; ".join(
        f"node {pool.node}: {pool.free} of {pool.total} pages of {_size(pool.page_bytes)} free"
        for pool in pools
        if pool.total or pool.page_bytes == usual
    )
    if max(free.values()) >= WANTED_HUGEPAGE_BYTES:
        return ok(evidence)
    could = {n: memory for n in nodes if (memory := usable_bytes(n, host)) is not None}
    if not could:
        return unknown(f"{evidence}; how much memory is free is not known")
    node = max(could, key=lambda n: could[n] + free[n])
    evidence = f"{evidence}; {_size(could[node])} more could be reserved on node {node}"
    if could[node] + free[node] < WANTED_HUGEPAGE_BYTES:
        return failure(f"{evidence}, and a run wants 1 GB", "end what holds memory")
    if any(pool.writable for pool in pools):
        return ok(f"{evidence}: a run does so where it needs to, and gives them back")
    pages = WANTED_HUGEPAGE_BYTES // usual
    return failure(f"{evidence}, by root only", f"sudo sysctl vm.nr_hugepages={pages}")


def _mounts(here: Host) -> Answer:
    mounts = text(here.roots.proc / "mounts")
    if mounts is None:
        return unknown("mounts cannot be read")
    rows = [line.split() for line in mounts.splitlines()]
    found = [f"{row[1]} ({row[3]})" for row in rows if len(row) > 3 and row[2] == "hugetlbfs"]
    if not found:
        return absent(
            "none; only guests want one, the switch and tgen do without",
            "mount -t hugetlbfs none /dev/hugepages",
        )
    return ok(", ".join(found))


def _transparent(here: Host) -> Answer:
    folder = here.roots.sys / "kernel" / "mm" / "transparent_hugepage"
    state = text(folder / "enabled")
    if state is None:
        return unknown("the kernel shows no setting for them")
    if "[always]" in state:
        return warning(
            "always: the kernel rearranges memory in the background",
            f"echo madvise > {folder / 'enabled'}",
        )
    return ok(state)


def _partitions(here: Host) -> Answer:
    try:
        able = abilities(here.roots)
    except NotReadyError as error:
        (problem,) = error.problems
        mended = problem.fix if problem.fix in (MOUNT, REMOUNT) else None
        return absent(f"{problem.why}; only testcases with `cache` want it", mended)
    bandwidth = "" if able.bandwidth_percent is None else "; bandwidth, too"
    return ok(f"{able.ways} ways for up to {able.groups - 1} parts, and for all others{bandwidth}")


def _size(size_bytes: int) -> str:
    for unit, name in ((GIGABYTE, "GB"), (MEGABYTE, "MB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.3g} {name}"
    return f"{size_bytes // 1024} kB"


CHECKS = (
    Check("memory", Group.MEMORY, _memory, frozenset({Want.QUIET_CPUS})),
    Check("memory nodes", Group.MEMORY, _nodes, frozenset({Want.QUIET_CPUS})),
    Check("hugepages", Group.MEMORY, _hugepages, frozenset({Want.HUGEPAGES})),
    Check("hugetlbfs", Group.MEMORY, _mounts),
    Check("transparent hugepages", Group.MEMORY, _transparent, frozenset({Want.QUIET_CPUS})),
    Check("cache partitions", Group.MEMORY, _partitions),
)
