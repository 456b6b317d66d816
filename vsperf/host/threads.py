"""Polling threads as the kernel sees them: what kept each of them from running.

A look reads three small files per thread and the times of the CPUs, and no process is asked for
anything. It is made before a trial and after it, never while frames are sent: vsperf may run on
the CPU of the generator.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vsperf.host.activity import STOLEN, cpu_ticks, ticks_per_second
from vsperf.host.files import Roots
from vsperf.host.procfs import in_session
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.threads import ThreadActivity

INVOLUNTARY = re.compile(r"^nonvoluntary_ctxt_switches:\s*(\d+)$", re.MULTILINE)
LONGEST = 16384
"""Bytes; a thread's `status` has some 1500."""
STARTED, CPU = 19, 36
"""Columns of a thread's `stat`, counted from its state."""


@dataclass(frozen=True, slots=True)
class Polling:
    """Which threads of a program never sleep, as its driver knows them."""

    part: str
    """Whose they are, for the record."""
    names: str
    """A pattern that their names begin with; empty for all threads of a program that sleeps where
    it has to wait, those of its children included."""
    forwards: bool = True
    """Whether a switch forwards by them; else the kernel does, which they tell how."""


LCORES = r"(lcore|rte|dpdk)-worker-?\d"
"""How DPDK names the threads of its lcores, but for the main one; each of three by its age."""


@dataclass(frozen=True, slots=True)
class Thread:
    """One polling thread."""

    part: str
    name: str
    folder: Path
    """In /proc."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was counted for a thread up to one moment; differences mean something."""

    started: int
    """In clock ticks since boot: a thread's number is used again after its end."""
    cpu: int
    delay_ns: int | None
    involuntary: int | None
    steal_ns: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """All polling threads at one moment; None stands for one that has ended."""

    threads: Mapping[Thread, Seen | None]

    @classmethod
    def at(cls, threads: Iterable[Thread], roots: Roots) -> Look:
        wanted = tuple(threads)
        ticks = cpu_ticks(roots.proc / "stat") if wanted else {}
        return cls({thread: _seen(thread.folder, ticks) for thread in wanted})

    def since(self, before: Look) -> tuple[ThreadActivity, ...]:
        """Return what was counted in between, for each thread that there was before."""
        return tuple(
            _growth(thread, then, self.threads.get(thread))
            for thread, then in before.threads.items()
        )


def threads_of(polling: Polling, pid: int, roots: Roots) -> tuple[Thread, ...]:
    """Return the polling threads of a process, by the order of their numbers; none of a dead one.

    They are looked for each time: a switch makes others when its ports change.
    """
    wanted, found = re.compile(polling.names), []
    pids = (pid,) if polling.names else in_session(pid, roots.proc)
    for folder in (task for one in pids for task in _tasks(one, roots)):
        name = (_text(folder / "comm") or "").rstrip("\n")
        if wanted.match(name):
            found.append(Thread(polling.part, name, folder))
    return tuple(found)


def waited_for_cpu_ns(pid: int, roots: Roots) -> int:
    """Return how long a process could have run and got no CPU: the longest of its threads.

    It is 0 where the process has ended, or the kernel does not count it.
    """
    delays = (_delay_ns(_text(folder / "schedstat")) for folder in _tasks(pid, roots))
    return max((one for one in delays if one is not None), default=0)


def _tasks(pid: int, roots: Roots) -> list[Path]:
    """Return the folders of the threads of a process by their numbers; none of a dead one."""
    tasks = roots.proc / str(pid) / "task"
    try:
        return sorted(tasks.iterdir(), key=lambda entry: int(entry.name))
    except OSError:
        return []


def _seen(folder: Path, ticks: Mapping[int, tuple[int, ...]]) -> Seen | None:
    columns = (_text(folder / "stat") or "").rpartition(")")[2].split()
    if len(columns) <= CPU:
        return None
    cpu = int(columns[CPU])
    switches = INVOLUNTARY.search(_text(folder / "status") or "")
    return Seen(
        started=int(columns[STARTED]),
        cpu=cpu,
        delay_ns=_delay_ns(_text(folder / "schedstat")),
        involuntary=None if switches is None else int(switches[1]),
        steal_ns=_steal_ns(ticks.get(cpu, ())),
    )


def _delay_ns(schedstat: str | None) -> int | None:
    """Return the time in the run queue; a kernel that does not count it says 0 to everything."""
    numbers = [int(word) for word in (schedstat or "").split()]
    return numbers[1] if len(numbers) > 1 and any(numbers) else None


def _steal_ns(ticks: tuple[int, ...]) -> int | None:
    return ticks[STOLEN] * NANOSECONDS // ticks_per_second() if len(ticks) > STOLEN else None


def _growth(thread: Thread, then: Seen | None, now: Seen | None) -> ThreadActivity:
    activity = ThreadActivity(part=thread.part, name=thread.name)
    if then is None or now is None or then.started != now.started:
        return activity
    stayed = then.cpu == now.cpu
    return activity.model_copy(
        update={
            "cpu": now.cpu if stayed else None,
            "delay_ns": _difference(now.delay_ns, then.delay_ns),
            "involuntary": _difference(now.involuntary, then.involuntary),
            "steal_ns": _difference(now.steal_ns, then.steal_ns) if stayed else None,
        }
    )


def _difference(now: int | None, then: int | None) -> int | None:
    return None if now is None or then is None else now - then


def _text(path: Path) -> str | None:
    """Return a short file of the kernel, which gives all of it at once; None if it is not there."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(file, LONGEST).decode(errors="replace")
        finally:
            os.close(file)
    except OSError:
        return None
