"""A program of a pair that runs: what its place gives back, and how one runs on this machine.

Each waits for its instant before it becomes the program, and writes no more than is read of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from vsperf.drivers.programs.base import NOT_ENDED, Said
from vsperf.host import enter_network
from vsperf.host.cpu_time import Watched
from vsperf.host.process import Managed, log_of, managed
from vsperf.host.procfs import is_in, is_stopped, listens
from vsperf.host.threads import Polling
from vsperf.host.workspace import Workspace
from vsperf.quantities.human import human_bytes
from vsperf.trust import own_python

LONGEST_ANSWER = 1 << 26
"""Bytes of what a program tells: a line for each of two million requests, or days of intervals. It
can write one more, which says that it would have gone on."""
LONGEST_TOGETHER = 1 << 30
"""Bytes of what all programs of an exchange tell together: it is in memory until that is over."""


def room_of(pairs: int) -> int:
    """Return how many bytes are read of each program of so many pairs, which may write one more."""
    return min(LONGEST_ANSWER, LONGEST_TOGETHER // (2 * pairs) - 1)


class Running(Protocol):
    """A program of a pair that was started, wherever that is."""

    ended_ns: int | None
    """When it was noticed to have ended."""

    @property
    def wall_ahead_ns(self) -> int:
        """How far the clock of the wall that it sees is before ours."""

    def descriptor(self) -> AbstractContextManager[int]:
        """Return what is ready when it may have ended; several can have the same."""

    def notice(self, ready_ns: int | None) -> None:
        """Note that it has ended, if it has; `ready_ns` is when its descriptor was, if it was."""

    def watched(self, role: str, name: str, cpus: tuple[int, ...]) -> Watched:
        """Return whose CPU time is looked at, which is its own under this role and name if it can.

        It is the same one for all programs whose CPU time nobody can tell apart.
        """

    def has_ended(self) -> bool:
        """Whether it has; does not wait."""

    def await_end(self, patience_s: float) -> bool:
        """Wait for its end; say whether it came."""

    def listens(self, port: int) -> bool:
        """Whether it can be called at a port."""

    def obituary(self) -> str:
        """Return how it ended and what it said last."""

    def said(self) -> Said:
        """Return how it ended, and what it wrote; nobody waits for one that is to go on."""


@dataclass
class Here:
    """A program in a network of this machine."""

    program: Managed
    network: Path
    """The file by which it is entered."""
    room: int
    """Bytes that are read of it."""
    ended_ns: int | None = None
    wall_ahead_ns: int = 0

    @contextmanager
    def descriptor(self) -> Iterator[int]:
        """Return that of its process, which tells of its end and of nothing else."""
        descriptor = os.pidfd_open(self.program.pid)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def notice(self, ready_ns: int | None) -> None:
        """Note when it ended: then its descriptor was ready."""
        if ready_ns is not None and self.has_ended():
            self.ended_ns = ready_ns

    def watched(self, role: str, name: str, cpus: tuple[int, ...]) -> Watched:
        """Return that it is looked at itself."""
        return Watched(role, name, self.program.pid, cpus)

    def has_ended(self) -> bool:
        return self.program.poll() is not None

    def await_end(self, patience_s: float) -> bool:
        return self.program.await_end(patience_s)

    def listens(self, port: int) -> bool:
        pid = self.program.pid
        return is_in(pid, self.network) and listens(pid, port)

    def obituary(self) -> str:
        """Return how it ended and what it said last."""
        return self.program.obituary()

    def said(self) -> Said:
        """Return how it ended, and what it wrote; nobody waits for one that is to go on."""
        code = self.program.poll()
        known = code is not None or is_stopped(self.program.pid)
        ending = self.program.ending() if known else NOT_ENDED
        text, whole = answer_of(self.program.log, self.room)
        if not whole:
            ending += f", and wrote more than the {human_bytes(self.room)} that are read of it"
        return Said(code, ending, text, whole)


@dataclass(frozen=True, slots=True)
class How:
    """How a program is started."""

    name: str
    role: str
    cpus: tuple[int, ...]
    folder: Path
    """That it runs in."""
    room: int
    """Bytes that are read of what it writes on this machine; a guest's agent has a limit of its
    own."""
    instant_ns: int = 0
    """When it is to begin; 0 is at once."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What it reads there, by name, for places that have other folders than this machine's."""


@contextmanager
def started(network: Path, argv: Sequence[str], how: How, workspace: Workspace) -> Iterator[Here]:
    """Run a program that ends by itself in a network, and remove what it wrote afterwards."""
    name, watched = how.name, Polling(how.role, "")
    entered = _entered(network, how, argv)
    try:
        with managed(
            entered, name=name, workspace=workspace, folder=how.folder, polling=watched
        ) as program:
            workspace.parts.pop(name, None)  # that it ends is what it is for
            yield Here(program, network, how.room)
    finally:
        if not workspace.kept:
            with suppress(OSError):
                log_of(name, workspace).unlink()


def _entered(network: Path, how: How, argv: Sequence[str]) -> tuple[str, ...]:
    """Return how a program is run in a network."""
    cpus = ",".join(map(str, how.cpus))
    words = (str(network), cpus, str(how.instant_ns), str(how.room + 1))
    return own_python.script(Path(enter_network.__file__), *words, *argv)


def answer_of(log: Path, room: int) -> tuple[str, bool]:
    """Return what a program wrote and whether that is all; of too much, the first part."""
    try:
        with log.open("rb") as file:
            read = file.read(room)
            return read.decode(errors="replace"), not file.read(1)
    except OSError:
        return "", True
