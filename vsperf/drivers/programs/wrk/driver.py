"""The driver: where wrk and nginx are, and how they are run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs import nginx
from vsperf.drivers.programs.base import Found, Rendezvous, Said, Told, settings_of
from vsperf.drivers.programs.find import located, version_in, words_of
from vsperf.drivers.programs.wrk.answer import told
from vsperf.drivers.programs.wrk.script import FILE, SCRIPT
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Traffic

PROGRAM = "wrk"
INSTALL = "apt-get install wrk nginx"
KNOWN = (
    "it exits with 0 when its server died, and adds samples to its times that nobody measured: its "
    "counts are looked at, and these are taken out"
)


class WrkSpec(DriverSpec):
    """Settings of wrk."""

    kind: Literal["wrk"]
    path: str | None = None
    """The program; the one in $PATH when not given."""
    server: str | None = None
    """The nginx that answers it; the one in $PATH when not given."""


def _found(spec: WrkSpec | None, search: str | None = None) -> Found:
    path = located(PROGRAM, None if spec is None else spec.path, INSTALL, search)
    client = Found(path, version_of(words_of((path, "-v")), path))
    return nginx.with_nginx(client, None if spec is None else spec.server, search, INSTALL)


def version_of(text: str, program: str) -> str:
    """Return the version in what it says of itself; raise `NotReadyError` where there is none."""
    return version_in(text, r"wrk (?:[a-z]+/)?(\d+(?:\.\d+)+)", PROGRAM, program)


def _ask(here: Host) -> Answer:
    try:
        found: Found | NotReadyError = _found(here.settings(WrkSpec), here.environment.get("PATH"))
    except NotReadyError as error:
        found = error
    return nginx.told_of(found, INSTALL, KNOWN)


class Wrk:
    """Runs wrk against nginx."""

    kind: ClassVar[str] = "wrk"
    summary: ClassVar[str] = "wrk against nginx: requests of HTTP as fast as answers come"
    Spec: ClassVar[type[DriverSpec]] = WrkSpec
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"http-rr", "http-crr"})
    SERVER_ENDS: ClassVar[bool] = False
    SERVER: ClassVar[str] = nginx.PROGRAM
    checks: ClassVar[tuple[Check, ...]] = (Check(PROGRAM, Group.PROGRAMS, _ask),)

    def find(self, case: CaseSpec) -> Found:
        return _found(settings_of(case, WrkSpec))

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return {**nginx.files(asked, meet), FILE: SCRIPT}

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        return nginx.words(program, meet)

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """One thread: each instance has one CPU for its client."""
        seconds = -(-asked.sending_ns // NANOSECONDS)  # it takes whole ones
        return (
            *(program, "-t", "1", "-c", str(asked.connections), "-d", f"{seconds}s"),
            *("-s", FILE, nginx.url(meet)),
        )

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        return told(asked, client, server)
