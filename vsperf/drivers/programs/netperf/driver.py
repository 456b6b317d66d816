"""The driver: where netperf and netserver are, how they are run, and what is believed of them.

A client writes lines `KEY=value`: one of each asked key when it ends, and before them the rates of
intervals, whose ends it laid itself. Of datagrams these are of what was sent, so that when they
arrived is told by nobody, and some builds tell of no intervals at all: then there is one sum. A
server writes nothing and goes on; that it is there at the end is what is asked of it.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Literal

from vsperf.config.case import CaseSpec
from vsperf.drivers.programs.base import (
    DATA_PORTS,
    InstalledProgram,
    KnownFault,
    Program,
    ProgramSpec,
    Rendezvous,
    Said,
    Told,
    ended_early,
    problem_of,
    quotable,
    settings_of,
    too_small,
)
from vsperf.drivers.programs.find import PackagedProgram
from vsperf.errors import NotReadyError
from vsperf.methods.exchanges import ExchangeAsked
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.exchange import Interval, RoundTrips, Traffic, is_stream
from vsperf.trust.plain_json import MOST_COUNTED

NETPERF = PackagedProgram(
    "netperf", "apt-get install netperf", "-V", r"Netperf version (\d+(?:\.\d+)*)"
)
SERVER = "netserver"
USE = (
    "for requests and responses between places; Debian 12 and Ubuntu have it in non-free and "
    "multiverse"
)
FAULTS = (
    KnownFault("its percentiles have two digits, and those of several instances cannot be merged"),
    KnownFault("what it writes at once differs by machine unless it is told: that is recorded"),
    KnownFault("built without interim results it tells sums alone: no answer to crr, or rr by UDP"),
)
TESTS: dict[Traffic, str] = {
    "tcp-stream": "TCP_STREAM",
    "udp-stream": "UDP_STREAM",
    "tcp-rr": "TCP_RR",
    "udp-rr": "UDP_RR",
    "tcp-crr": "TCP_CRR",
}
INTERVAL_S = "0.25"
ROUTED = ("-R", "1")
"""That datagrams may go by routes: newer ones refuse a stream of them without it, as nothing keeps
it from filling a network."""
SOCKETS = {"LSS_SIZE_END": "wmem", "RSR_SIZE_END": "rmem"}
"""Of the end that sends and of the one that receives: bytes of its socket → what limits them."""
KEYS = (
    "ELAPSED_TIME",
    *SOCKETS,
    "LOCAL_BYTES_SENT",
    "LOCAL_SEND_CALLS",
    "LOCAL_BYTES_RECVD",
    "REMOTE_BYTES_RECVD",
    "REMOTE_RECV_CALLS",
    "LOCAL_SEND_SIZE",
    "LOCAL_CONG_CONTROL",
    "LOCAL_TRANSPORT_RETRANS",
    "RESPONSE_SIZE",
    "MEAN_LATENCY",
    "MIN_LATENCY",
    "P50_LATENCY",
    "P90_LATENCY",
    "P99_LATENCY",
    "MAX_LATENCY",
)
"""What a client is asked to tell in the end."""
RATE, LENGTH = "NETPERF_INTERIM_RESULT", "NETPERF_INTERVAL"
ENDING = "NETPERF_ENDING"
"""When an interval ended, in seconds of the clock. With a connection for each transaction a server
waits for four seconds afterwards for one more, and so does its client for what it tells.
"""
LINE = re.compile(r"^([A-Z0-9_]+)(?:\[(\d+)\])?=(.*)$")
NUMBER = re.compile(r"-?\d{1,19}(?:\.\d{1,9})?")
LEAST_TOLD = (9, 10)
"""Share of the time that intervals of transactions must cover: who waits for a datagram that was
lost, for good, ends none. A stream's own time goes on until all that was written has arrived."""
SUMS_ALONE = "Demo Mode not configured"
"""What a build says that tells of no intervals."""
NEEDS_INTERVALS: dict[Traffic, str] = {
    "udp-rr": "whether a client waited for a datagram that was lost",
    "tcp-crr": "when a client ceased to open connections",
}
"""What else nobody tells."""


def _lines(text: str) -> Mapping[tuple[str, int | None], str]:
    found = (LINE.match(line.strip()) for line in text.splitlines())
    return {(one[1], None if one[2] is None else int(one[2])): one[3] for one in found if one}


def _told(
    asked: ExchangeAsked, lines: Mapping[tuple[str, int | None], str], *, sums_alone: bool
) -> Told:
    def number(key: str) -> float:
        return _number(lines[key, None])

    parts = list(_intervals(lines))
    whole, elapsed_s = sum(length for _, length in parts), number("ELAPSED_TIME")
    if sums_alone and (untold := NEEDS_INTERVALS.get(asked.traffic)):
        return Told(problem=f"it was built without interim results, which alone tell {untold}")
    share, of = (0, 1) if is_stream(asked.traffic) else LEAST_TOLD
    if not sums_alone and (whole <= 0 or whole * of < elapsed_s * share):
        return Told(
            problem=f"it tells of {whole:g} s of {elapsed_s:g} s: its client waited for what never "
            "came"
        )
    if sums_alone or asked.traffic == "udp-stream":
        parts, whole = [(1.0, elapsed_s)], elapsed_s
    congestion = lines["LOCAL_CONG_CONTROL", None].strip()
    found = Told(
        elapsed_ns=_counted(whole * NANOSECONDS),
        ended_at_ns=None if sums_alone else _ended_at_ns(lines),
        congestion=quotable(congestion) or None,
        repeated_segments=_count(number("LOCAL_TRANSPORT_RETRANS")),
    )
    weights = [rate * length for rate, length in parts]
    lengths = [length for _, length in parts]
    if is_stream(asked.traffic):
        if problem := too_small(asked, dict(_sockets(lines))):
            return Told(problem=problem)
        sent, received = (
            _counted(number(key)) for key in ("LOCAL_BYTES_SENT", "REMOTE_BYTES_RECVD")
        )
        size = _counted(number("LOCAL_SEND_SIZE"))
        if asked.traffic == "udp-stream":
            packets = _counted(number("LOCAL_SEND_CALLS"))
            lost = _counted(packets - number("REMOTE_RECV_CALLS"))
            found = replace(found, sent_packets=packets, lost_packets=lost)
        elif 0 < received - sent <= size:  # the last write was cut short, and is not counted
            sent = received
        return replace(
            found,
            write_bytes=size,
            sent_bytes=sent,
            received_bytes=received,
            intervals=_shared(received, weights, lengths),
        )
    answered, each = _counted(number("LOCAL_BYTES_RECVD")), number("RESPONSE_SIZE")
    if each != asked.response_bytes:
        raise ValueError(f"RESPONSE_SIZE is {each:g}, and {asked.response_bytes} was asked for")
    transactions = answered // asked.response_bytes
    return replace(
        found,
        transactions=transactions,
        round_trips=_round_trips(lines),
        intervals=_shared(transactions, weights, lengths),
    )


def _ended_at_ns(lines: Mapping[tuple[str, int | None], str]) -> int:
    """Return when the last interval ended."""
    last = max(number for key, number in lines if key == RATE and number is not None)
    return _counted(_number(lines[ENDING, last]) * NANOSECONDS, 2 * MOST_COUNTED)


def _sockets(lines: Mapping[tuple[str, int | None], str]) -> Iterator[tuple[str, int]]:
    """Yield the size of each socket, where it is told."""
    for key, limit in SOCKETS.items():
        size = _count(_number(lines.get((key, None), "-1")))  # as it says where it does not know
        if size is not None:
            yield limit, size


def _intervals(lines: Mapping[tuple[str, int | None], str]) -> Iterator[tuple[float, float]]:
    """Yield the rate and the seconds of each interval, in order."""
    number = 0
    while (RATE, number) in lines:
        rate, length = _number(lines[RATE, number]), _number(lines[LENGTH, number])
        if rate < 0 or length < 0:
            raise ValueError(f"interval {number} has a rate of {rate:g} in {length:g} s")
        if length > 0:
            yield rate, length
        number += 1


def _shared(total: int, weights: Sequence[float], seconds: Sequence[float]) -> tuple[Interval, ...]:
    """Return intervals that come to the total: the rates that are told are rounded, it is not."""
    reached = list(accumulate(weights))  # the last is the whole: `sum` would round differently
    done, began_s, found = 0, 0.0, []
    for weight, length in zip(reached, seconds, strict=True):
        until = math.floor(total * weight / reached[-1]) if weight < reached[-1] else total
        found.append(
            Interval(
                began_ns=round(began_s * NANOSECONDS),
                ended_ns=round((began_s + length) * NANOSECONDS),
                amount=until - done,
            )
        )
        done, began_s = until, began_s + length
    return tuple(found)


def _round_trips(lines: Mapping[tuple[str, int | None], str]) -> RoundTrips | None:
    """Return how long transactions took; microseconds, of which some versions tell none."""
    names = ("MEAN", "MIN", "P50", "P90", "P99", "MAX")
    found = [_number(lines[f"{name}_LATENCY", None]) for name in names]
    if min(found) < 0 or not any(found):
        return None
    mean, least, p50, p90, p99, most = (_counted(one * 1000) for one in found)
    return RoundTrips(
        mean_ns=mean, least_ns=least, p50_ns=p50, p90_ns=p90, p99_ns=p99, most_ns=most
    )


def _number(text: str) -> float:
    if NUMBER.fullmatch(text.strip()) is None:
        raise ValueError(f"{quotable(text)!r} is no number")
    return float(text)


def _counted(number: float, most: int = MOST_COUNTED) -> int:
    """Return a count; a clock of the wall, which counts from 1970, is above the most of others."""
    if not 0 <= number <= most:
        raise ValueError(f"{number:g} is no count that is believed")
    return round(number)


def _count(number: float) -> int | None:
    """Return a count; it says -1 where it does not know."""
    return None if number < 0 else _counted(number)


class NetperfSpec(ProgramSpec):
    """Settings of netperf."""

    kind: Literal["netperf"]
    path: str | None = None
    """The program; the one in $PATH when not given. `netserver` is taken from the same folder."""
    congestion: str | None = None
    """How TCP adapts its rate, such as cubic, at both ends; what the kernel has when not given."""


def _find(spec: NetperfSpec | None, search: str | None = None) -> InstalledProgram:
    client = NETPERF.of(spec, search)
    server = str(Path(client.path).with_name(SERVER))
    if shutil.which(server) is None:
        raise NotReadyError(
            f"the program {SERVER} cannot be run",
            why=f"there is none beside {client.path}",
            fix="name a netperf that has one beside it: --set program.path=PATH",
        )
    return replace(client, server=server)


class Netperf(Program):
    """Runs netperf against netserver."""

    kind = "netperf"
    summary = "netperf: streams, requests and responses, new connections"
    Spec = NetperfSpec
    EXCHANGES = frozenset(TESTS)
    SERVER_ENDS = False
    SERVER = SERVER
    FAULTS = FAULTS
    checks = (NETPERF.check(NetperfSpec, _find, USE, FAULTS),)

    def find(self, case: CaseSpec) -> InstalledProgram:
        return _find(settings_of(case, NetperfSpec))

    def server(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        """In the foreground (-D), without children (-f) and files of its own in /tmp (-N)."""
        words = ("-D", "-f", "-N", "-4", "-L", f"{meet.address},4", "-p", str(meet.port))
        return (program, *words)

    def client(
        self, case: CaseSpec, program: str, asked: ExchangeAsked, meet: Rendezvous
    ) -> tuple[str, ...]:
        seconds = -(-asked.sending_ns // NANOSECONDS)  # it takes whole ones
        words = [
            *(program, "-P", "0", "-4", "-H", meet.address, "-p", str(meet.port)),
            *("-t", TESTS[asked.traffic], "-l", str(seconds), "-D", INTERVAL_S, "-j", "--"),
            *("-P", f",{meet.port + DATA_PORTS}", "-k", ",".join(KEYS)),
        ]
        if asked.traffic == "udp-stream":
            words += ROUTED
        if not is_stream(asked.traffic):
            words += ["-r", f"{asked.request_bytes},{asked.response_bytes}"]
        elif asked.write_bytes is not None:
            words += ["-m", str(asked.write_bytes)]
        congestion = settings_of(case, NetperfSpec).congestion
        if asked.traffic.startswith("tcp") and congestion is not None:
            words += ["-K", congestion]
        if asked.buffer_bytes is not None:
            words += ["-s", str(asked.buffer_bytes), "-S", str(asked.buffer_bytes)]
        return tuple(words)

    def told(self, asked: ExchangeAsked, client: Said, server: Said) -> Told:
        """Return what a client says, or what is wrong with either end."""
        if problem := problem_of(client, ended_early(server)):
            return Told(problem=problem)
        try:
            return _told(asked, _lines(client.text), sums_alone=SUMS_ALONE in client.text)
        except (KeyError, ValueError) as error:
            return Told(problem=f"its answers cannot be read: {type(error).__name__} {error}")
