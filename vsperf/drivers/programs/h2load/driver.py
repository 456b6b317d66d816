"""The driver: where h2load and nginx are, how they are run, and what is believed of them.

A line of the log is a request: when it was sent by the clock of the host, its status, and how long
it took from then, in microseconds. The rest is text for people, whose sums have to agree with it.
h2load exits with 0 when its server died.

By a clock (--rps) it sends nothing on a connection that still waits for an answer, so who stands
still makes one request slow and the others late. That is corrected here: the requests are held
against the times at which they were due, in their order, and each took as long as from then on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, NamedTuple

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs import nginx
from vsperf.drivers.programs.base import (
    KnownFault,
    Rendezvous,
    Said,
    Told,
    in_steps,
    round_trips,
)
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Failures, RoundTrips
from vsperf.trust.plain_json import MOST_COUNTED

H2LOAD = PackagedProgram(
    "h2load",
    "apt-get install nghttp2-client",
    "--version",
    r"h2load nghttp2/(\d+(?:\.\d+)+)",
)
THOUSANDTH_NS = 1_000_000
FAULTS = (
    KnownFault("it exits with 0 when its server died, so its log is read"),
    KnownFault(
        "it takes times from when it came to send: they are taken from when requests were due"
    ),
)
LINE = re.compile(r"^(\d{1,17})\t(-1|\d{3})\t(\d{1,12})$", re.MULTILINE)
FINISHED = re.compile(r"^finished in (\d{1,9}(?:\.\d{1,6})?)(us|ms|s), ", re.MULTILINE)
REQUESTS = re.compile(
    r"^requests: {0} total, {0} started, {0} done, {0} succeeded, {0} failed, {0} errored, "
    r"{0} timeout$".format(r"(\d{1,20})"),
    re.MULTILINE,
)
STATUSES = re.compile(r"^status codes: (\d{1,20}) 2xx, ", re.MULTILINE)
MICROSECOND = 1_000
UNITS = {"us": MICROSECOND, "ms": 1_000_000, "s": NANOSECONDS}
WHOLE = (98, 100)
"""From this share of the time on it ran as long as it was told to: it rounds what it says."""
OWN_OUTPUT = "/proc/self/fd/1"
"""What else is called /dev/stdout, which a guest need not have."""
BROKEN = "-1"
"""In place of the status of a request that had no answer."""


class Request(NamedTuple):
    """A line of the log, in nanoseconds."""

    sent_ns: int
    took_ns: int
    status: str

    @property
    def good(self) -> bool:
        """Whether it was answered as it should be."""
        return self.status.startswith("2")

    @property
    def ended_ns(self) -> int:
        """When it had its answer."""
        return self.sent_ns + self.took_ns


def _told(asked: ExchangeAsked, requests: Sequence[Request], elapsed_ns: int) -> Told:
    """Return what was answered, and how long that took from when it was sent."""
    began_ns = requests[0].sent_ns
    warm_ns = began_ns + asked.warm_up_ns
    times = Counter(one.took_ns for one in requests if one.good and one.sent_ns >= warm_ns)
    ended_ns = [one.ended_ns - began_ns for one in requests if one.good]
    return Told(
        elapsed_ns=elapsed_ns,
        ended_at_ns=began_ns + elapsed_ns,
        transactions=len(ended_ns),
        round_trips=round_trips(times.items()),
        intervals=in_steps(ended_ns, elapsed_ns),
    )


def due_ns(sent_ns: Sequence[int], asked: ExchangeAsked, elapsed_ns: int) -> list[int]:
    """Return when each request was due, in order: at least as many as were sent.

    Each connection has a clock of its own, which begins with its first request: all of them open at
    once, so these are the first that were sent. A connection that opened late by more than its
    clock's step had its second one late, too.
    """
    assert asked.rate is not None
    of_each, began_ns = asked.connections, sent_ns[0]
    step_ns = of_each * NANOSECONDS // asked.rate
    first = [min(one, began_ns + step_ns) for one in sent_ns[:of_each]]
    first += [began_ns + step_ns] * (of_each - len(first))
    found: list[int] = []
    while True:
        number, own = divmod(len(found), of_each)
        due = first[own] + number * of_each * NANOSECONDS // asked.rate
        if due >= began_ns + elapsed_ns and len(found) >= len(sent_ns):
            return found
        found.append(due)


def _from_due(
    asked: ExchangeAsked, requests: Sequence[Request], due: Sequence[int], elapsed_ns: int
) -> RoundTrips | None:
    """Return how long requests took from when they were due, of those due after the warm-up.

    They are alike, so the first that was sent is the first that was due. One that left before its
    time, as a timer is not exact, took as long as it says.
    """
    began_ns = requests[0].sent_ns
    warm_ns, ended_ns = began_ns + asked.warm_up_ns, began_ns + elapsed_ns
    times = Counter(
        max(one.took_ns, one.ended_ns - at)
        for one, at in zip(requests, due, strict=False)
        if one.good and at >= warm_ns
    )
    times.update(ended_ns - at for at in due[len(requests) :] if at >= warm_ns)
    return round_trips(times.items())


class H2loadSpec(nginx.HttpSpec):
    """Settings of h2load."""

    kind: Literal["h2load"]


class H2load(nginx.Client):
    """Runs h2load against nginx."""

    kind = "h2load"
    summary = "h2load against nginx: requests of HTTP as answers come, or by a clock"
    Spec = H2loadSpec
    asks = H2LOAD
    # Where each request has a connection of its own it does not end when its time is over.
    EXCHANGES = frozenset({"http-rr", "http-open"})
    FAULTS = FAULTS
    checks = (H2LOAD.check(H2loadSpec, partial(nginx.find, H2LOAD), nginx.USE, FAULTS),)

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """One thread: each instance has one CPU. Its log is beside what it writes otherwise."""
        milliseconds = -(-asked.sending_ns // THOUSANDTH_NS)
        clock = () if asked.rate is None else ("--rps", f"{asked.rate / asked.connections:.9g}")
        return (
            *(program, "--h1", "-t", "1", "-c", str(asked.connections)),
            *("-D", f"{milliseconds}ms", *clock),
            *("--log-file", OWN_OUTPUT, nginx.url(meet)),
        )

    def answered(self, asked: ExchangeAsked, client: Said) -> Told:
        finished, sums = FINISHED.search(client.text), REQUESTS.search(client.text)
        statuses = STATUSES.search(client.text)
        if finished is None or sums is None or statuses is None:
            raise ValueError(f"its client told no end: it {client.quoted}")
        requests = sorted(
            Request(int(sent) * MICROSECOND, int(took) * MICROSECOND, status)
            for sent, status, took in LINE.findall(client.text)
        )
        good = sum(one.good for one in requests)
        errored, late = int(sums[6]), int(sums[7])
        if late > MOST_COUNTED:
            raise ValueError("it tells of more late answers than are believed")
        if errored > MOST_COUNTED:  # what a connection had left to do, which is without end
            raise ValueError("connections of its client broke, and were not opened again")
        if not good:
            raise ValueError(
                f"its client had no answer of status 2xx: {len(requests):,} others, {errored:,} "
                "errors"
            )
        if abs(int(statuses[1]) - good) > asked.connections:
            raise ValueError(f"its log has {good:,} answers, and its sums {int(statuses[1]):,}")
        ran_ns = round(float(finished[1]) * UNITS[finished[2]])
        share, whole = WHOLE
        elapsed_ns = asked.sending_ns if ran_ns * whole >= asked.sending_ns * share else ran_ns
        if not 0 < max(one.ended_ns for one in requests) - requests[0].sent_ns <= 2 * elapsed_ns:
            raise ValueError("its log is of another time than it says it ran for")
        found = _told(asked, requests, elapsed_ns)
        failures = Failures(
            statuses=sum(not one.good and one.status != BROKEN for one in requests),
            sockets=max(0, errored - late),
            timeouts=late,
            unanswered=None,
        )
        if asked.rate is None:
            return replace(found, failures=failures)
        due = due_ns([one.sent_ns for one in requests], asked, elapsed_ns)
        return replace(
            found,
            from_due=_from_due(asked, requests, due, elapsed_ns),
            failures=failures.model_copy(update={"unanswered": len(due) - len(requests)}),
        )
