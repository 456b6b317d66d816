"""Rates of programs and their cost in CPU time, by recorded exchanges alone: no code of methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from reread_figures import figures_differ
from reread_trials import SECOND, Own

from vsperf.records.cpu_time import CpuUse
from vsperf.records.exchange import Exchange
from vsperf.records.flags import Severity
from vsperf.records.result import Figure, SearchResult

KINDS = ("stream", "rr", "crr", "http")
RATE, COST = "rate", "cpu_per_"
ROLES = ("clients", "servers", "switch")


def answers_of_programs(
    made: Iterable[Exchange], result: SearchResult
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the rate and each cost that is printed, and where it is not what was counted."""
    yield from figures_differ(read_of(result), own_figures(made))


def read_of(result: SearchResult) -> tuple[Figure, ...]:
    """Return the figures that are read here."""
    return tuple(one for one in result.figures if one.name == RATE or one.name.startswith(COST))


def own_figures(made: Iterable[Exchange]) -> dict[str, Own]:
    """Return what each figure is."""
    valid = [
        one for one in made if all(flag.severity is not Severity.INVALID for flag in one.flags)
    ]
    if not valid:
        return {}
    stem = f"{COST}{'bit' if is_stream(valid[0]) else 'request'}"
    found = {RATE: own([float(rate_of(one)) for one in valid])}
    found[stem] = own([cost_of(one, ROLES) for one in valid])
    return found | {
        f"{stem}_{role}": own([cost_of(one, (role,)) for one in valid]) for role in ROLES
    }


def own(values: Sequence[float | None]) -> Own:
    """Return the median of what is known."""
    known = tuple(value for value in values if value is not None)
    return Own(median(known) if known else None, runs=known)


def is_stream(one: Exchange) -> bool:
    """Whether bits are counted; else transactions are."""
    return one.traffic in ("tcp-stream", "udp-stream")


def arrived(one: Exchange, began_ns: int, ended_ns: int, direction: str | None = None) -> int:
    """Return what arrived between two moments, in one direction or in all."""
    total = 0
    for instance in one.instances:
        for part in instance.intervals if direction in (None, instance.direction) else ():
            shared = min(ended_ns, part.ended_ns) - max(began_ns, part.began_ns)
            if shared > 0:
                total += part.amount * shared // (part.ended_ns - part.began_ns)
    return total * 8 if is_stream(one) else total


def rate_of(one: Exchange) -> int:
    """Return what arrived in a second while all ran and were warm, in the slower direction."""
    began = max((each.began_ns or 0) for each in one.instances) + one.warm_up_ns
    ended = min((each.elapsed_ns or 0) for each in one.instances)
    ways = {each.direction for each in one.instances}
    return min(arrived(one, began, ended, way) * SECOND // (ended - began) for way in ways)


def cost_of(one: Exchange, roles: Sequence[str]) -> float | None:
    """Return the CPU time of roles for what arrived between both looks; None if not known."""
    if one.cpu is None:
        return None
    spent = [spent_ns(one, one.cpu, role) for role in roles]
    work = arrived(one, one.cpu.began_ns, one.cpu.ended_ns)
    known = [each for each in spent if each is not None]
    return sum(known) / work if work and len(known) == len(spent) else None


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
        beside = () if one.beside is None else one.beside.instances
        longest = max((each.elapsed_ns or 0) for each in (*one.instances, *beside))
        sent_ns = max(longest, one.warm_up_ns + one.asked_ns)
        most = length_ns * len(pmds)
        return min(most, int(most * busy * one.elapsed_ns // (every * sent_ns)))
    found = [each for each in use.programs if each.role == role]
    times = [time for each in found for time in (each.user_ns, each.system_ns)]
    known = [time for time in times if time is not None]
    return sum(known) if found and len(known) == len(times) else None
