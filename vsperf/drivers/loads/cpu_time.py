"""The CPU time of a load that counts nothing itself, as the kernel has it."""

from __future__ import annotations

import time
from pathlib import Path

from vsperf.host.activity import ticks_per_second
from vsperf.host.files import Roots
from vsperf.host.process import Managed
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.switch import NoiseActivity

SESSION, USER, CHILDREN_SYSTEM = 3, 11, 14
"""Columns of a process's `stat`, counted from its state; between the last two are its own system
time and what its children used that have ended."""


def cpu_time(program: Managed, instance: str) -> NoiseActivity:
    """Return the CPU time of a program and of all that it started, in ticks of 10 ms."""
    ticks = session_ticks(Roots().proc, program.pid)
    return NoiseActivity(
        instance=instance,
        elapsed_ns=time.monotonic_ns(),
        cpu_ns=None if ticks is None else ticks * NANOSECONDS // ticks_per_second(),
    )


def session_ticks(proc: Path, session: int) -> int | None:
    """Return the ticks of all processes of a session; None where there is none any more."""
    found = None
    for folder in proc.glob("[0-9]*"):
        try:
            columns = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if len(columns) > CHILDREN_SYSTEM and int(columns[SESSION]) == session:
            found = (found or 0) + sum(map(int, columns[USER : CHILDREN_SYSTEM + 1]))
    return found
