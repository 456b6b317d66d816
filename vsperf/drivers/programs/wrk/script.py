"""What wrk is told to tell in the end, in Lua: integers, in place of text for people.

The times of answers are those that wrk has by then. Its own way to each of them looks through all
others again, which takes seconds after a pause, so they are read where they are; that they are
there is seen by the least and the greatest of them, which wrk tells, too.
"""

from __future__ import annotations

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
