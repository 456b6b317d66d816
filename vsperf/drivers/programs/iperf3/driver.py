"""The driver: where iperf3 is, how it is run with --json, and what is believed of it.

Both ends write a document. The server's says what arrived, in intervals; the client's what was
sent. Where something went wrong there is a key `error`, or an `end` with nothing in it, whatever
the exit code: older ones exit with 0 then. Before it there may be warnings, such as that a datagram
is longer than the largest segment of TCP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import (
    LONGEST_WORDS,
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
    untold,
)
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.errors import UsageError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Interval
from vsperf.trust.plain_json import MOST_COUNTED, first

IPERF3 = PackagedProgram(
    "iperf3", "apt-get install iperf3", "--version", r"iperf (3\.\d+(?:\.\d+)?)"
)
USE = "for methods that measure between places"
INTERVAL_S = "0.25"
"""Of what a server tells: a window that begins in the midst of one is less than that off."""
CONNECT_MS = 5_000
"""Patience of a client with a path that lets nothing through; the kernel's own are minutes."""
LEAST_DATAGRAM, MOST_WRITTEN = 16, 1 << 20
"""Bytes: each datagram has a time and its number in it, and more it does not write at once."""
FAULTS = (
    KnownFault("it exits with 0 when it fails, so its answers are read", before="3.14"),
    KnownFault(
        "one thread for all streams: do not hold it against one with a thread for each",
        before="3.16",
    ),
    KnownFault(
        "a thread for each stream: do not hold it against one with one for all", since="3.16"
    ),
    KnownFault(
        "its client tells what was sent, also in intervals: what arrived is taken from its server"
    ),
    KnownFault("it says when it began to the second: vsperf's own clock is taken"),
)
Document = Mapping[str, Any]
BEGIN = re.compile(r"^\{", re.MULTILINE)
OVERLAP_NS = 1_000_000
"""By which an interval may begin before the one before it ended: times are rounded."""


def _document(name: str, said: Said) -> tuple[Document, str]:
    """Return what one end wrote, or why that is nothing to go by."""
    document, problem = _read(said)
    return document, f"its {name} {problem}" if problem else ""


def _read(said: Said) -> tuple[Document, str]:
    begin = BEGIN.search(said.text)
    text = said.text[begin.start() :] if begin else ""
    try:
        document = first(text)
    except (ValueError, RecursionError):
        return {}, said.quoted
    if error := document.get("error"):
        words = quotable(error) if isinstance(error, str) else "an error without words"
        return {}, f"says: {words}"
    if said.exit_code != 0:
        return {}, said.ending
    if not document.get("end"):
        return {}, "told no end"
    return document, ""


def _told(asked: ExchangeAsked, client: Document, server: Document) -> Told:
    sent, received = _sums(client, "sum_sent"), _sums(server, "sum_received")
    streams = client["end"]["streams"]
    if len(streams) != 1 or len(server["end"]["streams"]) != 1:
        return Told(problem=f"it has {len(streams)} streams, and was asked for 1")
    datagrams = asked.traffic == "udp-stream"
    sent_packets = _count(sent["packets"]) if datagrams else None
    lost = None
    if sent_packets is not None:
        lost = sent_packets - (_count(received["packets"]) - _count(received["lost_packets"]))
    repeated = None if datagrams else sent.get("retransmits")
    congestion = client["end"].get("sender_tcp_congestion")
    received_bytes = _count(received["bytes"])
    intervals = tuple(_intervals(server["intervals"]))
    if problem := untold(received_bytes, sum(one.amount for one in intervals)):
        return Told(problem=problem)
    return Told(
        elapsed_ns=_ns(sent["end"]),
        write_bytes=_count(client["start"]["test_start"]["blksize"]),
        congestion=None if congestion is None else _words(congestion),
        sent_bytes=_count(sent["bytes"]),
        received_bytes=received_bytes,
        sent_packets=sent_packets,
        lost_packets=lost,
        repeated_segments=None if repeated is None else _count(repeated),
        intervals=intervals,
    )


def _intervals(told: Sequence[Document]) -> Iterator[Interval]:
    """Yield what a server had in each part of the time; they lie one after the other."""
    ended_ns = 0
    for one in told:
        began_ns, until_ns = _ns(one["sum"]["start"]), _ns(one["sum"]["end"])
        if until_ns <= began_ns:
            continue
        if began_ns + OVERLAP_NS < ended_ns:
            raise ValueError(f"an interval began at {began_ns} ns, and one ended at {ended_ns} ns")
        ended_ns = until_ns
        yield Interval(began_ns=began_ns, ended_ns=until_ns, amount=_count(one["sum"]["bytes"]))


def _sums(document: Document, name: str) -> Document:
    """Return the sums of an end: of datagrams some versions have one for both directions."""
    end = document["end"]
    found = end[name] if name in end else end["sum"]
    if not isinstance(found, dict):
        raise TypeError(f"{name} is no table")
    return found


def _ns(seconds: object) -> int:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{seconds!r:.{LONGEST_WORDS}} is no time")
    if not 0 <= seconds < MOST_COUNTED / NANOSECONDS:
        raise ValueError(f"{seconds!r} is no time")
    return round(seconds * NANOSECONDS)


def _words(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{text!r:.{LONGEST_WORDS}} are no words")
    return quotable(text)


def _count(number: object) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{number!r:.{LONGEST_WORDS}} is no count")
    if not 0 <= number <= MOST_COUNTED:
        raise ValueError(f"{number!r} is no count that is believed")
    return number


class Iperf3Spec(ProgramSpec):
    """Settings of iperf3."""

    kind: Literal["iperf3"]
    congestion: str | None = None
    """How TCP adapts its rate, such as cubic, at both ends; what the kernel has when not given."""


def _require_size(asked: ExchangeAsked) -> None:
    """Raise `UsageError` for what it does not write at once."""
    size = asked.write_bytes
    if size is None:
        return
    if asked.traffic == "udp-stream" and size < LEAST_DATAGRAM:
        raise UsageError(
            f"iperf3 sends no datagrams of {size} bytes",
            why=f"each has a time and its number in it, which take {LEAST_DATAGRAM} bytes",
            fix=f"--set search.write={LEAST_DATAGRAM}B",
        )
    if size > MOST_WRITTEN:
        raise UsageError(
            f"iperf3 does not write {size:,} bytes at once",
            why=f"{MOST_WRITTEN:,} bytes are the most that it takes",
            fix="--set search.write=1MiB",
        )


class Iperf3(Program):
    """Runs iperf3."""

    kind = "iperf3"
    summary = "iperf3: streams of TCP and UDP, one process for each end of each"
    Spec = Iperf3Spec
    EXCHANGES = frozenset({"tcp-stream", "udp-stream"})
    SERVER_ENDS = True
    SERVER = IPERF3.name
    FAULTS = FAULTS
    checks = (IPERF3.check(Iperf3Spec, IPERF3.of, USE, FAULTS),)

    def find(self, case: CaseSpec) -> InstalledProgram:
        return IPERF3.of(settings_of(case, Iperf3Spec))

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        return (
            *(program, "--server", "--one-off", "--version4", "--bind", meet.address),
            *("--port", str(meet.port), "--json", "--interval", INTERVAL_S),
        )

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        _require_size(asked)
        seconds = -(-asked.sending_ns // NANOSECONDS)  # it takes whole ones
        words = [
            *(program, "--client", meet.address, "--version4", "--port", str(meet.port)),
            *("--json", "--interval", "0", "--time", str(seconds)),
            *("--connect-timeout", str(CONNECT_MS)),
        ]
        if asked.traffic == "udp-stream":
            words += ["--udp", "--bitrate", "0"]
        congestion = settings_of(case, Iperf3Spec).congestion
        if asked.traffic == "tcp-stream" and congestion is not None:
            words += ["--congestion", congestion]
        if asked.write_bytes is not None:
            words += ["--length", str(asked.write_bytes)]
        if asked.buffer_bytes is not None:
            words += ["--window", str(asked.buffer_bytes)]
        return tuple(words)

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        """Return what both ends say, or what is wrong with it."""
        sent, at_client = _document("client", client)
        received, at_server = _document("server", server)
        if problem := both_problems(client, at_client, at_server):
            return Told(problem=problem)
        try:
            return _told(asked, sent, received)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            return Told(problem=f"its answers cannot be read: {type(error).__name__} {error}")
