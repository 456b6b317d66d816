"""Whether the machine was kept from a test: evidence for it, taken all the time and by others.

Run as a program, it watches: a thread on each CPU sleeps and sees how late it wakes, and once a
second the kernel is asked what the hypervisor took and what programs used that are none of ours.
A test that failed is run again where this shows that the machine was away, and only there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

VARIABLE = "VSPERF_MACHINE_WATCH"
"""Names the file that the watching program writes, for all processes of a test run."""
NAP_S = 0.010
LATE_S = 0.100
"""A CPU that ran nothing of ours for so long was away. Threads of ours that spin on both CPUs make
a nap some milliseconds longer, never so much."""
LOOK_S = 1.0
STOLEN = 0.05
OTHERS = 0.10
"""Shares of all CPUs. Shells and services of an idle machine use far less."""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Sight(NamedTuple):
    """Something that was seen between two moments of the monotonic clock."""

    begin_s: float
    end_s: float
    kind: str
    seconds: float
    """`late`: how long no thread ran on a CPU; `stolen`, `others`: time of CPUs."""
    where: str


def evidence(sights: list[Sight], begin_s: float, end_s: float, cpus: int) -> list[str]:
    """Return what shows that the machine was away between two moments, in words; often nothing."""
    meanwhile = [sight for sight in sights if sight.begin_s < end_s and sight.end_s > begin_s]
    late = [sight for sight in meanwhile if sight.kind == "late"]
    found = []
    if late:
        worst = max(late, key=lambda sight: sight.seconds)
        times = "once" if len(late) == 1 else f"{len(late)} times"
        found.append(f"{worst.where} ran nothing for {worst.seconds * 1e3:.0f} ms ({times})")
    for kind, share, said in (
        ("stolen", STOLEN, "the hypervisor took"),
        ("others", OTHERS, "other programs used"),
    ):
        looks = [sight for sight in meanwhile if sight.kind == kind]
        there = sum(sight.end_s - sight.begin_s for sight in looks) * cpus
        taken = sum(sight.seconds for sight in looks)
        if there and taken / there >= share:
            found.append(f"{said} {taken / there:.0%} of the CPUs")
    return found


def _looked(sights: list[Sight], end_s: float) -> bool:
    """Whether the look that a moment falls into is over; a late waking is told before."""
    return any(sight.kind != "late" and sight.end_s >= end_s for sight in sights)


@dataclass(frozen=True, slots=True)
class Watch:
    """Reads what the watching program wrote."""

    file: Path

    @classmethod
    def of_this_run(cls) -> Watch | None:
        """Return the watch of a run of tests, in each of its processes."""
        name = os.environ.get(VARIABLE)
        return cls(Path(name)) if name else None

    def evidence(self, begin_s: float, end_s: float) -> list[str]:
        """Return what shows that the machine was away; waits for the look that is under way."""
        deadline = time.monotonic() + 3 * LOOK_S
        sights = self._sights()
        while time.monotonic() < deadline and not _looked(sights, end_s):
            time.sleep(LOOK_S / 4)
            sights = self._sights()
        return evidence(sights, begin_s, end_s, os.cpu_count() or 1)

    def _sights(self) -> list[Sight]:
        found = []
        with suppress(OSError):
            for line in self.file.read_text().splitlines():
                with suppress(ValueError):
                    begin, end, kind, seconds, where = line.split("\t")
                    found.append(Sight(float(begin), float(end), kind, float(seconds), where))
        return found


class Watcher:
    """The watching program, as the process that starts it sees it."""

    def __init__(self) -> None:
        descriptor, name = tempfile.mkstemp(prefix="machine-", suffix=".tsv")
        os.close(descriptor)
        self.file = Path(name)
        self.process = subprocess.Popen(
            [sys.executable, "-I", __file__, name, str(_root_of_ours())], stdin=subprocess.PIPE
        )
        os.environ[VARIABLE] = name

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.file.unlink(missing_ok=True)
        os.environ.pop(VARIABLE, None)


def _root_of_ours() -> int:
    """Return the process of which all that belongs to this run descends: `make`, or ourselves.

    `make` calls commands through a shell, and itself for the gates that run beside the tests.
    """
    root = pid = os.getpid()
    while _name(pid := _parent(pid)) in {"make", "sh"}:
        if _name(pid) == "make":
            root = pid
    return root


def _fields(pid: int) -> list[str]:
    """Return the fields of a process's `stat` from its state on; its name may hold anything."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _parent(pid: int) -> int:
    try:
        return int(_fields(pid)[1])
    except (OSError, IndexError, ValueError):
        return 0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _write(file: IO[str], sight: Sight) -> None:
    file.write("\t".join(str(part) for part in sight) + "\n")
    file.flush()


def _nap(cpu: int, file: IO[str]) -> None:
    """See for ever how late a thread on one CPU wakes."""
    os.sched_setaffinity(0, {cpu})
    while True:
        begin = time.monotonic()
        time.sleep(NAP_S)
        end = time.monotonic()
        if end - begin - NAP_S >= LATE_S:
            _write(file, Sight(begin, end, "late", end - begin - NAP_S, f"CPU {cpu}"))


def _stolen_s() -> float:
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) * TICK_S


class Process(NamedTuple):
    """What the kernel says of a process."""

    pid: int
    parent: int
    ran_s: float
    started_s: float


def _processes() -> Iterator[Process]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, IndexError, ValueError):
                fields = _fields(int(entry.name))
                ran_s = (int(fields[11]) + int(fields[12])) * TICK_S
                yield Process(int(entry.name), int(fields[1]), ran_s, int(fields[19]) * TICK_S)


def others(root: int) -> dict[int, Process]:
    """Return each process that neither descends from `root` nor is the kernel's."""
    found = {process.pid: process for process in _processes()}
    ours_or_kernel = {root, 2, os.getpid()}

    def belongs(pid: int) -> bool:
        while pid not in ours_or_kernel:
            if pid not in found:
                return False
            pid = found[pid].parent
        return True

    return {pid: process for pid, process in found.items() if not belongs(pid)}


def used_s(before: dict[int, Process], after: dict[int, Process], began_s: float) -> float:
    """Return what others used between two looks, of which the first was at `began_s` since boot.

    One that is new here and older than that was ours, and lost its parent: what it used is not
    known. One that ended is not seen any more, so this is rather too little.
    """
    taken = 0.0
    for pid, process in after.items():
        if pid in before:
            taken += max(process.ran_s - before[pid].ran_s, 0.0)
        elif process.started_s >= began_s:
            taken += process.ran_s
    return taken


def watch(name: str, root: int) -> None:
    """Write down for ever what keeps the machine from tests, until the pipe from them ends."""
    with Path(name).open("a") as file:
        for cpu in sorted(os.sched_getaffinity(0)):
            threading.Thread(target=_nap, args=(cpu, file), daemon=True).start()
        threading.Thread(target=_end_with_our_parent, args=(name,), daemon=True).start()
        begin, stolen, there = time.monotonic(), _stolen_s(), others(root)
        while True:
            time.sleep(LOOK_S)
            end, now_stolen, now_there = time.monotonic(), _stolen_s(), others(root)
            used = used_s(there, now_there, time.clock_gettime(time.CLOCK_BOOTTIME) - end + begin)
            _write(file, Sight(begin, end, "stolen", now_stolen - stolen, ""))
            _write(file, Sight(begin, end, "others", used, ""))
            begin, stolen, there = end, now_stolen, now_there


def _end_with_our_parent(name: str) -> None:
    sys.stdin.read()
    Path(name).unlink(missing_ok=True)  # it had no time to do so, if it was killed
    os._exit(0)


if __name__ == "__main__":
    watch(sys.argv[1], int(sys.argv[2]))
