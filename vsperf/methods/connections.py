"""Methods that have the generator open connections: what they ask, and what limits an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, runtime_checkable
from typing import Protocol as Interface

from pydantic import Field

from vsperf.config.abilities import Ability
from vsperf.config.connections import MOST_ADDRESSES, MOST_DATA, Protocol
from vsperf.config.counted import Counted
from vsperf.config.method import Contradiction
from vsperf.config.topology import Topology
from vsperf.methods.base import Method
from vsperf.quantities.human import human_count, human_share
from vsperf.quantities.units import NANOSECONDS, FrameSize, LinkSpeed
from vsperf.records.connections import ConnectionTrial
from vsperf.records.flags import Flag
from vsperf.records.histogram import merged_percentiles_ns
from vsperf.records.result import GoalResult, Limit, PartialResult, RegimeResult, SearchResult
from vsperf.records.trial import Purpose
from vsperf.search.base import Budget
from vsperf.search.verdict import BY_REGIME, not_the_switchs, passed_in

SATURATED_PPM = 950_000
"""From this share of its time on, a generator that has something to do may be what is too slow."""
AWAY = 0.1
"""From this share of the time on, whoever did not run was not too slow."""


def limit_of(
    goal: GoalResult,
    made: Sequence[tuple[int, ConnectionTrial]],
    said: Callable[[int], str],
    *,
    of_time: bool = True,
) -> tuple[Limit, str, int | None]:
    """Return what kept an answer from being higher, in the words of connections, and what failed.

    Where the time ended, a load that failed for what may be somebody else bounds nothing: had there
    been more time, the search itself would have said whose failures these are. `of_time` says
    whether a part of a trial's time tells what its load is.
    """
    limit, lower, upper = goal.limit, goal.lower_fps, goal.upper_fps
    if limit is Limit.SETTING and lower is not None:
        return limit, f"the highest that may be offered, {said(lower)}, held", upper
    if limit is Limit.GENERATOR and upper is None:
        limit, reason = _not_begun(made, lower, said)
        return limit, reason, upper
    ended = f"the time ended before the search did{known(goal, said)}" if goal.cut_short else ""
    lossy = [one for one in at_load(made, upper) if one.failed]
    if upper is None or not lossy:
        return limit, ended or f"trials do not agree{known(goal, said)}", upper
    if limit is Limit.BUDGET:
        loads = [one.as_load(load, of_time=of_time) for load, one in made]
        others = not_the_switchs(goal, loads)
        goal = goal if others is None else goal.model_copy(update={"limit": others[0]})
    reason, whose = _failures(lossy, said(upper)) + _doubted(goal, said), goal.limit
    if limit is Limit.BUDGET and whose is Limit.GENERATOR:
        reason += "; what the generator's own ports missed explains them"
    if whose in (Limit.DUT, Limit.BUDGET) and min(one.busy_ppm for one in lossy) >= SATURATED_PPM:
        whose = Limit.GENERATOR
        reason += "; the generator had no time left there, so nobody can tell whose they are"
    if limit is not Limit.BUDGET:
        return whose, f"{ended}; {reason}" if ended else reason, upper
    if whose is Limit.BUDGET:
        return limit, ended, upper
    return limit, f"{ended}; {reason}", None


def _failures(lossy: Sequence[ConnectionTrial], load: str) -> str:
    """Say what failed at a load, in the mildest of its trials, and why."""
    mildest = min(lossy, key=lambda one: one.failed_ratio or 0)
    assert mildest.accounts is not None  # it has some that failed
    reason = (
        f"at {load} {mildest.failed:,} of {mildest.accounts.launched:,} {mildest.noun} "
        f"failed ({human_share(float(mildest.failed_ratio or 0))}): {mildest.causes_text}"
    )
    asking = mildest.counts.asking if mildest.counts else None
    if asking is not None and asking.repeated:
        reason += f"; {human_count(asking.repeated)} {mildest.pieces} were lost, and sent again"
    dropped = mildest.switch.drops if mildest.switch is not None else {}
    told = [f"{count:,} {why}" for why, count in dropped.items() if count]
    return reason + (f"; the switch counted {', '.join(told)}" if told else "")


def _doubted(goal: GoalResult, said: Callable[[int], str]) -> str:
    """Say why failures at an upper bound are not the switch's, where a search has found that."""
    if goal.limit is Limit.HOST:
        return f"; {_by_the_host(goal, said)}"
    if goal.limit is not Limit.UNKNOWN:
        return ""
    if Flag.UPPER_NOT_REPRODUCED in goal.flags:
        return "; when it was tried again, none failed"
    if Flag.CONSTANT_LOSS in goal.flags:
        return "; about as many fail at any load"
    return "; whose failures these are nobody can tell"


def _by_the_host(goal: GoalResult, said: Callable[[int], str]) -> str:
    if (there := passed_in(goal)) is not None:
        return f"while {apart(there)}, {said(there.lower_fps or 0)} held"
    if Flag.LEFT_TO_REGIMES in goal.flags:
        return BY_REGIME
    return "in clean time none of these trials would have failed"


def _not_begun(
    made: Sequence[tuple[int, ConnectionTrial]], lower: int | None, said: Callable[[int], str]
) -> tuple[Limit, str]:
    """Say what the generator did not begin in time, at the lowest load above an answer, and why."""
    late = [(load, one) for load, one in made if one.short and load > (lower or 0)]
    if not late:
        return Limit.UNKNOWN, "the generator did not begin all in time"
    load, one = min(late, key=lambda pair: (pair[0], pair[1].unsent))
    reason = f"at {said(load)} the generator began {one.short} in time"
    away = (one.paused_ns or 0) / max(1, one.begun_ns or 0)
    limit = Limit.GENERATOR
    if one.client is not None and one.client.no_port:
        reason += "; its addresses had no port left, and search.clients says how many there are"
    elif away >= AWAY:
        limit, share = Limit.HOST, human_share(min(1.0, away))
        reason += f"; the machine kept it from running for {share} of the time"
    return (Limit.UNKNOWN if lower is None else limit), reason


def apart(there: RegimeResult) -> str:
    """Say what a regime is."""
    return (
        f"the CPUs of generator and switch were {there.regime.words} ({there.least_ns} to "
        f"{there.most_ns} ns there and back)"
    )


def known(goal: GoalResult | PartialResult, said: Callable[[int], str]) -> str:
    """Say which loads held and did not; empty where nobody knows any."""
    parts = []
    if goal.lower_fps is not None:
        parts.append(f"{said(goal.lower_fps)} held")
    if goal.upper_fps is not None:
        parts.append(f"{said(goal.upper_fps)} did not")
    return f"; {', '.join(parts)}" if parts else ""


def at_load(made: Sequence[tuple[int, ConnectionTrial]], load: int | None) -> list[ConnectionTrial]:
    """Return the trials at a load."""
    return [one for offered, one in made if offered == load]


@dataclass(frozen=True, slots=True)
class ConnectionsAsked:
    """One trial, as a method asks for it."""

    rate_cps: int
    """Connections that begin in a second, at equal distances."""
    connections: int
    """That begin in all."""
    protocol: Protocol = "tcp"
    hold_ns: int = 0
    """For which each stays open once it has had its response."""
    requests: int = 1
    """On each connection, one after the other."""
    request_bytes: int = 64
    response_bytes: int = 64
    attempts: int = 3
    """To send something before the connection has failed."""
    repeat_ns: int = 1_000_000_000
    """Between the first two of them; each time it is twice as long."""
    patience_ns: int = 5_000_000_000
    """For what the other end has to say once it has heard everything."""
    request_rps: int | None = None
    """Requests a second by a clock, when all connections are open; None: each asks when it may."""
    requests_due: int | None = None
    """By the clock."""
    flood_fps: int | None = None
    """SYNs of nobody that are sent in a second beside them."""
    flood_answered: bool = False
    """Whether servers answer these, so that a device holds connections that are half open."""
    purpose: Purpose = Purpose.SEARCH
    event: str | None = None
    """What is done to the switch meanwhile, when a part of the duration has passed."""

    @property
    def duration_ns(self) -> int:
        return self.connections * NANOSECONDS // self.rate_cps

    @property
    def asking_ns(self) -> int:
        """For how long requests are due by a clock."""
        return (
            0
            if not self.request_rps
            else (self.requests_due or 0) * NANOSECONDS // self.request_rps
        )

    @property
    def is_of_open_ones(self) -> bool:
        """Whether it is about connections that are open, and not about how fast they are opened."""
        return self.hold_ns > 0 or self.request_rps is not None

    @property
    def lasting_ns(self) -> int:
        """How long all takes if nothing fails: the last one is held as long as the others.

        Those that ask by a clock are closed as fast as they were opened.
        """
        if self.asking_ns:
            return 2 * self.duration_ns + self.asking_ns
        return self.duration_ns + self.hold_ns


@runtime_checkable
class ConnectionsBench(Interface):
    """What a method may do that opens connections. Each trial has been judged before it is seen."""

    @property
    def budget(self) -> Budget:
        """The time there is."""

    @property
    def overhead_ns(self) -> int:
        """What a trial is expected to take beyond its duration."""

    @property
    def switched(self) -> bool:
        """Whether anything is between both ends; else nothing but these can fail a connection."""

    def connect(self, asked: ConnectionsAsked) -> ConnectionTrial:
        """Open connections, again until that can be believed; who asks for it has it paid."""


@runtime_checkable
class OpensConnections(Interface):
    """A method that has connections opened; its cases have clients and servers."""

    def checking(self) -> ConnectionsAsked:
        """Return a few like those that will be asked for, to see that any come through."""

    def play(self, bench: ConnectionsBench) -> SearchResult:
        """Ask for trials until there is an answer, or the time is over."""


Count = Annotated[int, Field(ge=1, le=4_194_304), Counted]
Bytes = Annotated[int, Field(ge=4, le=65_536)]
LEAST_OF_HTTP = {"request": 48, "response": 78}
"""Less than these is no message of HTTP with its head."""
CHECKED = 20
"""Connections by which it is seen that any come through."""
CHECKED_CPS = 200
CHECKED_NS = 500_000_000
"""Until their segments are sent again: a dead path is told in seconds."""


class ConnectionMethod(Method):
    """Has connections opened from clients to servers."""

    CONNECTIONS: ClassVar[bool] = True

    clients: Annotated[int, Field(ge=1, le=MOST_ADDRESSES)] = 16
    """Addresses that connections come from, in turns."""
    servers: Annotated[int, Field(ge=1, le=MOST_ADDRESSES)] = 4
    """Addresses that answer; a device that shares connections out has them behind it."""
    request: Bytes = 100
    """Bytes of a request: of HTTP/1.1 with its headers, 48 at least, or of a datagram."""
    response: Bytes = 1024
    """Bytes of a response, likewise; of HTTP 78 at least."""

    @property
    def made_by(self) -> Protocol:
        return "tcp"

    @property
    def asks_generator(self) -> frozenset[Ability]:
        by_udp = self.made_by == "udp"
        return self.ASKS_BESIDES | {Ability.UDP_FLOWS if by_udp else Ability.CONNECTIONS}

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield that there are no messages as short, or as long."""
        yield from super().contradictions(size, link)
        for name, least in LEAST_OF_HTTP.items():
            bytes_each = getattr(self, name)
            if self.made_by == "tcp" and bytes_each < least:
                yield Contradiction(
                    name,
                    f"is {bytes_each}, and a {name} of HTTP has {least} bytes at least",
                    "its head alone is as long",
                    f"--set search.{name}={least}",
                )
            elif self.made_by == "udp" and bytes_each > MOST_DATA:
                yield Contradiction(
                    name,
                    f"is {bytes_each:,}, and a datagram carries {MOST_DATA:,} bytes at most",
                    f"over UDP a {name} is one datagram, in one frame",
                    f"--set search.{name}={MOST_DATA}",
                )

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        if len(topology.links) != 2:
            yield Contradiction(
                "kind",
                f"is {self.kind}, and topology {topology.name} has {len(topology.links)} links",
                "clients are at the end of one link, and servers at that of another",
                "--set topology=p2p",
            )

    @property
    def between(self) -> str:
        """From how many addresses to how many."""
        return f"from {_addresses(self.clients)} to {_addresses(self.servers)}"

    def checking(self) -> ConnectionsAsked:
        """Return a few connections like those that are asked for."""
        return ConnectionsAsked(
            rate_cps=CHECKED_CPS,
            connections=CHECKED,
            protocol=self.made_by,
            request_bytes=self.request,
            response_bytes=self.response,
            repeat_ns=CHECKED_NS,
            patience_ns=4 * CHECKED_NS,
            purpose=Purpose.PATH_CHECK,
        )


def due_in(duration_ns: int, rate: int) -> int:
    """Return how many are due at a rate until a time is over, the last one included.

    One fewer would make a trial a part of its distance shorter than it was asked for. Searches take
    that for a short one, which decides no load, and would ask for it again and again.
    """
    return -(-rate * duration_ns // NANOSECONDS)


def paid(bench: ConnectionsBench, asked: ConnectionsAsked) -> ConnectionTrial:
    """Open connections once, and have the time of it paid."""
    bench.budget.require(asked.lasting_ns + bench.overhead_ns)
    one = bench.connect(asked)
    bench.budget.spend(one.elapsed_ns)
    return one


def tail_ns(there: Sequence[ConnectionTrial], name: str) -> float | None:
    """Return what 99 of 100 times of a kind did not exceed; None where none was counted."""
    told = [
        getattr(one.counts.times, name)
        for one in there
        if one.counts is not None and one.counts.times is not None
    ]
    found = merged_percentiles_ns(told, [99.0])
    return None if found is None else found[99.0]


def _addresses(count: int) -> str:
    return "1 address" if count == 1 else f"{count} addresses"
