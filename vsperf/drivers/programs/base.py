"""What a driver of a program offers that exchanges data: how it is run, and what it told.

A program is found where the user has it, and never installed. What it says is not believed by its
exit code alone: `told` looks at all of it, and is pure, so recorded answers prove it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from vsperf.config.base import DriverSpec
from vsperf.config.case import CaseSpec
from vsperf.errors import UsageError
from vsperf.host.doctor.finding import Check
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.records.exchange import ECHO, Failures, Interval, RoundTrips, Traffic
from vsperf.records.packets import Packets
from vsperf.records.run import Endpoint
from vsperf.trust.printable import printable

LONGEST_WORDS = 200
"""Of a program, that are quoted."""
LOOKED_AT = 4 * LONGEST_WORDS
"""Letters among which these are looked for."""
NOT_ENDED = "had not ended"
"""How a program ended that was made to."""
DATA_PORTS = 1_000
"""From the port at which client and server meet to that of their data, where it is another one."""
MOST_APART = 100
"""One part in so many of what arrived is the most by which intervals may tell more."""
MOST_UNTOLD = 10
"""One part in so many of what arrived may be in no interval: the last one may be left out."""
STEP_NS = 250_000_000
"""Of intervals that are made of what was told of each exchange."""
VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9})*")
"""The begin of what a program says of its own."""
S = TypeVar("S", bound=DriverSpec)


def quotable(text: str) -> str:
    """Return the first words of a program, fit to be shown: all of them may be megabytes.

    They are cut before they are written out, as that takes a hundred times their memory.
    """
    return printable(text[:LONGEST_WORDS])[:LONGEST_WORDS]


def round_trips(counted: Iterable[tuple[int, int]], unit_ns: int = 1) -> RoundTrips | None:
    """Return least, mean and percentiles: the first time that so many did not exceed."""
    rows = sorted((time, count) for time, count in counted if count > 0)
    total = sum(count for _, count in rows)
    if not total:
        return None

    def at(share: int) -> int:
        needed, seen = -(-total * share // 100), 0
        for time, count in rows:
            seen += count
            if seen >= needed:
                return time * unit_ns
        return rows[-1][0] * unit_ns

    return RoundTrips(
        mean_ns=sum(time * count for time, count in rows) * unit_ns // total,
        least_ns=rows[0][0] * unit_ns,
        p50_ns=at(50),
        p90_ns=at(90),
        p99_ns=at(99),
        most_ns=rows[-1][0] * unit_ns,
    )


class ProgramSpec(DriverSpec):
    """Settings that every program of a machine has."""

    path: str | None = None
    """The program; the one in $PATH when not given."""

    @property
    def OWN_STACK(self) -> bool:
        """Whether its server has a stack of its own and polls: the kernel is silent there then."""
        return False


@dataclass(frozen=True, slots=True)
class KnownFault:
    """What a program tells that is not so, or keeps to itself, and what its driver does about it.

    Versions are numbers with points. A fault without one is in all that are known.
    """

    what: str
    """Such as `it exits with 0 when it fails, so its answers are read`."""
    since: str = ""
    """The first version that has it."""
    before: str = ""
    """The first version that has it no more."""

    def is_in(self, version: str) -> bool:
        """Whether a program has it; one of which no number is known has all of them."""
        number = _number(version)
        after = not self.since or number >= _number(self.since)
        return not number or (after and (not self.before or number < _number(self.before)))

    @property
    def versions(self) -> str:
        """Which have it, for people."""
        since = f"from {self.since} on" if self.since else ""
        before = f"before {self.before}" if self.before else ""
        return ", ".join(filter(None, (since, before))) or "all versions"


def _number(version: str) -> tuple[int, ...]:
    found = VERSION.match(version)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


@dataclass(frozen=True, slots=True)
class InstalledProgram:
    """A program of this machine."""

    path: str
    version: str
    """As it tells it, such as `3.12`."""
    server: str = ""
    """The program that serves, where that is another one."""


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Where client and server of an instance meet."""

    address: str
    """Of the server's place."""
    port: int
    socket: Endpoint | None = None
    """The vhost-user port of that place, which a server with a stack of its own has to itself; None
    where the kernel has a device there."""


@dataclass(frozen=True, slots=True)
class Said:
    """How a program ended, and what it wrote."""

    exit_code: int | None
    """Negative for a signal; None where it had not ended, and was made to."""
    ending: str
    """The same for people, such as `was killed by SIGKILL`."""
    text: str
    """Standard output and standard error."""
    whole: bool = True
    """Whether that is all that it wrote."""

    @property
    def quoted(self) -> str:
        """How it ended, with the first of its words."""
        words = quotable(" ".join(self.text[:LOOKED_AT].split()))
        return f"{self.ending}{f', and said: {words}' if words else ''}"


@dataclass(frozen=True, slots=True)
class Told:
    """What both ends of an instance told; None is what nobody did."""

    problem: str = ""
    """Which of them failed, and how; empty where none did."""
    elapsed_ns: int | None = None
    """For how long the client sent."""
    ended_at_ns: int | None = None
    """By the clock of the host, when it ceased to; None where it ends by then, as it does not tell.
    """
    write_bytes: int | None = None
    congestion: str | None = None
    sent_bytes: int | None = None
    received_bytes: int | None = None
    sent_packets: int | None = None
    lost_packets: int | None = None
    transactions: int | None = None
    round_trips: RoundTrips | None = None
    from_due: RoundTrips | None = None
    failures: Failures | None = None
    packets: Packets | None = None
    repeated_segments: int | None = None
    intervals: tuple[Interval, ...] = ()
    """What arrived, from the begin of sending on."""


class Program(Protocol):
    """Runs one program, as client and as server."""

    kind: ClassVar[str]
    summary: ClassVar[str]
    Spec: ClassVar[type[DriverSpec]]
    checks: ClassVar[tuple[Check, ...]]
    EXCHANGES: ClassVar[frozenset[Traffic]]
    """What it can be asked for."""
    SERVER_ENDS: ClassVar[bool]
    """Whether a server ends by itself after its client; else it is made to."""
    SERVER: ClassVar[str]
    """What is called as a server, for a plan."""
    FAULTS: ClassVar[tuple[KnownFault, ...]]
    """What has to be known of it, by version: `vsperf plugins` and `vsperf doctor` tell that."""

    def find(self, case: CaseSpec) -> InstalledProgram:
        """Return where the program is; raise `NotReadyError` where it is not, or does not fit."""

    def files(self, case: CaseSpec, asked: ExchangeAsked, meet: Rendezvous) -> Mapping[str, str]:
        """Return what is to stand in the folder that both ends of an instance run in, by name."""
        return {}

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """Return how a server is run for one client; it listens by TCP, or waits for datagrams."""

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """Return how its client is run, which begins at once and ends by itself."""

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        """Return what both told, or what is wrong with it. Pure."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of a case."""

    program: Program
    probe: Program | None = None
    """What measures latency beside it; None where nothing does."""

    @property
    def all(self) -> tuple[Program, ...]:
        """Return both, or the only one."""
        return (self.program,) if self.probe is None else (self.program, self.probe)

    def exchanging(self, traffic: Traffic) -> Program:
        """Return which of them exchanges something; a usage error that names the one that cannot.

        An echo is what is asked of the probe, and all else of the program.
        """
        probe = self.probe if traffic == ECHO else None
        one = probe or self.program
        if traffic not in one.EXCHANGES:
            raise UsageError(
                f"the program {one.kind} knows no {traffic}",
                why=f"it knows {', '.join(sorted(one.EXCHANGES))}",
                fix="take another program: `vsperf plugins` shows all kinds",
            )
        return one


def problem_of(client: Said, server: str) -> str:
    """Return which end failed, and how; empty where none did.

    `server` is what is wrong with that end. Most goes on until it is ended: `ended_early`.
    """
    failed = "" if client.exit_code == 0 else f"its client {client.quoted}"
    return both_problems(client, failed, server)


def both_problems(client: Said, at_client: str, at_server: str) -> str:
    """Return what is wrong with both ends, in one sentence; empty where nothing is.

    A client that was made to end since its server had failed did nothing wrong.
    """
    waited = client.exit_code is None and at_server
    return "; ".join(wrong for wrong in ("" if waited else at_client, at_server) if wrong)


def in_steps(ended_ns: Iterable[int], elapsed_ns: int) -> tuple[Interval, ...]:
    """Return how many ended in parts of the time, of when each did since sending began.

    The last part has what ended afterwards, too.
    """
    counts = [0] * -(-elapsed_ns // STEP_NS)
    for at_ns in ended_ns:
        counts[min(len(counts) - 1, at_ns // STEP_NS)] += 1
    return tuple(
        Interval(
            began_ns=number * STEP_NS,
            ended_ns=min(elapsed_ns, (number + 1) * STEP_NS),
            amount=count,
        )
        for number, count in enumerate(counts)
    )


def ended_early(server: Said) -> str:
    """Return how a server ended that should go on, or that it stood still; empty where it ran."""
    ran = server.exit_code is None and server.ending == NOT_ENDED
    return "" if ran else f"its server {server.ending}"


def untold(received: int, intervals: int) -> str:
    """Return by how much intervals and their sum disagree: a rate is made of the former."""
    more, less = intervals - received, received - intervals
    if more * MOST_APART <= received and less * MOST_UNTOLD <= received:
        return ""
    return f"its server received {received:,} bytes by its sum, and {intervals:,} by its intervals"


def too_small(asked: ExchangeAsked, sizes: Mapping[str, int]) -> str:
    """Return which socket is smaller than it was asked to be: the kernel says nothing of that.

    `sizes` is what the kernel says of them, by what limits them: twice what was asked for, or twice
    its limit. Empty where all are as large, or nobody asked.
    """
    wanted = asked.buffer_bytes
    for limit, size in sizes.items():
        if wanted is not None and size < 2 * wanted:
            return (
                f"one of its sockets has {size // 2:,} bytes, and {wanted:,} were asked for: the "
                f"kernel gives no more, unless sysctl net.core.{limit}_max is raised"
            )
    return ""


def settings_of(case: CaseSpec, wanted: type[S]) -> S:
    """Return the settings of a case's program, or of its probe, which are to be of one kind."""
    for given in (case.program, case.probe):
        if isinstance(given, wanted):
            return given
    kind = None if case.program is None else case.program.kind
    raise UsageError(
        f"a program was given settings of kind {kind!r}",
        fix="`vsperf plugins` shows the kinds of programs: --set program.kind=…",
    )
