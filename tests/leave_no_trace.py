"""What a test may leave behind on the machine: nothing, and this finds it.

Only traces that can be vsperf's are looked at: descendants of the test process, and names that
begin with `vsperf` at the places where a run puts things. Other programs on the machine come and
go unseen, and so do things whose name says that another process owns them, as long as it lives:
tests run side by side.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from vsperf.host.places import usual_folders, workspaces

MARK = "vsperf"
"""Every socket folder, hugepage file, namespace and link of a run begins with this."""
PR_SET_CHILD_SUBREAPER = 36
OWNED = re.compile(MARK + r"-(?:[a-z]+-)?(\d+)-")
"""Names of running things hold the process that made them, such as vsperf-4711-a0b1c2."""
TAP = re.compile(r"vsp[0-9a-f]{6}-\d+-\d+")
"""Taps have short names, and a label that says who made them."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where traces are looked for; tests of this module put their own."""

    run: tuple[Path, ...] = (
        *(Path("/run"), Path("/run/vsperf"), Path("/run/dpdk")),
        Path("/dev/shm"),
    )
    """Folders that hold sockets, run directories and shared memory named with the mark."""
    hugepages: tuple[Path, ...] = tuple(sorted(Path("/dev").glob("hugepages*")))
    namespaces: Path = Path("/run/netns")
    links: Path = Path("/sys/class/net")


def adopt_orphans() -> None:
    """Make the kernel hand orphaned descendants to this process, so that they stay findable.

    A daemon that a test forgot would otherwise become a child of init, and look like anybody's.
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> frozenset[int]:
    """Return the processes that this one has started or adopted."""
    return frozenset(process.pid for process in psutil.Process().children())


def own_workspaces(roots: tuple[Path, ...] | None = None) -> frozenset[str]:
    """Return the folders of this process's deployments where those of users are."""
    found = workspaces(usual_folders() if roots is None else roots)
    return frozenset(str(path) for path in found if f"-{os.getpid()}-" in path.name)


def snapshot(
    places: Places, own: Path | None = None, older: frozenset[int] = frozenset()
) -> frozenset[str]:
    """Return all traces that are there now, each as a line for people.

    `own` is a folder of the test itself, in which only sockets count: files may stay there. What
    `older` children of this process start is theirs: a browser that several tests share keeps
    starting helpers for the next page.
    """
    marked = itertools.chain(
        (f"run directory or socket {path}" for path in _marked(places.run)),
        (f"hugepage file {path}" for path in _marked(places.hugepages)),
        (f"network namespace {path.name}" for path in _marked([places.namespaces])),
        (f"network link {path.name}" for path in _marked([places.links])),
        (f"network link {path.name}" for path in _taps(places.links)),
    )
    sockets = (f"socket {path}" for path in _sockets(own)) if own else ()
    return frozenset(itertools.chain(_processes(older), marked, sockets))


def networks(places: Places | None = None) -> list[str]:
    """Return the network namespaces of our own runs, and of those that are gone."""
    return sorted(path.name for path in _marked([(places or Places()).namespaces]))


def left_behind(
    before: frozenset[str], look: Callable[[], frozenset[str]], patience_s: float = 10.0
) -> list[str]:
    """Return what appeared since `before` and does not vanish within `patience_s`."""
    deadline = time.monotonic() + patience_s
    while (new := look() - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    return sorted(new)


def _processes(older: frozenset[int]) -> Iterator[str]:
    young = (child for child in psutil.Process().children() if child.pid not in older)
    for process in itertools.chain.from_iterable(map(_family, young)):
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                yield f"process {process.pid}: {' '.join(process.cmdline()) or process.name()}"
        except psutil.NoSuchProcess:
            continue


def _family(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _marked(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        try:
            found = [path for path in folder.glob(f"{MARK}*") if path.name != MARK]
        except OSError:
            continue  # not there, or not ours to see
        yield from (path for path in found if not _somebody_elses(path.name))


def _taps(links: Path) -> Iterator[Path]:
    for path in links.glob("vsp*"):
        try:
            label = (path / "ifalias").read_text()
        except OSError:
            label = ""
        if TAP.fullmatch(path.name) and not _somebody_elses(label):
            yield path


def _somebody_elses(name: str) -> bool:
    """Whether a living process that does not descend from this one owns what is called so."""
    owner = OWNED.match(name)
    if owner is None:
        return False
    try:
        process = psutil.Process(int(owner[1]))
        return os.getpid() not in {process.pid, *(parent.pid for parent in process.parents())}
    except psutil.NoSuchProcess:
        return False


def _sockets(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_socket())
