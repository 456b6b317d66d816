"""Who uses the CPUs: times of programs with all that they start, and of CPUs, read twice.

A look reads short files of the kernel, and takes some milliseconds; nobody is asked for anything.
Programs are found by their session, which their children inherit: of a server that forks for each
client, the children are what works. What a child used that has ended is told by its parent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vsperf.host.activity import (
    HARD,
    IDLE,
    NICE,
    SOFT,
    STOLEN,
    SYSTEM,
    USER,
    WAITING,
    cpu_ticks,
    ticks_per_second,
)
from vsperf.host.files import Roots, text
from vsperf.host.procfs import SWITCHES
from vsperf.quantities.quantity import UnitError
from vsperf.quantities.units import NANOSECONDS, CpuSet
from vsperf.records.cpu_time import CpuTime, CpuUse, ProgramTime

PARENT_SESSION, OWN_TIMES, WITH_CHILDREN = 3, slice(11, 13), slice(11, 15)
"""Columns of a process's `stat`, counted from its state: the session; user and system time, its
own, and those of children that have ended behind them."""
ALLOWED = re.compile(r"^Cpus_allowed_list:\s*(\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Watched:
    """A program that is looked at."""

    role: str
    name: str
    pid: int
    cpus: tuple[int, ...] = ()
    """Where it was put; where it may run by then is told beside it."""
    session: bool = True
    """Whether all of its session count, which it leads; else the process alone."""
    threads: str = ""
    """A pattern that names begin with of threads that are told one by one, each with its CPUs."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted up to one moment; times are in clock ticks."""

    role: str
    name: str
    cpus: tuple[int, ...]
    user: int
    system: int
    voluntary: int | None
    involuntary: int | None
    placed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Look:
    """All that is looked at, at one moment of the monotonic clock."""

    at_ns: int
    cpus: Mapping[int, Sequence[int]]
    programs: tuple[Counts, ...]

    @classmethod
    def at(cls, watched: Iterable[Watched], roots: Roots) -> Look:
        at_ns, wanted = time.monotonic_ns(), tuple(watched)
        cpus = cpu_ticks(roots.proc / "stat")
        processes = dict(_processes(roots.proc)) if wanted else {}
        found = (one for each in wanted for one in _counted(each, processes, roots.proc))
        return cls(at_ns, cpus, tuple(found))

    def since(
        self, before: Look, instant_ns: int, cpus: Iterable[int], forwarding_cpus: Iterable[int]
    ) -> CpuUse:
        """Return what was used in between, of these CPUs; times count from the instant."""
        earlier = {(one.role, one.name): one for one in before.programs}
        wanted = sorted(set(cpus) & before.cpus.keys() & self.cpus.keys())
        return CpuUse(
            began_ns=before.at_ns - instant_ns,
            ended_ns=self.at_ns - instant_ns,
            programs=tuple(
                _growth(one, then)
                for one in self.programs
                if (then := earlier.get((one.role, one.name))) is not None
            ),
            cpus=tuple(
                found
                for cpu in wanted
                if (found := _cpu(cpu, self.cpus[cpu], before.cpus[cpu])) is not None
            ),
            forwarding_cpus=tuple(sorted(forwarding_cpus)),
        )


def _processes(proc: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of all processes, those that nobody has asked for yet included."""
    for entry in proc.iterdir():
        if entry.name.isdigit() and (columns := _columns(entry)):
            yield int(entry.name), columns


def _columns(folder: Path) -> list[str]:
    columns = (text(folder / "stat") or "").rpartition(")")[2].split()
    return columns if len(columns) > WITH_CHILDREN.stop else []


def _counted(
    watched: Watched, processes: Mapping[int, Sequence[str]], proc: Path
) -> Iterator[Counts]:
    """Yield what a program has used, or each of its threads that is told alone."""
    pids = [
        pid
        for pid, columns in processes.items()
        if pid == watched.pid or (watched.session and int(columns[PARENT_SESSION]) == watched.pid)
    ]
    if not pids:
        return  # it has ended, and somebody has asked for it
    folders = [folder for pid in pids for folder in _tasks(proc / str(pid))]
    if watched.threads:
        yield from _threads(watched, folders)
        return
    times = [int(column) for pid in pids for column in processes[pid][WITH_CHILDREN]]
    # Where somebody was put is only meant: where it may run is what the kernel says.
    seen = {cpu for folder in folders for cpu in _allowed(folder)} if watched.cpus else set()
    yield _counts(watched, watched.name, tuple(sorted(seen)) or watched.cpus, folders, times)


def _threads(watched: Watched, folders: Sequence[Path]) -> Iterator[Counts]:
    """Yield each thread that is told alone, and all others together."""
    alone = re.compile(watched.threads)
    others: list[Path] = []
    for folder in folders:
        name = text(folder / "comm") or ""
        if alone.match(name):
            yield _counts(watched, name, _allowed(folder), [folder], _times(folder))
        else:
            others.append(folder)
    if others:
        times = [one for folder in others for one in _times(folder)]
        name = f"{watched.name}, other threads"
        yield _counts(watched, name, _allowed(others[0]), others, times)


def _counts(
    watched: Watched,
    name: str,
    cpus: tuple[int, ...],
    folders: Iterable[Path],
    times: Sequence[int],
) -> Counts:
    switches: dict[str, int] = {}
    for folder in folders:
        for kind, count in SWITCHES.findall(text(folder / "status") or ""):
            switches[kind] = switches.get(kind, 0) + int(count)
    return Counts(
        watched.role,
        name,
        cpus,
        user=sum(times[::2]),
        system=sum(times[1::2]),
        voluntary=switches.get("voluntary"),
        involuntary=switches.get("nonvoluntary"),
        placed=watched.cpus,
    )


def _times(folder: Path) -> list[int]:
    return [int(column) for column in _columns(folder)[OWN_TIMES]]


def _tasks(folder: Path) -> list[Path]:
    try:
        return sorted((folder / "task").iterdir(), key=lambda entry: int(entry.name))
    except OSError:
        return []


def _allowed(folder: Path) -> tuple[int, ...]:
    found = ALLOWED.search(text(folder / "status") or "")
    try:
        return () if found is None else CpuSet.parse(found[1]).cpus
    except UnitError:
        return ()


def _growth(now: Counts, then: Counts) -> ProgramTime:
    return ProgramTime(
        role=now.role,
        name=now.name,
        cpus=now.cpus,
        user_ns=_ns(_more(now.user, then.user)),
        system_ns=_ns(_more(now.system, then.system)),
        voluntary=_more(now.voluntary, then.voluntary),
        involuntary=_more(now.involuntary, then.involuntary),
        placed=now.placed,
    )


def _more(now: int | None, then: int | None) -> int | None:
    """Return a growth; None where a count has shrunk, as a part of it ended and nobody tells."""
    return None if now is None or then is None or now < then else now - then


def _ns(ticks: int | None) -> int | None:
    return None if ticks is None else ticks * NANOSECONDS // ticks_per_second()


def _cpu(cpu: int, now: Sequence[int], then: Sequence[int]) -> CpuTime | None:
    grown = [
        max(0, b - a) * NANOSECONDS // ticks_per_second() for a, b in zip(then, now, strict=True)
    ]
    if len(grown) <= SOFT:
        return None
    return CpuTime(
        cpu=cpu,
        user_ns=grown[USER] + grown[NICE],
        system_ns=grown[SYSTEM],
        interrupts_ns=grown[HARD],
        soft_ns=grown[SOFT],
        idle_ns=grown[IDLE] + grown[WAITING],
        stolen_ns=grown[STOLEN] if len(grown) > STOLEN else None,
    )
