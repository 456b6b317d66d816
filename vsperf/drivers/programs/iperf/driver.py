"""The driver: where iperf 2 is, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import (
    Found,
    ProgramSpec,
    Rendezvous,
    Said,
    Told,
    settings_of,
)
from vsperf.drivers.programs.find import Installed
from vsperf.drivers.programs.iperf.answer import told
from vsperf.errors import NotReadyError, UsageError
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import Traffic

INSTALL = "apt-get install iperf"
IPERF = Installed("iperf", INSTALL, "--version", r"iperf version (2\.\d+(?:\.\d+)*)")
USE = "to repeat old reports of streams between places; iperf3 is another program"
READ = (2, 1)
"""The first version whose lines are read."""
KNOWN = (
    "it exits with 0 when it fails, so its lines are read; sums of several streams leave out those "
    "that have ended, so each has a process of its own"
)
INTERVAL_S = "0.25"
"""Of what a server tells: a window that begins in the midst of one is less than that off."""
HUNDREDTH_NS = 10_000_000
"""It takes times in these."""
FASTEST = "100g"
"""Bits a second, which no sender comes to: it knows no word for as fast as it can."""
LEAST_DATAGRAM = 16
"""Bytes: a time and a number are in each, and of a shorter one a server reads what is behind it."""


class IperfSpec(ProgramSpec):
    """Settings of iperf 2."""

    kind: Literal["iperf"]
    congestion: str | None = None
    """How TCP adapts its rate, such as cubic, where data are sent; what the kernel has when not
    given."""


def _found(spec: IperfSpec | None, search: str | None = None) -> Found:
    found = IPERF.of(spec, search)
    if tuple(int(part) for part in found.version.split(".")[:2]) < READ:
        raise NotReadyError(
            f"the answers of iperf {found.version} are not read",
            why="versions before 2.1 write other lines, with times that are less exact",
            fix="name a later one: --set program.path=PATH",
        )
    return found


def _require_size(asked: ExchangeAsked) -> None:
    """Raise `UsageError` for datagrams that it sends and cannot count."""
    size = asked.write_bytes
    if asked.traffic == "udp-stream" and size is not None and size < LEAST_DATAGRAM:
        raise UsageError(
            f"iperf counts no datagrams of {size} bytes",
            why=f"each has a time and its number in it, which take {LEAST_DATAGRAM} bytes",
            fix=f"--set search.write={LEAST_DATAGRAM}B",
        )


class Iperf:
    """Runs iperf 2."""

    kind: ClassVar[str] = "iperf"
    summary: ClassVar[str] = "iperf 2: streams of TCP and UDP, to repeat what old reports did"
    Spec: ClassVar[type[DriverSpec]] = IperfSpec
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"tcp-stream", "udp-stream"})
    SERVER_ENDS: ClassVar[bool] = True
    SERVER: ClassVar[str] = IPERF.name
    checks: ClassVar[tuple[Check, ...]] = (IPERF.check(IperfSpec, _found, USE, lambda _: KNOWN),)

    def find(self, case: CaseSpec) -> Found:
        return _found(settings_of(case, IperfSpec))

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return {}

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """For one connection (-P), after which it ends."""
        where = ("--bind", meet.address, "--port", str(meet.port))
        return (program, "--server", *where, "-P", "1", "-i", INTERVAL_S, *_common(asked))

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        _require_size(asked)
        hundredths = -(-asked.sending_ns // HUNDREDTH_NS)
        where = ("--client", meet.address, "--port", str(meet.port))
        words = [program, *where, "-t", f"{hundredths / 100:g}", *_common(asked)]
        if asked.traffic == "udp-stream":
            return (*words, "-b", FASTEST)
        congestion = settings_of(case, IperfSpec).congestion
        return (*words, *(() if congestion is None else ("-Z", congestion)))

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        return told(asked, client, server)


def _common(asked: ExchangeAsked) -> tuple[str, ...]:
    """Return what both ends are told: a server reads no more of a datagram than it was told."""
    words = ["-e", "-f", "b"]
    if asked.traffic == "udp-stream":
        words.append("-u")
    if asked.write_bytes is not None:
        words += ["-l", str(asked.write_bytes)]
    if asked.buffer_bytes is not None:
        words += ["-w", str(asked.buffer_bytes)]
    return tuple(words)
