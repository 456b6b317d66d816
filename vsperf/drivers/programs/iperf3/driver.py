"""The driver: where iperf3 is, and how it is run."""

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
from vsperf.drivers.programs.iperf3.answer import told
from vsperf.errors import UsageError
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Traffic

IPERF3 = Installed("iperf3", "apt-get install iperf3", "--version", r"iperf (3\.\d+(?:\.\d+)?)")
USE = "for methods that measure between places"
INTERVAL_S = "0.25"
"""Of what a server tells: a window that begins in the midst of one is less than that off."""
CONNECT_MS = 5_000
"""Patience of a client with a path that lets nothing through; the kernel's own are minutes."""
LEAST_DATAGRAM, MOST_WRITTEN = 16, 1 << 20
"""Bytes: each datagram has a time and its number in it, and more it does not write at once."""
HONEST, THREADED = (3, 14), (3, 16)
"""Versions from which on it exits with 1 when it fails, and has a thread for each stream."""


class Iperf3Spec(ProgramSpec):
    """Settings of iperf3."""

    kind: Literal["iperf3"]
    congestion: str | None = None
    """How TCP adapts its rate, such as cubic, at both ends; what the kernel has when not given."""


def lies_of(version: str) -> tuple[str, ...]:
    """Return what has to be known of a version, for people."""
    number = tuple(int(part) for part in version.split(".")[:2])
    lies = () if number >= HONEST else ("it exits with 0 when it fails, so its answers are read",)
    threads = "a thread for each stream" if number >= THREADED else "one thread for all streams"
    return (*lies, f"{threads}: do not hold it against one with the other")


def _require_size(asked: ExchangeAsked) -> None:
    """Raise `UsageError` for what it does not write at once."""
    size = asked.write_bytes
    if size is None:
        return
    if asked.traffic == "udp-stream" and size < LEAST_DATAGRAM:
        raise UsageError(
            f"iperf3 sends no datagrams of {size} bytes",
            why=f"each has a time and its number in it, which take {LEAST_DATAGRAM} bytes",
            fix=f"--set search.write={LEAST_DATAGRAM}B",
        )
    if size > MOST_WRITTEN:
        raise UsageError(
            f"iperf3 does not write {size:,} bytes at once",
            why=f"{MOST_WRITTEN:,} bytes are the most that it takes",
            fix="--set search.write=1MiB",
        )


def _known(found: Found) -> str:
    return "; ".join(lies_of(found.version))


class Iperf3:
    """Runs iperf3."""

    kind: ClassVar[str] = "iperf3"
    summary: ClassVar[str] = "iperf3: streams of TCP and UDP, one process for each end of each"
    Spec: ClassVar[type[DriverSpec]] = Iperf3Spec
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"tcp-stream", "udp-stream"})
    SERVER_ENDS: ClassVar[bool] = True
    SERVER: ClassVar[str] = IPERF3.name
    checks: ClassVar[tuple[Check, ...]] = (IPERF3.check(Iperf3Spec, IPERF3.of, USE, _known),)

    def find(self, case: CaseSpec) -> Found:
        return IPERF3.of(settings_of(case, Iperf3Spec))

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return {}

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        return (
            *(program, "--server", "--one-off", "--version4", "--port", str(meet.port)),
            *("--json", "--interval", INTERVAL_S),
        )

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        _require_size(asked)
        seconds = -(-asked.sending_ns // NANOSECONDS)  # it takes whole ones
        words = [
            *(program, "--client", meet.address, "--version4", "--port", str(meet.port)),
            *("--json", "--interval", "0", "--time", str(seconds)),
            *("--connect-timeout", str(CONNECT_MS)),
        ]
        if asked.traffic == "udp-stream":
            words += ["--udp", "--bitrate", "0"]
        congestion = settings_of(case, Iperf3Spec).congestion
        if asked.traffic == "tcp-stream" and congestion is not None:
            words += ["--congestion", congestion]
        if asked.write_bytes is not None:
            words += ["--length", str(asked.write_bytes)]
        if asked.buffer_bytes is not None:
            words += ["--window", str(asked.buffer_bytes)]
        return tuple(words)

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        return told(asked, client, server)
