"""What goes over connections that are open: packets a second, and bytes of responses.

Connections are opened first. Then the one whose turn it is asks when a request is due, whatever
became of those before, so a device that is too slow is not asked any slower for that.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Literal

from vsperf.config.abilities import Ability
from vsperf.config.connections import PORTS_EACH
from vsperf.config.method import Contradiction
from vsperf.methods.connection_search import ConnectionSearch, Tails
from vsperf.methods.connections import Bytes, ConnectionsAsked, Count, due_in, limit_of
from vsperf.methods.range import TrialDuration
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Duration, FrameSize, LinkSpeed
from vsperf.records.connections import ConnectionTrial
from vsperf.records.flags import Flag
from vsperf.records.result import Figure, GoalResult

REQUEST_RATE = "request_rate"
TURNS = 2
"""Each connection asks so often in a second at least. What was lost is sent again after a second,
so the connection's next turn comes before, and finds it waiting: no loss stays unseen."""
BITS = 8


class RequestMethod(ConnectionSearch):
    """Asks on open connections at rates that are searched: what a request stands for, each says."""

    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.BY_CLOCK})
    """They ask by a clock besides."""
    searched: ClassVar[Unit] = Unit.PER_SECOND
    tails: ClassVar[Tails] = {
        "response_p99": (
            "response",
            "from when a request was due to the end of its response, for 99 of 100 of those that "
            "were answered",
        ),
    }

    connections: Count = 10_000
    """That are open meanwhile, and ask in turn: so many requests can be under way at a time. With a
    tenth of it a pause of some milliseconds leaves none that could ask."""
    rate: Count = 10_000
    """Connections that are opened in a second, before, and closed, behind."""
    duration: TrialDuration = Duration(5_000_000_000)
    """For which they ask in a trial."""
    min_rate: Count = 20_000
    """Requests a second at which the search begins; it doubles them until some fail."""
    max_rate: Count = 4_000_000
    """Requests a second beyond which nothing is tried."""

    @abstractmethod
    def each(self, there: Sequence[ConnectionTrial]) -> Fraction | None:
        """Return what a request stands for in the answer; None where no trial tells."""

    @property
    def duration_ns(self) -> int:
        return self.duration.ns

    def contradictions(self, size: FrameSize, link: LinkSpeed) -> Iterator[Contradiction]:
        """Yield that connections ask too seldom, or cannot all be open."""
        yield from super().contradictions(size, link)
        if self.min_rate < TURNS * self.connections:
            yield Contradiction(
                "min_rate",
                f"is {self.min_rate:,}, and {self.connections:,} connections ask in turn: less "
                f"than {TURNS} times a second each",
                "what is lost is sent again after a second, and a connection that is not asked "
                "before shows no loss",
                f"--set search.min_rate={TURNS * self.connections}, or have fewer connections",
            )
        if self.connections > self.clients * PORTS_EACH:
            yield Contradiction(
                "connections",
                f"is {self.connections:,}, and search.clients is {self.clients}",
                f"each has a port of its own, of which an address has {PORTS_EACH:,}",
                f"--set search.clients={-(-self.connections // PORTS_EACH)}",
            )

    def metrics(self) -> Mapping[str, Unit]:
        return {**super().metrics(), REQUEST_RATE: Unit.PER_SECOND}

    def exchanged(self) -> str:
        """Return on how many connections, and how much."""
        some = "1 connection" if self.connections == 1 else f"{self.connections:,} connections"
        return f"{some}; requests of {self.request} B and {self.response} B of response"

    def trial_at(self, load: int) -> ConnectionsAsked:
        """Return requests at a rate, on all connections."""
        return ConnectionsAsked(
            rate_cps=self.rate,
            connections=self.connections,
            request_rps=load,
            requests_due=due_in(self.duration_ns, load),
            request_bytes=self.request,
            response_bytes=self.response,
            attempts=self.attempts,
            protocol=self.protocol,
        )

    def found_at(self, load: int, made: Sequence[ConnectionTrial]) -> int | None:
        """Return what requests at a rate stand for."""
        return self.stands_for(load, made)

    def stands_for(self, load: int | None, there: Sequence[ConnectionTrial]) -> int | None:
        """Return the same of any bound."""
        each = self.each(there)
        return None if load is None or each is None else int(load * each)

    def answers(
        self, goal: GoalResult, made: Sequence[tuple[int, ConnectionTrial]]
    ) -> Iterator[Figure]:
        """Yield the answer, and the requests that it was found by, which have the same limit."""
        answer, *others = super().answers(goal, made)
        yield from (answer, *others)
        *_, upper = limit_of(goal, made, self._said)
        late = (
            f"{self.failed} or fewer of which were not"
            if self.failed.value
            else "all of which were"
        )
        yield Figure(
            name=REQUEST_RATE,
            unit=Unit.PER_SECOND,
            value=goal.lower_fps,
            lower=goal.lower_fps,
            upper=upper,
            limit=answer.limit,
            flags=tuple(one for one in answer.flags if one is Flag.LEFT_TO_REGIMES),
            reason=f"requests that were due in a second, {late} answered at once",
        )


class PacketRate(RequestMethod):
    """How many packets a second go over connections that are open, both ways together."""

    summary: ClassVar[str] = "most packets a second over open connections, none of them lost"
    answer: ClassVar[str] = "packet_rate"
    unit: ClassVar[Unit] = Unit.PER_SECOND

    kind: Literal["pps"]
    request: Bytes = 64
    """Bytes of a request, of HTTP/1.1 with its headers: one short segment."""
    response: Bytes = 80
    """Bytes of a response, likewise."""

    def each(self, there: Sequence[ConnectionTrial]) -> Fraction | None:
        """Return the packets of a request, as both ends counted them."""
        made = [one.counts.asking for one in there if one.counts and one.counts.asking]
        asked = sum(one.asked for one in made)
        return Fraction(sum(one.segments for one in made), asked) if asked else None


class Goodput(RequestMethod):
    """How many bits of responses a second go over connections that are open."""

    summary: ClassVar[str] = "most bits of responses a second over open connections, none late"
    answer: ClassVar[str] = "goodput"
    unit: ClassVar[Unit] = Unit.BPS

    kind: Literal["goodput"]
    response: Bytes = 800
    """Bytes of a response, of HTTP/1.1 with its headers."""

    def each(self, there: Sequence[ConnectionTrial]) -> Fraction | None:
        """Return the bits of a response: of one that is whole, with its head."""
        del there
        return Fraction(BITS * self.response)
