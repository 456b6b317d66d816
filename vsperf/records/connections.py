"""Connections of a trial: what became of each, at both ends, by the accounts of the generator.

Each connection that was due has one outcome, and these add up: what was not launched, what nobody
answered as it should be, what was answered and not fulfilled, and what came to its end in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Self

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.base import Record
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.slots import Slot, Slots
from vsperf.records.switch import SwitchCounters
from vsperf.records.threads import ThreadActivity
from vsperf.records.trial import Direction, GeneratorActivity, Purpose, Trial

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
    """What an end counts of TCP segments."""

    segments_sent: int
    segments_received: int
    damaged: int
    """By a checksum or a length."""
    stray: int
    """Of no connection."""
    repeated: int
    """Sent again, since nobody acknowledged them."""
    disordered: int
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
    misanswered: int
    """Whoever answered its SYN had another address or port than who was asked."""
    given_up: int
    reset: int
    no_response: int
    wrong_payload: int
    not_closed: int
    unfinished: int
    repeated_syns: int
    misanswers: int
    requests: int
    responses: int
    response_bytes: int
    most_established: int
    no_port: int

    @property
    def failed(self) -> dict[str, int]:
        """How many did not come to their end in order, by cause; what was not launched is none."""
        counted = {name: getattr(self, name) for name in (*UNANSWERED, *UNFULFILLED)}
        return {name: count for name, count in counted.items() if count}

    def balanced(self) -> Self:
        """Return itself, or raise `Unbalanced`: each connection has one outcome."""
        unanswered = sum(getattr(self, name) for name in UNANSWERED)
        unfulfilled = sum(getattr(self, name) for name in UNFULFILLED)
        _same("connections that were due", self.intended, self.launched + self.unsent)
        _same("SYNs that were sent", self.launched, self.answered + unanswered)
        _same("SYNs that were answered", self.answered, self.completed + unfulfilled)
        return self


class ServerAccounts(Record):
    """What became of each connection that was accepted."""

    accepted: int
    full: int
    established: int
    closed: int
    half_open: int
    reset: int
    wrong_payload: int
    not_heard: int
    idle: int
    not_closed: int
    left: int
    requests: int
    responses: int
    request_bytes: int
    most_connections: int

    def balanced(self) -> Self:
        """Return itself, or raise `Unbalanced`."""
        counted = sum(getattr(self, name) for name in SERVED)
        _same("connections that were accepted", self.accepted, counted)
        return self


class Times(Record):
    """Histograms in HdrHistogram's encoding; None where nothing was counted."""

    handshake: str | None
    """From when a SYN was due to its answer."""
    first_response: str | None
    """From when a SYN was due to the end of the first response."""
    response: str | None
    """From a request to the end of its response."""


class ConnectionSlots(Record):
    """The same by slots of time, of which each connection is in the one in which it was due."""

    width_ns: int
    launched: tuple[int, ...]
    answered: tuple[int, ...]
    completed: tuple[int, ...]
    established: tuple[int, ...]
    """At the end of each slot."""
    away_ns: tuple[int, ...]
    """For which the generator's CPU did not run it."""


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
    longest_gap_ns: int
    paused_ns: int
    missed_frames: int
    """Which the devices of the ports say that they dropped."""


class ConnectionTrial(Record):
    """One trial in which connections were opened at a steady rate, judged."""

    index: int
    retry_of: int | None
    """The trial that it repeats, as that one could not be believed."""
    purpose: Purpose
    started_at: str
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
    def failed(self) -> int | None:
        """Connections that were launched and did not come to their end in order."""
        return None if self.client is None else self.client.launched - self.client.completed

    @property
    def unsent(self) -> int | None:
        """Connections that the generator was too slow for, or had no port for."""
        return None if self.client is None else self.client.unsent

    @property
    def failed_ratio(self) -> Fraction | None:
        """Share of those launched that failed."""
        if self.client is None or not self.client.launched or self.failed is None:
            return None
        return Fraction(self.failed, self.client.launched)

    @property
    def causes(self) -> Mapping[str, int]:
        """How many failed, by cause."""
        return {} if self.client is None else self.client.failed

    @property
    def causes_text(self) -> str:
        """The same for people; empty where none failed."""
        told = (f"{count:,} {name.replace('_', ' ')}" for name, count in self.causes.items())
        return ", ".join(told)

    @property
    def duration_ns(self) -> int:
        """For how long connections were to begin."""
        return self.asked * NANOSECONDS // max(1, self.rate_cps)

    def as_load(self, load: int) -> Trial:
        """Return it as a search sees it: of what was offered, how much came to its end in order.

        Searches know loads and what was lost of them, and not what these are made of. `load` is
        what is searched for: connections in a second, or at a time.
        """
        assert self.counts is not None
        assert self.client is not None
        client = self.client
        return Trial(
            directions=(
                Direction(
                    name=WAY,
                    intended_frames=client.intended,
                    sent_frames=client.launched,
                    received_frames=client.completed,
                    receiving_ns=self.counts.completing_ns,
                    duplicate_frames=0,
                ),
            ),
            sending_ns=self.counts.launching_ns,
            elapsed_ns=self.counts.elapsed_ns,
            settled=self.counts.settled,
            generator=GeneratorActivity(
                busy_ppm=self.counts.busy_ppm,
                longest_gap_ns=self.counts.longest_gap_ns,
                paused_ns=self.counts.paused_ns,
                missed_frames=self.counts.missed_frames,
            ),
            slots=_slots(self.counts),
            index=self.index,
            purpose=self.purpose,
            load_fps=load,
            duration_ns=self.duration_ns,
            started_at=self.started_at,
            flags=self.flags,
            retry_of=self.retry_of,
            threads=self.threads,
        )


def _slots(counts: ConnectionCounts) -> Slots | None:
    """Return slots of time as searches know them: every one of them is told."""
    found, client = counts.slots, counts.client
    if found is None or client is None:
        return None
    rows = zip(found.launched, found.completed, found.away_ns, strict=True)
    sending = (counts.launching_ns or 0) // max(1, found.width_ns) + 1
    return Slots.of(
        [
            Slot(number, (launched,), (completed,), (0,), away_ns, 0)
            for number, (launched, completed, away_ns) in enumerate(rows)
            if launched or away_ns
        ],
        width_ns=found.width_ns,
        count=min(sending, len(found.launched)),
        sent_frames=(sum(found.launched),),
        received_frames=(sum(found.completed),),
        refused_frames=(0,),
    )


def _same(what: str, told: int, counted: int) -> None:
    if told != counted:
        raise Unbalanced(f"{told} {what}, and what became of them adds up to {counted}")
