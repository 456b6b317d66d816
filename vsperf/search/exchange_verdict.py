"""What kept an exchange from being faster, by what was counted of it. Pure.

Programs find their own load, so no load can be tried again: what tells is who had nothing left.
A part is at its end where a CPU of its own was busy nearly all the time, or where frames were
dropped by it. Where the CPU was another's for a good part, that is the host's doing. Two that are
at their ends leave it open, and so does nobody: then all of them waited for each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.config.noise import NOISE
from vsperf.quantities.human import human_count, human_ns, rounded_share
from vsperf.records.cpu_time import CpuTime, CpuUse
from vsperf.records.exchange import CLIENTS, SERVERS, Exchange
from vsperf.records.result import Limit
from vsperf.records.threads import SWITCH

FULL = 0.95
"""Share of the time from which on a CPU, or a thread, has nothing left."""
TAKEN = 0.1
"""Share of a full CPU from which on others are to blame, or the hypervisor."""
LEAST_APART_NS = 200_000_000
"""Of both looks at the CPUs, whose times are in ticks of 10 ms: a tick is as much as is to be told.
"""
MANY_LOST = Fraction(1, 100)
"""Share of datagrams: below it the sender could have been the one that was slower."""
MANY_DROPPED = Fraction(1, 10_000)
"""Share of frames from which on TCP sends less for what was dropped."""
POLLS = "servers poll, so their CPU is full whatever they have to do, and nobody else was at an end"
OWN = frozenset({Limit.GENERATOR, Limit.SERVER, Limit.DUT})
"""Limits of a part that had a CPU to itself, and nothing left of it."""
BLAMED = {CLIENTS: Limit.GENERATOR, SERVERS: Limit.SERVER, SWITCH: Limit.DUT}


@dataclass(frozen=True, slots=True)
class _Full:
    """A CPU that had nothing left, or nearly."""

    limit: Limit
    by: str


def limited(one: Exchange) -> tuple[Limit, str]:
    """Return what limited an exchange, with the sentence that says by what it was seen."""
    waiting, answered = one.unanswered_requests, _sum(one, "transactions")
    if waiting is not None and (waiting + (one.failed_requests or 0)) * 100 <= answered:
        return Limit.SETTING, "requests that were due by the clock were answered: no more was asked"
    if one.cpu is None:
        return Limit.UNKNOWN, "nobody could look at the CPUs twice"
    if one.cpu.length_ns < LEAST_APART_NS:
        apart = human_ns(one.cpu.length_ns)
        return Limit.UNKNOWN, f"both looks at the CPUs were {apart} apart, which is a few ticks"
    full = list(_full(one, one.cpu))
    found = _datagrams(one, full) or _at_an_end(full) or _dropped(one) or _of_others(one.cpu)
    return found or (Limit.UNKNOWN, POLLS if one.polling_servers else _idle(one.cpu))


def limited_in_repeats(made: Sequence[Exchange], middle: Exchange) -> tuple[Limit, str]:
    """Return what limited most repeats, in the words of the one that is the answer if it did so."""
    found = [limited(one) for one in made]
    ((limit, agree),) = Counter(one for one, _ in found).most_common(1)
    reason = next(why for one, why in (limited(middle), *found) if one is limit)
    if agree == len(found):
        return limit, reason
    if 2 * agree > len(found):
        return limit, f"{reason} (so it was in {agree} of {len(found)} repeats)"
    each = ", ".join(f"{one.value} in #{made[place].index}" for place, (one, _) in enumerate(found))
    return Limit.UNKNOWN, f"repeats were limited by different parts: {each}"


def clean_share(made: Sequence[Exchange]) -> Fraction | None:
    """Return which share of the time of a CPU others left; None if nobody knows.

    It is that of the CPU of which they had most: client, switch and server wait for each other, so
    one that stands still stops all. Where a part had nothing left of a CPU of its own, the exchange
    says what it can do all the same, and counts as clean.
    """
    looked = [(one, one.cpu) for one in made if one.cpu is not None]
    looked = [(one, use) for one, use in looked if use.length_ns >= LEAST_APART_NS and use.cpus]
    whole_ns = sum(use.length_ns for _, use in looked)
    taken_ns = sum(
        max(use.foreign_ns(cpu) + (cpu.stolen_ns or 0) for cpu in use.cpus)
        for one, use in looked
        if limited(one)[0] not in OWN
    )
    return max(Fraction(0), 1 - Fraction(taken_ns, whole_ns)) if whole_ns else None


def _full(one: Exchange, use: CpuUse) -> Iterator[_Full]:
    """Yield each CPU that had nothing left, and whose that was."""
    polling = {pmd.cpu for pmd in one.switch.pmds} if one.switch is not None else set()
    full_anyway = polling | ({*one.server_cpus} if one.polling_servers else set())
    for cpu in use.cpus:
        if cpu.cpu not in full_anyway and 1 - use.share(use.free_ns(cpu)) < FULL:
            continue
        if (taken := _taken(cpu, use)) is not None:
            yield _Full(Limit.HOST, taken)
        elif cpu.cpu not in full_anyway:
            yield from _by_role(cpu, one, use)
    share = one.polling_share
    if share is not None and share >= FULL * len(polling):
        busy = float(share / len(polling))
        by = f"polling threads of the switch had work for about {rounded_share(busy)} of the time"
        yield _Full(Limit.DUT, by)


def _by_role(cpu: CpuTime, one: Exchange, use: CpuUse) -> Iterator[_Full]:
    """Yield whose a full CPU is; of clients and servers on one CPU it is the load's."""
    used = {
        role: sum(each.time_ns or 0 for each in use.placed_on(cpu.cpu) if each.role == role)
        for role in BLAMED
    }
    if cpu.cpu in use.forwarding_cpus:
        used[SWITCH] = use.interrupted_ns(cpu)
    there = {role: time for role, time in used.items() if use.share(time) >= TAKEN}
    if not there:
        return
    shares = ", ".join(f"{role} {rounded_share(use.share(time))}" for role, time in there.items())
    busy = rounded_share(1 - use.share(use.free_ns(cpu)))
    by = f"CPU {cpu.cpu} was busy for {busy} of the time ({shares})"
    if SWITCH in there and len(there) > 1:
        yield _Full(Limit.UNKNOWN, by)
    elif not use.of(SWITCH) and not use.forwarding_cpus:  # nobody tells where it forwards
        yield _Full(Limit.UNKNOWN, f"{by}, and the kernel may have forwarded there as well")
    else:
        yield _Full(BLAMED[next(iter(there))], by)


def _at_an_end(full: Sequence[_Full]) -> tuple[Limit, str] | None:
    """Say whose full CPUs are; who has one to itself would not do more on a quiet machine."""
    own = [each for each in full if each.limit is not Limit.HOST]
    if len({each.limit for each in own}) > 1:
        both = " and ".join(each.by for each in own)
        return Limit.UNKNOWN, f"{both}, so nobody can tell which of them it was"
    return next(((each.limit, each.by) for each in own or full), None)


def _of_others(use: CpuUse) -> tuple[Limit, str] | None:
    """Say that others had much of a CPU, though it had something left."""
    said = (_taken(cpu, use) for cpu in use.cpus)
    return next(((Limit.HOST, one) for one in said if one is not None), None)


def _taken(cpu: CpuTime, use: CpuUse) -> str | None:
    """Say how much others had of a CPU, where that is much; None where it is not."""
    foreign, stolen = (use.share(one) for one in (use.foreign_ns(cpu), cpu.stolen_ns or 0))
    beside = [one for one in use.placed_on(cpu.cpu) if one.role == NOISE]
    noise = use.share(sum(one.time_ns or 0 for one in beside))
    if foreign + stolen + noise < TAKEN:
        return None
    said = (
        f"of CPU {cpu.cpu} programs of others used {rounded_share(foreign)}, and a hypervisor "
        f"{rounded_share(stolen)}"
    )
    return f"{said}; the noise beside the case had {rounded_share(noise)}" if beside else said


def _datagrams(one: Exchange, full: Sequence[_Full]) -> tuple[Limit, str] | None:
    """Say who lost datagrams, where many are: a sender that is faster than the path is no limit."""
    sent, lost = _sum(one, "sent_packets"), _sum(one, "lost_packets")
    if not sent or Fraction(lost, sent) < MANY_LOST:
        return None
    if host := [each for each in full if each.limit is Limit.HOST]:
        return Limit.HOST, host[0].by
    unread, dropped = one.unread_packets or 0, _drops(one)
    said = f"of {human_count(lost)} datagrams that were lost"
    if 2 * unread >= lost:
        came = f"{human_count(unread)} {said} came to the device of the place"
        counted = " (its socket had no room: RcvbufErrors)" if one.sockets else ""
        return Limit.SERVER, f"{came}, and their reader was too slow{counted}"
    if 2 * dropped >= lost:
        return Limit.DUT, f"{human_count(dropped)} {said} were dropped by the switch, which says so"
    return Limit.UNCOUNTED, f"most {said} were counted by nobody"


def _dropped(one: Exchange) -> tuple[Limit, str] | None:
    """Say that frames were dropped, for which TCP sends less; who sends datagrams does not care."""
    if one.traffic.startswith("udp"):
        return None
    passed, dropped = sum(each.received_frames for each in one.devices), _drops(one)
    if not passed or Fraction(dropped, passed + dropped) < MANY_DROPPED:
        return None
    return (
        Limit.DUT,
        f"the switch dropped {human_count(dropped)} frames where {human_count(passed)} passed, for "
        "which TCP sends less",
    )


def _drops(one: Exchange) -> int:
    return 0 if one.switch is None else one.switch.dropped_frames


def _idle(use: CpuUse) -> str:
    """Say that nobody was at an end."""
    if not use.cpus:
        return "the machine does not tell what its CPUs did"
    busiest = min(use.cpus, key=use.free_ns)
    busy = 1 - use.share(use.free_ns(busiest))
    return (
        f"the busiest CPU was {busiest.cpu}, for {rounded_share(busy)} of the time, and little was "
        "dropped: programs and switch waited for each other"
    )


def _sum(one: Exchange, name: str) -> int:
    return sum(getattr(each, name) or 0 for each in one.instances)
