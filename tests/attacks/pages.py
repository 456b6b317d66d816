"""Who changes how many hugepages there are: each write to their number, and whose it was.

Somebody who works beside a soak may change it without taking the machine. What is then left over is
no leak; but only the kernel's word for it counts, and no guess: it names the process of each write.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from real_runs import hugepages

KNOBS = (
    *Path("/proc/sys/vm").glob("nr_hugepages*"),
    *Path("/sys/kernel/mm/hugepages").glob("*/nr_hugepages*"),
    *Path("/sys/devices/system/node").glob("node*/hugepages/*/nr_hugepages"),
)
"""Files by which the number is set."""
CLOEXEC, NONBLOCK = 0x1, 0x2
ADD, MODIFY = 0x1, 0x2
HERE = -100
EVENT = struct.Struct("IBBHQii")
"""Its length, three fields about its form, what happened, a descriptor of the file, a process."""
LOOK_S = 0.1
SHOWN = 120


@dataclass(frozen=True, slots=True)
class Writer:
    """A process that wrote to the number of hugepages."""

    pid: int
    own: bool
    """Whether it belongs to what is attacked."""
    command: str


@dataclass(frozen=True, slots=True)
class Change:
    """What became of the pools with a write, or with some that could not be told apart."""

    moment: str
    writers: tuple[Writer, ...]
    grown: dict[Path, int]
    """Pages more, by pool; pools that stayed as they were are left out."""

    @property
    def by_others(self) -> bool:
        return not any(writer.own for writer in self.writers)

    def __str__(self) -> str:
        who = ", ".join(f"{writer.command} ({writer.pid})" for writer in self.writers)
        what = ", ".join(f"{pages:+} in {pool}" for pool, pages in self.grown.items())
        return f"{self.moment} {who}: {what or 'as before'}"


@dataclass
class PageWatch:
    """Watches for the time of a context; `is_own` says whether a process is what is attacked."""

    is_own: Callable[[int], bool]
    knobs: Sequence[Path] = KNOBS
    count: Callable[[], dict[Path, int]] = hugepages
    """Tells how many pages there are, by pool."""
    changes: list[Change] = field(default_factory=list)
    _descriptor: int = -1
    """Where the kernel tells of writes; negative where it does not, as in many containers."""
    _over: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._known = self.count()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Self:
        library = ctypes.CDLL(None)
        self._descriptor = library.fanotify_init(CLOEXEC | NONBLOCK, os.O_RDONLY | os.O_CLOEXEC)
        if self._descriptor >= 0:
            for knob in self.knobs:
                modified = ctypes.c_uint64(MODIFY)
                library.fanotify_mark(self._descriptor, ADD, modified, HERE, os.fsencode(knob))
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor >= 0:
            self._over.set()
            self._thread.join()
            os.close(self._descriptor)

    def __str__(self) -> str:
        """What it has seen, for people."""
        if self._descriptor < 0:
            return "the kernel does not tell who writes to hugepages"
        return "; ".join(str(change) for change in self.changes) or "nobody wrote to them"

    def by_others(self) -> list[Change]:
        """Return what others alone have changed up to now."""
        if self._descriptor >= 0:
            with self._turn:
                self._take()
        return [change for change in self.changes if change.by_others]

    def grown_by_others(self, pool: Path) -> int:
        """Return how many pages more a pool has because of others; below 0, how many fewer."""
        return sum(change.grown.get(pool, 0) for change in self.by_others())

    def _follow(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        while not self._over.is_set():
            if poll.poll(LOOK_S * 1000):
                with self._turn:
                    self._take()

    def _take(self) -> None:
        """Take in what was written since the last look."""
        pids: list[int] = []
        with suppress(BlockingIOError):
            while events := os.read(self._descriptor, EVENT.size * 64):
                for _, _, _, _, _, file, pid in EVENT.iter_unpack(events):
                    os.close(file)
                    pids.append(pid)
        if pids:
            writers = tuple(self._writer(pid) for pid in dict.fromkeys(pids))
            now, before = self.count(), self._known
            grown = {pool: pages - before.get(pool, 0) for pool, pages in now.items()}
            self._known = now
            changed = {pool: pages for pool, pages in grown.items() if pages}
            self.changes.append(Change(time.strftime("%H:%M:%S"), writers, changed))

    def _writer(self, pid: int) -> Writer:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            words = "a process that has ended"
        return Writer(pid, self.is_own(pid), words.replace("\0", " ").strip()[:SHOWN])
