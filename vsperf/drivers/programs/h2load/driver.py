"""The driver: where h2load and nginx are, and how they are run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs import nginx
from vsperf.drivers.programs.base import Found, Rendezvous, Said, Told, settings_of
from vsperf.drivers.programs.find import Installed
from vsperf.drivers.programs.h2load.answer import told
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import Traffic

H2LOAD = Installed(
    "h2load",
    "apt-get install nghttp2-client nginx",
    "--version",
    r"h2load nghttp2/(\d+(?:\.\d+)+)",
)
THOUSANDTH_NS = 1_000_000
KNOWN = (
    "it exits with 0 when its server died, and takes times from when it came to send: its log is "
    "read, and they are taken from when requests were due"
)


class H2loadSpec(nginx.HttpSpec):
    """Settings of h2load."""

    kind: Literal["h2load"]


class H2load:
    """Runs h2load against nginx."""

    kind: ClassVar[str] = "h2load"
    summary: ClassVar[str] = "h2load against nginx: requests of HTTP as answers come, or by a clock"
    Spec: ClassVar[type[DriverSpec]] = H2loadSpec
    # Where each request has a connection of its own it does not end when its time is over.
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"http-rr", "http-open"})
    SERVER_ENDS: ClassVar[bool] = False
    SERVER: ClassVar[str] = nginx.PROGRAM
    checks: ClassVar[tuple[Check, ...]] = (
        H2LOAD.check(H2loadSpec, partial(nginx.found, H2LOAD), nginx.USE, lambda _: KNOWN),
    )

    def find(self, case: CaseSpec) -> Found:
        return nginx.found(H2LOAD, settings_of(case, H2loadSpec))

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
