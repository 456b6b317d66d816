"""Connections through the switch: how many can be opened in a second, and how many held at a time.

The generator is client and server. It opens connections on a schedule that does not wait for those
before, so a device that is too slow cannot slow down what is asked of it. Each connection is a
handshake, a request, a response, and an end in order; all else is a failure, by its cause.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.connections import MOST_ADDRESSES
from vsperf.config.counted import Counted
from vsperf.config.method import Contradiction
from vsperf.config.topology import Topology
from vsperf.methods.base import Bench, Method, probe_on, refused
from vsperf.methods.connections import ConnectionsAsked, ConnectionsBench
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_count, human_share
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration, Ratio
from vsperf.records.connections import ConnectionTrial
from vsperf.records.histogram import merged_percentiles_ns
from vsperf.records.result import (
    Axis,
    Compliance,
    Curve,
    Figure,
    GoalResult,
    Limit,
    SearchResult,
    amount,
)
from vsperf.records.trial import Purpose, Trial
from vsperf.search.ascending import Ascending
from vsperf.search.base import Loads, Probe
from vsperf.search.classify import DurationRule
from vsperf.search.confirm import Confirmed

GOAL = "connections"
"""What the search calls its only question."""
SATURATED_PPM = 950_000
"""From this share of its time on, a generator that has something to do may be what is too slow."""
AWAY = 0.1
"""From this share of the time on, whoever did not run was not too slow."""
LONGER = 2
"""Times that opening may take, as the schedule stands still while the generator is kept away."""
CHECKED = 20
"""Connections by which it is seen that any come through."""
CHECKED_CPS = 200
CHECKED_NS = 500_000_000
"""Until their segments are sent again: a dead path is told in seconds."""
HANDSHAKE, RESPONSE = "handshake_p99", "first_response_p99"
REPEATED = "repeated_segments"
Count = Annotated[int, Field(ge=1, le=4_194_304), Counted]
Message = Annotated[int, Field(ge=1, le=65_536)]


class ConnectionMethod(Method):
    """Opens connections at loads that are searched: what a load is, each method says."""

    CONNECTIONS: ClassVar[bool] = True
    answer: ClassVar[str]
    """The figure that matters most."""
    unit: ClassVar[Unit]

    clients: Annotated[int, Field(ge=1, le=MOST_ADDRESSES)] = 16
    """Addresses that connections come from, in turns."""
    servers: Annotated[int, Field(ge=1, le=MOST_ADDRESSES)] = 4
    """Addresses that answer; a device that shares connections out has them behind it."""
    requests: Annotated[int, Field(ge=1, le=1000), Counted] = 1
    """On each connection, one after the other, each with a response."""
    request: Message = 100
    """Bytes of a request, of HTTP/1.1 with its headers."""
    response: Message = 1024
    """Bytes of a response, likewise."""
    failed: Ratio = Ratio.parse("0")
    """Share of the connections that may fail."""
    attempts: Annotated[int, Field(ge=1, le=8)] = 3
    """To send a segment before its connection has failed; what was sent again is told."""
    resolution: Ratio = Ratio.parse("2%")
    """Width of the final interval, as a share of its upper end."""
    verify_upper: Annotated[int, Field(ge=0, le=10)] = 1
    """Repeats at the upper bound, to tell overload from accident."""

    @property
    def asks_generator(self) -> frozenset[Ability]:
        """Return that it is asked for connections, and for no frames."""
        return frozenset({Ability.CONNECTIONS})

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        """Yield that there are not two ends."""
        if len(topology.links) != 2:
            yield Contradiction(
                "kind",
                f"is {self.kind}, and topology {topology.name} has {len(topology.links)} links",
                "clients are at the end of one link, and servers at that of another",
                "--set topology=p2p",
            )

    def metrics(self) -> Mapping[str, Unit]:
        """Return what can be judged."""
        times = dict.fromkeys((HANDSHAKE, RESPONSE), Unit.NANOSECONDS)
        return {self.answer: self.unit, **times, REPEATED: Unit.RATIO}

    @property
    @abstractmethod
    def duration_ns(self) -> int:
        """For how long a search takes one of its trials to last."""

    @property
    @abstractmethod
    def range(self) -> tuple[int, int]:
        """The loads between which it searches."""

    @abstractmethod
    def lasting_ns(self, load: int) -> int:
        """For how long a trial at a load goes on, if no connection fails."""

    @abstractmethod
    def trial_at(self, load: int) -> ConnectionsAsked:
        """Return the trial at a load."""

    @abstractmethod
    def found_at(self, load: int, made: Sequence[ConnectionTrial]) -> int:
        """Return what a load that held stands for, by what its trials counted."""

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        """Return the range; no frame is offered, so no line has anything to say to it."""
        lowest, highest = self.range
        if lowest >= highest:
            raise refused(
                f"there is nothing to search between {lowest:,} and {highest:,}",
                "the search begins at the first of both, and ends at the other",
                "raise the higher one, or lower the other",
            )
        return Loads(lowest, highest, highest + 1, virtual=case.virtual_links)

    def checking(self) -> ConnectionsAsked:
        """Return a few connections like those that are asked for."""
        lowest, _ = self.range
        return replace(
            self.trial_at(lowest),
            purpose=Purpose.PATH_CHECK,
            rate_cps=CHECKED_CPS,
            connections=CHECKED,
            hold_ns=0,
            repeat_ns=CHECKED_NS,
            patience_ns=4 * CHECKED_NS,
        )

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
        share = load * self.range[1] // bench.loads.maximum
        return bench.trial(load, self.lasting_ns(share))

    def play(self, bench: ConnectionsBench) -> SearchResult:
        """Search, and say what was found in the words of connections."""
        lowest, highest = self.range
        made: list[tuple[int, ConnectionTrial]] = []
        measure = partial(self._measured, bench, made)
        probe = Probe(measure, bench.budget, bench.overhead_ns)
        found = self.confirmed(Loads(lowest, highest, highest + 1)).run(probe)
        return self.answered(found, made)

    def _measured(
        self,
        bench: ConnectionsBench,
        made: list[tuple[int, ConnectionTrial]],
        load: int,
        duration_ns: int,
    ) -> Trial:
        del duration_ns  # it follows from the load
        one = bench.connect(self.trial_at(load))
        made.append((load, one))
        return one.as_load(load)

    def answered(
        self, found: SearchResult, made: Sequence[tuple[int, ConnectionTrial]]
    ) -> SearchResult:
        """Return what a search found, and what its trials say beside it."""
        figures: list[Figure] = []
        for goal in found.goals:
            figures.append(self._answer(goal, made))
            there = _at(made, goal.lower_fps)
            figures += _beside(there, self._at(goal.lower_fps))
        return SearchResult(
            figures=tuple(figures),
            curves=(self._curve(made),) if made else (),
            complete=found.complete,
            spoiled=found.spoiled,
        )

    def _answer(self, goal: GoalResult, made: Sequence[tuple[int, ConnectionTrial]]) -> Figure:
        there = _at(made, goal.lower_fps)
        limit, reason = limit_of(goal, made, self._said)
        return Figure(
            name=self.answer,
            unit=self.unit,
            value=None if goal.lower_fps is None else self.found_at(goal.lower_fps, there),
            lower=goal.lower_fps,
            upper=goal.upper_fps,
            at=self.conditions(),
            limit=limit,
            reason=reason,
            flags=goal.flags,
        )

    def conditions(self) -> str:
        """Return what decides most of what there is to find."""
        each = "a request" if self.requests == 1 else f"{self.requests} requests"
        return (
            f"{each} of {self.request} B and {self.response} B of response on each; from "
            f"{_addresses(self.clients)} to {_addresses(self.servers)}"
        )

    def _said(self, load: int) -> str:
        return amount(load, self.unit)

    def _at(self, load: int | None) -> str:
        return "" if load is None else f"at {self._said(load)}"

    def _curve(self, made: Sequence[tuple[int, ConnectionTrial]]) -> Curve:
        loads = sorted({load for load, _ in made})
        return Curve(
            name="by_load",
            x=Axis(name="offered", unit=self.unit),
            columns=(
                Axis(name="failed", unit=Unit.RATIO),
                Axis(name=HANDSHAKE, unit=Unit.NANOSECONDS),
                Axis(name=RESPONSE, unit=Unit.NANOSECONDS),
            ),
            points=tuple(
                (
                    load,
                    _worst(there),
                    _tail(there, "handshake"),
                    _tail(there, "first_response"),
                )
                for load in loads
                for there in (_at(made, load),)
            ),
        )

    def compliance(
        self, case: CaseSpec, sister_sizes: Sequence[int], result: SearchResult
    ) -> tuple[Compliance, ...]:
        """No standard of frames says how connections are counted."""
        return ()


class ConnectionRate(ConnectionMethod):
    """How many connections a second can be opened, asked, answered and closed."""

    summary: ClassVar[str] = "highest rate of new TCP connections of which none fails"
    answer: ClassVar[str] = "connection_rate"
    unit: ClassVar[Unit] = Unit.PER_SECOND

    kind: Literal["cps"]
    duration: TrialDuration = Duration(5_000_000_000)
    """For which connections begin in a trial."""
    min_rate: Count = 500
    """Connections a second at which the search begins; it doubles them until some fail."""
    max_rate: Count = 1_000_000

    @property
    def duration_ns(self) -> int:
        """As it was asked for."""
        return self.duration.ns

    @property
    def range(self) -> tuple[int, int]:
        """Of rates."""
        return self.min_rate, self.max_rate

    def lasting_ns(self, load: int) -> int:
        """As long at any rate."""
        del load
        return self.duration.ns

    def trial_at(self, load: int) -> ConnectionsAsked:
        """Return connections at a rate, none of which is held."""
        return ConnectionsAsked(
            rate_cps=load,
            connections=max(1, load * self.duration_ns // NANOSECONDS),
            requests=self.requests,
            request_bytes=self.request,
            response_bytes=self.response,
            attempts=self.attempts,
        )

    def found_at(self, load: int, made: Sequence[ConnectionTrial]) -> int:
        """Return the rate itself: all that were due at it came to their end."""
        del made
        return load


class ConcurrentConnections(ConnectionMethod):
    """How many connections can be held open at the same time."""

    summary: ClassVar[str] = "most TCP connections that are open at a time, none of which fails"
    answer: ClassVar[str] = "concurrent_connections"
    unit: ClassVar[Unit] = Unit.COUNT

    kind: Literal["cc"]
    rate: Count = 5_000
    """Connections that begin in a second, until all are open; below the highest rate by far."""
    hold: Duration = Duration(1_000_000_000)
    """For which all of them are open."""
    min_connections: Count = 1_000
    """At which the search begins; it doubles them until some fail."""
    max_connections: Count = 1_000_000

    @property
    def duration_ns(self) -> int:
        """The shortest of its trials counts as a whole one: each asks the same question."""
        return self.min_connections * NANOSECONDS // self.rate

    @property
    def range(self) -> tuple[int, int]:
        """Of connections at a time."""
        return self.min_connections, self.max_connections

    def lasting_ns(self, load: int) -> int:
        """Until the last has been opened, and held as long as the first was."""
        return 2 * (load * NANOSECONDS // self.rate) + self.hold.ns

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
        )

    def found_at(self, load: int, made: Sequence[ConnectionTrial]) -> int:
        """Return how many were open at the same time, in the trial in which these were fewest."""
        counted = [one.client.most_established for one in made if one.client is not None]
        return min([load, *counted])


def limit_of(
    goal: GoalResult, made: Sequence[tuple[int, ConnectionTrial]], said: Callable[[int], str]
) -> tuple[Limit, str]:
    """Return what kept an answer from being higher, in the words of connections."""
    limit, lower, upper = goal.limit, goal.lower_fps, goal.upper_fps
    if limit is Limit.SETTING and lower is not None:
        return limit, f"the highest that may be offered, {said(lower)}, held"
    if limit is Limit.BUDGET:
        return limit, f"the time ended before the interval was narrow enough{_known(goal, said)}"
    if limit is Limit.GENERATOR and upper is None:
        return _not_begun(made, lower, said)
    lossy = [one for one in _at(made, upper) if one.failed]
    if upper is None or not lossy:
        return limit, f"trials do not agree{_known(goal, said)}"
    mildest = min(lossy, key=lambda one: one.failed_ratio or 0)
    assert mildest.client is not None  # it has connections that failed
    reason = (
        f"at {said(upper)} {mildest.failed:,} of {mildest.client.launched:,} connections failed "
        f"({human_share(float(mildest.failed_ratio or 0))}): {mildest.causes_text}"
    )
    dropped = mildest.switch.drops if mildest.switch is not None else {}
    told = [f"{count:,} {why}" for why, count in dropped.items() if count]
    reason += f"; the switch counted {', '.join(told)}" if told else ""
    busy = [one.counts.busy_ppm for one in lossy if one.counts is not None]
    if limit is Limit.DUT and min(busy, default=0) >= SATURATED_PPM:
        return Limit.GENERATOR, (
            f"{reason}; the generator had no time left there, so nobody can tell whose they are"
        )
    return limit, reason


def _not_begun(
    made: Sequence[tuple[int, ConnectionTrial]], lower: int | None, said: Callable[[int], str]
) -> tuple[Limit, str]:
    """Say what the generator did not begin in time, at the lowest load above an answer, and why."""
    late = [(load, one) for load, one in made if one.unsent and load > (lower or 0)]
    if not late:
        return Limit.UNKNOWN, "the generator did not begin all connections in time"
    load, one = min(late, key=lambda pair: (pair[0], pair[1].unsent))
    assert one.client is not None and one.counts is not None  # some were not begun
    reason = (
        f"at {said(load)} the generator began {one.client.launched:,} of "
        f"{one.client.intended:,} connections in time"
    )
    away = one.counts.paused_ns / max(1, one.counts.launching_ns or 0)
    limit = Limit.GENERATOR
    if away >= AWAY:
        limit, share = Limit.HOST, human_share(min(1.0, away))
        reason += f"; the machine kept it from running for {share} of the time"
    return (Limit.UNKNOWN if lower is None else limit), reason


def _known(goal: GoalResult, said: Callable[[int], str]) -> str:
    parts = []
    if goal.lower_fps is not None:
        parts.append(f"{said(goal.lower_fps)} held")
    if goal.upper_fps is not None:
        parts.append(f"{said(goal.upper_fps)} did not")
    return f"; {', '.join(parts)}" if parts else ""


def _at(made: Sequence[tuple[int, ConnectionTrial]], load: int | None) -> list[ConnectionTrial]:
    return [one for offered, one in made if offered == load]


def _beside(there: Sequence[ConnectionTrial], at: str) -> Iterator[Figure]:
    """Yield what trials at an answer say of times, and of what had to be sent again."""
    if not there:
        return
    about = {
        HANDSHAKE: ("handshake", "from when a SYN was due to its answer, for 99 of 100"),
        RESPONSE: (
            "first_response",
            "from when a SYN was due to the first response, for 99 of 100",
        ),
    }
    for name, (times, meaning) in about.items():
        value = _tail(there, times)
        reason = meaning if value is not None else "nothing was answered"
        yield Figure(name=name, unit=Unit.NANOSECONDS, value=value, at=at, reason=reason)
    sums: Counter[str] = Counter()
    for one in there:
        for end in (one.counts.client_segments, one.counts.server_segments) if one.counts else ():
            if end is not None:
                sums.update(sent=end.segments_sent, repeated=end.repeated)
    yield Figure(
        name=REPEATED,
        unit=Unit.RATIO,
        value=sums["repeated"] / sums["sent"] if sums["sent"] else None,
        at=at,
        reason=f"{human_count(sums['repeated'])} of {human_count(sums['sent'])} segments were sent "
        "again, as nobody had acknowledged them",
    )


def _tail(there: Sequence[ConnectionTrial], name: str) -> float | None:
    told = [
        getattr(one.counts.times, name)
        for one in there
        if one.counts is not None and one.counts.times is not None
    ]
    found = merged_percentiles_ns(told, [99.0])
    return None if found is None else found[99.0]


def _worst(there: Sequence[ConnectionTrial]) -> float | None:
    ratios = [one.failed_ratio for one in there if one.failed_ratio is not None]
    return float(max(ratios)) if ratios else None


def _addresses(count: int) -> str:
    return "1 address" if count == 1 else f"{count} addresses"
