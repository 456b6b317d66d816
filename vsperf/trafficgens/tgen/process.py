"""One tgen process: started, ready when it says hello, stopped with rising force, never left.

What tgen writes goes to a file without a name, and its memory has none either, so that nothing
of it stays on the machine even when vsperf itself is killed: tgen then loses its controller,
stops sending, removes its socket and ends.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from vsperf.errors import ComponentError, NotReadyError
from vsperf.trafficgens.tgen.binary import BUILD_COMMAND, find_binary
from vsperf.trafficgens.tgen.client import Answer, Client, Event, Gone, TgenError
from vsperf.trafficgens.tgen.command import Options, Port, command_line

NAME = "vsperf-tgen-"
"""Socket, runtime folder and hugepage files of a tgen begin with this."""
PROTOCOL = 1
START_S = 30.0
LINKS_S = 10.0
ANSWER_S = 10.0
QUIT_S = 5.0
TERMINATE_S = 3.0
LAST_LINES = 5
LEAST_HUGEPAGES = 64


@dataclass
class Tgen:
    """A tgen that runs, and the conversation with it."""

    name: str
    argv: tuple[str, ...]
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    client: Client | None = None
    hello: Answer = field(default_factory=dict)
    """What it said about itself: versions, TSC, CPUs."""

    def ask(self, verb: str, timeout_s: float = ANSWER_S, **parameters: object) -> Answer:
        """Return tgen's answer; when it has died, say how."""
        if self.client is None:
            raise ComponentError("tgen is no longer connected")
        try:
            return self.client.ask(verb, timeout_s, **parameters)
        except Gone as error:
            raise self.obituary(f"during `{verb}`") from error

    def listen(self, on_event: Event) -> None:
        """Send events to `on_event` from now on."""
        if self.client is not None:
            self.client.on_event = on_event

    def ports(self) -> list[Answer]:
        """Return what was negotiated on each port, once all links are up.

        A vhost-user or memif port is up when the other side has answered, a moment after start.
        """
        deadline = time.monotonic() + LINKS_S
        while True:
            ports: list[Answer] = self.ask("ports")["ports"]
            down = [str(port["name"]) for port in ports if not port["link_up"]]
            if not down:
                return ports
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"the link of {', '.join(down)} did not come up within {LINKS_S:g} s",
                    why="the other side of the port does not answer",
                    fix="see that the switch runs and has opened its side of the port",
                )
            time.sleep(0.01)  # between two looks at a condition, never instead of one

    def port_numbers(self, ports: Mapping[str, Port]) -> dict[str, int]:
        """Return by link the number that DPDK gave to its port."""
        found = {port["name"]: int(port["port"]) for port in self.ports()}
        for port in ports.values():
            if port.name not in found:
                why = f"it has {', '.join(found) or 'none'}"
                raise ComponentError(f"tgen has no port {port.name}", why=why)
        return {link: found[port.name] for link, port in ports.items()}

    def obituary(self, when: str) -> ComponentError:
        """Return the error that says how tgen ended."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(TERMINATE_S)  # its socket is closed a moment before it is dead
        code = self.process.poll()
        if code is None:
            what = f"tgen hung up {when}, and still runs"
        elif code < 0:
            what = f"tgen was killed by {_signal_name(-code)} {when}"
        else:
            what = f"tgen ended {when} with exit code {code}"
        return ComponentError(what, why=self.last_words())

    def last_words(self) -> str | None:
        """Return the last lines that tgen wrote."""
        size = os.fstat(self.log.fileno()).st_size
        text = os.pread(self.log.fileno(), 8192, max(0, size - 8192)).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return "its last words: " + " | ".join(lines[-LAST_LINES:]) if lines else None

    def stop(self) -> None:
        """Ask it to quit, then tell it, then make it; afterwards it is gone."""
        if self.client is not None:
            with suppress(ComponentError):
                self.client.ask("quit", QUIT_S)
            self.client.close()
            self.client = None
        for number, patience_s in ((None, QUIT_S), (signal.SIGTERM, TERMINATE_S)):
            if number is not None:
                self.process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patience_s)
                return
        self.process.kill()
        self.process.wait()


@contextmanager
def running(ports: Iterable[Port], options: Options) -> Iterator[Tgen]:
    """Start a tgen with these ports, and leave nothing of it."""
    binary = find_binary()
    if options.hugepages:
        _require_hugepages()
    name = f"{NAME}{os.getpid()}-{secrets.token_hex(3)}"
    control = runtime_folder() / f"{name}.sock"
    argv = command_line(str(binary), name, control, ports, options)
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(  # noqa: S603 - an argument vector of our own
            argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for vsperf, which then stops it in order
        )
        tgen = Tgen(name, argv, process, log)
        try:
            _greet(tgen, control)
            yield tgen
        finally:
            tgen.stop()
            _sweep(name, control)


def runtime_folder() -> Path:
    """Return the folder for sockets."""
    candidates = (Path("/run"), Path(os.environ.get("XDG_RUNTIME_DIR", "/nonexistent")))
    found = (path for path in candidates if os.access(path, os.W_OK | os.X_OK))
    return next(found, Path(tempfile.gettempdir()))


def _greet(tgen: Tgen, control: Path) -> None:
    """Wait until tgen says hello."""
    deadline = time.monotonic() + START_S
    while tgen.client is None:
        if tgen.process.poll() is not None:
            raise tgen.obituary("while it started")
        if time.monotonic() > deadline:
            why = tgen.last_words()
            raise ComponentError(f"tgen was not ready within {START_S:g} s", why=why)
        try:
            tgen.client = Client.connect(control, ANSWER_S)
        except OSError:
            time.sleep(0.01)  # between two looks at a condition, never instead of one
    try:
        tgen.hello = tgen.client.ask("hello", START_S)  # it listens before its ports are up
    except Gone as error:
        raise tgen.obituary("while it started") from error
    except TgenError:
        raise
    except ComponentError as error:
        raise ComponentError(str(error), why=tgen.last_words()) from error
    if tgen.hello.get("protocol") != PROTOCOL:
        raise NotReadyError(
            f"{tgen.argv[0]} speaks protocol {tgen.hello.get('protocol')}, not {PROTOCOL}",
            why="it was built from other sources than this vsperf",
            fix=BUILD_COMMAND,
        )


def _sweep(name: str, control: Path) -> None:
    """Remove what a tgen that was killed could not remove itself."""
    control.unlink(missing_ok=True)
    for folder in (Path("/run"), Path(os.environ.get("XDG_RUNTIME_DIR", "/run")), Path("/tmp")):  # noqa: S108
        shutil.rmtree(folder / "dpdk" / name, ignore_errors=True)
    for mount in Path("/dev").glob("hugepages*"):
        for file in mount.glob(f"{name}map_*"):
            file.unlink(missing_ok=True)


def _require_hugepages() -> None:
    """Say so before DPDK would, and say how to mend it."""
    free = 0
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("HugePages_Free:"):
                free = int(line.split()[1])
    if free < LEAST_HUGEPAGES:
        raise NotReadyError(
            f"tgen needs hugepages, and {free} are free",
            fix="sysctl vm.nr_hugepages=512, or do without them: generator.hugepages=false in a "
            "case, --no-hugepages by hand",
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
