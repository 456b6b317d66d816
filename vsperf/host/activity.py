"""What the machine is doing: time of CPUs and of processes, read twice and compared."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from vsperf.host.files import Roots

USER, NICE, SYSTEM, IDLE, WAITING, HARD, SOFT, STOLEN = range(8)
"""Columns of a CPU's line in /proc/stat."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process and the CPU time that it has used, in clock ticks."""

    pid: int
    parent: int
    name: str
    ticks: int
    ended_ticks: int = 0
    """Of its children that have ended, and of theirs: a kernel adds it as they do."""


@dataclass(frozen=True, slots=True)
class Activity:
    """All counters at one moment; differences mean something."""

    time_ns: int
    cpus: Mapping[int, tuple[int, ...]]
    """Clock ticks of each CPU by what it did, as in /proc/stat."""
    processes: Mapping[int, Process]

    @classmethod
    def read(cls, roots: Roots) -> Activity:
        return cls(time.monotonic_ns(), cpu_ticks(roots.proc / "stat"), _processes(roots.proc))


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one CPU a process used."""

    pid: int
    name: str
    ppm: int

    def __str__(self) -> str:
        return f"{self.name} ({self.pid}) {self.ppm / 10_000:.0f} %"


def stolen_ppm(before: Activity, after: Activity, cpus: frozenset[int]) -> int | None:
    """Return the share of time that a hypervisor gave to others; None where it is not counted."""
    total = stolen = 0
    for cpu in cpus & before.cpus.keys() & after.cpus.keys():
        spent = [b - a for a, b in zip(before.cpus[cpu], after.cpus[cpu], strict=False)]
        if len(spent) <= STOLEN:
            return None
        total += sum(spent[: STOLEN + 1])  # a guest's time is in the user's already
        stolen += spent[STOLEN]
    return stolen * 1_000_000 // total if total > 0 else None


def taken_ppm(before: Activity, after: Activity, cpus: frozenset[int], own: int) -> int | None:
    """Return how much of one CPU others took of some, a hypervisor included; None if not counted.

    By what the CPUs did, so that programs which have ended or have just begun count, too. What this
    process and its children used is not among it.
    """
    busy = Fraction(0)
    known = cpus & before.cpus.keys() & after.cpus.keys()
    ticks = 0
    for cpu in known:
        spent = [b - a for a, b in zip(before.cpus[cpu], after.cpus[cpu], strict=False)]
        total = sum(spent[: STOLEN + 1])
        rest = sum(spent[column] for column in (IDLE, WAITING) if column < len(spent))
        if total > 0:
            ticks = max(ticks, total)
            busy += Fraction(total - rest, total)
    if not ticks:
        return None
    ours = sum(
        process.ticks - before.processes[pid].ticks
        for pid, process in after.processes.items()
        if own in (pid, process.parent) and pid in before.processes
    )
    return max(0, int((busy - Fraction(ours, ticks)) * 1_000_000))


def competitors(before: Activity, after: Activity, own: int, ticks_per_s: int) -> tuple[Share, ...]:
    """Return the processes that used CPU time in between, the busiest first.

    This process, its ancestors' waiting and its children are not among them.
    """
    elapsed = (after.time_ns - before.time_ns) * ticks_per_s
    shares = []
    for pid, process in after.processes.items():
        if own in (pid, process.parent) or elapsed <= 0:
            continue
        earlier = before.processes.get(pid)
        if earlier is None:
            continue
        ppm = (process.ticks - earlier.ticks) * 10**9 * 1_000_000 // elapsed
        if ppm > 0:
            shares.append(Share(pid, process.name, ppm))
    return tuple(sorted(shares, key=lambda share: (-share.ppm, share.pid)))


def starters(before: Activity, after: Activity, own: int, ticks_per_s: int) -> tuple[Share, ...]:
    """Return what programs that began or ended in between used, by who started them.

    That is a program that was there all the time: a compiler counts for make. Programs of this
    process are not among them.
    """
    elapsed = (after.time_ns - before.time_ns) * ticks_per_s
    known = {**after.processes, **before.processes}
    ticks: dict[int, int] = {}
    for pid, process in known.items():
        now, then = after.processes.get(pid), before.processes.get(pid)
        if now is not None and then is not None:
            ticks[pid] = ticks.get(pid, 0) + now.ended_ticks - then.ended_ticks
            continue
        chain = [process]
        while (parent := chain[-1].parent) in known and len(chain) < len(known):
            if parent in before.processes and parent in after.processes:
                used = process.ticks + process.ended_ticks  # that of before is no part of between
                ticks[parent] = ticks.get(parent, 0) + (used if then is None else -used)
                break
            chain.append(known[parent])
    shares = [
        Share(pid, known[pid].name, one * 10**9 * 1_000_000 // elapsed)
        for pid, one in ticks.items()
        if pid != own and one > 0 and elapsed > 0
    ]
    return tuple(sorted(shares, key=lambda share: (-share.ppm, share.pid)))


def ticks_per_second() -> int:
    """Return the unit of the kernel's CPU times."""
    return os.sysconf("SC_CLK_TCK")


def cpu_ticks(path: Path) -> dict[int, tuple[int, ...]]:
    """Return the clock ticks of each CPU by what it did; `path` is that of /proc/stat."""
    found = {}
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    for line in lines:
        if not line.startswith("cpu"):
            break  # they come first, and what follows is long
        name, *values = line.split()
        if name[3:].isdigit():
            found[int(name[3:])] = tuple(int(value) for value in values)
    return found


def _processes(proc: Path) -> dict[int, Process]:
    found = {}
    try:
        names = [entry.name for entry in os.scandir(proc) if entry.name.isdigit()]
    except OSError:
        return {}
    for name in names:
        try:
            text = (proc / name / "stat").read_text(errors="replace")
        except OSError:
            continue  # it has ended
        beginning, _, rest = text.rpartition(")")
        columns = rest.split()
        if len(columns) > 12:
            ticks = int(columns[11]) + int(columns[12])
            ended = sum(int(column) for column in columns[13:15])
            title = beginning.partition("(")[2]
            found[int(name)] = Process(int(name), int(columns[1]), title, ticks, ended)
    return found
