"""What TRex counts of connections in a trial, and what that says became of them. Pure.

Its stack is that of a BSD, by whose names it counts. A connection that came to its end in order was
closed, and neither dropped nor cut off, and had all of its responses. Why one was dropped it tells
apart only by whether it was open by then: dropped by a reset is what no timer dropped. Where that
could be either, it is what its SYNs that were sent again say.
"""

from __future__ import annotations

from collections.abc import Mapping

from vsperf.drivers.generators.trex.profile import COUNTERS
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
