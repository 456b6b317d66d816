"""What programs came to, by recorded exchanges alone: rates, times, losses, and use of CPUs.

It shares no code with the methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from reread_figures import curves_differ, figures_differ
from reread_trials import SECOND, Own

from vsperf.records.cpu_time import CpuUse
from vsperf.records.exchange import Exchange, Instance, RoundTrips
from vsperf.records.flags import Flag, Severity
from vsperf.records.result import SearchResult

KINDS = ("stream", "rr", "crr", "http")
COST, SWITCHED = "cpu_per_", "context_switches"
ROLES = ("clients", "servers", "switch")
ASIDE = ("vsperf", "noise")
Row = tuple[float | None, ...]
Read = Callable[[Exchange], float | None]


def answers_of_programs(
    made: Iterable[Exchange], result: SearchResult
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each figure and curve that is printed, and where it is not what was counted."""
    every = list(made)
    valid = believed(every)
    yield from figures_differ(result.figures, own_figures(valid))
    yield from curves_differ(result.curves, own_curves(valid))
    yield "exchanges", tuple(text for one in every for text in exchange_differs(one))


LATE = 10
"""An instance may begin a tenth of the window late, and the window be a tenth too short."""


def _moved(one: Exchange) -> bool:
    """Whether a program that is measured could run where it was not put."""
    seen = () if one.cpu is None else one.cpu.programs
    return any(
        each.placed and {*each.cpus} - {*each.placed} for each in seen if each.role not in ASIDE
    )


def exchange_differs(one: Exchange) -> Iterator[str]:
    """Say where an exchange contradicts itself: its window, parts of its time, or flags."""
    beside = () if one.beside is None else one.beside.instances
    every, told = [*one.instances, *beside], f"exchange {one.index}"
    if Flag.PROGRAM_FAILED in one.flags or any(None in _times(each) for each in every):
        return
    began = max((each.began_ns or 0) for each in every) + one.warm_up_ns
    ended = min((each.elapsed_ns or 0) for each in every)
    window = None if one.window is None else (one.window.began_ns, one.window.ended_ns)
    if window != ((began, ended) if ended > began else None):
        yield f"{told}: window {window}, and all ran from {began} to {ended}"
    first = min((each.began_ns or 0) for each in every)
    late = any(((each.began_ns or 0) - first) * LATE > one.asked_ns for each in every)
    short = max(0, ended - began) * LATE < one.asked_ns * (LATE - 1)
    for flag, is_so, otherwise in (
        (Flag.PROGRAM_LATE, late, "all began in time"),
        (Flag.SHORT_WINDOW, short, ""),
        (Flag.PROGRAM_MISPINNED, _moved(one), "all were where they were put"),
    ):
        if is_so and flag not in one.flags:
            yield f"{told}: {flag.value} is not said"
        if otherwise and not is_so and flag in one.flags:
            yield f"{told}: {flag.value} is said, and {otherwise}"
    for each in every:
        ends = [(part.began_ns, part.ended_ns) for part in each.intervals]
        if any(end <= begin for begin, end in ends) or any(
            later < end for (_, end), (later, _) in pairwise(ends)
        ):
            yield f"{told}: parts of the time of {each.name} overlap, or are none"
        failures = each.failures
        if failures is not None and Flag.REQUESTS_FAILED not in one.flags:
            failed = failures.statuses + failures.sockets + failures.timeouts
            if failed:
                yield f"{told}: {failed:,} requests of {each.name} failed, and that is not said"


def _times(instance: Instance) -> tuple[int | None, int | None]:
    return instance.began_ns, instance.elapsed_ns


def believed(made: Iterable[Exchange]) -> list[Exchange]:
    """Return the exchanges that count."""
    return [one for one in made if all(flag.severity is not Severity.INVALID for flag in one.flags)]


def own_figures(valid: Sequence[Exchange]) -> dict[str, Own]:
    """Return what each figure is."""
    if not valid:
        return {}
    stem = f"{COST}{'bit' if is_stream(valid[0]) else 'request'}"
    reads: dict[str, Read] = {
        "rate": rate_of,
        "total": total_of,
        **BESIDE[valid[0].traffic],
        stem: cost_of(*ROLES),
        **{f"{stem}_{role}": cost_of(role) for role in ROLES},
        **{f"{SWITCHED}_{role}": switches_of(role) for role in ROLES},
    }
    return {name: own([read(one) for one in valid]) for name, read in reads.items()}


def own(values: Sequence[float | None]) -> Own:
    """Return the median of what is known."""
    known = tuple(value for value in values if value is not None)
    return Own(median(known) if known else None, runs=known)


def is_stream(one: Exchange) -> bool:
    """Whether bits are counted; else transactions are."""
    return one.traffic in ("tcp-stream", "udp-stream")


def arrived(one: Exchange, began_ns: int, ended_ns: int, direction: str | None = None) -> int:
    """Return what arrived between two moments, in one direction or in all."""
    some = [each for each in one.instances if direction in (None, each.direction)]
    return sum(arrived_at(one, each, began_ns, ended_ns) for each in some)


def arrived_at(one: Exchange, instance: Instance, began_ns: int, ended_ns: int) -> int:
    """Return what arrived at one instance."""
    total = 0
    for part in instance.intervals:
        shared = min(ended_ns, part.ended_ns) - max(began_ns, part.began_ns)
        if shared > 0:
            total += part.amount * shared // (part.ended_ns - part.began_ns)
    return total * 8 if is_stream(one) else total


def window_of(one: Exchange) -> tuple[int, int]:
    """Return from when to when all instances ran, and were warm."""
    began = max((each.began_ns or 0) for each in one.instances) + one.warm_up_ns
    return began, min((each.elapsed_ns or 0) for each in one.instances)


def rate_of(one: Exchange) -> int:
    """Return what arrived in a second while all ran and were warm, in the slower direction."""
    began, ended = window_of(one)
    return min(arrived(one, began, ended, way) * SECOND // (ended - began) for way in ways_of(one))


def total_of(one: Exchange) -> int | None:
    """Return the same of all directions together; None of one alone, whose rate says it."""
    began, ended = window_of(one)
    several = len(ways_of(one)) > 1
    return arrived(one, began, ended) * SECOND // (ended - began) if several else None


def ways_of(one: Exchange) -> list[str]:
    """Return the directions, in their order."""
    return list(dict.fromkeys(each.direction for each in one.instances))


# What stands beside the rate.


def total(counts: Iterable[int | None]) -> int | None:
    """Return a sum; None where a part of it is not known, or there is none."""
    known = list(counts)
    found = [count for count in known if count is not None]
    return sum(found) if found and len(found) == len(known) else None


def repeated_of(one: Exchange) -> int | None:
    """Return how many segments TCP sent again."""
    return total(each.repeated_segments for each in one.instances)


def datagrams_of(rate: Read) -> Read:
    """Return who reads how many datagrams a rate is; None where they are not all of one size."""

    def read(one: Exchange) -> float | None:
        bps = rate(one)
        size, *others = {each.write_bytes for each in one.instances}
        return None if bps is None or not size or others else bps // (8 * size)

    return read


def sent_of(one: Exchange) -> int | None:
    """Return the bits a second that clients sent while each of them did, slower direction."""
    found: dict[str, int] = {}
    for each in one.instances:
        if each.sent_bytes is None or not each.elapsed_ns:
            return None
        bps = each.sent_bytes * 8 * SECOND // each.elapsed_ns
        found[each.direction] = found.get(each.direction, 0) + bps
    return min(found.values())


def lost_of(one: Exchange) -> float | None:
    """Return which share of the datagrams no server had."""
    sent = total(each.sent_packets for each in one.instances)
    lost = total(each.lost_packets for each in one.instances)
    return None if not sent or lost is None else lost / sent


def mean_of(one: Exchange) -> float | None:
    """Return how long transactions took in the mean of all; None where an instance is silent."""
    count = time_ns = 0
    for each in one.instances:
        if not each.transactions or each.round_trips is None:
            return None
        count += each.transactions
        time_ns += each.transactions * each.round_trips.mean_ns
    return time_ns / count


def longest_tail(one: Exchange) -> int | None:
    """Return what 99 of 100 did not exceed, in the slowest instance of those that tell."""
    told = [each.round_trips for each in one.instances if each.round_trips is not None]
    return max((each.p99_ns for each in told), default=None)


def slowest(due: bool, share: str) -> Read:
    """Return who reads a percentile of the slowest instance; None where one does not tell."""

    def read(one: Exchange) -> int | None:
        told: list[RoundTrips | None] = [
            each.from_due if due else each.round_trips for each in one.instances
        ]
        known = [each for each in told if each is not None]
        if len(known) < len(told):
            return None
        return max(each.p50_ns if share == "p50" else each.p99_ns for each in known)

    return read


def failed_of(one: Exchange) -> int | None:
    """Return how many requests had another answer than they should, or none in time."""
    told = [each.failures for each in one.instances]
    return total(
        None if each is None else each.statuses + each.sockets + each.timeouts for each in told
    )


def waiting_of(one: Exchange) -> int | None:
    """Return how many requests that were due had no answer in the end."""
    told = [each.failures for each in one.instances]
    return total(None if each is None else each.unanswered for each in told)


TURNS: Mapping[str, Read] = {"mean_round_trip": mean_of, "p99_round_trip": longest_tail}
REQUESTS: Mapping[str, Read] = {
    "p50_from_sent": slowest(False, "p50"),
    "p99_from_sent": slowest(False, "p99"),
    "failed_requests": failed_of,
}
BESIDE: Mapping[str, Mapping[str, Read]] = {
    "tcp-stream": {"repeated_segments": repeated_of},
    "udp-stream": {
        "datagrams": datagrams_of(rate_of),
        "total_datagrams": datagrams_of(total_of),
        "sent": sent_of,
        "lost": lost_of,
    },
    "tcp-rr": TURNS,
    "udp-rr": TURNS,
    "tcp-crr": TURNS,
    "http-rr": REQUESTS,
    "http-crr": REQUESTS,
    "http-open": {
        "p50_from_due": slowest(True, "p50"),
        "p99_from_due": slowest(True, "p99"),
        **REQUESTS,
        "waiting_requests": waiting_of,
    },
}
"""By what is exchanged."""


# CPU time and context switches, for what arrived between both looks.


def cost_of(*roles: str) -> Read:
    """Return who reads the CPU time of roles for each bit or request; None if not known."""

    def read(one: Exchange) -> float | None:
        if (use := one.cpu) is None:
            return None
        return for_each(one, use, total(spent_ns(one, use, role) for role in roles))

    return read


def switches_of(role: str) -> Read:
    """Return who reads how often programs of a role left a CPU: for 10^9 bits, or 1000 requests.

    None where a role has no program, as a kernel that forwards.
    """

    def read(one: Exchange) -> float | None:
        if (use := one.cpu) is None:
            return None
        programs = [each for each in use.programs if each.role == role]
        often = total(count for each in programs for count in (each.voluntary, each.involuntary))
        found = for_each(one, use, often)
        return None if found is None else found * (10**9 if is_stream(one) else 1000)

    return read


def for_each(one: Exchange, use: CpuUse, count: int | None) -> float | None:
    """Return a count for each bit or request that arrived between both looks."""
    work = arrived(one, use.began_ns, use.ended_ns)
    return count / work if work and count is not None else None


def spent_ns(one: Exchange, use: CpuUse, role: str) -> int | None:
    """Return the CPU time of a role."""
    length_ns = use.ended_ns - use.began_ns
    if role == "switch" and use.forwarding_cpus:
        return sum(
            max(
                each.interrupts_ns + each.soft_ns,
                length_ns - each.user_ns - each.system_ns - each.idle_ns - (each.stolen_ns or 0),
            )
            for each in use.cpus
            if each.cpu in use.forwarding_cpus
        )
    if role == "switch" and one.switch is not None and one.switch.pmds:
        pmds = [(pmd.busy_cycles, pmd.idle_cycles) for pmd in one.switch.pmds]
        if any(None in pair for pair in pmds):
            return None
        busy, every = (
            sum(part)
            for part in zip(*((b or 0, (b or 0) + (i or 0)) for b, i in pmds), strict=True)
        )
        if not every:
            return None
        beside = () if one.beside is None else one.beside.instances
        longest = max((each.elapsed_ns or 0) for each in (*one.instances, *beside))
        sent_ns = max(longest, one.warm_up_ns + one.asked_ns)
        most = length_ns * len(pmds)
        return min(most, int(most * busy * one.elapsed_ns // (every * sent_ns)))
    found = [each for each in use.programs if each.role == role]
    times = [time for each in found for time in (each.user_ns, each.system_ns)]
    known = [time for time in times if time is not None]
    return sum(known) if found and len(known) == len(times) else None


# Curves: those of the exchange whose rate is in the middle.


def own_curves(valid: Sequence[Exchange]) -> dict[str, list[Row]]:
    """Return the curves of what programs exchanged."""
    if not valid:
        return {}
    return curves_of(sorted(valid, key=rate_of)[(len(valid) - 1) // 2], window_of)


def curves_of(one: Exchange, window: Callable[[Exchange], tuple[int, int]]) -> dict[str, list[Row]]:
    """Return the rates of directions by whole seconds of the window, and those of instances."""
    began, ended = window(one)
    rates: list[Row] = [
        (n, arrived_at(one, each, began, ended) * SECOND // (ended - began))
        for n, each in enumerate(one.instances, start=1)
    ]
    if any(len(each.intervals) == 1 for each in one.instances):
        return {"by_instance": rates}  # a sum of all the time says nothing of its parts
    seconds = [began + n * SECOND for n in range((ended - began) // SECOND)]
    over_time: list[Row] = [
        (
            begin + SECOND - began,
            *(arrived(one, begin, begin + SECOND, way) for way in ways_of(one)),
        )
        for begin in seconds
    ]
    return {"over_time": over_time, "by_instance": rates}
