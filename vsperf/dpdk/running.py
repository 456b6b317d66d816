"""A testpmd that runs: whether it forwards, what it counts, and how it ended.

It is asked over the socket that each DPDK program has for questions, and never by its console.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.dpdk.command import PROGRAM
from vsperf.errors import ComponentError, NotReadyError
from vsperf.host.process import OBITUARY_S, Managed, written_since
from vsperf.host.tree import HERE, Tree
from vsperf.trust.programs import program_path
from vsperf.waits import received, sleep

STATISTICS = "Port statistics"
"""With this begins what testpmd prints of itself, which says nothing about how it ended."""
USAGE = "Usage: "
"""With this begins a list of all options, and before it is what was wrong with the given ones."""
REFUSED = re.compile(r"(?:unrecognized|invalid) option:? .*", re.IGNORECASE)
"""What was wrong with them, wherever it stands: what testpmd prints and what it complains of get
into one file in pieces."""
WORDS = 5
POLL_S = 0.01
FOLDERS = (Path("/usr/bin"), Path("/usr/local/bin"))
"""Where it may be in a tree."""
DROPS = {
    "imissed": "missed",
    "rx_nombuf": "no buffer",
    "ierrors": "receive errors",
    "oerrors": "send errors",
}
"""DPDK's name of a counter → the reason for which frames were lost. What testpmd throws away
itself, because it cannot send it, is in no counter."""
KNOWN = ("name", "mac_addr", "mtu", "nb_rx_queues", "nb_tx_queues")
"""What is worth knowing of a port."""


Look = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a program may take until it forwards."""

    seconds: float
    until: float
    """By the clock that only goes forward."""
    fix: str
    """What helps where that does not suffice."""


def find_testpmd(purpose: str, tree: Tree = HERE) -> str:
    """Return the program; `purpose` says what it does here, such as `it forwards`."""
    tree.require()
    if tree.root is None:
        program = program_path(PROGRAM)
    else:
        candidates = [folder / PROGRAM for folder in FOLDERS]
        program = next((str(path) for path in candidates if tree.runs(path)), None)
    if program is None:
        raise NotReadyError(
            f"the program {PROGRAM}{tree.within} is not installed",
            why=purpose,
            fix=f"install the package dpdk-dev: {tree.to_install('dpdk-dev')}",
        )
    tree.require_program(Path(program))
    return program


@dataclass
class RunningTestpmd:
    """A testpmd that was started."""

    name: str
    """What it is here, such as vm1."""
    program: Managed
    telemetry: Path
    names: tuple[str, ...]
    """What its ports are called here, such as `NIC 0`."""
    dpdk: str | None = None
    """Such as `DPDK 22.11.11`; known once it answers."""
    ports: list[dict[str, Any]] = field(default_factory=list)
    """What DPDK says of each port, as found when it was last waited for."""

    def failure(self) -> str | None:
        """Return how it ended, or None while it runs."""
        if self.program.failure() is None:
            return None
        words = self.last_words()
        how = f"{self.name} {self.program.ending()}"
        return f"{how}; {words}" if words else how

    def waiting_for(self, linked: Collection[str] | None = None) -> str | None:
        """Return what is not there yet, for people; None when it forwards.

        `linked` names the ports whose links have to be up; all of them unless told.
        """
        try:
            with Telemetry(self.telemetry) as telemetry:
                found = [_info(telemetry, number) for number, _ in enumerate(self.names)]
                up = [_up(telemetry, number) for number, _ in enumerate(self.names)]
                self.dpdk = telemetry.version
        except OSError:
            return "not all of its ports are connected"
        for name, info, is_up in zip(self.names, found, up, strict=True):
            if not is_up and (linked is None or name in linked):
                return f"the link of {name} is down"
            if not info.get("dev_started"):
                return f"{name} is not started"
        self.ports = [{key: info[key] for key in KNOWN if key in info} for info in found]
        return None

    def await_forwarding(
        self, patience: Patience, look: Look, linked: Collection[str] | None = None
    ) -> None:
        """Wait until it answers, all ports are started, and these links are up.

        `look` raises when it would wait in vain, since another part has ended.
        """
        while True:
            waiting = self.waiting_for(linked)
            if waiting is None:
                return
            over = self.program.failure() is not None
            look()
            if over:  # by its own doing: nothing that it may have needed has ended
                raise self.obituary("while it started")
            if time.monotonic() > patience.until:
                raise ComponentError(
                    f"{self.name} does not forward after {patience.seconds:g} s: {waiting}",
                    why=self.last_words(),
                    fix=patience.fix,
                )
            sleep(POLL_S)  # between two looks at a condition, never instead of one

    def silence(self) -> str | None:
        """Return why it does not answer, or None while it does; asks with a deadline."""
        try:
            with Telemetry(self.telemetry):
                return None
        except OSError as error:  # maybe since it ended or was stopped a moment ago
            return self.failure() or f"{self.name} does not answer: {error}"

    def statistics(self) -> tuple[dict[str, int], ...]:
        """Return what each port counts, by DPDK's names; raises `ComponentError` without."""
        try:
            with Telemetry(self.telemetry) as telemetry:
                numbers = range(len(self.names))
                found = [telemetry.ask(f"/ethdev/stats,{number}") for number in numbers]
        except OSError as error:
            if self.program.await_end(OBITUARY_S):  # its socket is closed a moment before its end
                raise self.obituary("and cannot be asked for its counters") from error
            raise ComponentError(
                f"{self.name} does not tell its counters", why=str(error)
            ) from error
        known = tuple(stats for stats in found if isinstance(stats, dict))
        if len(known) < len(found):
            raise ComponentError(f"{self.name} counts nothing on one of its ports")
        return known

    def busy_cycles(self, thread: int) -> tuple[int, int] | None:
        """Return the cycles that a forwarding thread was busy and idle, the first being thread 1.

        None where testpmd does not tell, as before DPDK 23.03, or where it was not asked to count.
        """
        try:
            with Telemetry(self.telemetry) as telemetry:
                found = telemetry.ask(f"/eal/lcore/info,{thread}")
        except OSError:
            return None
        if not isinstance(found, dict) or not {"busy_cycles", "total_cycles"} <= set(found):
            return None
        busy = int(found["busy_cycles"])
        return busy, max(0, int(found["total_cycles"]) - busy)

    def obituary(self, when: str) -> ComponentError:
        """Return the error that says how it ended."""
        return ComponentError(f"{self.name} {self.program.ending()} {when}", why=self.last_words())

    def last_words(self) -> str | None:
        """Return the last lines that it wrote, its statistics left out."""
        try:
            text = written_since(self.program.log)[1].decode(errors="replace")
        except OSError:
            return None
        before, found, after = text.partition(USAGE)[0].rpartition(STATISTICS)
        later = (line for line in after.splitlines()[1:] if not _statistic(line))
        told = [*before.splitlines(), *later] if found else after.splitlines()
        lines = [line.strip() for line in told if line.strip() and line.isprintable()][-WORDS:]
        refused = REFUSED.search(text)
        if refused is not None and not any(REFUSED.search(line) for line in lines):
            lines = [*lines[1 - WORDS :], refused[0].strip()]
        return f"its last words: {' | '.join(lines)}" if lines else None

    def access(self) -> tuple[str, ...]:
        return (
            f"socat - UNIX-CONNECT:{self.telemetry},type=5",
            f"tail -f {self.program.log}",
        )


def drops_of(statistics: dict[str, int]) -> dict[str, int]:
    """Return the frames that a port lost, by reason."""
    return {reason: int(statistics[key]) for key, reason in DROPS.items() if key in statistics}


def _info(telemetry: Telemetry, port: int) -> dict[str, Any]:
    found = telemetry.ask(f"/ethdev/info,{port}")
    return found if isinstance(found, dict) else {}


def _up(telemetry: Telemetry, port: int) -> bool:
    found = telemetry.ask(f"/ethdev/link_status,{port}")
    return isinstance(found, dict) and found.get("status") == "UP"


def _statistic(line: str) -> bool:
    return line.lstrip().startswith(("#", "RX-", "TX-", "Rx-", "Tx-", "Throughput"))


ANSWER_S = 2.0
LARGEST_ANSWER = 65_536


class Telemetry(AbstractContextManager["Telemetry"]):
    """A connection; whatever goes wrong with it is an OSError."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.socket.settimeout(ANSWER_S)
            self.socket.connect(str(path))
            greeting = self._receive()
        except BaseException:
            self.socket.close()
            raise
        self.version: str | None = greeting.get("version")
        """Such as `DPDK 22.11.11`."""

    def ask(self, command: str) -> Any:
        """Return the answer to a command, such as `/ethdev/stats,0`."""
        self.socket.send(command.encode())
        return self._receive().get(command.partition(",")[0])

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _receive(self) -> dict[str, Any]:
        text = received(self.socket, LARGEST_ANSWER)
        if not text:
            raise ConnectionResetError("the program hung up")
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise OSError(f"the program answers {text[:60]!r}") from error
        return answer if isinstance(answer, dict) else {}
