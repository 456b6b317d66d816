"""Hugepages: how many there are per node and size, and reserving what a run may count on.

Programs that take their memory without names in a file system need no hugetlbfs mount, only free
pages that no other run counts on. What is missing is added to the pages of the size that the
machine uses by itself.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from vsperf.errors import NotReadyError
from vsperf.host.claims import Ledger, Pool, release
from vsperf.host.places import make_root, require_own, usual_folders
from vsperf.host.undo import ReturnHugepages
from vsperf.host.workspace import ATTEMPTS, LeftBehindError, Workspace

SYSFS = Path("/sys")
PROC = Path("/proc")
MEGABYTE = 1 << 20
USUAL_PAGE_BYTES = 2 * MEGABYTE
SPARE_BYTES = 256 * MEGABYTE
"""Ordinary memory that a reservation leaves to everybody else on the node."""
RECLAIMABLE = ("MemFree", "Active(file)", "Inactive(file)", "SReclaimable")


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Where the kernel shows its memory; tests put trees of their own here."""

    sysfs: Path = SYSFS
    proc: Path = PROC

    def ledger(self, pool: Pool) -> Path:
        """Return where runs write down what they claim, wherever their workspaces are."""
        folder = usual_folders()[0] if self.sysfs == SYSFS else self.sysfs.parent / "run"
        return folder / pool.ledger_name

    def available(self, pool: Pool) -> int:
        """Return how many pages of a pool nobody uses or counts on; below 0, how many lack."""
        return self.written(pool).available(pool)

    def written(self, pool: Pool) -> Ledger:
        """Return the ledger of a pool; raises `LeftBehindError` where it cannot be read.

        A folder of others in its place holds none, and is refused as it is for a deployment.
        """
        path = self.ledger(pool)
        require_own(path.parent)
        with LeftBehindError.if_refused(
            "it cannot be told which hugepages other runs count on, and how many were added",
            fix=f"let no run go on, remove {path}, then: vsperf clean",
        ):
            return Ledger.of(path, pool)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Pages of one node that a run may count on."""

    node: int
    page_bytes: int
    pages: int
    """How many the run needs."""
    added: int
    """How many of them were not there before."""


def read_pools(host: HostMemory | None = None) -> tuple[Pool, ...]:
    """Return all pools of hugepages, by node and size."""
    sysfs = (host or HostMemory()).sysfs
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


def usable_bytes(node: int, host: HostMemory | None = None) -> int | None:
    """Return the memory of a node that could become hugepages; None when it is not known."""
    host = host or HostMemory()
    own = host.sysfs / f"devices/system/node/node{node}/meminfo"
    try:
        text = (own if own.exists() else host.proc / "meminfo").read_text()
    except OSError:
        return None
    amounts = dict(re.findall(r"^(?:Node +\d+ +)?(\S+): +(\d+) kB", text, re.MULTILINE))
    if "MemFree" not in amounts:
        return None
    return sum(int(amounts.get(name, 0)) for name in RECLAIMABLE) * 1024


@contextmanager
def reserve(
    needed_bytes: Mapping[int, int], workspace: Workspace, host: HostMemory | None = None
) -> Iterator[tuple[Reservation, ...]]:
    """See to free hugepages for so many bytes per node, for as long as the context lasts.

    Raises `NotReadyError`, with the numbers, when they cannot be had.
    """
    host = host or HostMemory()
    pools = read_pools(host)
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(
                _reserved(_choose(pools, node, wanted, host), wanted, workspace, host)
            )
            for node, wanted in sorted(needed_bytes.items())
            if wanted > 0
        )


def require_memory(needed_bytes: Mapping[int, int], host: HostMemory | None = None) -> None:
    """Raise `NotReadyError` when `reserve` could not succeed now; changes nothing."""
    host = host or HostMemory()
    pools = read_pools(host)
    for node, wanted in sorted(needed_bytes.items()):
        pool = _choose(pools, node, wanted, host)
        if host.available(pool) < (pages := _pages(wanted, pool)):
            _require(pool, pages, host)


@dataclass(frozen=True, slots=True)
class Remainder:
    """What runs that have ended added to a pool and could not take back while others used it."""

    pool: Pool
    ledger: Path
    pages: int | None
    """None where the ledger cannot be read."""

    @property
    def text(self) -> str:
        if self.pages is None:
            return "ledger of hugepages"
        return f"{self.pages} hugepages that runs which have ended added"

    def take_back(self) -> None:
        """Take back what nobody uses by now; the rest stays written down.

        Raises OSError where nothing can be told.
        """
        release(self.pool, self.ledger)


def remainders(host: HostMemory | None = None) -> tuple[Remainder, ...]:
    """Return what could be taken back now, of pools on which no run counts any more."""
    host = host or HostMemory()
    found = []
    for pool in read_pools(host):
        path = host.ledger(pool)
        try:
            ledger = Ledger.of(path, pool)
        except OSError:
            found += [Remainder(pool, path, None)] if _present(path) else []
            continue
        pages = min(ledger.added, pool.free)
        if _present(path) and not ledger.claims and (pages or not ledger.added):
            found.append(Remainder(pool, path, pages))
    return tuple(found)


def _present(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder of somebody else's
        return False


def _choose(pools: tuple[Pool, ...], node: int, wanted: int, host: HostMemory) -> Pool:
    """Return the pool that has enough already, or else the one to add to."""
    own = [pool for pool in pools if pool.node == node]
    if not own:
        raise NotReadyError(
            f"node {node} of this machine has no hugepages",
            why="the kernel shows no pool of them there",
            fix=WITHOUT,
        )
    usual = _usual_page_bytes(host)
    own.sort(key=lambda pool: pool.page_bytes != usual)
    enough = (pool for pool in own if host.available(pool) >= _pages(wanted, pool))
    return next(enough, own[0])


WITHOUT = "do without hugepages where the parts of the testbed can, or take another machine"


def _usual_page_bytes(host: HostMemory) -> int:
    with suppress(OSError):
        text = (host.proc / "meminfo").read_text()
        if found := re.search(r"^Hugepagesize: +(\d+) kB", text, re.MULTILINE):
            return int(found[1]) * 1024
    return USUAL_PAGE_BYTES


@contextmanager
def _reserved(
    pool: Pool, wanted_bytes: int, workspace: Workspace, host: HostMemory
) -> Iterator[Reservation]:
    pages, path = _pages(wanted_bytes, pool), host.ledger(pool)
    claim = workspace.folder / f"hugepages-{secrets.token_hex(3)}"
    undo = ReturnHugepages(ledger=path, pool=pool, claim=claim)

    def grows(before: int, after: int) -> None:
        becomes(undo.model_copy(update={"grown": (before, after)}))

    with workspace.undoing(undo) as becomes:
        with pool.locked():
            added = _claim(pool, pages, claim, host, grows)
        yield Reservation(pool.node, pool.page_bytes, pages, added)


def _claim(
    pool: Pool, pages: int, claim: Path, host: HostMemory, grows: Callable[[int, int], None]
) -> int:
    """Claim pages, add those that are missing, and return how many were; the pool is locked.

    `grows` is told of it before the pool grows, and by how much.
    """
    path = host.ledger(pool)
    ledger = host.written(pool)
    before = pool.total
    missing = pages - ledger.available(pool)
    if missing > 0:
        _require(pool, pages, host)
        grows(before, before + missing)
    ledger = _write_first(ledger.with_claim(claim, pages), path, pool)
    if missing > 0:
        ledger = ledger.resize(pool, before + missing, path)
        if pool.total < before + missing:
            with suppress(OSError):
                (host.proc / "sys/vm/compact_memory").write_text("1\n")
            ledger = ledger.resize(pool, before + missing, path)
    added = pool.total - before
    if (found := ledger.without(claim).seen(pool).available(pool)) < pages:
        raise NotReadyError(
            _shortage(pool, pages, found),
            why=f"the kernel gave {added} of {missing} more pages; "
            + (
                "others took them at once"
                if added >= missing
                else "its memory is in pieces that are too small"
            ),
            fix="end programs that use much memory, or start the machine anew; "
            "`hugepages=` on the kernel's command line reserves them at boot",
        )
    return added


def _write_first(ledger: Ledger, path: Path, pool: Pool) -> Ledger:
    """Write a ledger down in a folder that whoever leaves it last removes."""
    with NotReadyError.if_refused(
        f"cannot write down in {path} which hugepages this run counts on",
        fix=f"remove {path}, or run as its owner",
    ):
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError):  # others come and go at this moment
                make_root(path.parent)
                return ledger.write(path, pool)
        return ledger.write(path, pool)


def _require(pool: Pool, pages: int, host: HostMemory) -> None:
    """Refuse what cannot succeed, before anything is changed."""
    available = host.available(pool)
    missing = (pages - available) * pool.page_bytes
    what = _shortage(pool, pages, available)
    usable = usable_bytes(pool.node, host)
    if usable is not None and usable < missing + SPARE_BYTES:
        raise NotReadyError(
            what,
            why=f"{_bytes(missing)} more would have to come from {_bytes(usable)} of memory, of "
            f"which {_bytes(SPARE_BYTES)} are left to others",
            fix="end programs that use much memory or hugepages, or ask for fewer ports, queues "
            "or a shorter frame",
        )
    if not pool.writable:
        total = pool.total + pages - available
        raise NotReadyError(
            what,
            why="only root can reserve more",
            fix=f"run vsperf as root, or: echo {total} | sudo tee {pool.folder}/nr_hugepages",
        )


def _shortage(pool: Pool, pages: int, available: int) -> str:
    free = pool.free
    available = max(0, available)
    text = (
        f"{_bytes(pages * pool.page_bytes)} of hugepages are needed on node {pool.node}, "
        f"and {_bytes(available * pool.page_bytes)} are free"
    )
    if available < free:
        text += f" that no other run counts on, of {_bytes(free * pool.page_bytes)}"
    return text


def _pages(size_bytes: int, pool: Pool) -> int:
    return -(-size_bytes // pool.page_bytes)


def _bytes(number: int) -> str:
    return f"{number // MEGABYTE} MB"
