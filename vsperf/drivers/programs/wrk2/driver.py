"""The driver: where wrk2 and nginx are, how they are run, and what is believed of them.

wrk2 sends by a clock, and has two times of each answer: from when its request was due, and from
when it was sent. Both are printed as cumulated counts at some seventy percentiles, of which those
that are told here are made; a percentile that lies between two of them is the one above. Sums are
told by a script. What wrk2 does, by its source: it exits with 0 when its server died; it forgets
the times of its first ten seconds; it counts no request that still waits in the end; and after its
time-out it counts each connection that has sent nothing for so long as one that timed out.
"""

from __future__ import annotations

import re
from collections import Counter
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
from vsperf.errors import UsageError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.human import human_ns
from vsperf.quantities.units import NANOSECONDS

WRK2 = PackagedProgram(
    "wrk2",
    "build it (github.com/giltene/wrk2)",
    "-v",
    # It calls itself wrk, with whichever version it was built from, and has a setting of its own.
    r"(?s)wrk (?:[a-z]+/)? ?(\S+) .*--rate",
)
FAULTS = (
    KnownFault("it exits with 0 when its server died, so its counts are looked at"),
    KnownFault("it forgets the times of its first ten seconds"),
    KnownFault("it counts no request that waits in the end: these are counted by the clock"),
)
FORGOTTEN_NS = 10 * NANOSECONDS
"""Times are forgotten once, so long after the begin, and later by a step for each connection."""
STEP_NS = 5_000_000
"""Between the begins of two connections, of each of which the clock begins then."""
PATIENCE_S = 60
"""More than its own time: it gives up on nothing, as whoever waits is counted by the clock."""
LONGER_NS = 10 * NANOSECONDS
"""Beside twice the time that it was asked for: nobody waits longer for it."""
PART = "Latency Distribution (HdrHistogram - "
DUE, SENT = "Recorded", "Uncorrected"
"""How a part begins that has the times from when requests were due, or from when they were sent."""
ROW = re.compile(
    r"^ *(\d{1,9}\.\d{3}) +[01]\.\d{6,12} +(\d{1,15}) +(?:\d+\.\d+|inf)$", re.MULTILINE
)
"""Milliseconds, a share, and how many answers took no longer."""
TOTAL = re.compile(r"^#\[Max +=.*, Total count +=\s+(\d{1,15})\]$", re.MULTILINE)
FORGOT = re.compile(r"^ *Thread calibration: mean lat", re.MULTILINE)
MICROSECOND = 1_000


def forgotten_ns(asked: ExchangeAsked) -> int:
    """Return until when times are forgotten, where a client sends for longer than that."""
    return FORGOTTEN_NS + asked.connections * STEP_NS


def _times(text: str, kind: str) -> Counter[int]:
    """Return how many answers took so many microseconds; `ValueError` where that is not told."""
    part = next((one for one in text.split(PART)[1:] if one.startswith(kind)), "")
    total = TOTAL.search(part)
    counts: Counter[int] = Counter()
    seen = 0
    for time, count in ROW.findall(part[: total.start()] if total else ""):
        if int(count) < seen:
            raise ValueError(f"its client's times ({kind}) are not in their order")
        counts[int(time.replace(".", ""))] += int(count) - seen
        seen = int(count)
    if total is None or not seen or seen != int(total[1]):
        raise ValueError(f"its client does not tell all of its times ({kind})")
    return +counts


def due_by_clock(asked: ExchangeAsked, elapsed_ns: int) -> int:
    """Return how many requests were due: the first of a connection is when it begins."""
    rate, each = asked.rate or 0, asked.connections
    began = (elapsed_ns - number * STEP_NS for number in range(each))
    return sum(left_ns * rate // (each * NANOSECONDS) + 1 for left_ns in began if left_ns > 0)


class Wrk2Spec(nginx.HttpSpec):
    """Settings of wrk2."""

    kind: Literal["wrk2"]


class Wrk2(nginx.Client):
    """Runs wrk2 against nginx."""

    kind = "wrk2"
    summary = "wrk2 against nginx: requests of HTTP by a clock"
    Spec = Wrk2Spec
    asks = WRK2
    EXCHANGES = frozenset({"http-open"})
    FAULTS = FAULTS
    checks = (WRK2.check(Wrk2Spec, partial(nginx.find, WRK2), nginx.USE, FAULTS),)

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        return {**super().files(case, asked, meet), lua.FILE: lua.script()}

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """One thread, for whole seconds; times of the warm-up are those that it forgets."""
        if asked.warm_up_ns < (forgotten := forgotten_ns(asked)) < asked.sending_ns:
            raise UsageError(
                f"`search.warm_up` is {human_ns(asked.warm_up_ns)}, and wrk2 forgets the times of "
                f"its first {human_ns(forgotten)}",
                why="part of what is asked for would be in no time, and all of it in the rate",
                fix=f"--set search.warm_up={-(-forgotten // NANOSECONDS)}s",
            )
        seconds = -(-asked.sending_ns // NANOSECONDS)
        return (
            *(program, "-t", "1", "-c", str(asked.connections), "-d", f"{seconds}s"),
            *("-R", str(asked.rate), "--timeout", f"{seconds + PATIENCE_S}s", "-L", "-U"),
            *("-s", lua.FILE, nginx.url(meet)),
        )

    def answered(self, asked: ExchangeAsked, client: Said) -> Told:
        found = lua.counted(client)
        if (
            found.elapsed_ns > 2 * asked.sending_ns + LONGER_NS
        ):  # all that was due in it is looked at
            ran, asked_for = human_ns(found.elapsed_ns), human_ns(asked.sending_ns)
            raise ValueError(
                f"its client says that it ran for {ran}, and was asked for {asked_for}"
            )
        if asked.sending_ns > forgotten_ns(asked) and FORGOT.search(client.text) is None:
            raise ValueError("its client had no answer in its first ten seconds")
        due, sent = _times(client.text, DUE), _times(client.text, SENT)
        if sum(due.values()) != sum(sent.values()) or sum(due.values()) > found.requests:
            raise ValueError(
                f"its client counted {found.requests:,} answers, {sum(due.values()):,} times from "
                f"when requests were due, and {sum(sent.values()):,} from when they were sent"
            )
        waiting = max(0, due_by_clock(asked, found.elapsed_ns) - found.requests)
        step_us = asked.connections * NANOSECONDS // ((asked.rate or 1) * MICROSECOND)
        # As if the connections shared them evenly: however else they were, some waited longer.
        due.update(number // asked.connections * step_us for number in range(waiting))
        one = found.told
        return replace(
            one,
            round_trips=round_trips(sent.items(), MICROSECOND),
            from_due=round_trips(due.items(), MICROSECOND),
            failures=None
            if one.failures is None
            else one.failures.model_copy(update={"unanswered": waiting}),
        )
