"""Latency under load: how long packets take while programs send streams, and with nothing beside.

What fills the buffers of a path makes all others wait in them, and an application that shares it
with a download feels that, not the latency of an empty path. So the same packets are sent by a
clock twice: alone, and beside streams. A clock waits for nobody: a stall makes each packet late
that is due meanwhile, and none of them is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from vsperf.config.case import CaseSpec
from vsperf.methods.base import Repeats, repeated, spread_of
from vsperf.methods.exchanges import ExchangeAsked, PlacesBench
from vsperf.methods.stream import Streams
from vsperf.methods.workload import (
    RATE,
    STEP_NS,
    conditions,
    median_figure,
    of_the_middle,
    rate_curves,
    with_limit,
)
from vsperf.quantities.human import human_ns
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Duration
from vsperf.records.exchange import ECHO, Exchange
from vsperf.records.packets import Times, enough
from vsperf.records.result import Axis, Curve, Figure, SearchResult

IDLE, LOADED, DIFFERENCE = "idle", "loaded", "difference"
LOST, UNSENT = "lost", "unsent"
SHARES = {
    "p50": Fraction(1, 2),
    "p99": Fraction(99, 100),
    "p999": Fraction(999, 1000),
    "max": Fraction(1),
}
SAID = {
    "p50": "half of the packets took no longer",
    "p99": "99 of 100 packets took no longer",
    "p999": "999 of 1,000 packets took no longer",
    "max": "no packet that was answered took longer",
}
LEAST_INTERVAL = Duration(1_000_000)
"""What sends packets sleeps between two of them, and is not better than that."""
LEAST_PACKETS, MOST_PACKETS = 100, 50_000
"""In a window, so that one in a hundred is one; of an instance, each of which tells four times."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The same packets alone, and beside streams."""

    idle: Exchange
    loaded: Exchange

    @property
    def text(self) -> str:
        """The numbers of both, as tables of exchanges have them."""
        return f"exchanges #{self.idle.index} and #{self.loaded.index}"


class LatencyUnderLoad(Streams):
    """How much longer packets take while programs send as much as they can."""

    PROBED: ClassVar[bool] = True

    summary: ClassVar[str] = "latency of packets by a clock, alone and beside streams of programs"

    kind: Literal["latency_under_load"]
    interval: Duration = Duration(10_000_000)
    """Between two packets, by a clock."""

    @model_validator(mode="after")
    def _packets_can_be_told(self) -> Self:
        if self.interval.ns < LEAST_INTERVAL.ns:
            raise ValueError(f"`interval` is {self.interval}, and {LEAST_INTERVAL} is the least")
        if self.duration.ns < LEAST_PACKETS * self.interval.ns:
            raise ValueError(
                f"`duration` is {self.duration}, which holds {self.duration.ns // self.interval.ns}"
                f" packets: one in a hundred is asked for, so it is to hold {LEAST_PACKETS} times "
                f"`interval`, which is {self.interval}"
            )
        sent = (self.duration.ns + self.warm_up.ns) // self.interval.ns
        if sent > MOST_PACKETS:
            raise ValueError(
                f"`duration` and `interval` come to {sent:,} packets, and {MOST_PACKETS:,} are the "
                "most whose times are kept"
            )
        return self

    def metrics(self) -> Mapping[str, Unit]:
        ways = (LOADED, IDLE, DIFFERENCE)
        times = [f"{name}_{way}" for name in SHARES for way in ways]
        counts = [f"{name}_{way}" for way in (LOADED, IDLE) for name in (LOST, UNSENT)]
        return {
            **dict.fromkeys(times, Unit.NANOSECONDS),
            RATE: Unit.BPS,
            **dict.fromkeys(counts, Unit.RATIO),
        }

    @property
    def alone(self) -> ExchangeAsked:
        """The packets, with nothing beside."""
        return ExchangeAsked(
            traffic=ECHO,
            instances=1,
            duration_ns=self.duration.ns,
            warm_up_ns=self.warm_up.ns,
            interval_ns=self.interval.ns,
        )

    @property
    def each(self) -> ExchangeAsked:
        """The streams, with the same packets beside."""
        return replace(super().each, beside=self.alone)

    def rounds_ns(self, case: CaseSpec) -> tuple[int, ...]:
        return (self.alone.sending_ns, self.each.sending_ns) * self.repeats

    def play(self, bench: PlacesBench) -> SearchResult:
        """Send packets alone and beside streams as often as asked, one after the other."""

        def once() -> tuple[Exchange, Exchange]:
            bench.budget.require(self.alone.sending_ns + self.each.sending_ns)
            return bench.exchange(self.alone), bench.exchange(self.each)

        made = repeated(self.repeats, once)
        every = tuple(one for each in made.found for one in each)
        return self.answered(Repeats(every, made.in_time, made.spoiled))

    def answered(self, made: Repeats[Exchange]) -> SearchResult:
        """Return what exchanges say, all of which can be believed, in their order."""
        pairs = tuple(_pairs(made.found))
        if not pairs:
            return SearchResult(complete=made.in_time, spoiled=made.spoiled)
        middle = sorted(pairs, key=_by_half)[(len(pairs) - 1) // 2]
        loaded = [one.loaded for one in pairs]
        return SearchResult(
            figures=(
                *_times(pairs, middle),
                with_limit(self._rate(loaded, middle.loaded), loaded, middle.loaded),
                *self.beside(loaded, middle.loaded),
                *_shares(IDLE, [one.idle for one in pairs], middle.idle),
            ),
            curves=of_the_middle(_curves(middle), middle.text, len(pairs)),
            complete=made.in_time,
            spoiled=made.spoiled,
        )

    def beside(self, made: Sequence[Exchange], middle: Exchange) -> Iterator[Figure]:
        """Yield which share of the packets was lost beside streams, and which was not sent."""
        return _shares(LOADED, made, middle)


def _pairs(made: Iterable[Exchange]) -> Iterator[Pair]:
    """Yield those that follow each other: alone, then beside streams."""
    idle = None
    for one in made:
        if one.times is None:
            continue
        if one.beside is None:
            idle = one
        elif idle is not None:
            yield Pair(idle, one)
            idle = None


def _by_half(pair: Pair) -> float:
    times = pair.loaded.times
    half = None if times is None else times.from_due(SHARES["p50"])
    return math.inf if half is None else half


def _times(pairs: Sequence[Pair], middle: Pair) -> Iterator[Figure]:
    """Yield each percentile beside streams, alone, and what it grows by."""
    made = {LOADED: [pair.loaded for pair in pairs], IDLE: [pair.idle for pair in pairs]}
    times = {
        way: [one.times for one in each if one.times is not None] for way, each in made.items()
    }
    at = {LOADED: conditions(middle.loaded), IDLE: conditions(middle.idle)}
    for name, share in SHARES.items():
        found = {way: [one.from_due(share) for one in each] for way, each in times.items()}
        for way, each in times.items():
            raw = _median([one.from_sent(share) for one in each])
            beside = ""
            if raw is not None:
                beside = f"; {human_ns(raw)} from when they were sent, of those that came back"
            about = f"{SAID[name]}, from when they were due{beside}"
            unknown = f"{_why_not(each, share)}{beside}"
            yield _figure(f"{name}_{way}", found[way], at[way], about, unknown)
        grown = [
            None if loaded is None or idle is None else loaded - idle
            for loaded, idle in zip(found[LOADED], found[IDLE], strict=True)
        ]
        about = "beside streams less alone, of each repeat"
        unknown = _why_not([*times[LOADED], *times[IDLE]], share)
        yield _figure(f"{name}_{DIFFERENCE}", grown, at[LOADED], about, unknown)


def _median(found: Sequence[int | None]) -> float | None:
    """Return the median of times; what there is none of was longer than all others."""
    middle = median(math.inf if one is None else one for one in found)
    return middle if math.isfinite(middle) else None


def _figure(name: str, found: Sequence[int | None], at: str, about: str, unknown: str) -> Figure:
    """Return the median of a time, or why there is none."""
    value = _median(found)
    known = [one for one in found if one is not None]
    return Figure(
        name=name,
        unit=Unit.NANOSECONDS,
        value=value,
        spread=None if value is None else spread_of(known),
        at=at,
        reason=unknown if value is None else about,
    )


def _why_not(every: Iterable[Times], share: Fraction) -> str:
    """Say why there is no time that such a share did not exceed."""
    if share == 1:
        return "no packet came back"
    of = 1 / (1 - share)
    if not all(enough(one.due, share) for one in every):
        return f"fewer than {of} packets were due"
    return f"more than one in {of} packets never came back, which is longer than any time"


def _shares(way: str, made: Sequence[Exchange], middle: Exchange) -> Iterator[Figure]:
    """Yield which share of the packets was lost, and which was not sent, with what is known."""
    told = [one.packets for each in made if (one := each.echoing) is not None and one.packets]
    there, back, twice, other = (
        sum(getattr(packets, name) for packets in told)
        for name in ("lost_there", "lost_back", "duplicates", "out_of_order")
    )
    lost = (
        f"packets that were sent and never came back; of all repeats and their warm-up {there:,} "
        f"were lost there and {back:,} back, {twice:,} came twice, {other:,} out of order"
    )
    wanted: tuple[tuple[str, Callable[[Times], int], Callable[[Times], int], str], ...] = (
        (LOST, lambda times: times.lost, lambda times: times.sent, lost),
        (
            UNSENT,
            lambda times: times.unsent,
            lambda times: times.due,
            "packets that were due and not sent, as their client was kept from running",
        ),
    )
    every = [times for each in made if (times := each.times) is not None]
    for name, part, whole, about in wanted:
        found = [part(times) / whole(times) if whole(times) else None for times in every]
        yield median_figure(f"{name}_{way}", Unit.RATIO, found, conditions(middle), about)


def _curves(pair: Pair) -> tuple[Curve, ...]:
    """Return percentiles with the raw ones beside, and the longest time and rates over time."""
    names = ((IDLE, pair.idle), (LOADED, pair.loaded))
    times = [one.times for _, one in names]
    rows: list[tuple[float | None, ...]] = []
    for share in SHARES.values():
        due = (None if one is None else one.from_due(share) for one in times)
        sent = (None if one is None else one.from_sent(share) for one in times)
        rows.append((float(share), *due, *sent))
    columns = [f"{way}{end}" for end in ("", "_from_sent") for way, _ in names]
    idle, loaded = (dict(one.longest_over_time(STEP_NS)) for _, one in names)
    return (
        Curve(
            name="by_share",
            x=Axis(name="share", unit=Unit.RATIO),
            columns=tuple(Axis(name=name, unit=Unit.NANOSECONDS) for name in columns),
            points=tuple(rows),
        ),
        Curve(
            name="longest_over_time",
            x=Axis(name="time", unit=Unit.NANOSECONDS),
            columns=tuple(Axis(name=way, unit=Unit.NANOSECONDS) for way, _ in names),
            points=tuple((end, idle[end], loaded[end]) for end in idle if end in loaded),
        ),
        *rate_curves(pair.loaded),
    )
