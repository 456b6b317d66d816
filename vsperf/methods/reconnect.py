"""How long nobody can connect when a switch starts anew, and which connections that costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from vsperf.config.abilities import Ability
from vsperf.config.case import CaseSpec
from vsperf.config.counted import Counted
from vsperf.config.method import RESTARTED, Contradiction
from vsperf.config.topology import Topology
from vsperf.methods.base import Bench, mean_of, repeated
from vsperf.methods.connections import (
    AWAY,
    ConnectionMethod,
    ConnectionsAsked,
    ConnectionsBench,
    paid,
)
from vsperf.methods.events import RESETS, EventName, without_vnfs, word_of
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_ns, rounded_share
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration
from vsperf.records.connections import ConnectionTrial
from vsperf.records.result import Figure, Limit, SearchResult, amount
from vsperf.records.trial import to_vnfs
from vsperf.search.base import Loads

UNITS: Mapping[str, Unit] = {"time": Unit.NANOSECONDS, "failed": Unit.COUNT}
"""Of what is told of each event."""
SHORTEST_NS = 4 * NANOSECONDS


class Reconnect(ConnectionMethod):
    """Opens connections at a steady rate while something is done to the switch."""

    summary: ClassVar[str] = "how long nobody can connect when the switch restarts, or is killed"
    ASKS_BESIDES: ClassVar[frozenset[Ability]] = frozenset({Ability.ANSWERED_WHEN})
    """It is asked besides when nobody was answered."""

    kind: Literal["reconnect"]
    events: Annotated[tuple[EventName, ...], Field(min_length=1)] = RESETS
    """What is done: a restart of the switch in good order, or one after a kill."""
    rate: Annotated[int, Field(ge=100, le=4_194_304), Counted] = 2_000
    """Connections that begin in a second: well below the most, as others that fail count, too."""
    duration: TrialDuration = Duration(20_000_000_000)
    """Of a trial; the event comes after a quarter of it."""
    repeats: int = Field(default=3, ge=1, le=1000)
    """Trials of each event."""

    @model_validator(mode="after")
    def _leaves_time(self) -> Self:
        if self.duration.ns < SHORTEST_NS:
            raise ValueError("duration must be at least 4s, of which an event leaves three parts")
        if len(set(map(word_of, self.events))) != len(self.events):
            raise ValueError("each event is named once, and no two begin with the same word")
        return self

    def misfits(self, topology: Topology) -> Iterator[Contradiction]:
        yield from super().misfits(topology)
        for event in self.events:
            yield from without_vnfs(event, topology, "events")

    @property
    def done_to_switch(self) -> str | None:
        return None if all(map(to_vnfs, self.events)) else RESTARTED

    def metrics(self) -> Mapping[str, Unit]:
        words = map(word_of, self.events)
        return {f"{word}_{name}": unit for word in words for name, unit in UNITS.items()}

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        return Loads(self.rate, self.rate, self.rate + 1, virtual=case.virtual_links)

    def trial_of(self, event: str) -> ConnectionsAsked:
        """Return connections at the rate, with an event on the way."""
        return ConnectionsAsked(
            rate_cps=self.rate,
            connections=self.rate * self.duration.ns // NANOSECONDS,
            request_bytes=self.request,
            response_bytes=self.response,
            event=event,
        )

    def run(self, bench: Bench) -> SearchResult:
        """Do each event, on a bench that opens connections or, to see how long it takes, on any."""
        if isinstance(bench, ConnectionsBench):
            return self.play(bench)
        for _ in range(len(self.events) * self.repeats):
            bench.trial(bench.loads.maximum, self.duration.ns)
        return SearchResult()

    def play(self, bench: ConnectionsBench) -> SearchResult:
        """Do each event, again and again."""
        figures: list[Figure] = []
        in_time, spoiled = True, ""
        for event in self.events:
            trials = repeated(
                self.repeats, partial(paid, bench, self.trial_of(event)), least=0 if figures else 1
            )
            figures += self._figures(event, trials.found) if trials.found else ()
            in_time, spoiled = in_time and trials.in_time, spoiled or trials.spoiled
        return SearchResult(figures=tuple(figures), complete=in_time, spoiled=spoiled)

    def _figures(self, event: str, trials: Sequence[ConnectionTrial]) -> Iterator[Figure]:
        """Yield how long nobody could connect, and how many connections failed."""
        word, limit = word_of(event), Limit.VNF if to_vnfs(event) else Limit.DUT
        at = f"{amount(self.rate, Unit.PER_SECOND)}; {self.between}"
        away = [one.outage_ns for one in trials]
        told = [outage for outage in away if outage is not None]
        if len(told) < len(away):
            yield Figure(
                name=f"{word}_time",
                unit=Unit.NANOSECONDS,
                value=None,
                limit=Limit.UNKNOWN,
                reason=_gone(trials),
                at=at,
            )
        else:
            width_ns = max(slots.width_ns for one in trials if (slots := one.slots) is not None)
            reason = (
                f"the longest time in which no SYN was answered, in slots of {human_ns(width_ns)}"
            )
            asleep = sum(one.outage_away_ns for one in trials) / max(1, sum(told))
            if asleep >= AWAY:
                limit = Limit.HOST
                share = rounded_share(asleep)
                reason += f"; for {share} of it the generator itself was kept from running"
            yield mean_of(f"{word}_time", Unit.NANOSECONDS, told, reason, at, limit)
        failed = [one.failed for one in trials if one.failed is not None]
        causes = "; ".join(dict.fromkeys(one.causes_text for one in trials if one.causes_text))
        yield mean_of(f"{word}_failed", Unit.COUNT, failed, causes or "none failed", at)


def _gone(trials: Sequence[ConnectionTrial]) -> str:
    """Say in how many trials nobody could connect any more, and whether they were too short."""
    untold = [one for one in trials if one.slots is None or one.slots.heard is None]
    if untold:
        return f"when SYNs were answered is not told in {len(untold)} of {len(trials)} trials"
    gone = [one for one in trials if one.outage_ns is None]
    reason = f"no connection was made any more in {len(gone)} of {len(trials)} trials"
    events = [one.event for one in gone if one.event and one.event.ended_ns > one.duration_ns]
    if not events:
        return reason
    longest_ns = max(event.ended_ns - event.began_ns for event in events)
    return f"{reason}; until it was back took {human_ns(longest_ns)}: raise search.duration"
