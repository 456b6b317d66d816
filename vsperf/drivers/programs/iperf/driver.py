"""The driver: where iperf 2 is, how it is run with -e and -f b, and what is believed of it.

Both ends write lines for people, one for each interval and one for all of the time: the server's
say what arrived, the client's what was sent. Whatever happened it exits with 0 and tells a sum of
what there was until then, so each line is looked at that says what failed. There is one stream in
each process: with several of them sums of intervals leave out those that have ended, and each
server's clock begins when its own connection was there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import (
    NOT_ENDED,
    InstalledProgram,
    KnownFault,
    Program,
    ProgramSpec,
    Rendezvous,
    Said,
    Told,
    both_problems,
    quotable,
    settings_of,
    too_small,
    untold,
)
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.errors import NotReadyError, UsageError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Interval
from vsperf.trust.plain_json import MOST_COUNTED

INSTALL = "apt-get install iperf"
IPERF = PackagedProgram("iperf", INSTALL, "--version", r"iperf version (2\.\d+(?:\.\d+)*)")
USE = "to repeat old reports of streams between places; iperf3 is another program"
READ = (2, 1)
"""The first version whose lines are read."""
FAULTS = (
    KnownFault("it exits with 0 when it fails, so its lines are read"),
    KnownFault(
        "sums of several streams leave out those that have ended, so each has a process of its own"
    ),
    KnownFault("it counts the datagram by which a client ends: that one is taken off"),
)
INTERVAL_S = "0.25"
"""Of what a server tells: a window that begins in the midst of one is less than that off."""
HUNDREDTH_NS = 10_000_000
"""It takes times in these."""
FASTEST = "100g"
"""Bits a second, which no sender comes to: it knows no word for as fast as it can."""
LEAST_DATAGRAM = 16
"""Bytes: a time and a number are in each, and of a shorter one a server reads what is behind it."""
ROW = re.compile(
    r"^\[ *\d{1,4}\] +(\d{1,9}\.\d{1,9})- *(\d{1,9}\.\d{1,9}) sec +(\d{1,19}(?:\.\d{1,9})?) Bytes "
    r"+\S{1,40} bits/sec *(.*)$",
    re.MULTILINE,
)
"""Begin, end, bytes, and what else is said, such as losses."""
LEAST_TOLD = (9, 10)
"""Share of a client's time that the line of all of its server's must cover: the first interval
begins as that line does, and is the only one where the server was cut off early."""
FAILED = re.compile(r"^(?:ERROR: .*|.*\bfailed: .*)$", re.MULTILINE)
"""What went wrong; that nobody answered the last datagram is a warning, and none of that."""
REPORTED = "Server Report:"
"""Of datagrams a client ends with what its server said of them."""
REPEATED = re.compile(r"^\d+/\d+ +(\d{1,19}) ")
LOST = re.compile(r" ms +(\d{1,19})/ *(\d{1,19}) \(")
"""Of so many datagrams."""
SENT = re.compile(r"^\[ *\d{1,4}\] Sent (\d{1,19}) datagrams$", re.MULTILINE)
"""That of its end included, which a server may count where one before it was lost."""
WRITTEN = re.compile(r"^(?:Write buffer size: (\d{1,12})|Sending (\d{1,12}) byte)", re.MULTILINE)
SOCKET = re.compile(r"^(?:TCP window|UDP buffer) size: (\d{1,19}) Byte", re.MULTILINE)
CONGESTION = re.compile(
    r"^TCP congestion control (?:using|set to \S+ using|set to) (\S+)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of one end, in nanoseconds."""

    began_ns: int
    ended_ns: int
    amount: int
    rest: str


def _wrong(end: str, said: Said) -> str:
    """Return what is wrong with one end; empty where nothing is.

    A server of datagrams goes on for a while, in case its last answer was lost.
    """
    goes_on = end == "server" and (said.exit_code, said.ending) == (None, NOT_ENDED)
    failed = FAILED.search(said.text)
    wrong = [] if said.exit_code == 0 or goes_on else [said.ending]
    wrong += [] if failed is None else [f"says: {quotable(failed[0])}"]
    if not wrong and not ROW.search(said.text):
        wrong = [f"told no end: it {said.quoted}"]
    return f"its {end} {', and '.join(wrong)}" if wrong else ""


def _told(asked: ExchangeAsked, client: str, server: str) -> Told:
    """Return what both said; `ValueError` with what is wrong with it."""
    *_, sent = _rows(client)
    *parts, received = _rows(server)
    share, of = LEAST_TOLD
    whole = received.ended_ns * of >= sent.ended_ns * share
    if sent.began_ns or received.began_ns or not whole:
        raise ValueError("an end told no line for all of the time")
    if parts and (problem := untold(received.amount, sum(one.amount for one in parts))):
        return Told(problem=problem)
    intervals = tuple(_intervals(_with_last(parts, received)))
    if problem := too_small(asked, {"wmem": _socket(client), "rmem": _socket(server)}):
        return Told(problem=problem)
    written, congestion = WRITTEN.search(client), CONGESTION.search(client)
    if written is None:
        raise ValueError("its client does not tell how much it writes at once")
    found = Told(
        elapsed_ns=sent.ended_ns,
        write_bytes=_counted(written[1] or written[2]),
        sent_bytes=sent.amount,
        received_bytes=received.amount,
        intervals=intervals,
    )
    if asked.traffic == "udp-stream":
        return _datagrams(found, client, received)
    again = REPEATED.match(sent.rest)
    return replace(
        found,
        congestion=None if congestion is None else quotable(congestion[1]),
        repeated_segments=None if again is None else _counted(again[1]),
    )


def _datagrams(found: Told, client: str, received: _Row) -> Told:
    """Return the same with how many were sent, and how many of them were lost."""
    count, lost = SENT.search(client), LOST.search(received.rest)
    if count is None or lost is None:
        raise ValueError("an end does not tell how many datagrams there were")
    sent, missing, there = _counted(count[1]) - 1, _counted(lost[1]), _counted(lost[2])
    if not missing <= there <= sent + 1 or there - missing > sent:
        raise ValueError(f"its server tells of {there:,} datagrams, and its client sent {sent:,}")
    return replace(found, sent_packets=sent, lost_packets=sent - (there - missing))


def _rows(text: str) -> list[_Row]:
    return [
        _Row(_ns(began), _ns(ended), _counted(amount), rest)
        for began, ended, amount, rest in ROW.findall(text)
    ]


def _with_last(parts: Sequence[_Row], whole: _Row) -> Sequence[_Row]:
    """Return intervals with the last one, of which there is no line where one read alone was in it.

    All of the time is one where there are no others.
    """
    began_ns = parts[-1].ended_ns if parts else 0
    amount = whole.amount - sum(one.amount for one in parts)
    if parts and not (amount > 0 and whole.ended_ns > began_ns):
        return parts
    return (*parts, replace(whole, began_ns=began_ns, amount=amount))


def _intervals(rows: Sequence[_Row]) -> Iterator[Interval]:
    """Yield what a server had in each part of the time; they lie one after the other."""
    ended_ns = 0
    for one in rows:
        if one.ended_ns <= one.began_ns:
            continue
        if one.began_ns < ended_ns:
            raise ValueError(f"an interval began at {one.began_ns} ns, and one ended after that")
        ended_ns = one.ended_ns
        yield Interval(began_ns=one.began_ns, ended_ns=one.ended_ns, amount=one.amount)


def _socket(text: str) -> int:
    found = SOCKET.search(text)
    if found is None:
        raise ValueError("an end does not tell the size of its socket")
    return _counted(found[1])


def _ns(seconds: str) -> int:
    return _counted(str(round(float(seconds) * NANOSECONDS)))


def _counted(text: str) -> int:
    number = round(float(text))
    if number > MOST_COUNTED:
        raise ValueError(f"{text} is no count that is believed")
    return number


class IperfSpec(ProgramSpec):
    """Settings of iperf 2."""

    kind: Literal["iperf"]
    congestion: str | None = None
    """How TCP adapts its rate, such as cubic, where data are sent; what the kernel has when not
    given."""


def _find(spec: IperfSpec | None, search: str | None = None) -> InstalledProgram:
    found = IPERF.of(spec, search)
    if tuple(int(part) for part in found.version.split(".")[:2]) < READ:
        raise NotReadyError(
            f"the answers of iperf {found.version} are not read",
            why="versions before 2.1 write other lines, with times that are less exact",
            fix="name a later one: --set program.path=PATH",
        )
    return found


def _require_size(asked: ExchangeAsked) -> None:
    """Raise `UsageError` for datagrams that it sends and cannot count."""
    size = asked.write_bytes
    if asked.traffic == "udp-stream" and size is not None and size < LEAST_DATAGRAM:
        raise UsageError(
            f"iperf counts no datagrams of {size} bytes",
            why=f"each has a time and its number in it, which take {LEAST_DATAGRAM} bytes",
            fix=f"--set search.write={LEAST_DATAGRAM}B",
        )


class Iperf(Program):
    """Runs iperf 2."""

    kind = "iperf"
    summary = "iperf 2: streams of TCP and UDP, to repeat what old reports did"
    Spec = IperfSpec
    EXCHANGES = frozenset({"tcp-stream", "udp-stream"})
    SERVER_ENDS = True
    SERVER = IPERF.name
    FAULTS = FAULTS
    checks = (IPERF.check(IperfSpec, _find, USE, FAULTS),)

    def find(self, case: CaseSpec) -> InstalledProgram:
        return _find(settings_of(case, IperfSpec))

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """For one connection (-P), after which it ends."""
        where = ("--bind", meet.address, "--port", str(meet.port))
        return (program, "--server", *where, "-P", "1", "-i", INTERVAL_S, *_common(asked))

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        _require_size(asked)
        hundredths = -(-asked.sending_ns // HUNDREDTH_NS)
        where = ("--client", meet.address, "--port", str(meet.port))
        words = [program, *where, "-t", f"{hundredths / 100:g}", *_common(asked)]
        if asked.traffic == "udp-stream":
            return (*words, "-b", FASTEST)
        congestion = settings_of(case, IperfSpec).congestion
        return (*words, *(() if congestion is None else ("-Z", congestion)))

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        """Return what both ends say, or what is wrong with it."""
        at_client, at_server = _wrong("client", client), _wrong("server", server)
        if problem := both_problems(client, at_client, at_server):
            return Told(problem=problem)
        own = client.text.partition(REPORTED)[0]
        try:
            return _told(asked, own, server.text)
        except ValueError as error:
            return Told(problem=f"its answers cannot be read: {quotable(str(error))}")


def _common(asked: ExchangeAsked) -> tuple[str, ...]:
    """Return what both ends are told: a server reads no more of a datagram than it was told."""
    words = ["-e", "-f", "b"]
    if asked.traffic == "udp-stream":
        words.append("-u")
    if asked.write_bytes is not None:
        words += ["-l", str(asked.write_bytes)]
    if asked.buffer_bytes is not None:
        words += ["-w", str(asked.buffer_bytes)]
    return tuple(words)
