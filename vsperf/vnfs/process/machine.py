"""One testpmd that stands in for a machine: started, asked, and never left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.errors import ComponentError
from vsperf.host.process import OBITUARY_S, Managed, managed
from vsperf.host.threads import LCORES, Polling
from vsperf.host.workspace import Workspace
from vsperf.record.machine import MachineCounters, NicCounters
from vsperf.vnfs.process.command import Machine, command_line
from vsperf.vnfs.process.telemetry import Telemetry

POLL_S = 0.01
STATISTICS = "Port statistics"
"""With this begins what testpmd prints of itself, which says nothing about how it ended."""
USAGE = "\nUsage: "
"""With this begins a list of all options, and before it is what was wrong with the given ones."""
WORDS = 5
DROPS = {
    "imissed": "missed",
    "rx_nombuf": "no buffer",
    "ierrors": "receive errors",
    "oerrors": "send errors",
}
"""DPDK's name of a counter → the reason for which frames were lost. What testpmd throws away
itself, because it cannot send it, is in no counter."""


@dataclass
class RunningMachine:
    """A testpmd that was started."""

    machine: Machine
    program: Managed
    telemetry: Path
    look: Callable[[], None] = lambda: None
    """Raises when it would wait in vain, since another part has ended."""
    dpdk: str | None = None
    ports: list[dict[str, Any]] = field(default_factory=list)
    """What DPDK says of each card, as found when it began to forward."""

    @property
    def name(self) -> str:
        """The machine's name, such as vm1."""
        return self.machine.name

    def await_forwarding(self, deadline: float) -> None:
        """Wait until testpmd answers, and all its links are up and started."""
        while True:
            waiting = self._waiting_for()
            if waiting is None:
                return
            if self.program.poll() is not None:
                raise self._obituary("while it started")
            self.look()
            if time.monotonic() > deadline:
                raise ComponentError(
                    f"{self.name} does not forward after "
                    f"{self.machine.spec.boot_timeout.seconds:g} s: {waiting}",
                    why=self._last_words(),
                    fix="see that the switch has opened its side of the machine's ports, or allow "
                    "more time: vnf.boot_timeout",
                )
            time.sleep(POLL_S)  # between two looks at a condition, never instead of one

    def failure(self) -> str | None:
        """Return how it ended, or None while it runs."""
        if self.program.failure() is None:
            return None
        words = self._last_words()
        how = f"{self.name} {self.program.ending()}"
        return f"{how}; {words}" if words else how

    def counters(self) -> MachineCounters:
        """Return what each card counts."""
        try:
            with Telemetry(self.telemetry) as telemetry:
                found = [telemetry.ask(f"/ethdev/stats,{wire.nic}") for wire in self.machine.wires]
        except OSError as error:
            if self.program.wait(OBITUARY_S):  # its socket is closed a moment before its end
                raise self._obituary("and cannot be asked for its counters") from error
            raise ComponentError(
                f"{self.name} does not tell its counters", why=str(error)
            ) from error
        known = [stats for stats in found if isinstance(stats, dict)]
        if len(known) < len(found):
            raise ComponentError(f"{self.name} counts nothing on one of its cards")
        return MachineCounters(name=self.name, nics=tuple(_counters(stats) for stats in known))

    def facts(self) -> dict[str, Any]:
        """Return versions and what was negotiated, for the record."""
        return {
            "app": self.machine.spec.app,
            "dpdk": self.dpdk,
            "argv": list(self.program.argv),
            "ports": self.ports,
        }

    def ask_to_end(self) -> None:
        """Tell it to end; nobody waits here."""
        if self.program.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.program.pid, signal.SIGTERM)

    def _waiting_for(self) -> str | None:
        """Return what is not there yet, for people; None when it forwards."""
        try:
            with Telemetry(self.telemetry) as telemetry:
                cards = [wire.nic for wire in self.machine.wires]
                found = [(_info(telemetry, card), _up(telemetry, card)) for card in cards]
                self.dpdk = telemetry.version
        except OSError:
            return "not all of its ports are connected"
        for card, (info, up) in zip(cards, found, strict=True):
            if not up:
                return f"the link of card {card} is down"
            if not info.get("dev_started"):
                return f"card {card} is not started"
        self.ports = [_shown(info) for info, _ in found]
        return None

    def _obituary(self, when: str) -> ComponentError:
        return ComponentError(f"{self.name} {self.program.ending()} {when}", why=self._last_words())

    def _last_words(self) -> str | None:
        """Return the last lines that it wrote, its statistics left out."""
        try:
            text = self.program.log.read_text(errors="replace")
        except OSError:
            return None
        text = text.partition(USAGE)[0]
        before, found, after = text.rpartition(STATISTICS)
        later = (line for line in after.splitlines()[1:] if not _statistic(line))
        told = [*before.splitlines(), *later] if found else text.splitlines()
        lines = [line.strip() for line in told if line.strip() and line.isprintable()]
        return f"its last words: {' | '.join(lines[-WORDS:])}" if lines else None


@contextmanager
def started(machine: Machine, program: str, workspace: Workspace) -> Iterator[RunningMachine]:
    """Start a machine, and return before it is up; leaving the context ends it."""
    for wire in machine.wires:
        if wire.kind == "vhost-user-client":  # it listens itself; whoever did before it is gone
            Path(workspace.fill(wire.address)).unlink(missing_ok=True)
    argv = [workspace.fill(word) for word in command_line(program, machine)]
    environment = {"RUNTIME_DIRECTORY": str(workspace.folder)}
    with managed(
        argv,
        name=machine.name,
        workspace=workspace,
        environment=environment,
        polling=Polling(machine.name, LCORES),
    ) as process:
        yield RunningMachine(
            machine,
            process,
            Path(workspace.fill(machine.telemetry)),
            lambda: workspace.require_running(f"while {machine.name} was waited for"),
        )


def _counters(stats: dict[str, Any]) -> NicCounters:
    return NicCounters(
        received_frames=int(stats["ipackets"]),
        sent_frames=int(stats["opackets"]),
        drops={reason: int(stats[key]) for key, reason in DROPS.items() if key in stats},
    )


def _info(telemetry: Telemetry, card: int) -> dict[str, Any]:
    found = telemetry.ask(f"/ethdev/info,{card}")
    return found if isinstance(found, dict) else {}


def _up(telemetry: Telemetry, card: int) -> bool:
    found = telemetry.ask(f"/ethdev/link_status,{card}")
    return isinstance(found, dict) and found.get("status") == "UP"


def _shown(info: dict[str, Any]) -> dict[str, Any]:
    known = ("name", "mac_addr", "mtu", "nb_rx_queues", "nb_tx_queues")
    return {key: info[key] for key in known if key in info}


def _statistic(line: str) -> bool:
    return line.lstrip().startswith(("#", "RX-", "TX-", "Rx-", "Tx-", "Throughput"))
