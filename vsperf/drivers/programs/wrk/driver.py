"""The driver: where wrk and nginx are, how they are run, and what is believed of them.

wrk exits with 0 when its server died, so what it counted is looked at. Before it tells how long
answers took it adds samples that nobody measured: for each that took more than twice the usual
time, one for every request that would have been sent meanwhile. What it added follows from the
sums that it tells, so it is taken out again, and what is left has to come to the answers that it
counted; else nothing is said of times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs import lua, nginx
from vsperf.drivers.programs.base import (
    KnownFault,
    Rendezvous,
    Said,
    Told,
    round_trips,
)
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS

WRK = PackagedProgram(
    "wrk",
    "apt-get install wrk",
    "-v",
    r"(?s)wrk (?:[a-z]+/)?(\d+(?:\.\d+)+)(?!.*--rate)",  # wrk2 calls itself wrk, too
)
FAULTS = (
    KnownFault("it exits with 0 when its server died, so its counts are looked at"),
    KnownFault("it adds samples to its times that nobody measured: these are taken out"),
)
# The times of answers are those that wrk has by then. Its own way to each of them looks through all
# others again, which takes seconds after a pause, so they are read where they are; that they are
# there is seen by the least and the greatest of them, which wrk tells, too.
TIMES = f"""\
    local kept = ffi.cast("struct vsperf_stats **", latency)[0]
    local least, most = tonumber(kept.min), tonumber(kept.max)
    if summary.requests > 0 and least == latency.min and most == latency.max
            and most <= tonumber(kept.limit) then
        for us = least, most do
            local count = tonumber(kept.data[us])
            if count > 0 then
                io.write(string.format("{lua.MARK} took_us %.0f %.0f\\n", us, count))
            end
        end
    end
"""
SCRIPT = lua.script("struct vsperf_stats { uint64_t count, limit, min, max, data[]; };", TIMES)
TOOK = re.compile(rf"^{lua.MARK} took_us (\d{{1,10}}) (\d{{1,19}})$", re.MULTILINE)
MICROSECOND = 1_000


def _measured(took: Mapping[int, int], duration_us: int, of_each: int) -> Mapping[int, int]:
    """Return how often each time was measured.

    wrk expects a connection to ask every `duration_us / of_each`, and adds to a time what took
    longer by that, once or several times. So what it has of a time, less what it has of the next
    such time, is what was measured.
    """
    if of_each <= 0:
        return took
    usual = duration_us // of_each
    found = {
        us: count - (took.get(us + usual, 0) if us > usual else 0) for us, count in took.items()
    }
    return {us: count for us, count in found.items() if count}


class WrkSpec(nginx.HttpSpec):
    """Settings of wrk."""

    kind: Literal["wrk"]


class Wrk(nginx.Client):
    """Runs wrk against nginx."""

    kind = "wrk"
    summary = "wrk against nginx: requests of HTTP as fast as answers come"
    Spec = WrkSpec
    asks = WRK
    EXCHANGES = frozenset({"http-rr", "http-crr"})
    FAULTS = FAULTS
    checks = (WRK.check(WrkSpec, partial(nginx.find, WRK), nginx.USE, FAULTS),)

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return {**super().files(case, asked, meet), lua.FILE: SCRIPT}

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """One thread: each instance has one CPU for its client."""
        seconds = -(-asked.sending_ns // NANOSECONDS)  # it takes whole ones
        return (
            *(program, "-t", "1", "-c", str(asked.connections), "-d", f"{seconds}s"),
            *("-s", lua.FILE, nginx.url(meet)),
        )

    def answered(self, asked: ExchangeAsked, client: Said) -> Told:
        found = lua.counted(client)
        requests, timeouts = found.requests, found.timeouts
        took = {int(us): int(count) for us, count in TOOK.findall(client.text)}
        measured = _measured(took, found.elapsed_ns // MICROSECOND, requests // asked.connections)
        whole = (
            sum(measured.values()) == requests - timeouts and min(measured.values(), default=0) >= 0
        )
        return replace(
            found.told, round_trips=round_trips(measured.items(), MICROSECOND) if whole else None
        )
