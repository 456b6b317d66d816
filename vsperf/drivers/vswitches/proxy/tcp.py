"""What the kernel counts of TCP in one network: that of a proxy, and of nobody else.

A proxy takes bytes from one connection and gives them to another one. The connections themselves
are the kernel's, and so are most of the reasons for which there are no more of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vsperf.drivers.vswitches.hops import asked_in

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
        """Frames that were dropped, by reason."""
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
