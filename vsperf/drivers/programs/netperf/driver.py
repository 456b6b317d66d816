"""The driver: where netperf and netserver are, and how they are run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import Found, Rendezvous, Said, Told, settings_of
from vsperf.drivers.programs.find import located, version_in
from vsperf.drivers.programs.netperf.answer import KEYS, told
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host, absent, ok
from vsperf.host.versions import version_text
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Traffic

PROGRAM, SERVER = "netperf", "netserver"
INSTALL = "apt-get install netperf"
WHERE = "Debian 12 and Ubuntu have it in non-free and multiverse"
TESTS: dict[Traffic, str] = {
    "tcp-stream": "TCP_STREAM",
    "tcp-rr": "TCP_RR",
    "udp-rr": "UDP_RR",
    "tcp-crr": "TCP_CRR",
}
DATA_PORTS = 1_000
"""From the port by which client and server agree to that of the data."""
INTERVAL_S = "0.25"


class NetperfSpec(DriverSpec):
    """Settings of netperf."""

    kind: Literal["netperf"]
    path: str | None = None
    """The program; the one in $PATH when not given. `netserver` is taken from the same folder."""


def _found(path: str | None, search: str | None = None) -> Found:
    program = located(PROGRAM, path, INSTALL, search)
    server = str(Path(program).with_name(SERVER))
    if shutil.which(server) is None:
        raise NotReadyError(
            f"the program {SERVER} cannot be run",
            why=f"there is none beside {program}",
            fix="name a netperf that has one beside it: --set program.path=PATH",
        )
    return Found(program, version_of(version_text((program, "-V"), program), program), server)


def version_of(text: str, program: str) -> str:
    """Return the version in what it says of itself; raise `NotReadyError` where there is none."""
    return version_in(text, r"Netperf version (\d+(?:\.\d+)*)", PROGRAM, program)


def _ask(here: Host) -> Answer:
    chosen = here.settings(NetperfSpec)
    try:
        found = _found(None if chosen is None else chosen.path, here.environment.get("PATH"))
    except NotReadyError as error:
        why = error.problems[0].why or str(error)
        return absent(f"{why}; for requests and responses between places; {WHERE}", INSTALL)
    return ok(
        f"{found.path}, version {found.version}: its percentiles have two digits, and those of "
        "several instances cannot be merged"
    )


class Netperf:
    """Runs netperf against netserver."""

    kind: ClassVar[str] = "netperf"
    summary: ClassVar[str] = "netperf: streams of TCP, requests and responses, new connections"
    Spec: ClassVar[type[DriverSpec]] = NetperfSpec
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset(TESTS)
    SERVER_ENDS: ClassVar[bool] = False
    SERVER: ClassVar[str] = SERVER
    checks: ClassVar[tuple[Check, ...]] = (Check(PROGRAM, Group.PROGRAMS, _ask),)

    def find(self, case: CaseSpec) -> Found:
        return _found(settings_of(case, NetperfSpec).path)

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
