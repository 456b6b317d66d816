"""What dperf says: blocks of counters once a second, and the totals in the end. Pure.

It exits with 0 when each connection was reset, and counts those as opened and closed, with no error
among them. So nothing is believed by one counter: a connection came to its end in order if sockets
were closed that neither an error nor a reset closed, and if it had its answer and its response.
What is told only together is parted where it says the least for the device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vsperf.errors import ComponentError
from vsperf.records.connections import (
    UNANSWERED,
    UNFULFILLED,
    ClientAccounts,
    Segments,
    ServerAccounts,
    parted,
)
from vsperf.trust.plain_json import count_of

COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
"""Of what is an error and not 0."""
COUNTER = re.compile(r"\b([A-Za-z][A-Za-z0-9]{0,15}) +(\d[\d,]{0,30})(?![\w.,])")
"""A name or a number that is longer is none: a line of letters alone would be looked at for hours.
"""
SECOND = re.compile(r"^seconds +(\d{1,9}) +cpuUsage((?: +\d{1,4})*)")
TOTALS = "Total Numbers:"
LAST = "imissed"
"""With the line that has it a block ends."""
TOLD_ANEW = frozenset({"skCon", "ierrors", "oerrors", LAST})
"""What is open, and what ports count since they were opened, is told in each second as it is."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of counters: of a second, or of all time."""

    second: int | None
    """None of the totals."""
    busy: tuple[int, ...]
    """Of each of its CPUs, in percent; nothing is told with the totals."""
    counts: Mapping[str, int]

    def count(self, name: str) -> int:
        """Return a counter; raises `ComponentError` where there is none."""
        if name not in self.counts:
            what = "totals have" if self.second is None else f"second {self.second} has"
            raise ComponentError(f"dperf's {what} no {name}")
        return self.counts[name]

    def requests(self, *, at_server: bool) -> int:
        """Requests, which have other names where an end's own messages look like HTTP.

        A server counts each that does not as an error of HTTP, beside its response.
        """
        http = ("httpGet", "httpPost", *(("httpErr",) if at_server else ()))
        return self._either("tcpReq", http)

    def responses(self, *, at_server: bool) -> int:
        """Responses; at a client one that does not look like HTTP is an error of HTTP, and one."""
        http = ("http2XX", *(() if at_server else ("httpErr",)))
        return self._either("tcpRsp", http)

    def _either(self, name: str, others: Iterable[str]) -> int:
        if name in self.counts:
            return self.counts[name]
        return sum(self.count(other) for other in others)


def blocks_in(text: str) -> tuple[Block, ...]:
    """Return all blocks that are whole."""
    found = []
    begun: tuple[int | None, tuple[int, ...]] | None = None
    counts: dict[str, int] = {}
    for line in COLOUR.sub("", text).splitlines():
        if match := SECOND.match(line):
            begun = (int(match[1]), tuple(map(int, match[2].split())))
            counts = {}
        elif line.strip() == TOTALS:
            begun, counts = (None, ()), {}
        elif begun is not None:
            told = dict(COUNTER.findall(line))
            counts |= {name: _count(name, count) for name, count in told.items()}
            if LAST in told:
                found.append(Block(*begun, counts))
                begun = None
    return tuple(found)


def _count(name: str, text: str) -> int:
    try:
        return count_of(text.replace(",", ""))
    except ValueError as error:
        raise ComponentError(f"dperf's {name} cannot be read", why=str(error)) from error


def totals_of(blocks: Sequence[Block]) -> Block | None:
    """Return the totals, if the program came to its end."""
    return next((block for block in reversed(blocks) if block.second is None), None)


def summed(blocks: Iterable[Block]) -> Block:
    """Return the totals of some seconds, of all that is told by the second."""
    counts: dict[str, int] = {}
    for block in blocks:
        for name, count in block.counts.items():
            counts[name] = count if name in TOLD_ANEW else counts.get(name, 0) + count
    return Block(None, (), counts)


def busy_ppm(blocks: Iterable[Block]) -> int:
    """Return how busy a process was in the seconds in which connections began."""
    shares = [max(one.busy) for one in blocks if one.busy and one.counts.get("skOpen")]
    return sum(shares) * 10_000 // len(shares) if shares else 0


def client_accounts(told: Block, asked: int) -> ClientAccounts:
    """Return what became of as many connections as were asked for.

    dperf begins some more, until its clock has told it to stop; they fail like all others.
    """
    opened, closed = told.count("skOpen"), told.count("skClose")
    resets, errors = told.count("rstRx"), told.count("skErr")
    answered = min(opened, told.count("synRx"))
    responses = told.responses(at_server=False)
    in_order = min(max(0, closed - errors - resets), responses, answered)
    unanswered = parted(opened - answered, refused=resets, no_answer=errors, given_up=None)
    unfulfilled = parted(
        answered - in_order,
        reset=resets - unanswered["refused"],
        no_response=max(0, answered - responses),
        not_closed=errors - unanswered["no_answer"],
        unfinished=None,
    )
    launched = min(opened, asked)
    failed = _share(unanswered | unfulfilled, launched, opened)
    return ClientAccounts(
        intended=asked,
        unsent=asked - launched,
        launched=launched,
        answered=launched - sum(failed[name] for name in UNANSWERED if name in failed),
        completed=launched - sum(failed.values()),
        **{name: failed.get(name) for name in (*UNANSWERED, *UNFULFILLED)},
        repeated_syns=told.count("synRt"),
        misanswers=None,
        requests=told.requests(at_server=False),
        responses=responses,
        response_bytes=None,
        most_established=None,
        no_port=None,
    ).balanced()


def server_accounts(told: Block) -> ServerAccounts:
    """Return what became of connections that the server accepted."""
    accepted, closed = told.count("skOpen"), told.count("skClose")
    resets, errors = told.count("rstRx"), told.count("skErr")
    parts = parted(
        accepted,
        not_closed=errors,
        reset=resets,
        closed=max(0, closed - errors - resets),
        left=None,
    )
    untold = ("half_open", "wrong_payload", "not_heard", "idle")
    others = ("full", "established", "request_bytes", "most_connections")
    return ServerAccounts(
        accepted=accepted,
        **parts,
        **dict.fromkeys((*untold, *others)),
        requests=told.requests(at_server=True),
        responses=told.responses(at_server=True),
    ).balanced()


def segments(told: Block) -> Segments:
    """Return what an end counted of segments: dropped are those that did not fit a connection."""
    again = ("synRt", "finRt", "ackRt", "pushRt")
    return Segments(
        segments_sent=told.count("tcpTx"),
        segments_received=told.count("tcpRx"),
        damaged=told.count("badRx"),
        stray=None,
        repeated=sum(map(told.count, again)),
        disordered=told.count("tcpDrop"),
        no_room=told.count("dropTx"),
    )


def _share(failed: Mapping[str, int], launched: int, opened: int) -> dict[str, int]:
    """Return how many of those launched failed, by cause, rounded up: they are not fewer."""
    left, found = launched, {}
    for name, count in failed.items():
        found[name] = min(left, -(-count * launched // opened)) if opened else 0
        left -= found[name]
    return found
