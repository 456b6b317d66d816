"""Latency under load: how long packets take while programs send streams, and with nothing beside.

What fills the buffers of a path makes all others wait in them, and an application that shares it
with a download feels that, not the latency of an empty path. So the same packets are sent by a
clock twice: alone, and beside streams. A clock waits for nobody: a stall makes each packet late
that is due meanwhile, and none of them is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import median
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from vsperf.config.case import CaseSpec
from vsperf.methods.base import Repeats, repeated
from vsperf.methods.exchanges import ExchangeAsked, PlacesBench
from vsperf.methods.stream import Streams
from vsperf.methods.workload import RATE, STEP_NS, conditions, median_figure, rate_curves
from vsperf.quantities.human import human_ns
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Duration
from vsperf.records.exchange import ECHO, Exchange
from vsperf.records.packets import Times, at_share
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
    "max": "no packet took longer",
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
        """Return what can be judged."""
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
        """Return the length of each exchange."""
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
        middle = sorted(pairs, key=_by_tail)[(len(pairs) - 1) // 2]
        loaded = [one.loaded for one in pairs]
        return SearchResult(
            figures=(
                *_times(pairs, middle),
                self._rate(loaded, middle.loaded),
                *self.beside(loaded, middle.loaded),
                *_shares(IDLE, [one.idle for one in pairs], middle.idle),
            ),
            curves=_curves(middle),
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


def _by_tail(pair: Pair) -> int:
    times = pair.loaded.times
    return 0 if times is None else at_share(times.from_due_ns, SHARES["p99"]) or 0


def _times(pairs: Sequence[Pair], middle: Pair) -> Iterator[Figure]:
    """Yield each percentile beside streams, alone, and what it grows by."""
    made = {LOADED: [pair.loaded for pair in pairs], IDLE: [pair.idle for pair in pairs]}
    for name, share in SHARES.items():
        few = (
            "no packet came back"
            if share == 1
            else f"fewer than {1 / (1 - share)} packets came back"
        )
        found = {way: [_taken(one, share) for one in each] for way, each in made.items()}
        for way, one in ((LOADED, middle.loaded), (IDLE, middle.idle)):
            raw = [_taken(one, share, sent=True) for one in made[way]]
            known = [time for time in raw if time is not None]
            beside = f"; {human_ns(median(known))} from when they were sent" if known else ""
            yield median_figure(
                f"{name}_{way}",
                Unit.NANOSECONDS,
                found[way],
                conditions(one),
                f"{SAID[name]}, from when they were due{beside}",
                few,
            )
        grown = [
            None if loaded is None or idle is None else loaded - idle
            for idle, loaded in zip(found[IDLE], found[LOADED], strict=True)
        ]
        yield median_figure(
            f"{name}_{DIFFERENCE}",
            Unit.NANOSECONDS,
            grown,
            conditions(middle.loaded),
            "beside streams less alone, of each repeat",
            few,
        )


def _taken(one: Exchange, share: Fraction, *, sent: bool = False) -> int | None:
    times = one.times
    if times is None:
        return None
    return at_share(times.from_sent_ns if sent else times.from_due_ns, share)


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
    columns = [(f"{way}{end}", one, bool(end)) for end in ("", "_from_sent") for way, one in names]
    shares = [
        (share, [_taken(one, share, sent=sent) for _, one, sent in columns])
        for share in SHARES.values()
    ]
    idle, loaded = (dict(one.longest_over_time(STEP_NS)) for _, one in names)
    return (
        Curve(
            name="by_share",
            x=Axis(name="share", unit=Unit.RATIO),
            columns=tuple(Axis(name=name, unit=Unit.NANOSECONDS) for name, _, _ in columns),
            points=tuple((float(share), *found) for share, found in shares),
        ),
        Curve(
            name="longest_over_time",
            x=Axis(name="time", unit=Unit.NANOSECONDS),
            columns=tuple(Axis(name=way, unit=Unit.NANOSECONDS) for way, _ in names),
            points=tuple((end, idle[end], loaded[end]) for end in idle if end in loaded),
        ),
        *rate_curves(pair.loaded),
    )
