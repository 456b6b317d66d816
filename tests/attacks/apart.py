"""One attack in a process of its own: it may crash, hang, or change what is its process's."""

from __future__ import annotations

import gc
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from pydantic import BaseModel

import vsperf as package
from vsperf.cli.main import run_cli
from vsperf.errors import ExitCode
from vsperf.stop import SignalWatch

PATIENCE_S = 30
SET_UP_S = 300
"""Within which every answer has to come, on a busy machine, too."""
MOST_BYTES = 4 << 30
CRASHED = 99
TAKEN, REFUSED = 0, 1
"""What an action returns of an input that went through all checks, and of one that did not."""
NOT_PRELOADED = ("vsperf.__main__", "vsperf.output.figures.svg")
"""The first runs what it is told; the other brings matplotlib, and is read when figures are."""
STREAMS = {"stdout": 1, "stderr": 2}
CONTROLS = {chr(code) for code in (*range(32), *range(0x7F, 0xA0))} - {"\n", "\t"}


@dataclass(frozen=True)
class Ended:
    """How it ended."""

    code: int
    """Negative for a signal."""
    out: str
    err: str

    def problems(self, allowed: set[int] | None = None) -> list[str]:
        """Return what no command of vsperf may do, whatever it was given."""
        found = []
        documented = {int(code) for code in ExitCode} - {ExitCode.BUG}
        said = " | ".join(line.strip() for line in self.err.splitlines() if line.strip(" ^~"))[
            -500:
        ]
        if self.code == -signal.SIGALRM:
            found.append("it took longer than was waited for it")
        elif self.code not in (documented if allowed is None else allowed):
            found.append(f"it ended with {self.code}: {said}")
        if "Traceback" in self.err:
            found.append(f"a traceback: {said}")
        if CONTROLS & {*self.out, *self.err}:
            found.append("it printed characters that control a terminal")
        return found


def preload() -> None:
    """Import all of vsperf once, and have its models ready, so that no child has to."""
    for module in pkgutil.walk_packages(package.__path__, "vsperf."):
        if module.name not in NOT_PRELOADED:
            import_module(module.name)
    for name in ("jsonschema", "rich.table", "sqlite3"):
        import_module(name)
    models = BaseModel.__subclasses__()
    while models:
        model = models.pop()
        models += model.__subclasses__()
        if not model.__pydantic_complete__:
            model.model_rebuild()
    gc.collect()
    gc.freeze()


def vsperf(*arguments: str, folder: Path, patience_s: int = PATIENCE_S) -> Ended:
    """Carry out a command in a child of this process, which is quicker than to start Python."""

    def command() -> int:
        os.chdir(folder)
        tempfile.tempdir = str(folder)
        os.environ |= {"HOME": str(folder), "VSPERF_RUNTIME": str(folder / "run")}
        SignalWatch.install()
        return run_cli(list(arguments))

    return apart(command, patience_s)


def apart(action: Callable[[], int], patience_s: int = PATIENCE_S) -> Ended:
    """Carry out an action in a child of this process; what it returns is the exit code."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if pid == 0:
            _child(action, out.fileno(), err.fileno(), patience_s)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        err.seek(0)
        return Ended(
            os.waitstatus_to_exitcode(status),
            out.read().decode(errors="replace"),
            err.read().decode(errors="replace"),
        )


def _child(action: Callable[[], int], out: int, err: int, patience_s: int) -> None:
    """Never return; what was printed before the fork is the parent's."""
    code = CRASHED
    try:
        for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.alarm(patience_s)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
        for descriptor, name in ((out, "stdout"), (err, "stderr")):
            os.dup2(descriptor, STREAMS[name])
            setattr(sys, name, os.fdopen(STREAMS[name], "w", errors="replace", closefd=False))
        code = action()
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
