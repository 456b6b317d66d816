"""The driver: where h2load and nginx are, and how they are run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs import nginx
from vsperf.drivers.programs.base import Found, Rendezvous, Said, Told, settings_of
from vsperf.drivers.programs.find import located, version_in, words_of
from vsperf.drivers.programs.h2load.answer import told
from vsperf.errors import NotReadyError
from vsperf.host.doctor.finding import Answer, Check, Group, Host
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import Traffic

PROGRAM = "h2load"
INSTALL = "apt-get install nghttp2-client nginx"
THOUSANDTH_NS = 1_000_000
KNOWN = (
    "it exits with 0 when its server died, and takes times from when it came to send: its log is "
    "read, and they are taken from when requests were due"
)


class H2loadSpec(DriverSpec):
    """Settings of h2load."""

    kind: Literal["h2load"]
    path: str | None = None
    """The program; the one in $PATH when not given."""
    server: str | None = None
    """The nginx that answers it; the one in $PATH when not given."""


def _found(spec: H2loadSpec | None, search: str | None = None) -> Found:
    path = located(PROGRAM, None if spec is None else spec.path, INSTALL, search)
    client = Found(path, version_of(words_of((path, "--version")), path))
    return nginx.with_nginx(client, None if spec is None else spec.server, search, INSTALL)


def version_of(text: str, program: str) -> str:
    """Return the version in what it says of itself; raise `NotReadyError` where there is none."""
    return version_in(text, r"h2load nghttp2/(\d+(?:\.\d+)+)", PROGRAM, program)


def _ask(here: Host) -> Answer:
    try:
        found: Found | NotReadyError = _found(
            here.settings(H2loadSpec), here.environment.get("PATH")
        )
    except NotReadyError as error:
        found = error
    return nginx.told_of(found, INSTALL, KNOWN)


class H2load:
    """Runs h2load against nginx."""

    kind: ClassVar[str] = "h2load"
    summary: ClassVar[str] = "h2load against nginx: requests of HTTP as answers come, or by a clock"
    Spec: ClassVar[type[DriverSpec]] = H2loadSpec
    # Where each request has a connection of its own it does not end when its time is over.
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"http-rr", "http-open"})
    SERVER_ENDS: ClassVar[bool] = False
    SERVER: ClassVar[str] = nginx.PROGRAM
    checks: ClassVar[tuple[Check, ...]] = (Check(PROGRAM, Group.PROGRAMS, _ask),)

    def find(self, case: CaseSpec) -> Found:
        return _found(settings_of(case, H2loadSpec))

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return nginx.files(asked, meet)

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        return nginx.words(program, meet)

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """One thread: each instance has one CPU. Its log is beside what it writes otherwise."""
        milliseconds = -(-asked.sending_ns // THOUSANDTH_NS)
        clock = () if asked.rate is None else ("--rps", f"{asked.rate / asked.connections:.9g}")
        return (
            *(program, "--h1", "-t", "1", "-c", str(asked.connections)),
            *("-D", f"{milliseconds}ms", *clock),
            *("--log-file", "/dev/stdout", nginx.url(meet)),
        )

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        return told(asked, client, server)
