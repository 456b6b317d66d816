"""Connections through the switch: how many can be opened in a second, and how many held at a time.

The generator is client and server. It opens connections on a schedule that does not wait for those
before, so a device that is too slow cannot slow down what is asked of it. Each connection is a
handshake, a request, a response, and an end in order; all else is a failure, by its cause. Of UDP
one is a request and a response that no port of the clients has exchanged before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.connections import PORTS_EACH, Protocol
from vsperf.config.counted import Counted
from vsperf.config.method import Contradiction
from vsperf.methods.base import Bench, probe_on
from vsperf.methods.connections import (
    ConnectionMethod,
    ConnectionsAsked,
    ConnectionsBench,
    Count,
    apart,
    at_load,
    due_in,
    known,
    limit_of,
    tail_ns,
)
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_bytes, human_count, human_share
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration, FrameSize, LinkSpeed, Ratio
from vsperf.records.connections import ConnectionTrial, Flood
from vsperf.records.regime import Regime
from vsperf.records.result import (
    Axis,
    Curve,
    Figure,
    GoalResult,
    Limit,
    PartialResult,
    SearchResult,
    amount,
)
from vsperf.records.trial import Trial
from vsperf.search.base import Loads, Probe, Whereabouts
from vsperf.search.classify import DurationRule
from vsperf.search.confirm import Confirmed
from vsperf.search.rfc2544 import Ascending

GOAL = "connections"
"""What the search calls its only question."""
LONGER = 2
"""Times that opening may take, as the schedule stands still while the generator is kept away."""
REPEATED = {"tcp": "repeated_segments", "udp": "repeated_datagrams"}
ARRIVED = "flood_arrived"
MEMORY = "memory_per_connection"
IN_CLEAN_TIME = "_clean"
"""Behind the name of an answer: that from clean time alone."""
IN_REGIMES = tuple(f"_{regime}" for regime in Regime)
"""Likewise: those from the trials of each regime alone."""
Tails = Mapping[str, tuple[str, str]]
"""Figures of times that 99 of 100 did not exceed: which histogram it is, and what it says."""
OPENING: Tails = {
    "handshake_p99": (
        "handshake",
        "from when a SYN was due to its answer, for 99 of 100 of those that were answered",
    ),
    "first_response_p99": (
        "first_response",
        "from when a SYN was due to the first response, for 99 of 100 of those that had one",
    ),
}
SENT_AGAIN = {
    "tcp": "segments were sent again, as nobody had acknowledged them",
    "udp": "datagrams were sent again, as no response had come",
}
OPENING_FLOWS: Tails = {
    "first_response_p99": (
        "first_response",
        "from when the first request of a flow was due to its response, for 99 of 100",
    ),
}
Requests = Annotated[int, Field(ge=1, le=1000), Counted]


class ConnectionSearch(ConnectionMethod):
    """Opens connections at loads that are searched: what a load is, each method says."""

    answer: ClassVar[str]
    """The figure that matters most."""
    unit: ClassVar[Unit]
    searched: ClassVar[Unit]
    """Of the load."""
    ends: ClassVar[tuple[str, str]] = ("min_rate", "max_rate")
    """The settings between which it searches."""
    tails: ClassVar[Tails] = OPENING

    protocol: Protocol = "tcp"
    """What connections are made by. Of `udp` each is a flow: a port of its own sends a datagram,
    and has one back. There is no handshake and no end that a device would see."""
    syn_flood: Count | None = None
    """SYNs a second that nobody goes on from, beside the connections: each from another address or
    port, to fill the table of whatever keeps one."""
    half_open: bool = False
    """Whether SYNs of the flood are answered, so that a device sees connections half open."""
    failed: Ratio = Ratio.parse("0")
    """Share of the connections that may fail."""
    attempts: Annotated[int, Field(ge=1, le=8)] = 3
    """To send a segment before its connection has failed; what was sent again is told."""
    resolution: Ratio = Ratio.parse("2%")
    """Width of the final interval, as a share of its upper end."""
    verify_upper: Annotated[int, Field(ge=0, le=10)] = 1
    """Repeats at the upper bound, to tell overload from accident."""

    @model_validator(mode="after")
    def _tells_something(self) -> Self:
        if self.half_open and self.syn_flood is None:
            raise ValueError("half_open says how a flood is answered, and syn_flood asks for none")
        if self.protocol == "udp" and self.syn_flood is not None:
            raise ValueError("syn_flood is of TCP, and protocol is udp")
        if self.failed.value >= 1:
            raise ValueError(f"`failed` is {self.failed}: where all may fail, any load holds")
        return self

    @property
    def several(self) -> int:
        """How many requests are asked on each connection, one after the other."""
        return int(getattr(self, "requests", 1))

    @property
    def made_by(self) -> Protocol:
        return self.protocol

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return that it is asked for connections of a kind, and for a flood beside them."""
        asked = {
            Ability.SYN_FLOOD: self.syn_flood is not None,
            Ability.SEVERAL_REQUESTS: self.several > 1,
        }
        return super().asks_generator | {ability for ability, wanted in asked.items() if wanted}

    @property
    def times(self) -> Tails:
        """Figures of times: without a handshake its answer is the first response."""
        without = self.protocol == "udp" and self.tails is OPENING
        return OPENING_FLOWS if without else self.tails

    def metrics(self) -> Mapping[str, Unit]:
        times = dict.fromkeys(self.times, Unit.NANOSECONDS)
        flood = {} if self.syn_flood is None else {ARRIVED: Unit.RATIO}
        parts = [IN_CLEAN_TIME, *IN_REGIMES] if self.of_time else []
        of_parts = {f"{self.answer}{part}": self.unit for part in parts}
        again = {REPEATED[self.protocol]: Unit.RATIO}
        return {self.answer: self.unit, **of_parts, **times, **again, **flood}

    @property
    @abstractmethod
    def duration_ns(self) -> int:
        """For how long a search takes one of its trials to last."""

    @property
    def range(self) -> tuple[int, int]:
        """The loads between which it searches."""
        lowest, highest = (getattr(self, name) for name in self.ends)
        return lowest, highest

    @property
    def searched_range(self) -> tuple[int, int]:
        """Of these, what it can offer."""
        return self.range

    def lasting_ns(self, load: int) -> int:
        """For how long a trial at a load goes on, if no connection fails."""
        return self.trial_at(load).lasting_ns

    @abstractmethod
    def trial_at(self, load: int) -> ConnectionsAsked:
        """Return the trial at a load."""

    @abstractmethod
    def found_at(self, load: int, made: Sequence[ConnectionTrial]) -> int | None:
        """Return what a load that held stands for, by what its trials counted."""

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield that there is nothing to search; frames and links have no say in it."""
        yield from super().contradictions(size, link)
        (lowest, highest), (first, last) = self.range, self.ends
        if lowest >= highest:
            told = {first: f"is {lowest:,}", last: f"is {highest:,}"}
            written, other = (last, first) if last in self.model_fields_set else (first, last)
            yield Contradiction(
                written,
                f"{told[written]}, and {other} {told[other]}",
                f"the search begins at {first}, and ends at {last}",
                f"raise search.{last}, or lower search.{first}",
            )

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the range; no frame is offered, so no line has anything to say to it."""
        lowest, highest = self.searched_range
        virtual = case.virtual_links
        return Loads(lowest, highest, highest + 1, virtual=virtual, ascending=True)

    def confirmed(self, loads: Loads) -> Confirmed:
        """Return the search, whose bounds are tried once more at the end."""
        ns = self.duration_ns
        rules = {GOAL: DurationRule(self.failed.value, Ratio.parse("0").value, ns, ns)}
        search = Ascending(rules, loads, ns, 1, self.verify_upper, self.resolution.value)
        return Confirmed(search, search.questions, ns)

    def run(self, bench: Bench) -> SearchResult:
        """Search, on a bench that opens connections or, to see how long that takes, on any."""
        if isinstance(bench, ConnectionsBench):
            return self.play(bench)
        probe = replace(probe_on(bench), measure=partial(self._rehearsed, bench))
        return self.confirmed(bench.loads).run(probe)

    def _rehearsed(self, bench: Bench, load: int, duration_ns: int) -> Trial:
        """Make a trial that lasts as long as one at this share of the highest load."""
        del duration_ns  # it follows from the load
        share = load * self.searched_range[1] // bench.loads.maximum
        return bench.trial(load, self.lasting_ns(share))

    def play(self, bench: ConnectionsBench) -> SearchResult:
        """Search, and say what was found in the words of connections."""
        lowest, highest = self.searched_range
        made: list[tuple[int, ConnectionTrial]] = []
        measure = partial(self._measured, bench, made)
        whereabouts = bench if isinstance(bench, Whereabouts) else None
        probe = Probe(measure, bench.budget, bench.overhead_ns, whereabouts=whereabouts)
        loads = Loads(lowest, highest, highest + 1, switched=bench.switched, ascending=True)
        found = self.confirmed(loads).run(probe)
        return self.answered(found, made)

    def _measured(
        self,
        bench: ConnectionsBench,
        made: list[tuple[int, ConnectionTrial]],
        load: int,
        duration_ns: int,
    ) -> Trial:
        del duration_ns  # it follows from the load
        asked = self.trial_at(load)
        if self.syn_flood is not None:
            asked = replace(asked, flood_fps=self.syn_flood, flood_answered=self.half_open)
        bench.budget.require(asked.lasting_ns + bench.overhead_ns)
        one = bench.connect(asked)
        made.append((load, one))
        return one.as_load(load, of_time=self.of_time)

    def answered(
        self, found: SearchResult, made: Sequence[tuple[int, ConnectionTrial]]
    ) -> SearchResult:
        """Return what a search found, and what its trials say beside it."""
        figures: list[Figure] = []
        for goal in found.goals:
            figures += self.answers(goal, made)
            figures += self._of_parts(goal, made)
            figures += self._beside(at_load(made, goal.lower_fps), self._at(goal.lower_fps))
        return SearchResult(
            figures=tuple(figures),
            curves=(self._curve(made),) if made else (),
            complete=found.complete,
            spoiled=found.spoiled,
        )

    def answers(
        self, goal: GoalResult, made: Sequence[tuple[int, ConnectionTrial]]
    ) -> Iterator[Figure]:
        """Yield the figure that matters most, and what else the interval stands for."""
        there = at_load(made, goal.lower_fps)
        limit, reason, upper = limit_of(goal, made, self._said, of_time=self.of_time)
        held = None if goal.lower_fps is None else self.found_at(goal.lower_fps, there)
        yield Figure(
            name=self.answer,
            unit=self.unit,
            value=held,
            lower=held,  # of a load some of which may fail, more was offered than came about
            upper=self.stands_for(upper, there),
            at=self.conditions(),
            limit=limit,
            reason=reason,
            flags=goal.flags,
        )

    def _of_parts(
        self, goal: GoalResult, made: Sequence[tuple[int, ConnectionTrial]]
    ) -> Iterator[Figure]:
        """Yield the answers from clean time alone, and from each regime; none where nobody knows.

        That its trials do not agree, or leave it open whose failures they were, is no doubt on the
        answer from all time: it has no number then, and no limit.
        """
        clean = () if goal.clean is None else (goal.clean,)
        parts: list[tuple[str, str, PartialResult]] = [
            (IN_CLEAN_TIME, "nothing kept the generator from running", one) for one in clean
        ]
        parts += [(f"_{there.regime}", apart(there), there) for there in goal.regimes]
        for suffix, when, part in parts:
            same = part.model_dump(include={"lower_fps", "upper_fps", "limit", "flags"})
            limit, *_ = limit_of(goal.model_copy(update=same), made, self._said)
            answered = part.limit not in (None, Limit.UNKNOWN)
            why = known(part, self._said)
            if not answered:
                why = f": {'trials do not agree in it' if part.limit else part.reason}"
            there = at_load(made, part.lower_fps) if answered else []
            lower = part.lower_fps if answered else None
            held = None if lower is None else self.found_at(lower, there)
            share = human_share(float(Fraction(part.share)))
            yield Figure(
                name=f"{self.answer}{suffix}",
                unit=self.unit,
                value=held,
                lower=held,
                upper=self.stands_for(part.upper_fps, there) if answered else None,
                limit=limit if answered and limit is not Limit.UNKNOWN else None,
                reason=f"in the {share} of the time in which {when}{why}",
            )

    def stands_for(self, load: int | None, there: Sequence[ConnectionTrial]) -> int | None:
        """Return what a bound stands for in the unit of the answer, by the trials that held."""
        del there
        return load

    def conditions(self) -> str:
        """Return what decides most of what there is to find."""
        flood = ""
        if self.syn_flood is not None:
            kind = "half-open connections" if self.half_open else "SYNs of nobody"
            flood = f"; beside {human_count(self.syn_flood)} {kind} a second"
        return f"{self.exchanged()}; {self.between}{flood}"

    def exchanged(self) -> str:
        """Return what is asked on each connection."""
        each = "a request" if self.several == 1 else f"{self.several} requests"
        return f"{each} of {self.request} B and {self.response} B of response on each"

    def _said(self, load: int) -> str:
        return amount(load, self.searched)

    def _at(self, load: int | None) -> str:
        return "" if load is None else f"at {self._said(load)}"

    def _curve(self, made: Sequence[tuple[int, ConnectionTrial]]) -> Curve:
        loads = sorted({load for load, _ in made})
        return Curve(
            name="by_load",
            x=Axis(name="offered", unit=self.searched),
            columns=(
                Axis(name="failed", unit=Unit.RATIO),
                *(Axis(name=name, unit=Unit.NANOSECONDS) for name in self.times),
            ),
            points=tuple(
                (load, _worst(there), *(tail_ns(there, times) for times, _ in self.times.values()))
                for load in loads
                for there in (at_load(made, load),)
            ),
        )

    def _beside(self, there: Sequence[ConnectionTrial], at: str) -> Iterator[Figure]:
        """Yield what trials at an answer say of times, and of what had to be sent again."""
        if not there:
            return
        timed = any(one.counts is not None and one.counts.times is not None for one in there)
        unknown = "nothing was answered" if timed else "the generator does not tell it"
        for name, (times, meaning) in self.times.items():
            value = tail_ns(there, times)
            reason = meaning if value is not None else unknown
            yield Figure(name=name, unit=Unit.NANOSECONDS, value=value, at=at, reason=reason)
        floods = [one.counts.flood for one in there if one.counts and one.counts.flood]
        if floods:
            yield _arrived(floods, at)
        ends = [end for one in there for end in one.ends]
        sent, repeated = sum(e.segments_sent for e in ends), sum(e.repeated for e in ends)
        yield Figure(
            name=REPEATED[self.protocol],
            unit=Unit.RATIO,
            value=repeated / sent if sent else None,
            at=at,
            reason=f"{human_count(repeated)} of {human_count(sent)} {SENT_AGAIN[self.protocol]}",
        )


class ConnectionRate(ConnectionSearch):
    """How many connections a second can be opened, asked, answered and closed."""

    summary: ClassVar[str] = "highest rate of new connections of which none fails"
    answer: ClassVar[str] = "connection_rate"
    unit: ClassVar[Unit] = Unit.PER_SECOND
    searched: ClassVar[Unit] = Unit.PER_SECOND

    kind: Literal["cps"]
    duration: TrialDuration = Duration(5_000_000_000)
    """For which connections begin in a trial."""
    min_rate: Count = 500
    """Connections a second at which the search begins; it doubles them until some fail."""
    max_rate: Count = 1_000_000
    """Connections a second beyond which nothing is tried."""
    requests: Requests = 1
    """On each connection, one after the other, each with a response."""

    @property
    def duration_ns(self) -> int:
        return self.duration.ns

    @property
    def searched_range(self) -> tuple[int, int]:
        """Of UDP no more flows than there are ports: a device still knows one that asked before."""
        if self.protocol == "tcp":
            return self.range
        ports = self.clients * PORTS_EACH
        return self.min_rate, min(self.max_rate, ports * NANOSECONDS // self.duration_ns)

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield that there are too few ports for flows at the lowest rate."""
        yield from super().contradictions(size, link)
        lowest, highest = self.searched_range
        if lowest >= highest and self.min_rate < self.max_rate:
            needed = -(-due_in(self.duration_ns, lowest + 1) // PORTS_EACH)
            yield Contradiction(
                "min_rate",
                f"is {self.min_rate:,}, and search.clients is {self.clients}",
                f"each flow of a trial has a port of its own, of which an address has "
                f"{PORTS_EACH:,}",
                f"--set search.clients={needed}, or a lower search.min_rate",
            )

    def lasting_ns(self, load: int) -> int:
        """As long at any rate."""
        del load
        return self.duration.ns

    def trial_at(self, load: int) -> ConnectionsAsked:
        """Return connections at a rate, none of which is held."""
        return ConnectionsAsked(
            rate_cps=load,
            connections=due_in(self.duration_ns, load),
            requests=self.requests,
            request_bytes=self.request,
            response_bytes=self.response,
            attempts=self.attempts,
            protocol=self.protocol,
        )

    def found_at(self, load: int, made: Sequence[ConnectionTrial]) -> int:
        """Return the rate itself: all that were due at it came to their end."""
        del made
        return load


class ConcurrentConnections(ConnectionSearch):
    """How many connections can be held open at the same time."""

    summary: ClassVar[str] = "most connections that are open at a time, none of which fails"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.HELD})
    """All of them are held besides."""
    answer: ClassVar[str] = "concurrent_connections"
    ends: ClassVar[tuple[str, str]] = ("min_connections", "max_connections")
    of_time: ClassVar[bool] = False
    unit: ClassVar[Unit] = Unit.COUNT
    searched: ClassVar[Unit] = Unit.COUNT

    kind: Literal["cc"]
    rate: Count = 5_000
    """Connections that begin in a second, until all are open; below the highest rate by far."""
    hold: Duration = Duration(1_000_000_000)
    """For which all of them are open."""
    min_connections: Count = 1_000
    """At which the search begins; it doubles them until some fail."""
    max_connections: Count = 1_000_000
    """Beyond which nothing is tried."""
    requests: Requests = 1
    """On each connection, one after the other, each with a response."""

    @property
    def duration_ns(self) -> int:
        """The shortest of its trials counts as a whole one: each asks the same question."""
        return self.min_connections * NANOSECONDS // self.rate

    def trial_at(self, load: int) -> ConnectionsAsked:
        """Return so many connections, each of which is held until the last has been opened."""
        return ConnectionsAsked(
            rate_cps=self.rate,
            connections=load,
            hold_ns=LONGER * load * NANOSECONDS // self.rate + self.hold.ns,
            requests=self.requests,
            request_bytes=self.request,
            response_bytes=self.response,
            attempts=self.attempts,
            protocol=self.protocol,
        )

    def found_at(self, load: int, made: Sequence[ConnectionTrial]) -> int:
        """Return how many were open at the same time, in the trial in which these were fewest."""
        counted = [one.client.most_established for one in made if one.client is not None]
        return min([load, *(count for count in counted if count is not None)])

    def metrics(self) -> Mapping[str, Unit]:
        return {**super().metrics(), MEMORY: Unit.BYTES}

    def answers(
        self, goal: GoalResult, made: Sequence[tuple[int, ConnectionTrial]]
    ) -> Iterator[Figure]:
        """Yield the answer, and what each connection costs the switch, if it tells."""
        yield from super().answers(goal, made)
        yield from _memory([one for _, one in made], at_load(made, goal.lower_fps))


def _memory(made: Sequence[ConnectionTrial], there: Sequence[ConnectionTrial]) -> Iterator[Figure]:
    """Yield the memory of a connection: more than before all trials, by those that were kept.

    A switch may not give back what it once took, so each trial is held against the first one.
    """
    before = [one.kept[0].memory_bytes for one in made if one.kept is not None]
    known = [count for count in before if count is not None]
    most = [one.kept[1] for one in there if one.kept is not None]
    told = [(one.memory_bytes, one.entries) for one in most if one.memory_bytes and one.entries]
    if not known or not told:
        return
    memory, entries = max(told)
    yield Figure(
        name=MEMORY,
        unit=Unit.BYTES,
        value=(memory - min(known)) / entries,
        reason=f"{human_bytes(memory)} of the switch while it kept {human_count(entries)} "
        f"connections, {human_bytes(min(known))} before there were any",
    )


def _arrived(floods: Sequence[Flood], at: str) -> Figure:
    """Return the share of a flood that servers got: what a device stopped is missing."""
    sent, arrived = sum(one.sent for one in floods), sum(one.arrived for one in floods)
    return Figure(
        name=ARRIVED,
        unit=Unit.RATIO,
        value=arrived / sent if sent else None,
        at=at,
        reason=f"{human_count(arrived)} of {human_count(sent)} SYNs of the flood came through",
    )


def _worst(there: Sequence[ConnectionTrial]) -> float | None:
    ratios = [one.failed_ratio for one in there if one.failed_ratio is not None]
    return float(max(ratios)) if ratios else None
