"""Processes of this machine as the kernel shows them: which one is meant, and whether it runs.

A process id is used again after its owner has ended. So a process is named by its id and the time
at which it started, or by a mark in its environment that its children inherit.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from vsperf.host.files import Roots
from vsperf.waits import ended, sleep

RESIDENT = 21
"""Pages in memory: which one of what the kernel says of a process, from its state on."""
PROC = Path("/proc")
MARK = "VSPERF_PROCESS"
"""Environment variable that says to which part of which deployment a process belongs."""
ENDED = frozenset("ZX")
"""States in which a process no longer runs, though its parent has not asked for it yet."""
STOPPED, TRACED = "T", "t"
"""States in which a process waits for a signal, or for whoever traces it, to go on."""
EXITING = 0x4
"""The flag of a process that ends (PF_EXITING)."""
KILLED = 1 << (signal.SIGKILL - 1)
"""A signal that waits for a process to run: then it ends."""
HELD_S = 1.0
"""A debugger holds a program for good; who watches its calls, as strace does, for a moment each."""
SWITCHES = re.compile(r"^(voluntary|nonvoluntary)_ctxt_switches:\s*(\d+)$", re.MULTILINE)
"""How often a process or thread let its CPU go, and lost it."""
POLL_S = 0.005
LISTENING = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
"""Lists of sockets of the kernel → the state of one that anybody can call."""


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it does not run."""
    state, *rest = _status(pid)
    return None if state in ENDED else int(rest[18])


def is_stopped(pid: int) -> bool:
    """Return whether a process was halted by a signal, such as SIGSTOP, or by a debugger."""
    if (state := _status(pid)[0]) != TRACED:
        return state == STOPPED
    before, until = _switches(pid), time.monotonic() + HELD_S
    while time.monotonic() < until:
        sleep(POLL_S)  # between two looks at a condition, never instead of one
        if _status(pid)[0] != TRACED or _switches(pid) != before:
            return False
    return True


def is_ending(pid: int) -> bool:
    """Return whether a process is on its way out: killed, and it may have closed its files."""
    _, *rest = _status(pid)
    return bool(rest) and bool(int(rest[5]) & EXITING or int(rest[27]) & KILLED)


def is_running(pid: int, started: int) -> bool:
    """Return whether this very process runs, and not another one that got its number."""
    return start_ticks(pid) == started


def boot_id() -> str | None:
    """Return the name that the kernel gave to this boot; clock ticks and ids mean it."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None


def marked(mark: str) -> tuple[int, ...]:
    """Return the processes with this mark in their environment, those that ended left out."""
    wanted = f"{MARK}={mark}".encode()
    return tuple(pid for pid in _pids() if wanted in _environment(pid) and start_ticks(pid))


def marked_below(prefix: str) -> tuple[int, ...]:
    """Return the processes whose mark begins with `prefix`."""
    wanted = f"{MARK}={prefix}".encode()
    return tuple(
        pid
        for pid in _pids()
        if any(item.startswith(wanted) for item in _environment(pid)) and start_ticks(pid)
    )


def own_marks() -> Iterator[tuple[int, str]]:
    """Yield each process of this user that has a mark, with the mark; those that ended left out.

    In a container numbers mean other processes, and so do the names of its deployments.
    """
    begin, numbers = f"{MARK}=".encode(), (PROC / "self/ns/pid").stat().st_ino
    for pid in _pids():
        with suppress(OSError):
            here = (PROC / str(pid) / "ns/pid").stat().st_ino == numbers
            if not here or (PROC / str(pid)).stat().st_uid != os.geteuid():
                continue
            for item in _environment(pid):
                if item.startswith(begin) and start_ticks(pid):
                    yield pid, os.fsdecode(item.removeprefix(begin))


def resident_bytes(pid: int) -> int | None:
    """Return how much memory a process has, large pages apart; None where there is no such one."""
    told = _status(pid)
    return int(told[RESIDENT]) * os.sysconf("SC_PAGESIZE") if len(told) > RESIDENT else None


def mapped_files(pid: int) -> frozenset[str]:
    """Return the names of the files that a process has mapped, such as its libraries."""
    try:
        lines = (PROC / str(pid) / "maps").read_text(errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(Path(line.split(maxsplit=5)[5]).name for line in lines if "/" in line)


def left_in_session(leader: int, since: int) -> tuple[int, ...]:
    """Return what a process that has ended left running in its session, whatever that is called.

    Programs that name their processes anew write over the environment, and so over our mark. The
    kernel gives the number of a session to nobody while one of it runs: where a process has that
    number, all of the session have ended, and nothing of another's is named here.
    """
    if start_ticks(leader) is not None:
        return ()
    found = []
    for pid in _pids():
        state, *rest = _status(pid)
        if state not in ENDED and int(rest[2]) == leader and int(rest[18]) >= since:
            found.append(pid)
    return tuple(found)


def in_session(leader: int, proc: Path = PROC) -> tuple[int, ...]:
    """Return the processes of a session: the one that leads it, and all that it started."""
    found = []
    for entry in os.scandir(proc):
        if entry.name.isdigit():
            state, *rest = _status(int(entry.name), proc)
            if state not in ENDED and int(rest[2]) == leader:
                found.append(int(entry.name))
    return tuple(sorted(found))


def end_all(find: Callable[[], tuple[int, ...]], patience_s: float, kill_s: float = 1.0) -> None:
    """End all processes that `find` returns: ask with SIGTERM, then SIGKILL.

    Who stands still hears of it only when he goes on. Raises OSError when one of them still runs
    afterwards.
    """
    for number, wait_s in ((signal.SIGTERM, patience_s), (signal.SIGKILL, kill_s)):
        deadline = time.monotonic() + wait_s
        for pid in (found := find()):
            with suppress(ProcessLookupError, PermissionError):  # the others are told all the same
                os.kill(pid, number)
                os.kill(pid, signal.SIGCONT)
        while found and time.monotonic() < deadline:
            for pid in found:
                ended(pid, deadline - time.monotonic())
            found = find()
        if not found:
            return
    raise OSError(f"process {', '.join(str(pid) for pid in found)} does not end")


def _status(pid: int, proc: Path = PROC) -> list[str]:
    """Return what the kernel says of a process, its state first; of one that is gone, an X."""
    try:
        text = (proc / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return ["X"]
    return text.rpartition(")")[2].split()


def _switches(pid: int) -> list[tuple[str, str]]:
    """Return how often a process was switched by now: it did not run where that stays."""
    try:
        text = (PROC / str(pid) / "status").read_text(errors="replace")
    except OSError:
        return []
    return SWITCHES.findall(text)


def _pids() -> Iterator[int]:
    for entry in os.scandir(PROC):
        if entry.name.isdigit():
            yield int(entry.name)


def _environment(pid: int) -> list[bytes]:
    try:
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


LISTENS = 0x10000
"""The flag of a socket that is called at."""
UNIX_SOCKET = re.compile(r"\S+: \S+ \S+ ([0-9A-F]{8}) \S+ \S+ +\d+ (.+)")
"""A line of the kernel's list: flags and path. Paths of others may hold the ends of lines."""


def is_in(pid: int, network: Path, proc: Path = PROC) -> bool:
    """Whether a process has come into a network: before that it sees who listens elsewhere."""
    try:
        return (proc / str(pid) / "ns" / "net").stat().st_ino == network.stat().st_ino
    except OSError:
        return False


def listens(pid: int | str, port: int, proc: Path = PROC) -> bool:
    """Whether a socket can be called at that port, in the network of a process.

    `thread-self` is the thread that asks, which may have come into another network than its own.
    """
    for table, state in LISTENING.items():
        try:
            lines = (proc / str(pid) / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for row in (line.split() for line in lines):
            if row[3] == state and int(row[1].rpartition(":")[2], 16) == port:
                return True
    return False


def all_listened_at(paths: Collection[Path], roots: Roots | None = None) -> bool:
    """Say whether a program of this network listens at each of these sockets."""
    return listened_at(paths, roots) == set(paths)


def listened_at(paths: Iterable[Path], roots: Roots | None = None) -> set[Path]:
    """Return those of these sockets at which a program of this network listens.

    The kernel tells of no program in a network apart, such as OVS. Anybody can have a socket whose
    name looks like several lines of its list, so the sockets themselves have to be there, too.
    """
    try:
        listed = ((roots or Roots()).proc / "net" / "unix").read_text(errors="replace")
    except OSError:
        return set()
    rows = (UNIX_SOCKET.fullmatch(line) for line in listed.split("\n"))
    found = {row[2] for row in rows if row is not None and int(row[1], 16) & LISTENS}
    return {path for path in paths if str(path) in found and path.is_socket()}
