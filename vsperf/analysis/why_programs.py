"""Why programs came to no more: what limited the exchanges, and how full each CPU was. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vsperf.analysis.why import Sentence, Verdict
from vsperf.quantities.human import human_count, rounded_share
from vsperf.records.cpu_time import CpuTime, CpuUse
from vsperf.records.exchange import Exchange
from vsperf.records.meaning import LIMITED_BY
from vsperf.records.threads import SWITCH
from vsperf.search.exchange_verdict import FULL, limited_in_repeats

FRAMES = "frames that were dropped"


def why_programs(made: Sequence[Exchange]) -> tuple[str, tuple[Sentence, ...]]:
    """Return the headline and the sentences on exchanges, all of which can be believed."""
    last = made[-1]
    limit, reason = limited_in_repeats(made, last)
    first = f"The exchanges were limited by {LIMITED_BY[limit]}: {reason}."
    if limit.value == "unknown":
        first = f"What limited the exchanges cannot be told: {reason}."
    return first, tuple(_sentences(last))


def _sentences(one: Exchange) -> Iterator[Sentence]:
    use = one.cpu
    if use is None:
        yield Sentence("CPUs", Verdict.UNKNOWN, "How full the CPUs were: nobody looked twice.")
    else:
        yield from (_of_cpu(cpu, one, use) for cpu in use.cpus)
    if one.switch is None:
        yield Sentence(FRAMES, Verdict.UNKNOWN, "Whether frames were dropped: nobody counted.")
        return
    dropped = one.switch.dropped_frames
    verdict = Verdict.FULL if dropped else Verdict.FREE
    text = f"The switch dropped {human_count(dropped) if dropped else 'no'} frames."
    yield Sentence(FRAMES, verdict, text)


def _of_cpu(cpu: CpuTime, one: Exchange, use: CpuUse) -> Sentence:
    polling = {pmd.cpu for pmd in one.switch.pmds} if one.switch is not None else set()
    if cpu.cpu in polling:
        return _of_polling(cpu, one, len(polling))
    busy = 1 - use.share(use.free_ns(cpu))
    roles = dict.fromkeys(program.role for program in use.placed_on(cpu.cpu))
    if cpu.cpu in use.forwarding_cpus:
        roles[SWITCH] = None
    who, others = ", ".join(roles) or "nobody", use.others_ns(cpu)
    beside = "" if others is None else f", others had {rounded_share(use.share(others))} of it"
    return Sentence(
        f"CPU {cpu.cpu}",
        Verdict.FULL if busy >= FULL else Verdict.FREE,
        f"CPU {cpu.cpu} ({who}) was busy for {rounded_share(busy)} of the time{beside}.",
    )


def _of_polling(cpu: CpuTime, one: Exchange, threads: int) -> Sentence:
    """Say of a thread that never sleeps what share of the time it had work for."""
    if one.polling_share is None:
        text = f"How much work the polling thread on CPU {cpu.cpu} had: it does not tell."
        return Sentence(f"CPU {cpu.cpu}", Verdict.UNKNOWN, text)
    busy = float(one.polling_share / threads)
    return Sentence(
        f"CPU {cpu.cpu}",
        Verdict.FULL if busy >= FULL else Verdict.FREE,
        f"CPU {cpu.cpu} ({SWITCH}) polls, and threads that do had work for "
        f"{rounded_share(busy)} of the time.",
    )
