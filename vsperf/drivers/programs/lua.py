"""What wrk, and what others made of it, tell at their end by a script: integers, a line each."""

from __future__ import annotations

import re
from typing import NamedTuple

from vsperf.drivers.programs.base import Said, Told
from vsperf.records.exchange import Failures, Interval
from vsperf.trust.plain_json import MOST_COUNTED

FILE = "told.lua"
MARK = "vsperf"
"""Each line begins so."""
LINE = re.compile(rf"^{MARK} (\w{{1,40}}) (\d{{1,19}})$", re.MULTILINE)
MICROSECOND = 1_000


def script(structures: str = "", more: str = "") -> str:
    """Return a script that tells the sums, and `more`, which may use structures of C."""
    return f"""\
local ffi = require("ffi")
ffi.cdef[[
struct vsperf_time {{ int64_t s; int64_t us; }};
{structures}
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
{more}    tell("whole", 1)
end
"""


class Counted(NamedTuple):
    """The sums of a client."""

    requests: int
    """That had an answer of any status."""
    statuses: int
    sockets: int
    timeouts: int
    elapsed_ns: int
    ended_at_ns: int

    @property
    def told(self) -> Told:
        """What they say; nothing of times."""
        answered = self.requests - self.statuses
        return Told(
            elapsed_ns=self.elapsed_ns,
            ended_at_ns=self.ended_at_ns,
            transactions=answered,
            failures=Failures(
                statuses=self.statuses,
                sockets=self.sockets,
                timeouts=self.timeouts,
                unanswered=None,
            ),
            intervals=(Interval(began_ns=0, ended_ns=self.elapsed_ns, amount=answered),),
        )


def counted(client: Said) -> Counted:
    """Return the sums that a client told; `ValueError` with what is wrong with them."""
    lines = {name: int(value) for name, value in LINE.findall(client.text)}
    if lines.get("whole") != 1:
        raise ValueError(f"its client told no end: it {client.quoted}")
    try:
        found = Counted(
            requests=lines["requests"],
            statuses=lines["errors_status"],
            sockets=sum(lines[f"errors_{name}"] for name in ("connect", "read", "write")),
            timeouts=lines["errors_timeout"],
            elapsed_ns=lines["duration_us"] * MICROSECOND,
            ended_at_ns=lines["ended_us"] * MICROSECOND,
        )
    except KeyError as error:
        raise ValueError(f"its client does not tell {error}") from error
    if max(lines.values()) > MOST_COUNTED or not 0 < found.elapsed_ns <= MOST_COUNTED:
        raise ValueError("its client counts more than is believed, or ran for no time")
    if found.requests <= found.statuses:
        raise ValueError(
            f"its client had no answer of status 2xx: {found.statuses:,} others, "
            f"{found.sockets:,} errors of sockets"
        )
    if found.timeouts > found.requests:
        raise ValueError(f"{found.timeouts:,} of {found.requests:,} requests timed out")
    return found
