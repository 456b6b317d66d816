"""A proxy that passes bytes on: whether it still does, what it counts, and what it is.

It takes bytes from one connection and gives them to another one. The connections themselves are the
kernel's, and so are most of the reasons for which there are no more of them.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsperf.drivers.vswitches.hops import RunningHop, asked_in, setting
from vsperf.drivers.vswitches.proxy.layout import Design
from vsperf.errors import ComponentError, UsageError
from vsperf.host.process import Managed
from vsperf.host.procfs import is_stopped, resident_bytes, start_ticks
from vsperf.records.switch import ConnectionCounters, Kept, SwitchCounters

TABLES = ("snmp", "netstat", "sockstat")
"""Below /proc/net, as whoever asks sees it."""
OWN = Path("/proc/thread-self/net")
DROPS = {
    "TcpExt.ListenDrops": "listen queue full",
    "TcpExt.TCPBacklogDrop": "socket queue full",
}
"""The kernel's count of frames that were dropped → how it is called. The first are SYNs, and what
would have ended a handshake, of which there was one too many: more in `REASONS`."""
REASONS = {
    "TcpExt.ListenOverflows": "accept queue full",
    "TcpExt.TCPReqQFullDrop": "SYN queue full",
    "TcpExt.TCPReqQFullDoCookies": "SYN cookies sent",
    "TcpExt.TCPAbortOnMemory": "no memory for TCP",
    "Tcp.AttemptFails": "connections not made",
    "Tcp.EstabResets": "connections reset",
    "Tcp.RetransSegs": "segments sent again",
    "Tcp.InErrs": "segments damaged",
}
"""The kernel's count → how it is called, of what explains what became of connections."""
ACCEPTED, OPENED = "Tcp.PassiveOpens", "Tcp.ActiveOpens"
OPEN = "TCP.inuse"


@dataclass(frozen=True, slots=True)
class Tcp:
    """What is counted, as it stands."""

    counts: Mapping[str, int]
    """By protocol and name, such as Tcp.ActiveOpens."""

    @classmethod
    def of(cls, network: str) -> Tcp:
        """Ask the kernel; what it refuses is a `ComponentError`."""

        def ask() -> dict[str, int]:
            texts = {name: (OWN / name).read_text() for name in TABLES}
            return counted(texts["snmp"]) | counted(texts["netstat"]) | in_use(texts["sockstat"])

        return cls(asked_in(network, "what it counts of TCP", ask))

    @property
    def accepted(self) -> int:
        """Connections from clients: those whose handshake came to its end."""
        return self.counts[ACCEPTED]

    @property
    def opened(self) -> int:
        """Connections to servers that were begun."""
        return self.counts[OPENED]

    def open_beside(self, called: int) -> int:
        """Return how many connections are open now, of which each has two sockets.

        Beside them there are the sockets at which clients call.
        """
        return max(0, self.counts[OPEN] - called) // 2

    @property
    def drops(self) -> dict[str, int]:
        return {called: self.counts[name] for name, called in DROPS.items() if name in self.counts}

    @property
    def reasons(self) -> dict[str, int]:
        """What explains that; what this kernel does not count is left out."""
        return {
            called: self.counts[name] for name, called in REASONS.items() if name in self.counts
        }


def counted(text: str) -> dict[str, int]:
    """Return what stands in a table of two lines for each protocol: names, and numbers."""
    lines = [line.split() for line in text.splitlines()]
    return {
        f"{names[0].rstrip(':')}.{name}": int(number)
        for names, numbers in zip(lines[::2], lines[1::2], strict=True)
        for name, number in zip(names[1:], numbers[1:], strict=True)
    }


def in_use(text: str) -> dict[str, int]:
    """Return what stands in a table of one line for each protocol, names and numbers in turns."""
    return {
        f"{words[0].rstrip(':')}.{name}": int(number)
        for words in map(str.split, text.splitlines())
        for name, number in zip(words[1::2], words[2::2], strict=True)
    }


NO_PORT = "no port free"


@dataclass(frozen=True, slots=True)
class InstalledProxy:
    """A program of this machine."""

    path: str
    version: str
    module: str | None = None
    """The file that it has to load before it can pass bytes on; None where it can by itself."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a program says of itself; what it does not count is missing."""

    accepted: int | None = None
    """Connections from clients."""
    attempts: int | None = None
    """To connect to a server, one for which there was no port included."""
    reasons: dict[str, int] = field(default_factory=dict)
    """What else it counts."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A program that was started."""

    program: Managed
    workers: tuple[int, ...]
    """The processes that pass bytes on. Each has a socket of its own at which clients call."""
    opened_before: int
    """Connections that the kernel had opened in its network before it began."""

    def without_port(self, attempts: int | None, opened: int) -> dict[str, int]:
        """Return how many attempts never became a connection, as no port was free for them.

        The kernel counts a connection once it has a port. Nothing is returned where nobody counts
        attempts.
        """
        if attempts is None:
            return {}
        return {NO_PORT: max(0, attempts - (opened - self.opened_before))}


@dataclass(kw_only=True)
class RunningProxy(RunningHop):
    """The device with its two ports, whoever is at the other ends of the taps."""

    design: Design
    found: InstalledProxy
    configuration: tuple[str, ...]
    """As it was written, line by line."""
    instance: Instance
    start_again: Callable[[Instance, bool], Instance]
    """Ends it, kindly or by SIGKILL, and starts another one."""
    ask: Callable[[], Told]
    """Asks the program; one that does not answer is a `ComponentError`."""
    commands: tuple[str, ...]
    """By which a person looks at the program."""

    def failure(self) -> str | None:
        if (reason := super().failure()) is not None:
            return reason
        program = self.instance.program
        if (reason := program.failure()) is not None:
            return f"{program.name} {reason}"
        for worker in self.instance.workers:
            if start_ticks(worker) is None:
                return f"a worker of {program.name} has ended: process {worker}"
            if is_stopped(worker):
                return f"a worker of {program.name} is stopped: process {worker}"
        return self._silence()

    def counters(self) -> SwitchCounters:
        """Return all counters as they stand: the program's own, and where it has none the kernel's.

        Frames that were dropped are the kernel's to tell, a proxy never sees any; and so are
        connections to servers, of which a proxy counts its attempts.
        """
        told, tcp = self.ask(), Tcp.of(self.network)
        without_port = self.instance.without_port(told.attempts, tcp.opened)
        return SwitchCounters(
            ports=self.hop.counted(),
            drops=tcp.drops,
            reasons=tcp.reasons | told.reasons | without_port,
            connections=ConnectionCounters(
                accepted=tcp.accepted if told.accepted is None else told.accepted,
                opened=tcp.opened,
            ),
        )

    def kept(self) -> Kept:
        """Return the connections that are open, and the memory of the program.

        What the kernel takes for their sockets it tells for all networks together only.
        """
        pids = {self.instance.program.pid, *self.instance.workers}
        known = [size for pid in pids if (size := resident_bytes(pid)) is not None]
        entries = Tcp.of(self.network).open_beside(len(self.instance.workers))
        return Kept(entries=entries, memory_bytes=sum(known) if known else None)

    def facts(self) -> dict[str, Any]:
        program = self.instance.program
        return {
            "kernel": platform.release(),
            program.name: self.found.version,
            "program": self.found.path,
            "argv": list(program.argv),
            **self.hop.facts(),
            "service": self.design.service,
            "servers": list(self.design.servers),
            "workers": self.design.spec.worker_count,
            "cpus": list(self.design.cpus),
            "open_files": self.design.spec.files,
            "settings": {name: setting(self.network, name) for name in self.design.settings()},
            "congestion_control": setting(self.network, "ipv4/tcp_congestion_control"),
            "configuration": list(self.configuration),
        }

    def restart(self, *, kill: bool) -> None:
        """End it and start it anew: all connections are lost, as are its own counts."""
        self.instance = self.start_again(self.instance, kill)

    def forget_flows(self) -> None:
        """Do nothing: it looks no frame up anywhere, and connections are what it is for."""

    def change_rules(self, count: int) -> None:
        raise UsageError(
            "a proxy has no rules that could be changed",
            why="whoever calls its service is passed on to a server, whatever comes",
            fix="choose a switch with rules: --vswitch nftables",
        )

    def access(self) -> tuple[str, ...]:
        before = f"ip netns exec {self.network}"
        return (
            *self.commands,
            f"{before} cat /proc/net/snmp /proc/net/netstat /proc/net/sockstat",
            f"ip -netns {self.network} -statistics link",
        )

    def _silence(self) -> str | None:
        try:
            self.ask()
        except ComponentError as error:
            return error.with_why
        return None
