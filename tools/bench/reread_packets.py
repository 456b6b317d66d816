"""What latency under load comes to by recorded packets alone: it shares no code with the method."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence

from reread_cpu import Row, arrived, believed, curves_of, exchange_differs, ways_of
from reread_figures import curves_differ, figures_differ
from reread_trials import SECOND, Own

from vsperf.records.exchange import Exchange, Instance
from vsperf.records.packets import Packets
from vsperf.records.result import SearchResult

KINDS = ("latency_under_load",)
PER_MILLE = {"p50": 500, "p99": 990, "p999": 999, "max": 1000}


def answers_of_packets(
    made: Iterable[Exchange], result: SearchResult
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each figure and curve that is printed, and where it is not what the packets say."""
    every = list(made)
    pairs = pairs_of(every)
    yield "exchanges", tuple(text for one in every for text in exchange_differs(one))
    yield from figures_differ(result.figures, own_figures(pairs))
    yield from curves_differ(result.curves, own_curves(pairs))


def own_figures(pairs: Sequence[tuple[Exchange, Exchange]]) -> dict[str, Own]:
    """Return what each figure is."""
    found: dict[str, list[float | None]] = {}
    for pair in pairs:
        taken = {way: taken_of(one) for way, one in zip(("idle", "loaded"), pair, strict=True)}
        for name, share in PER_MILLE.items():
            idle, loaded = (
                within(taken[way], share, counts_of(one)[2])
                for way, one in zip(("idle", "loaded"), pair, strict=True)
            )
            both = idle is not None and loaded is not None
            grown = (loaded or 0) - (idle or 0) if both else None
            for way, value in (("idle", idle), ("loaded", loaded), ("difference", grown)):
                found.setdefault(f"{name}_{way}", []).append(value)
        for way, one in zip(("idle", "loaded"), pair, strict=True):
            lost, sent, due = counts_of(one)
            found.setdefault(f"lost_{way}", []).append(lost / sent if sent else None)
            found.setdefault(f"unsent_{way}", []).append((due - sent) / due if due else None)
        found.setdefault("rate", []).append(rate_of(pair[1]))
    return {name: own(values) for name, values in found.items()}


def own(values: Sequence[float | None]) -> Own:
    """Return the median; what there is none of was longer than all others."""
    known = tuple(value for value in values if value is not None)
    ordered = sorted(values, key=lambda value: (value is None, value or 0))
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    middle = None if low is None or high is None else (low + high) / 2
    return Own(middle, runs=known)


def pairs_of(made: Iterable[Exchange]) -> list[tuple[Exchange, Exchange]]:
    """Return packets alone and those beside streams that were sent next, both to be believed."""
    found, idle = [], None
    for one in believed(made):
        if one.beside is None:
            idle = one
        elif idle is not None:
            found.append((idle, one))
            idle = None
    return found


def probe_of(one: Exchange) -> tuple[Instance, Packets]:
    """Return what sent packets by a clock, and these."""
    instance = (one.instances if one.beside is None else one.beside.instances)[0]
    assert instance.packets is not None
    return instance, instance.packets


def window_of(one: Exchange) -> tuple[int, int]:
    """Return from when to when all instances of both programs ran, and were warm."""
    every = [*one.instances, *(one.beside.instances if one.beside is not None else ())]
    began = max((instance.began_ns or 0) for instance in every) + one.warm_up_ns
    return began, min((instance.elapsed_ns or 0) for instance in every)


def is_in(one: Exchange, number: int) -> bool:
    """Whether a packet was due in the window."""
    instance, packets = probe_of(one)
    began, ended = window_of(one)
    return began <= (instance.began_ns or 0) + number * packets.interval_ns < ended


def counts_of(one: Exchange) -> tuple[int, int, int]:
    """Return how many packets of the window were lost, sent, and due."""
    _, packets = probe_of(one)
    rows = [
        (late, took)
        for number, (late, took) in enumerate(zip(packets.late_ns, packets.took_ns, strict=True))
        if is_in(one, number)
    ]
    sent = [took for late, took in rows if late is not None]
    return sent.count(None), len(sent), len(rows)


def taken_of(one: Exchange) -> list[int]:
    """Return how long packets of the window took from when they were due, the shortest first."""
    return sorted(time for number, time in answered_of(one).items() if is_in(one, number))


def raw_of(one: Exchange) -> list[int]:
    """Return how long those took that were sent, from then on, likewise."""
    times = enumerate(probe_of(one)[1].took_ns)
    return sorted(took for number, took in times if took is not None and is_in(one, number))


def answered_of(one: Exchange) -> dict[int, int]:
    """Return how long each packet took from when it was due, of those that were answered.

    Whoever was not sent waits for the next that is, and shares its lot.
    """
    _, packets = probe_of(one)
    step = packets.interval_ns
    found: dict[int, int] = {}
    waiting: list[int] = []
    for number, (late, took) in enumerate(zip(packets.late_ns, packets.took_ns, strict=True)):
        waiting.append(number)
        if late is None:
            continue
        if took is not None:
            answered = number * step + max(0, late) + took
            found.update({each: answered - each * step for each in waiting})
        waiting = []
    found.update({each: (len(packets.late_ns) - each) * step for each in waiting})
    return found


def within(taken: Sequence[int], per_mille: int, due: int) -> int | None:
    """Return the first time that so many of a thousand did not exceed, where there are enough.

    Of those that were due: one that was lost exceeds any time. The longest is of those answered.
    """
    if per_mille == 1000:
        return max(taken, default=None)
    if due * (1000 - per_mille) < 1000:
        return None
    wanted = due * per_mille
    return next((time for time in taken if bisect.bisect_right(taken, time) * 1000 >= wanted), None)


def rate_of(one: Exchange) -> float:
    """Return the bits a second that arrived in the window, in the slower direction."""
    began, ended = window_of(one)
    return min(arrived(one, began, ended, way) * SECOND // (ended - began) for way in ways_of(one))


def own_curves(pairs: Sequence[tuple[Exchange, Exchange]]) -> dict[str, list[Row]]:
    """Return the curves of the pair whose packets beside streams are in the middle."""
    if not pairs:
        return {}
    idle, loaded = sorted(pairs, key=half_of)[(len(pairs) - 1) // 2]
    shares: list[Row] = []
    for share in PER_MILLE.values():
        due = (within(taken_of(one), share, counts_of(one)[2]) for one in (idle, loaded))
        raw = (within(raw_of(one), share, len(raw_of(one))) for one in (idle, loaded))
        shares.append((share / 1000, *due, *raw))
    alone, beside = longest_of(idle), longest_of(loaded)
    return {
        "by_share": shares,
        "longest_over_time": [(end, alone[end], beside[end]) for end in alone if end in beside],
        **curves_of(loaded, window_of),
    }


def half_of(pair: tuple[Exchange, Exchange]) -> float:
    """Return what half of the packets beside streams did not exceed."""
    found = within(taken_of(pair[1]), PER_MILLE["p50"], counts_of(pair[1])[2])
    return math.inf if found is None else found


def longest_of(one: Exchange) -> dict[int, int | None]:
    """Return the longest time of packets that were due in each whole second of the window."""
    (instance, packets), (began, ended) = probe_of(one), window_of(one)
    first = began - (instance.began_ns or 0)
    due = {number: number * packets.interval_ns for number in range(len(packets.late_ns))}
    took = answered_of(one)
    return {
        end: max(
            (took[n] for n, at in due.items() if n in took and end - SECOND <= at - first < end),
            default=None,
        )
        for end in range(SECOND, ended - began + 1, SECOND)
    }
