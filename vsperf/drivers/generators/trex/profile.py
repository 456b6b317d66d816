"""Connections as TRex has them: what it is told of them, and what its counters say became of them.

Both of its programs count what they get, by counters that TRex leaves to them: it has none for
requests and responses of its own. Its stack is that of a BSD, by whose names it counts. A
connection that came to its end in order was closed, and neither dropped nor cut off, and had all of
its responses. Why one was dropped it tells apart only by whether it was open by then: dropped by a
reset is what no timer dropped. Where that could be either, it is what its SYNs that were sent again
say.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any

from vsperf.config.connections import SERVICE_PORT
from vsperf.drivers.generators.base import ConnectionsRequest
from vsperf.errors import ComponentError
from vsperf.methods.connections import ConnectionsAsked
from vsperf.records.connections import ClientAccounts, Segments, ServerAccounts, parted

Counts = Mapping[str, int]
"""Of one end in one trial, by name."""
BEGUN, ACCEPTED = "tcps_connattempt", "tcps_accepts"
OPENED, CLOSED = "tcps_connects", "tcps_closed"
DROPPED, DROPPED_EARLY, CUT_OFF = "tcps_drops", "tcps_conndrops", "tcps_testdrops"
"""After there was an answer, before there was one, and at the end of a trial; all are closed."""
BY_TIMER = ("tcps_timeoutdrop", "tcps_keepdrops", "tcps_persistdrop")
"""Each is also among those dropped."""
SYNS_AGAIN = "tcps_rexmttimeo_syn"
DATA_AGAIN, TIMEOUTS = "tcps_sndrexmitpack", "tcps_rexmttimeo"
"""Of these each may have what the other one has not: a FIN alone is no data, and some data is sent
again before its time."""
NO_PORT = ("err_c_tuple_err", "err_dct")
"""A client looks for a port that is free only where there are several; one that is alone takes the
next one, which may be that of a connection that is still open."""
DAMAGED = (
    *("tcps_rcvbadsum", "tcps_rcvbadoff", "tcps_rcvshort"),
    *("err_l3_cs", "err_l4_cs", "err_len_err"),
)
STRAY = ("err_cwf", "err_no_syn", "err_no_template")
OUT_OF_ORDER, NO_ROOM = "tcps_rcvoopackdrop", "tcps_nombuf"
SENT, RECEIVED, DATA_RECEIVED = "tcps_sndtotal", "tcps_rcvtotal", "tcps_rcvbyte"
COUNTERS = "user_counter_A", "user_counter_B", "user_counter_C"
"""As the server calls them. Clients count requests by the first one, responses by the second, and
by the third connections that have had all of theirs; servers by the first one requests that they
answer."""
WANTED = frozenset(
    {
        *(BEGUN, ACCEPTED, OPENED, CLOSED, DROPPED, DROPPED_EARLY, CUT_OFF, *BY_TIMER),
        *(SYNS_AGAIN, DATA_AGAIN, TIMEOUTS, *NO_PORT, *DAMAGED, *STRAY),
        *(OUT_OF_ORDER, NO_ROOM, SENT, RECEIVED, DATA_RECEIVED, *COUNTERS),
    }
)
"""Without one of these there is no account."""


def client_accounts(
    told: Counts, asked: ConnectionsAsked, most_open: int | None = None
) -> ClientAccounts:
    """Return what became of as many connections as were asked for."""
    launched = told[BEGUN]
    if launched > asked.connections:
        raise ComponentError(
            f"TRex began {launched:,} connections, and was asked for {asked.connections:,}",
            why="what it counts is not of this trial, or it does not know a limit",
        )
    answered = min(launched, told[OPENED])
    whole = min(answered, told[COUNTERS[2]])
    cut_short = told[DROPPED] + told[DROPPED_EARLY] + told[CUT_OFF]
    in_order = min(whole, max(0, told[CLOSED] - cut_short))
    silent, late = _timed_out(told)
    unanswered = parted(
        launched - answered,
        no_answer=silent,
        refused=told[DROPPED_EARLY] - silent,
        given_up=None,
    )
    unfulfilled = parted(
        answered - in_order,
        reset=told[DROPPED] - late,
        no_response=answered - whole,
        not_closed=late,
        unfinished=None,
    )
    return ClientAccounts(
        intended=asked.connections,
        unsent=asked.connections - launched,
        launched=launched,
        answered=answered,
        completed=in_order,
        **unanswered,
        **unfulfilled,
        misanswered=None,
        wrong_payload=None,
        repeated_syns=told[SYNS_AGAIN],
        misanswers=None,
        requests=told[COUNTERS[0]],
        responses=told[COUNTERS[1]],
        response_bytes=told[DATA_RECEIVED],
        most_established=most_open,
        no_port=sum(told[name] for name in NO_PORT),
    ).balanced()


def open_now(told: Counts) -> int:
    """Return how many connections clients have open: those dropped early never were, but closed."""
    return max(0, told[OPENED] - (told[CLOSED] - told[DROPPED_EARLY]))


def server_accounts(told: Counts) -> ServerAccounts:
    """Return what became of connections that the servers accepted.

    TRex takes one for accepted once its SYN-ACK was answered; those of which none ever was it drops
    early, and here they count, too.
    """
    accepted, requests = told[ACCEPTED] + told[DROPPED_EARLY], told[COUNTERS[0]]
    _, late = _timed_out(told)
    parts = parted(
        accepted,
        half_open=accepted - told[OPENED],
        not_closed=late,
        reset=told[DROPPED] - late,
        left=told[CUT_OFF],
        closed=None,
    )
    untold = ("full", "wrong_payload", "not_heard", "idle", "most_connections")
    return ServerAccounts(
        accepted=accepted,
        established=told[OPENED],
        **parts,
        **dict.fromkeys(untold),
        requests=requests,
        responses=requests,  # each is answered at once
        request_bytes=told[DATA_RECEIVED],
    ).balanced()


def _timed_out(told: Counts) -> tuple[int, int]:
    """Return how many a timer dropped before there was an answer, and after it."""
    timers = sum(told[name] for name in BY_TIMER)
    early = min(timers, told[DROPPED_EARLY], told[SYNS_AGAIN])
    return early, timers - early


def segments(told: Counts) -> Segments:
    """Return what an end counted of segments."""
    return Segments(
        segments_sent=told[SENT],
        segments_received=told[RECEIVED],
        damaged=sum(told[name] for name in DAMAGED),
        stray=sum(told[name] for name in STRAY),
        repeated=told[SYNS_AGAIN] + max(told[DATA_AGAIN], told[TIMEOUTS]),
        disordered=told[OUT_OF_ORDER],
        no_room=told[NO_ROOM],
    )


MICROSECOND_NS = 1_000
LONGEST_HOLD_NS = ((1 << 32) - 1) * MICROSECOND_NS
"""Its delays are of 32 bits."""
_TURNS = 0
"""The variable of a program in which it counts down what is left to be asked."""


def profile_of(request: ConnectionsRequest) -> dict[str, Any]:
    """Return a profile as the server takes it; raises `ComponentError` for what it cannot hold."""
    asked, ends = request.asked, request.ends
    clients = ends.client.end
    if asked.hold_ns > LONGEST_HOLD_NS:
        raise ComponentError(
            f"TRex cannot hold connections for {asked.hold_ns / 1e9:,.0f} s",
            why=f"it waits for {LONGEST_HOLD_NS / 1e9:,.0f} s at most",
            fix="fewer connections, or a higher rate at which they are opened: --set search.rate=…",
        )
    pools = {"client": (clients.first_ip, clients.addresses)}
    pools["server"] = (IPv4Address(ends.called_ip), ends.called)
    return {
        "buf_list": [
            base64.b64encode(message).decode()
            for message in (request_of(asked.request_bytes), response_of(asked.response_bytes))
        ],
        "ip_gen_dist_list": [_pool(*pool, who[0]) for who, pool in pools.items()],
        "program_list": [{"commands": _client(asked)}, {"commands": _server(asked)}],
        "templates": [
            {
                "client_template": {
                    "program_index": 0,
                    "ip_gen": {
                        f"dist_{who}": {"index": number} for number, who in enumerate(pools)
                    },
                    "cluster": {},
                    "port": SERVICE_PORT,
                    "cps": float(asked.rate_cps),
                    "limit": asked.connections,
                },
                "server_template": {"program_index": 1, "assoc": [{"port": SERVICE_PORT}]},
                "tg_id": 0,
            }
        ],
        "tg_names": [],
    }


def request_of(size: int) -> bytes:
    """Return a request of HTTP of so many bytes; less than its head is a piece of it."""
    before, behind = b"GET /", b" HTTP/1.1\r\nHost: vsperf\r\n\r\n"
    return (before + b"x" * (size - len(before) - len(behind)) + behind)[:size]


def response_of(size: int) -> bytes:
    """Return a response of HTTP of so many bytes, likewise."""
    head = "HTTP/1.1 200 OK\r\nContent-Length: {:05}\r\n\r\n"
    body = max(0, size - len(head.format(0)))
    return (head.format(body).encode() + b"x" * body)[:size]


def _client(asked: ConnectionsAsked) -> list[dict[str, Any]]:
    """Return what each connection does: it asks once it is open, and is the first to close."""
    asking = [_count(0), _send(0), _await(asked.response_bytes), _count(1)]
    held = [{"name": "delay", "usec": asked.hold_ns // MICROSECOND_NS}] if asked.hold_ns else []
    return [{"name": "connect"}, *_in_turns(asked.requests, asking), _count(2), *held]


def _server(asked: ConnectionsAsked) -> list[dict[str, Any]]:
    """Return what its other end does, which ends when the client has closed it."""
    answering = [_await(asked.request_bytes), _count(0), _send(1)]
    return [*_in_turns(asked.requests, answering), {"name": "nc"}]


def _in_turns(times: int, commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if times == 1:
        return commands
    first = {"name": "set_var", "id": _TURNS, "val": times}
    return [first, *commands, {"name": "jmp_nz", "id": _TURNS, "offset": -len(commands)}]


def _send(message: int) -> dict[str, Any]:
    return {"name": "tx", "buf_index": message}


def _await(count: int) -> dict[str, Any]:
    """Return what waits for so many bytes, those of what was waited for before left out."""
    return {"name": "rx", "min_bytes": count, "clear": True}


def _count(number: int) -> dict[str, Any]:
    return {"name": "add_stats", "stats_id": number, "val": 1}


def _pool(first: IPv4Address, addresses: int, side: str) -> dict[str, str]:
    """Return addresses that are taken in turns; `side` is `c` or `s`."""
    return {
        "ip_start": str(first),
        "ip_end": str(first + addresses - 1),
        "distribution": "seq",
        "dir": side,
        "ip_offset": "0.0.0.0",  # noqa: S104 - no address: how far those of another pair of ports are
    }
