"""Connections of a trial: what became of each, at both ends, by the accounts of the generator.

Each connection that was due has one outcome, and these add up: what was not launched, what nobody
answered as it should be, what was answered and not fulfilled, and what came to its end in order. So
has each request that was due by a clock on connections that were open. Of UDP a connection is a
flow from a port of the clients, and is answered when its first response comes. What a generator
does not tell is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Literal, Self

from pydantic import model_validator

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.base import Record
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.slots import Slot, Slots
from vsperf.records.switch import Kept, SwitchCounters
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Direction, Event, GeneratorActivity, Held, Purpose, Trial

UNANSWERED = ("refused", "no_answer", "misanswered", "given_up")
"""What becomes of a connection whose SYN nobody answered as it should be."""
UNFULFILLED = ("reset", "no_response", "wrong_payload", "not_closed", "unfinished")
"""What becomes of one that was established, and did not come to its end in order."""
WAY = "clients to servers"
SERVED = (
    "closed", "half_open", "reset", "wrong_payload", "not_heard", "idle", "not_closed", "left",
)  # fmt: skip
"""What becomes of a connection that a server accepted."""


class Unbalanced(ValueError):
    """Accounts that do not add up."""


class Segments(Record):
    """What an end counts of TCP segments, or of UDP datagrams."""

    segments_sent: int
    segments_received: int
    damaged: int
    """By a checksum or a length."""
    stray: int | None
    """Of no connection."""
    repeated: int
    """Sent again, since nobody acknowledged them, or no response came."""
    disordered: int
    """Dropped: before others of TCP that had to come first; responses of UDP that had come."""
    no_room: int


class ClientAccounts(Record):
    """What became of each connection that was due."""

    intended: int
    unsent: int
    launched: int
    answered: int
    completed: int
    refused: int
    no_answer: int
    misanswered: int | None
    """Whoever answered its SYN had another address or port than who was asked."""
    given_up: int
    reset: int
    no_response: int
    wrong_payload: int | None
    not_closed: int
    unfinished: int
    repeated_syns: int
    """Or first requests of flows."""
    misanswers: int | None
    requests: int
    responses: int
    response_bytes: int | None
    most_established: int | None
    no_port: int | None

    @property
    def failed(self) -> dict[str, int]:
        """How many did not come to their end in order, by cause; what was not launched is none."""
        counted = {name: getattr(self, name) for name in (*UNANSWERED, *UNFULFILLED)}
        return {name: count for name, count in counted.items() if count}

    def balanced(self) -> Self:
        """Return itself, or raise `Unbalanced`: each connection has one outcome."""
        _none_negative(self)
        unanswered = sum(getattr(self, name) or 0 for name in UNANSWERED)
        unfulfilled = sum(getattr(self, name) or 0 for name in UNFULFILLED)
        _same("connections that were due", self.intended, self.launched + self.unsent)
        _same("SYNs that were sent", self.launched, self.answered + unanswered)
        _same("SYNs that were answered", self.answered, self.completed + unfulfilled)
        return self


class ServerAccounts(Record):
    """What became of each connection that was accepted; of UDP, of each request.

    A request of UDP is answered (`closed`), not one of a client's (`wrong_payload`), or there was
    no room for its response (`not_heard`).
    """

    accepted: int
    full: int | None
    established: int | None
    closed: int
    half_open: int | None
    reset: int
    wrong_payload: int | None
    not_heard: int | None
    idle: int | None
    not_closed: int
    left: int
    requests: int
    responses: int
    request_bytes: int | None
    most_connections: int | None

    def balanced(self) -> Self:
        """Return itself, or raise `Unbalanced`."""
        _none_negative(self)
        counted = sum(getattr(self, name) or 0 for name in SERVED)
        _same("connections that were accepted", self.accepted, counted)
        return self


class Asking(Record):
    """What became of each request that was due by a clock, and what went over the wire for them."""

    intended: int
    unasked: int
    """For which the generator had no time."""
    asked: int
    waiting: int
    """Not asked, as their connection still waited for the response before."""
    gone: int
    """Not asked, as their connection was no longer open."""
    replied: int
    """Of those asked, however late."""
    asking_ns: int | None = None
    """From when the first one was due to when the last one left."""
    replying_ns: int | None = None
    """From then to the last response."""
    elapsed_ns: int
    paused_ns: int
    busy_ppm: int
    client: Segments
    server: Segments

    @property
    def unsent(self) -> int:
        """As of connections: what is the generator's fault."""
        return self.unasked

    @property
    def launched(self) -> int:
        """Those that the generator had time for, whether or not their connection was there."""
        return self.intended - self.unasked

    @property
    def repeated(self) -> int:
        """Segments that an end sent again."""
        return self.client.repeated + self.server.repeated

    @property
    def completed(self) -> int:
        """Those answered at once: of what had to be sent again, each segment spoiled one.

        Its connection cannot ask meanwhile, so that mostly is among those that were waiting.
        """
        missing = self.waiting + self.gone + self.asked - self.replied
        return self.launched - max(missing, min(self.repeated, self.launched))

    @property
    def failed(self) -> dict[str, int]:
        """How many were not answered at once, by cause."""
        causes = {
            "waiting": self.waiting,
            "gone": self.gone,
            "not_answered": self.asked - self.replied,
        }
        found = {name: count for name, count in causes.items() if count}
        others = self.launched - self.completed - sum(found.values())
        return found | ({"repeated": others} if others else {})

    @property
    def segments(self) -> int:
        """That arrived, at both ends."""
        return self.client.segments_received + self.server.segments_received

    def balanced(self) -> Self:
        """Return itself, or raise `Unbalanced`: each request has one outcome."""
        _none_negative(self)
        counted = self.unasked + self.asked + self.waiting + self.gone
        _same("requests that were due", self.intended, counted)
        return self


class Flood(Record):
    """SYNs of nobody that were sent beside the connections."""

    sent: int
    arrived: int
    """At the servers, which keep nothing of them."""
    answered: int
    """SYN-ACKs that came back."""
    refused: int
    """RSTs that came back."""


class Times(Record):
    """Histograms in HdrHistogram's encoding; None where nothing was counted."""

    handshake: str | None
    """From when a SYN was due to its answer."""
    first_response: str | None
    """From when a SYN was due to the end of the first response."""
    response: str | None
    """From a request to the end of its response; of those by a clock, from when they were due."""


class ConnectionSlots(Record):
    """The same by slots of time, of which each connection is in the one in which it was due."""

    width_ns: int
    launched: tuple[int, ...]
    answered: tuple[int, ...]
    completed: tuple[int, ...]
    established: tuple[int, ...]
    """At the end of each slot."""
    heard: tuple[int, ...] | None = None
    """Answers to SYNs, each in the slot in which it came."""
    away_ns: tuple[int, ...]
    """For which the generator's CPU did not run it."""
    asked: tuple[int, ...] | None = None
    """Requests by a clock, those that could not be asked among them; None where there were none."""
    replied: tuple[int, ...] | None = None

    @model_validator(mode="after")
    def _of_one_length(self) -> Self:
        if self.width_ns <= 0:
            raise ValueError("slots have no width")
        lanes = (self.launched, self.completed, self.away_ns, self.asked, self.replied)
        if len({len(lane) for lane in lanes if lane is not None}) > 1:
            raise ValueError("lanes of slots have different lengths")
        return self


class ConnectionCounts(Record):
    """Connections that were made, and what the generator knows of itself meanwhile."""

    settled: bool
    stopped_early: bool
    elapsed_ns: int
    client: ClientAccounts | None
    client_segments: Segments | None
    times: Times | None
    launching_ns: int | None
    """From the begin to when the last SYN left for the first time."""
    completing_ns: int | None
    """From the begin to the end of the last connection that was completed."""
    server: ServerAccounts | None
    server_segments: Segments | None
    slots: ConnectionSlots | None
    busy_ppm: int
    longest_gap_ns: int | None
    paused_ns: int | None
    missed_frames: int
    """Which the devices of the ports say that they dropped."""
    asking: Asking | None = None
    """None where each connection asks when it may."""
    flood: Flood | None = None
    begin_port: int | None = None
    """Of the clients: with which ports began. They go on, and round, from trial to trial."""

    def balanced(self) -> Self:
        """Return itself, or raise `Unbalanced`: both ends, and what was due by a clock, add up."""
        for accounts in (self.client, self.server, self.asking):
            if accounts is not None:
                accounts.balanced()
        return self


class ConnectionTrial(Record):
    """One trial in which connections were opened at a steady rate, judged."""

    index: int
    retry_of: int | None
    """The trial that it repeats, as that one could not be believed."""
    purpose: Purpose
    started_at: str
    protocol: Literal["tcp", "udp"] = "tcp"
    """What connections were made by."""
    rate_cps: int
    """Connections that were to begin in a second."""
    asked: int
    """Connections that were to begin."""
    hold_ns: int
    """For which each stays open once it has had its response."""
    requests: int
    """On each connection, one after the other."""
    request_bytes: int
    response_bytes: int
    request_rps: int | None = None
    """Requests a second by a clock, on all connections; None where each asks when it may."""
    requests_due: int | None = None
    """By the clock."""
    flood_fps: int | None = None
    """SYNs of nobody that were to be sent in a second; None for no flood."""
    clients: int
    """Addresses that connections come from."""
    servers: int
    """Addresses that answer."""
    counts: ConnectionCounts | None
    """None where the generator failed."""
    switch: SwitchCounters | None
    threads: tuple[ThreadActivity, ...]
    flags: tuple[Flag, ...]
    error: str | None
    """What the generator said when it failed."""
    kept: tuple[Kept, Kept, Kept] | None = None
    """By the switch: before it, at most while connections were open, and after it."""
    event: Event | None = None
    """What was done to the switch in the middle of it."""
    round_trips_ns: tuple[int, ...] = ()
    """Time of a cache line from the generator's CPU to the switch's and back, before and after."""
    held: Held | None = None
    """For how long it was held back until its CPUs were where it was to be made; None for none."""

    @property
    def valid(self) -> bool:
        """Whether an answer may build on it."""
        return worst(self.flags) is not Severity.INVALID

    @property
    def elapsed_ns(self) -> int:
        """Time that it took with all its waits."""
        return 0 if self.counts is None else self.counts.elapsed_ns

    @property
    def client(self) -> ClientAccounts | None:
        """What became of each connection, by who began them."""
        return self.counts.client if self.counts is not None else None

    @property
    def accounts(self) -> ClientAccounts | Asking | None:
        """What became of what was offered: of connections, or of requests by a clock."""
        if self.request_rps is None or self.counts is None:
            return self.client
        return self.counts.asking

    @property
    def noun(self) -> str:
        return "connections" if self.request_rps is None else "requests"

    @property
    def pieces(self) -> str:
        """What went over the wire."""
        return "segments" if self.protocol == "tcp" else "datagrams"

    @property
    def due(self) -> int:
        """How many of these were to be begun."""
        return self.asked if self.request_rps is None else (self.requests_due or 0)

    @property
    def rate(self) -> int:
        """In a second."""
        return self.rate_cps if self.request_rps is None else self.request_rps

    @property
    def ends(self) -> tuple[Segments, ...]:
        """Segments at both ends, of the time in which they were begun by a clock or of all."""
        if self.counts is None:
            return ()
        if self.counts.asking is not None:
            return self.counts.asking.client, self.counts.asking.server
        both = (self.counts.client_segments, self.counts.server_segments)
        return tuple(end for end in both if end is not None)

    @property
    def failed(self) -> int | None:
        """What was begun and did not come to its end in order."""
        return None if self.accounts is None else self.accounts.launched - self.accounts.completed

    @property
    def unsent(self) -> int | None:
        """What the generator was too slow for, or had no port for."""
        return None if self.accounts is None else self.accounts.unsent

    @property
    def short(self) -> str:
        """How many of those that were due were begun; empty if all were."""
        offered = ((self.client, "connections"), (self.accounts, self.noun))
        told = (
            f"{some.launched:,} of {some.intended:,} {noun}"
            for some, noun in offered
            if some is not None and some.unsent
        )
        return next(told, "")

    @property
    def failed_ratio(self) -> Fraction | None:
        if self.accounts is None or not self.accounts.launched or self.failed is None:
            return None
        return Fraction(self.failed, self.accounts.launched)

    @property
    def causes(self) -> Mapping[str, int]:
        """How many failed, by cause; connections that failed are told with requests."""
        if self.accounts is None or self.client is None:
            return {}
        return self.client.failed | self.accounts.failed

    @property
    def causes_text(self) -> str:
        """The same for people; empty where none failed."""
        told = (f"{count:,} {name.replace('_', ' ')}" for name, count in self.causes.items())
        return ", ".join(told)

    @property
    def duration_ns(self) -> int:
        return self.due * NANOSECONDS // max(1, self.rate)

    @property
    def begun_ns(self) -> int | None:
        """From the begin to when the last one was begun."""
        if self.counts is None or self.request_rps is None:
            return None if self.counts is None else self.counts.launching_ns
        return None if self.counts.asking is None else self.counts.asking.asking_ns

    @property
    def busy_ppm(self) -> int:
        """How busy the generator was meanwhile."""
        own = self.counts and (self.counts.asking or self.counts)
        return own.busy_ppm if own else 0

    @property
    def paused_ns(self) -> int | None:
        """For how long its schedule stood still meanwhile."""
        own = self.counts and (self.counts.asking or self.counts)
        return own.paused_ns if own else None

    @property
    def slots(self) -> ConnectionSlots | None:
        return None if self.counts is None else self.counts.slots

    @property
    def outage_ns(self) -> int | None:
        """The longest time in which no SYN was answered, in whole slots.

        None where nobody can tell, and where none was answered any more.
        """
        silent = self._silent_slots
        return None if silent is None or self.slots is None else len(silent) * self.slots.width_ns

    @property
    def outage_away_ns(self) -> int:
        """For how long of that time the generator itself did not run, and asked nobody."""
        silent = self._silent_slots
        if not silent or self.slots is None:
            return 0
        return sum(self.slots.away_ns[silent.start : silent.stop])

    @property
    def _silent_slots(self) -> range | None:
        """The longest stretch of slots without an answer between two with some."""
        if self.slots is None or self.slots.heard is None:
            return None
        told = [number for number, count in enumerate(self.slots.heard) if count]
        last_due = (self.begun_ns or 0) // self.slots.width_ns
        if not told or told[-1] + 1 < last_due:
            return None
        return max(
            (range(one + 1, later) for one, later in pairwise(told)), key=len, default=range(0)
        )

    def as_load(self, load: int, *, of_time: bool = True) -> Trial:
        """Return it as a search sees it: of what was offered, how much came to its end in order.

        Searches know loads and what was lost of them, and not what these are made of. `load` is
        what is searched for: connections in a second, or at a time, or requests in a second. What
        is open at a time is so all the time (not `of_time`): no part of it can be left out, even
        where as many begin in a second, so that load and rate happen to be one number. Nor does it
        say anything of how far CPUs are from each other.
        """
        assert self.counts is not None
        accounts = self.accounts
        assert accounts is not None
        asking = self.counts.asking
        return Trial(
            directions=(
                Direction(
                    name=WAY,
                    intended_frames=accounts.intended,
                    sent_frames=accounts.launched,
                    received_frames=accounts.completed,
                    receiving_ns=asking.replying_ns if asking else self.counts.completing_ns,
                    duplicate_frames=0,
                ),
            ),
            sending_ns=self.begun_ns,
            elapsed_ns=self.counts.elapsed_ns,
            settled=self.counts.settled,
            generator=GeneratorActivity(
                busy_ppm=self.busy_ppm,
                longest_gap_ns=self.counts.longest_gap_ns,
                paused_ns=self.paused_ns,
                missed_frames=self.counts.missed_frames,
            ),
            slots=_slots(self) if of_time else None,
            index=self.index,
            purpose=self.purpose,
            load_fps=load,
            duration_ns=self.duration_ns,
            started_at=self.started_at,
            flags=self.flags,
            retry_of=self.retry_of,
            threads=self.threads,
            round_trips_ns=self.round_trips_ns if of_time else (),
            held=self.held,
        )


def _slots(one: ConnectionTrial) -> Slots | None:
    """Return slots of time as searches know them: every one of them is told, from the first on."""
    found = one.slots
    if found is None or one.accounts is None:
        return None
    begun, ended = found.launched, found.completed
    if one.request_rps is not None:
        if found.asked is None or found.replied is None or not any(found.asked):
            return None
        begun, ended = found.asked, found.replied
    first = next((number for number, count in enumerate(begun) if count), 0)
    rows = list(zip(begun, ended, found.away_ns, strict=True))[first:]
    sending = (one.begun_ns or 0) // max(1, found.width_ns) + 1
    return Slots.of(
        [
            Slot(number, (sent,), (received,), (0,), away_ns, 0)
            for number, (sent, received, away_ns) in enumerate(rows)
            if sent or away_ns
        ],
        width_ns=found.width_ns,
        count=min(sending, len(rows)),
        sent_frames=(sum(begun),),
        received_frames=(sum(ended),),
        refused_frames=(0,),
    )


def parted(count: int, **at_most: int | None) -> dict[str, int]:
    """Part a number among outcomes, the first ones first; what is left is that of the last one.

    For generators that tell only how often each came about, and not of which connection.
    """
    found = {}
    for name, most in at_most.items():
        found[name] = count if most is None else min(count, max(0, most))
        count -= found[name]
    return found


def _none_negative(accounts: Record) -> None:
    """Raise `Unbalanced` for a count below zero, which would make up for one that is too high."""
    for name in type(accounts).model_fields:
        count = getattr(accounts, name)
        if isinstance(count, int) and count < 0:
            raise Unbalanced(f"{count} connections or requests that are {name}")


def _same(what: str, told: int, counted: int) -> None:
    if told != counted:
        raise Unbalanced(f"{told} {what}, and what became of them adds up to {counted}")
