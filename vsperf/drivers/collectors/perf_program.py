"""What collectors have in common that use `perf` on the polling threads of each role."""

from __future__ import annotations

import os
import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.collectors.base import Collector, Seat
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.files import Roots
from vsperf.host.process import Managed, managed
from vsperf.host.software import package_versions
from vsperf.trust.printable import as_label
from vsperf.waits import sleep

PROGRAM = "perf"
PARANOID = Path("sys/kernel/perf_event_paranoid")
SETTING = "kernel.perf_event_paranoid"
STRICTEST = 2
"""Of the setting: above it, users may look at nothing, not at their own programs either."""
WITH_KERNEL = 1
"""Up to it, they see what the kernel does for their programs; above it, user mode only."""
ANSWER_S = 10.0
END_S = 10.0
POLL_S = 0.01
ENABLE, DISABLE = b"enable\n", b"disable\n"


def require_perf(kind: str, roots: Roots | None = None, user: int | None = None) -> None:
    """Raise `NotReadyError` where perf is missing or forbidden, with what mends it."""
    if shutil.which(PROGRAM) is None:
        raise NotReadyError(
            f"the collector {kind} needs perf, which is not installed",
            why=f"there is no {PROGRAM} in PATH",
            fix="apt-get install linux-perf, or --set collect=none",
        )
    proc = (roots or Roots()).proc
    try:
        level = int((proc / PARANOID).read_text())
    except (OSError, ValueError):
        return  # it will say itself what it may not
    if (os.geteuid() if user is None else user) != 0 and level > STRICTEST:
        raise NotReadyError(
            f"the collector {kind} may not look at programs",
            why=f"{SETTING} is {level}, which forbids it to all but root",
            fix=f"sudo sysctl {SETTING}={STRICTEST}, run as root, or --set collect=none",
        )


class PerfCollector(Collector):
    """Has perf look at polling threads, in trials of its own."""

    def heavy(self, settings: DriverSpec) -> bool:
        return True

    def require(self, case: CaseSpec, settings: DriverSpec) -> None:
        require_perf(self.kind)

    def facts(self, settings: DriverSpec) -> dict[str, Any]:
        found = package_versions(("linux-perf",)).get("linux-perf")
        return {"program": shutil.which(PROGRAM), "package": found}


@dataclass
class Attached:
    """A perf that looks at the threads of one role, when it is told to."""

    role: str
    program: Managed
    control: int
    """Where it is told."""
    answers: int

    def tell(self, words: bytes) -> None:
        """Have it begin, or stop, and wait until it has."""
        self._alive()
        os.write(self.control, words)
        deadline, answer = time.monotonic() + ANSWER_S, b""
        while True:
            # It ends with those that it looks at, and may have answered right before.
            ended = self.program.poll() is not None
            with suppress(BlockingIOError):
                answer += os.read(self.answers, 64)
            if b"ack" in answer:
                return
            if ended:
                self._alive()
            if time.monotonic() > deadline:
                raise ComponentError(f"{self.program.name} did not answer in {ANSWER_S:g} s")
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def finish(self) -> None:
        """Have it write what it found, and end."""
        if self.program.poll() is None:
            self.program.process.send_signal(signal.SIGINT)
        if not self.program.await_end(END_S):
            raise ComponentError(f"{self.program.name} did not end within {END_S:g} s")

    def _alive(self) -> None:
        if self.program.poll() is not None:
            raise ComponentError(
                f"{self.program.name} could not look at the {self.role}",
                why=self.program.obituary(),
                fix="perf_event_paranoid, or a missing capability, may forbid it",
            )


@dataclass
class PerRole(ABC):
    """A perf for each role; it looks for as long as a trial takes."""

    seat: Seat
    attached: list[tuple[Attached, Path]]
    """With the file that each writes."""

    def begin(self, trial: int) -> None:
        for one, _ in self.attached:
            one.tell(ENABLE)

    def end(self, trial: int) -> None:
        """Have them stop all at once, then keep what each of them found."""
        for one, _ in self.attached:
            one.tell(DISABLE)
        at_ns = time.time_ns()
        for one, file in self.attached:
            one.finish()
            self.keep(one.role, file, trial, at_ns)

    @abstractmethod
    def keep(self, role: str, file: Path, trial: int, at_ns: int) -> None:
        """Write down what was found of a role."""


@contextmanager
def started(
    kept: Callable[[Seat, list[tuple[Attached, Path]]], PerRole],
    seat: Seat,
    argv: Sequence[str],
    suffix: str,
) -> Iterator[PerRole]:
    """Start a perf for each role; leaving the context ends them."""
    with ExitStack() as stack:
        found = []
        for role, threads in threads_by_role(seat).items():
            file = seat.workspace.folder / f"{seat.name}-{role}{suffix}"
            command = (*argv, "-o", str(file))
            found.append((stack.enter_context(attached(seat, role, command, threads)), file))
        yield kept(seat, found)


def threads_by_role(seat: Seat) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the polling threads of each role."""
    found: dict[str, list[int]] = {}
    for thread in seat.workspace.polling_threads():
        found.setdefault(thread.part, []).append(int(thread.folder.name))
    return {role: tuple(numbers) for role, numbers in found.items()}


@contextmanager
def attached(
    seat: Seat, role: str, command: Sequence[str], threads: Iterable[int]
) -> Iterator[Attached]:
    """Start a perf that waits to be told; leaving the context ends it."""
    name = f"collect-{seat.name}-{as_label(role)}"
    control, answers = (seat.workspace.folder / f"{name}.{end}" for end in ("ctl", "ack"))
    for fifo in (control, answers):
        os.mkfifo(fifo, 0o600)
    descriptors = [
        os.open(one, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC) for one in (control, answers)
    ]
    argv = [
        *command,
        *("--delay=-1", f"--control=fifo:{control},{answers}"),
        *("-t", ",".join(map(str, threads))),
    ]
    try:
        with managed(argv, name=name, workspace=seat.workspace) as program:
            seat.workspace.parts.pop(name, None)  # the case goes on without it
            yield Attached(role, program, *descriptors)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
        for fifo in (control, answers):
            fifo.unlink(missing_ok=True)
