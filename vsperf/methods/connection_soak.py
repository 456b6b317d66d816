"""Hours of connections at one rate: which fail and when, and what a device does not forget.

The time is cut into parts. After each of them, when all its connections are closed, the switch is
asked what it still keeps: a table that grows from part to part is one that leaks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from vsperf.config.case import CaseSpec
from vsperf.methods.base import Bench, repeated
from vsperf.methods.connections import (
    SATURATED_PPM,
    ConnectionMethod,
    ConnectionsAsked,
    ConnectionsBench,
    Count,
    paid,
    tail_ns,
)
from vsperf.methods.range import TrialDuration
from vsperf.quantities.human import human_count, human_seconds
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import NANOSECONDS, Duration
from vsperf.records.connections import ConnectionTrial
from vsperf.records.flags import Flag
from vsperf.records.result import Axis, Curve, Figure, Limit, SearchResult, amount
from vsperf.search.base import Loads

LEAST_PARTS = 4
"""So that there is a second half of the time, with a begin and an end."""
FAILED, DRIFT = "failed_connections", "handshake_drift"
ENTRIES, MEMORY = "entries_growth", "memory_growth"


class ConnectionSoak(ConnectionMethod):
    """Opens connections at one rate for hours, and looks at what the switch keeps of them."""

    summary: ClassVar[str] = "hours of connections at one rate: what fails, drifts, or is kept"

    kind: Literal["connection_soak"]
    rate: Count = 1_000
    """Connections that begin in a second: well below the most that the switch can take."""
    duration: TrialDuration = Duration(3600 * NANOSECONDS)
    """In all."""
    part: TrialDuration = Duration(60 * NANOSECONDS)
    """After each of these all connections are closed, and what the switch keeps is looked at."""

    @model_validator(mode="after")
    def _has_parts(self) -> Self:
        if self.parts < LEAST_PARTS:
            raise ValueError(
                f"duration {self.duration} has {self.parts} parts of {self.part}, and "
                f"{LEAST_PARTS} are the least that tell what grows"
            )
        return self

    @property
    def parts(self) -> int:
        """How many there are."""
        return self.duration.ns // self.part.ns

    def metrics(self) -> Mapping[str, Unit]:
        return {
            FAILED: Unit.COUNT,
            DRIFT: Unit.NANOSECONDS,
            ENTRIES: Unit.COUNT,
            MEMORY: Unit.BYTES,
        }

    def offers(self, case: CaseSpec, generator_cap: int | None) -> Loads:
        return Loads(self.rate, self.rate, self.rate + 1, virtual=case.virtual_links)

    @property
    def each(self) -> ConnectionsAsked:
        """One part."""
        return ConnectionsAsked(
            rate_cps=self.rate,
            connections=max(1, self.rate * self.part.ns // NANOSECONDS),
            request_bytes=self.request,
            response_bytes=self.response,
        )

    def run(self, bench: Bench) -> SearchResult:
        """Open them, on a bench that can or, to see how long it takes, on any."""
        if isinstance(bench, ConnectionsBench):
            return self.play(bench)
        for _ in range(self.parts):
            bench.trial(bench.loads.maximum, self.part.ns)
        return SearchResult()

    def play(self, bench: ConnectionsBench) -> SearchResult:
        """Open connections part by part."""
        made = repeated(self.parts, partial(paid, bench, self.each))
        if not made.found:
            return made.as_result()
        figures = self._figures(made.found, bench.switched)
        return made.as_result(figures, curves=(_over_time(made.found, self.part.ns),))

    def _figures(self, made: Sequence[ConnectionTrial], switched: bool) -> Iterator[Figure]:
        """Yield what failed, and what was another at the end than before."""
        causes: Counter[str] = Counter()
        for one in made:
            causes.update(one.causes)
        begun = sum(one.client.launched for one in made if one.client is not None)
        told = ", ".join(f"{count:,} {why.replace('_', ' ')}" for why, count in causes.items())
        limit, whose = _whose(made, switched)
        due = sum(one.client.intended for one in made if one.client is not None)
        of = f"{human_count(begun)} that were begun"
        if begun < due:
            of += f", when {human_count(due)} were due"
        lasted = human_seconds(len(made) * self.part.ns / NANOSECONDS)
        lasting = self.duration if len(made) == self.parts else f"{lasted} of {self.duration}"
        yield Figure(
            name=FAILED,
            unit=Unit.COUNT,
            value=sum(one.failed or 0 for one in made),
            limit=limit,
            at=f"{amount(self.rate, Unit.PER_SECOND)} for {lasting}; {self.between}",
            reason=f"of {of}: {told or 'none'}{whose}",
        )
        first, last = tail_ns(made[:1], "handshake"), tail_ns(made[-1:], "handshake")
        if len(made) > 1 and first is not None and last is not None:
            yield Figure(
                name=DRIFT,
                unit=Unit.NANOSECONDS,
                value=last - first,
                reason="of 99 of 100 handshakes, from "
                f"{amount(first, Unit.NANOSECONDS)} in the first part to "
                f"{amount(last, Unit.NANOSECONDS)} in the last",
            )
        if len(made) < LEAST_PARTS:
            return  # the time ended before there was a second half with a begin and an end
        yield from _grown(made, ENTRIES, Unit.COUNT, entries_after, "entries of its table")
        yield from _grown(made, MEMORY, Unit.BYTES, memory_after, "its memory")


def _whose(made: Sequence[ConnectionTrial], switched: bool) -> tuple[Limit, str]:
    """Return whose failures they are: nobody can tell where the generator had no time left.

    Nor is a switch to blame where there is none.
    """
    failing = [one for one in made if one.failed]
    if not failing and any(Flag.SHORT_OFFER in one.flags for one in made):
        return Limit.GENERATOR, "; the generator did not begin all in time"
    if not failing:
        return Limit.SETTING, ""
    if min(one.busy_ppm for one in failing) >= SATURATED_PPM:
        return Limit.GENERATOR, "; the generator had no time left where they did"
    return (Limit.DUT if switched else Limit.GENERATOR), ""


def entries_after(one: ConnectionTrial) -> int | None:
    """Return how many connections a switch kept when a part was over."""
    return None if one.kept is None else one.kept[-1].entries


def memory_after(one: ConnectionTrial) -> int | None:
    """Return the memory that it had then."""
    return None if one.kept is None else one.kept[-1].memory_bytes


def _grown(
    made: Sequence[ConnectionTrial],
    name: str,
    unit: Unit,
    of: Callable[[ConnectionTrial], int | None],
    what: str,
) -> Iterator[Figure]:
    """Yield by how much what is kept grew in the second half; a table fills in the first one."""
    middle, last = of(made[(len(made) - 1) // 2]), of(made[-1])
    if middle is None or last is None:
        return
    yield Figure(
        name=name,
        unit=unit,
        value=last - middle,
        reason=f"{what} when connections were closed: {amount(middle, unit)} after half of the "
        f"time, {amount(last, unit)} in the end",
    )


def _over_time(made: Sequence[ConnectionTrial], part_ns: int) -> Curve:
    return Curve(
        name="over_time",
        x=Axis(name="until", unit=Unit.NANOSECONDS),
        columns=(
            Axis(name="failed", unit=Unit.RATIO),
            Axis(name="handshake_p99", unit=Unit.NANOSECONDS),
            Axis(name="entries", unit=Unit.COUNT),
            Axis(name="memory", unit=Unit.BYTES),
        ),
        points=tuple(
            (
                number * part_ns,
                None if one.failed_ratio is None else float(one.failed_ratio),
                tail_ns([one], "handshake"),
                entries_after(one),
                memory_after(one),
            )
            for number, one in enumerate(made, 1)
        ),
    )
