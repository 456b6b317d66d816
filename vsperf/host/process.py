"""Programs that a deployment runs: started, watched until ready, stopped with rising force.

A program belongs to the workspace from before it has a number: it carries a mark in its
environment, by which it is found again even if vsperf is killed while it starts it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from vsperf.errors import ComponentError, NotReadyError, VsperfError
from vsperf.host.files import Roots
from vsperf.host.procfs import (
    MARK,
    POLL_S,
    end_all,
    is_ending,
    is_stopped,
    left_in_session,
    start_ticks,
)
from vsperf.host.threads import Polling, waited_for_cpu_ns
from vsperf.host.undo import EndMarked, KillProcess
from vsperf.host.workspace import Workspace
from vsperf.quantities.units import NANOSECONDS
from vsperf.stop import signals_held
from vsperf.trust.programs import program_path
from vsperf.waits import ended, how_it_ended, sleep

ASK_S = 1.5
TERMINATE_S = 1.5
KILL_S = 1.0
ENDING_S = 1.0
"""For so long the kernel may take back what a program had that is on its way out."""
OBITUARY_S = 1.0
MOST_KEPT = 9
"""How often the time that a program may take to start it may spend without a CPU in addition."""
LAST_LINES = 5
TAIL_BYTES = 8192
MOST_READ = 1 << 20
"""Bytes of a log that are read at once: a program may write the same line for ever."""
MOST_WRITTEN = 256 << 20
"""Bytes of a log: it is in the memory of the machine, and so is what the journal promises. What
answers questions says some kilobytes, and what says more than this has no time to forward."""

Stop = Callable[[float], None]
"""Asks a program to end, in its own way, within so many seconds; whatever it raises is ignored."""


@dataclass
class Managed:
    """A program that was started."""

    name: str
    argv: tuple[str, ...]
    process: subprocess.Popen[bytes]
    log: Path
    """What it writes; removed with the workspace."""

    @property
    def pid(self) -> int:
        """Its number, which is also that of its session."""
        return self.process.pid

    def kept_s(self, patience_s: float, before_s: float = 0.0) -> float:
        """Return for how long it could have run and got no CPU, so far or since it was `before_s`.

        It is some times the patience at most.
        """
        kept_s = waited_for_cpu_ns(self.pid, Roots()) / NANOSECONDS
        return min(kept_s - before_s, MOST_KEPT * patience_s)

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal; None while it runs.

        One on its way out is waited for: who talked to it may be gone before it is.
        """
        if self.process.poll() is None and is_ending(self.pid):
            ended(self.pid, ENDING_S)
        return self.process.poll()

    def obituary(self) -> str:
        """Return how it ended and what it said last, such as `was killed by SIGKILL; …`."""
        how, words = self.ending(), self.last_words()
        return f"{how}; its last words: {words}" if words else how

    def failure(self) -> str | None:
        """Return how it ended, or that it was stopped or writes without end; None while it runs."""
        if self.poll() is None and not is_stopped(self.pid) and not self._writes_without_end():
            return None
        return self.obituary()

    def _writes_without_end(self) -> bool:
        """Whether its log would soon fill the folder that all deployments live in."""
        try:
            return self.log.stat().st_size > MOST_WRITTEN
        except OSError:
            return False

    def ending(self) -> str:
        """Return how it ended, such as `was killed by SIGKILL`."""
        code = self.poll()
        if code is None:  # else its number may be another's by now
            if is_stopped(self.pid):
                return "is stopped: somebody sent it SIGSTOP, or debugs it"
            if self._writes_without_end():
                return f"has written more than {MOST_WRITTEN >> 20} MB, and goes on"
            ended(self.pid, OBITUARY_S)  # its sockets are closed a moment before its end
            code = self.poll()
        if code is None:
            return "still runs, but does not answer"
        return how_it_ended(code)

    def last_words(self) -> str | None:
        """Return the last lines that it wrote, or the last before a list of its options.

        What it complains of in its options it says at once, and the list may come when it ends.
        """
        try:
            _, text = written_since(self.log, most=TAIL_BYTES)
        except OSError:
            return None
        lines = [line.strip() for line in text.decode(errors="replace").splitlines()]
        said = [line for line in lines if line]
        before = list(takewhile(lambda line: not self._lists_options(line), said))
        return " | ".join((before or said)[-LAST_LINES:]) or None

    def _lists_options(self, line: str) -> bool:
        """Whether a list of its own options begins with this line."""
        words = line.split()[:2]
        if len(words) < 2 or words[0].lower() != "usage:":
            return False
        return Path(words[1]).name == Path(self.argv[0]).name

    def await_end(self, patience_s: float) -> bool:
        """Wait for its end; say whether it came."""
        if self.process.poll() is None:
            ended(self.pid, patience_s)
        return self.process.poll() is not None


def log_of(name: str, workspace: Workspace) -> Path:
    """Return where a program of a deployment writes."""
    return workspace.folder / f"{name}.log"


def written(name: str, workspace: Workspace) -> str:
    """Return what a program of a deployment has written so far, also where it never came up.

    Of too much it is the last part.
    """
    try:
        return written_since(log_of(name, workspace))[1].decode(errors="replace")
    except OSError:
        return ""


def written_since(log: Path, place: int = 0, most: int = MOST_READ) -> tuple[int, bytes]:
    """Return what stands in a log from a place on, and where that begins; raises OSError.

    Of too much it is the last part, which begins later.
    """
    with log.open("rb") as file:
        begin = max(place, os.fstat(file.fileno()).st_size - most)
        return begin, os.pread(file.fileno(), most, begin)


@contextmanager
def managed(  # noqa: PLR0913 - named arguments, each of its own
    argv: Sequence[str],
    *,
    name: str,
    workspace: Workspace,
    ready: Callable[[], bool] | None = None,
    timeout_s: float = 30.0,
    environment: Mapping[str, str] | None = None,
    stop: Stop | None = None,
    polling: Polling | None = None,
    folder: Path | None = None,
) -> Iterator[Managed]:
    """Run a program until the context is left, or for longer if the workspace is kept.

    It runs in the workspace's folder, or in `folder` where its words are the user's own, and paths
    among them are whole ones. It is there once `ready` says so. `environment` comes on top of
    vsperf's own. `stop` is the polite way to end it; SIGTERM and SIGKILL follow where that does not
    help. `polling` says which of its threads are to be watched around trials.
    """
    mark = f"{workspace.name}/{name}"
    log = log_of(name, workspace)
    workspace.refill_patience()
    with workspace.undoing(EndMarked(mark=mark)):
        variables = {**os.environ, **(environment or {}), MARK: mark}
        process = _start(argv, log, variables, folder or workspace.folder)
        program = Managed(name, tuple(argv), process, log)
        started = start_ticks(process.pid)
        try:
            with _also_by_number(workspace, process.pid, started):
                workspace.parts[name] = program.failure
                if polling is not None:
                    workspace.polling[process.pid] = polling
                try:
                    _wait_until(ready, program, timeout_s, workspace)
                    yield program
                finally:
                    workspace.polling.pop(process.pid, None)
                    if workspace.parts.get(name) == program.failure:  # none took its place
                        del workspace.parts[name]
                    if not workspace.kept:
                        with signals_held():
                            end(program, workspace, stop)
                            _end_what_is_left(process.pid, started)
        finally:
            _detach(program)


def end(program: Managed, workspace: Workspace, stop: Stop | None = None) -> None:
    """Ask a program to end, then tell it, then make it, in the time that the workspace has."""
    if program.poll() is None and stop is not None:
        with workspace.patience(ASK_S) as patience_s, suppress(Exception):
            began = time.monotonic()
            stop(patience_s)
            program.await_end(patience_s - (time.monotonic() - began))
    if program.poll() is None:
        with workspace.patience(TERMINATE_S) as patience_s:
            _signal(program, signal.SIGTERM)
            program.await_end(patience_s)
    _signal(program, signal.SIGKILL)
    program.await_end(KILL_S)


@contextmanager
def _also_by_number(workspace: Workspace, pid: int, started: int | None) -> Iterator[None]:
    """Promise to end the process by its number, too: a program may overwrite its environment."""
    if started is None:  # it has ended already
        yield
        return
    with workspace.undoing(KillProcess(pid=pid, started=started)):
        yield


def _start(
    argv: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path
) -> subprocess.Popen[bytes]:
    with (
        NotReadyError.if_refused(
            f"{argv[0]} cannot be started",
            fix="`vsperf doctor` says which programs are missing, and which packages have them",
        ),
        log.open("ab") as file,
    ):
        return subprocess.Popen(  # noqa: S603 - an argument vector of our own
            list(argv),
            executable=program_path(argv[0], environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=True,  # Ctrl-C is for vsperf, which then stops it in order
        )


def _wait_until(
    ready: Callable[[], bool] | None, program: Managed, timeout_s: float, workspace: Workspace
) -> None:
    """Wait until a program is ready, so long at most, beside the time in which it got no CPU.

    How long a program takes to start is its own doing, how long it waits for a CPU is not.
    """
    began = time.monotonic()
    while ready is not None:
        try:
            if ready():
                return
        except VsperfError:
            if program.poll() is None:
                raise
        over = program.poll() is not None
        workspace.attend(f"while {program.name} started", but=program.name)
        if over:  # by its own doing: what it may have needed still runs
            raise ComponentError(f"{program.name} ended while it started", why=program.obituary())
        took_s = time.monotonic() - began
        kept_s = program.kept_s(timeout_s)
        if took_s - kept_s > timeout_s:
            words = program.last_words()
            beside = f", beside {kept_s:.1f} s without a CPU" if kept_s > timeout_s / 10 else ""
            raise ComponentError(
                f"{program.name} was not ready within {timeout_s:g} s{beside}",
                why=f"its last words: {words}" if words else None,
            )
        sleep(POLL_S)  # between two looks at a condition, never instead of one


def _end_what_is_left(pid: int, started: int | None) -> None:
    """End what a program left that somebody else killed: with its number no group is told."""
    if started is not None:
        with suppress(OSError):  # what does not end is told of when the workspace is left
            end_all(lambda: left_in_session(pid, started), 0.0)


def _signal(program: Managed, number: signal.Signals) -> None:
    """Send a signal to the program and to what it started itself.

    Until its exit code has been asked for, its number can belong to no other.
    """
    if program.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, number)
            os.killpg(program.pid, signal.SIGCONT)  # who stands still hears nothing


def _detach(program: Managed) -> None:
    """Let go of a program that stays up, without a warning about it."""
    if program.process.returncode is None and program.process.poll() is None:
        program.process.returncode = 0
