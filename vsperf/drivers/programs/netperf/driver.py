"""The driver: where netperf and netserver are, and how they are run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import (
    DATA_PORTS,
    Found,
    ProgramSpec,
    Rendezvous,
    Said,
    Told,
    settings_of,
)
from vsperf.drivers.programs.find import Installed
from vsperf.drivers.programs.netperf.answer import KEYS, told
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Traffic

NETPERF = Installed("netperf", "apt-get install netperf", "-V", r"Netperf version (\d+(?:\.\d+)*)")
SERVER = "netserver"
USE = (
    "for requests and responses between places; Debian 12 and Ubuntu have it in non-free and "
    "multiverse"
)
KNOWN = "its percentiles have two digits, and those of several instances cannot be merged"
TESTS: dict[Traffic, str] = {
    "tcp-stream": "TCP_STREAM",
    "tcp-rr": "TCP_RR",
    "udp-rr": "UDP_RR",
    "tcp-crr": "TCP_CRR",
}
INTERVAL_S = "0.25"


class NetperfSpec(ProgramSpec):
    """Settings of netperf."""

    kind: Literal["netperf"]
    path: str | None = None
    """The program; the one in $PATH when not given. `netserver` is taken from the same folder."""


def _found(spec: NetperfSpec | None, search: str | None = None) -> Found:
    client = NETPERF.of(spec, search)
    server = str(Path(client.path).with_name(SERVER))
    if shutil.which(server) is None:
        raise NotReadyError(
            f"the program {SERVER} cannot be run",
            why=f"there is none beside {client.path}",
            fix="name a netperf that has one beside it: --set program.path=PATH",
        )
    return replace(client, server=server)


class Netperf:
    """Runs netperf against netserver."""

    kind: ClassVar[str] = "netperf"
    summary: ClassVar[str] = "netperf: streams of TCP, requests and responses, new connections"
    Spec: ClassVar[type[DriverSpec]] = NetperfSpec
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset(TESTS)
    SERVER_ENDS: ClassVar[bool] = False
    SERVER: ClassVar[str] = SERVER
    checks: ClassVar[tuple[Check, ...]] = (
        NETPERF.check(NetperfSpec, _found, USE, lambda _: KNOWN),
    )

    def find(self, case: CaseSpec) -> Found:
        return _found(settings_of(case, NetperfSpec))

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return {}

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """In the foreground (-D), without children (-f) and files of its own in /tmp (-N)."""
        words = ("-D", "-f", "-N", "-4", "-L", f"{meet.address},4", "-p", str(meet.port))
        return (program, *words)

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        seconds = -(-asked.sending_ns // NANOSECONDS)  # it takes whole ones
        words = [
            *(program, "-P", "0", "-4", "-H", meet.address, "-p", str(meet.port)),
            *("-t", TESTS[asked.traffic], "-l", str(seconds), "-D", INTERVAL_S, "-j", "--"),
            *("-P", f",{meet.port + DATA_PORTS}", "-k", ",".join(KEYS)),
        ]
        if asked.traffic != "tcp-stream":
            words += ["-r", f"{asked.request_bytes},{asked.response_bytes}"]
        elif asked.write_bytes is not None:
            words += ["-m", str(asked.write_bytes)]
        if asked.buffer_bytes is not None:
            words += ["-s", str(asked.buffer_bytes), "-S", str(asked.buffer_bytes)]
        return tuple(words)

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        return told(asked, client, server)
