"""Hugepages: how many there are per node and size, and reserving more for a run.

Programs that take their memory without names in a file system need no hugetlbfs mount, only free
pages. What is missing is added to the pages of the size that the machine uses by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.pages import Ledger, Pool
from vsperf.host.undo import ReturnHugepages
from vsperf.host.workspace import Workspace

SYSFS = Path("/sys")
PROC = Path("/proc")
MEGABYTE = 1 << 20
USUAL_PAGE_BYTES = 2 * MEGABYTE
SPARE_BYTES = 256 * MEGABYTE
"""Ordinary memory that a reservation leaves to everybody else on the node."""
RECLAIMABLE = ("MemFree", "Active(file)", "Inactive(file)", "SReclaimable")


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the kernel shows its memory; tests put trees of their own here."""

    sysfs: Path = SYSFS
    proc: Path = PROC


@dataclass(frozen=True, slots=True)
class Reservation:
    """Pages of one node that a run may count on."""

    node: int
    page_bytes: int
    pages: int
    """How many the run needs."""
    added: int
    """How many of them were not there before."""


def read_pools(machine: Machine | None = None) -> tuple[Pool, ...]:
    """Return all pools of hugepages, by node and size."""
    sysfs = (machine or Machine()).sysfs
    nodes = {
        int(path.name.removeprefix("node")): path / "hugepages"
        for path in (sysfs / "devices/system/node").glob("node[0-9]*")
    }
    found = []
    for node, folder in sorted((nodes or {0: sysfs / "kernel/mm/hugepages"}).items()):
        for pool in folder.glob("hugepages-*kB"):
            size = int(pool.name.removeprefix("hugepages-").removesuffix("kB")) * 1024
            found.append(Pool(node=node, page_bytes=size, folder=pool))
    return tuple(sorted(found, key=lambda pool: (pool.node, pool.page_bytes)))


def usable_bytes(node: int, machine: Machine | None = None) -> int | None:
    """Return the memory of a node that could become hugepages; None when it is not known."""
    machine = machine or Machine()
    own = machine.sysfs / f"devices/system/node/node{node}/meminfo"
    try:
        text = (own if own.exists() else machine.proc / "meminfo").read_text()
    except OSError:
        return None
    amounts = dict(re.findall(r"^(?:Node +\d+ +)?(\S+): +(\d+) kB", text, re.MULTILINE))
    if "MemFree" not in amounts:
        return None
    return sum(int(amounts.get(name, 0)) for name in RECLAIMABLE) * 1024


@contextmanager
def reserve(
    needed_bytes: Mapping[int, int], workspace: Workspace, machine: Machine | None = None
) -> Iterator[tuple[Reservation, ...]]:
    """See to free hugepages for so many bytes per node, for as long as the context lasts.

    Raises `NotReadyError`, with the numbers, when they cannot be had.
    """
    machine = machine or Machine()
    pools = read_pools(machine)
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(
                _reserved(_choose(pools, node, wanted, machine), wanted, workspace, machine)
            )
            for node, wanted in sorted(needed_bytes.items())
            if wanted > 0
        )


def require_memory(needed_bytes: Mapping[int, int], machine: Machine | None = None) -> None:
    """Raise `NotReadyError` when `reserve` could not succeed now; changes nothing."""
    machine = machine or Machine()
    pools = read_pools(machine)
    for node, wanted in sorted(needed_bytes.items()):
        pool = _choose(pools, node, wanted, machine)
        if pool.free < (pages := _pages(wanted, pool)):
            _require(pool, pages, machine)


def _choose(pools: tuple[Pool, ...], node: int, wanted: int, machine: Machine) -> Pool:
    """Return the pool that has enough already, or else the one to add to."""
    own = [pool for pool in pools if pool.node == node]
    if not own:
        raise NotReadyError(
            f"node {node} of this machine has no hugepages",
            why="the kernel shows no pool of them there",
            fix=WITHOUT,
        )
    usual = _usual_page_bytes(machine)
    own.sort(key=lambda pool: pool.page_bytes != usual)
    return next((pool for pool in own if pool.free >= _pages(wanted, pool)), own[0])


WITHOUT = "do without hugepages where the parts of the testbed can, or take another machine"


def _usual_page_bytes(machine: Machine) -> int:
    with suppress(OSError):
        text = (machine.proc / "meminfo").read_text()
        if found := re.search(r"^Hugepagesize: +(\d+) kB", text, re.MULTILINE):
            return int(found[1]) * 1024
    return USUAL_PAGE_BYTES


@contextmanager
def _reserved(
    pool: Pool, wanted_bytes: int, workspace: Workspace, machine: Machine
) -> Iterator[Reservation]:
    pages = _pages(wanted_bytes, pool)
    if pool.free >= pages:
        yield Reservation(pool.node, pool.page_bytes, pages, added=0)
        return
    _require(pool, pages, machine)
    path = workspace.folder / f"hugepages-{pool.node}-{pool.page_bytes}.json"
    with workspace.undoing(ReturnHugepages(ledger=path)):
        with pool.locked():
            added = _add(pool, pages, path, machine)
        if (free := pool.free) < pages:
            raise NotReadyError(
                f"{_bytes(wanted_bytes)} of hugepages are needed on node {pool.node}, "
                f"and {_bytes(free * pool.page_bytes)} are free",
                why=f"the kernel gave {added} of {pages - free + added} more pages; its memory is "
                "in pieces that are too small",
                fix="end programs that use much memory, or start the machine anew; "
                "`hugepages=` on the kernel's command line reserves them at boot",
            )
        yield Reservation(pool.node, pool.page_bytes, pages, added)


def _require(pool: Pool, pages: int, machine: Machine) -> None:
    """Refuse what cannot succeed, before anything is changed."""
    free = pool.free
    missing = (pages - free) * pool.page_bytes
    what = (
        f"{_bytes(pages * pool.page_bytes)} of hugepages are needed on node {pool.node}, "
        f"and {_bytes(free * pool.page_bytes)} are free"
    )
    usable = usable_bytes(pool.node, machine)
    if usable is not None and usable < missing + SPARE_BYTES:
        raise NotReadyError(
            what,
            why=f"{_bytes(missing)} more would have to come from {_bytes(usable)} of memory, of "
            f"which {_bytes(SPARE_BYTES)} are left to others",
            fix="end programs that use much memory or hugepages, or ask for fewer ports, queues "
            "or a shorter frame",
        )
    if not pool.writable:
        total = pool.total + pages - free
        raise NotReadyError(
            what,
            why="only root can reserve more",
            fix=f"run vsperf as root, or: echo {total} | sudo tee {pool.folder}/nr_hugepages",
        )


def _add(pool: Pool, pages: int, path: Path, machine: Machine) -> int:
    """Add what is missing to the pool and return how many pages the kernel gave."""
    before, missing = pool.total, max(0, pages - pool.free)
    ledger = Ledger(pool=pool, before=before, wanted=missing).write(path)
    pool.resize(before + missing)
    if pool.total < before + missing:
        with suppress(OSError):
            (machine.proc / "sys/vm/compact_memory").write_text("1\n")
        pool.resize(before + missing)
    added = pool.total - before
    ledger.with_(added=added).write(path)
    return added


def _pages(size_bytes: int, pool: Pool) -> int:
    return -(-size_bytes // pool.page_bytes)


def _bytes(number: int) -> str:
    return f"{number // MEGABYTE} MB"
