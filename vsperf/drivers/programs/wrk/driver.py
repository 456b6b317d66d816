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
from functools import partial
from typing import ClassVar, Literal

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.drivers.programs import nginx
from vsperf.drivers.programs.base import (
    InstalledProgram,
    Rendezvous,
    Said,
    Told,
    problem_of,
    round_trips,
    settings_of,
)
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Failures, Interval, Traffic
from vsperf.trust.plain_json import MOST_COUNTED

WRK = PackagedProgram("wrk", "apt-get install wrk nginx", "-v", r"wrk (?:[a-z]+/)?(\d+(?:\.\d+)+)")
KNOWN = (
    "it exits with 0 when its server died, and adds samples to its times that nobody measured: its "
    "counts are looked at, and these are taken out"
)
# The times of answers are those that wrk has by then. Its own way to each of them looks through all
# others again, which takes seconds after a pause, so they are read where they are; that they are
# there is seen by the least and the greatest of them, which wrk tells, too.
FILE = "told.lua"
MARK = "vsperf"
"""Each line begins so."""
SCRIPT = f"""\
local ffi = require("ffi")
ffi.cdef[[
struct vsperf_time {{ int64_t s; int64_t us; }};
struct vsperf_stats {{ uint64_t count, limit, min, max, data[]; }};
int gettimeofday(struct vsperf_time *now, void *zone);
]]

local function tell(name, value)
    io.write(string.format("{MARK} %s %.0f\\n", name, value))
end

function done(summary, latency, requests)
    local now = ffi.new("struct vsperf_time")
    ffi.C.gettimeofday(now, nil)
    tell("ended_us", tonumber(now.s) * 1e6 + tonumber(now.us))
    tell("duration_us", summary.duration)
    tell("requests", summary.requests)
    tell("bytes", summary.bytes)
    for name, count in pairs(summary.errors) do
        tell("errors_" .. name, count)
    end
    local kept = ffi.cast("struct vsperf_stats **", latency)[0]
    local least, most = tonumber(kept.min), tonumber(kept.max)
    if summary.requests > 0 and least == latency.min and most == latency.max
            and most <= tonumber(kept.limit) then
        for us = least, most do
            local count = tonumber(kept.data[us])
            if count > 0 then
                io.write(string.format("{MARK} took_us %.0f %.0f\\n", us, count))
            end
        end
    end
    tell("whole", 1)
end
"""


LINE = re.compile(rf"^{MARK} (\w{{1,40}}) (\d{{1,19}})$", re.MULTILINE)
TOOK = re.compile(rf"^{MARK} took_us (\d{{1,10}}) (\d{{1,19}})$", re.MULTILINE)
MICROSECOND = 1_000


def told(asked: ExchangeAsked, client: Said, server: Said) -> Told:
    """Return what a client says, or what is wrong with either end."""
    if problem := problem_of(client, nginx.problem_of(server)):
        return Told(problem=problem)
    lines = {name: int(value) for name, value in LINE.findall(client.text)}
    if lines.get("whole") != 1:
        return Told(problem=f"its client told no end: it {client.quoted}")
    try:
        return _told(asked, lines, client.text)
    except (KeyError, ValueError) as error:
        return Told(problem=f"its answers cannot be read: {type(error).__name__} {error}")


def _told(asked: ExchangeAsked, lines: Mapping[str, int], text: str) -> Told:
    if max(lines.values()) > MOST_COUNTED:
        raise ValueError("a count is larger than is believed")
    statuses, timeouts = lines["errors_status"], lines["errors_timeout"]
    sockets = sum(lines[f"errors_{name}"] for name in ("connect", "read", "write"))
    requests, duration_us = lines["requests"], lines["duration_us"]
    answered = requests - statuses
    if answered <= 0:
        return Told(
            problem=f"its client had no answer of status 2xx: {statuses:,} others, {sockets:,} "
            "errors of sockets"
        )
    elapsed_ns = duration_us * MICROSECOND
    if not 0 < elapsed_ns <= MOST_COUNTED or timeouts > requests:
        raise ValueError(f"{requests} requests in {duration_us} µs, {timeouts} of them timed out")
    took = {int(us): int(count) for us, count in TOOK.findall(text)}
    measured = _measured(took, duration_us, requests // asked.connections)
    whole = sum(measured.values()) == requests - timeouts and min(measured.values(), default=0) >= 0
    return Told(
        elapsed_ns=elapsed_ns,
        ended_at_ns=lines["ended_us"] * MICROSECOND,
        transactions=answered,
        round_trips=round_trips(measured.items(), MICROSECOND) if whole else None,
        failures=Failures(statuses=statuses, sockets=sockets, timeouts=timeouts, unanswered=None),
        intervals=(Interval(began_ns=0, ended_ns=elapsed_ns, amount=answered),),
    )


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


class Wrk:
    """Runs wrk against nginx."""

    kind: ClassVar[str] = "wrk"
    summary: ClassVar[str] = "wrk against nginx: requests of HTTP as fast as answers come"
    Spec: ClassVar[type[DriverSpec]] = WrkSpec
    EXCHANGES: ClassVar[frozenset[Traffic]] = frozenset({"http-rr", "http-crr"})
    SERVER_ENDS: ClassVar[bool] = False
    SERVER: ClassVar[str] = nginx.PROGRAM
    checks: ClassVar[tuple[Check, ...]] = (
        WRK.check(WrkSpec, partial(nginx.find, WRK), nginx.USE, lambda _: KNOWN),
    )

    def find(self, case: CaseSpec) -> InstalledProgram:
        return nginx.find(WRK, settings_of(case, WrkSpec))

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
