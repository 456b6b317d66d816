"""The driver: where wrk and nginx are, and how they are run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs import nginx
from vsperf.drivers.programs.base import Found, Rendezvous, Said, Told, settings_of
from vsperf.drivers.programs.find import Installed
from vsperf.drivers.programs.wrk.answer import FILE, SCRIPT, told
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Traffic

WRK = Installed("wrk", "apt-get install wrk nginx", "-v", r"wrk (?:[a-z]+/)?(\d+(?:\.\d+)+)")
KNOWN = (
    "it exits with 0 when its server died, and adds samples to its times that nobody measured: its "
    "counts are looked at, and these are taken out"
)


class WrkSpec(nginx.HttpSpec):
    """Settings of wrk."""

    kind: Literal["wrk"]


class Wrk:
    """Runs wrk against nginx."""

    kind: ClassVar[str] = "wrk"
    summary: ClassVar[str] = "wrk against nginx: requests of HTTP as fast as answers come"
    Spec: ClassVar[type[DriverSpec]] = WrkSpec
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"http-rr", "http-crr"})
    SERVER_ENDS: ClassVar[bool] = False
    SERVER: ClassVar[str] = nginx.PROGRAM
    checks: ClassVar[tuple[Check, ...]] = (
        WRK.check(WrkSpec, partial(nginx.found, WRK), nginx.USE, lambda _: KNOWN),
    )

    def find(self, case: CaseSpec) -> Found:
        return nginx.found(WRK, settings_of(case, WrkSpec))

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
