"""Why connections came to no more: what the generator and the switch did where some failed. Pure.

There are no trials of frames to go by. Both ends are the generator, so whether it had time is what
matters first; the switch's counters are those of the whole trial, in which whatever failed is tried
again for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from vsperf.analysis.why import FULL, Sentence, Verdict
from vsperf.quantities.human import human_count, human_share
from vsperf.records.connections import ConnectionTrial
from vsperf.records.meaning import LIMITED_BY
from vsperf.records.result import Figure, Limit, heading
from vsperf.records.switch import PmdCounters, cycles_of

GENERATOR, THREADS, DROPS = "the generator", "the polling threads of the switch", "frames"
REASONS = "what the switch counted"
MILLION = 1_000_000


def why_connections(
    figures: Sequence[Figure], made: Iterable[ConnectionTrial]
) -> tuple[str, tuple[Sentence, ...]]:
    """Return the headline and the sentences on trials, all of which can be believed.

    They are on the trial of the least load of which some failed, or were not begun, or the last.
    """
    first = figures[0]
    name, limit = heading(first.name), first.limit
    head = f"What limited the {name} cannot be told: {first.reason}."
    if limit is not None and limit is not Limit.UNKNOWN:
        head = f"The {name} was limited by {LIMITED_BY[limit]}: {first.reason}."
    last: ConnectionTrial | None = None
    least: ConnectionTrial | None = None
    for last in made:  # those of a day are too many to be held together
        if (last.failed or last.short) and (least is None or _load(last) < _load(least)):
            least = last
    one = least or last
    return head, () if one is None else (
        _generator(one),
        _threads(one),
        *_drops(one),
        *_reasons(one),
    )


def _load(one: ConnectionTrial) -> tuple[int, int]:
    return one.due, one.rate


def _at(one: ConnectionTrial) -> str:
    failed = f"{human_count(one.failed or 0)} {one.noun} failed"
    return f"In trial {one.index} at {human_count(one.rate)}/s, in which {failed},"


def _generator(one: ConnectionTrial) -> Sentence:
    busy = Fraction(one.busy_ppm, MILLION)
    late = f"; it began {one.short} in time" if one.short else ""
    verdict = Verdict.FULL if busy >= FULL or late else Verdict.FREE
    share = human_share(float(busy))
    return Sentence(
        GENERATOR, verdict, f"{_at(one)} the generator was busy {share} of the time{late}."
    )


def _threads(one: ConnectionTrial) -> Sentence:
    shares: list[tuple[Fraction, int]] = []
    pmds = () if one.switch is None else one.switch.pmds
    spread = _spread(pmds)
    for pmd in pmds:
        working, idle = cycles_of((pmd,))
        if working is not None and idle is not None and working + idle > 0:
            shares.append((Fraction(working, working + idle), pmd.cpu))
    if not shares:
        text = f"How busy the switch was: it counts no busy and idle cycles.{spread}"
        return Sentence(THREADS, Verdict.UNKNOWN, text)
    share, cpu = max(shares)
    # What failed is tried again for seconds, in which there is little to do.
    verdict = Verdict.FULL if share >= FULL else Verdict.UNKNOWN
    busy = human_share(float(share))
    text = f"{_at(one)} and until all was over the polling thread on CPU {cpu} was busy {busy}."
    return Sentence(THREADS, verdict, f"{text}{spread}")


def _spread(pmds: Sequence[PmdCounters]) -> str:
    """Say how frames were spread over several threads: one that hangs, or is left out, has none."""
    frames = sum(pmd.frames for pmd in pmds)
    if len(pmds) < 2 or frames <= 0:
        return ""
    shares = ", ".join(f"CPU {pmd.cpu} {human_share(pmd.frames / frames)}" for pmd in pmds)
    return f" Its frames by thread: {shares}."


def _drops(one: ConnectionTrial) -> Iterator[Sentence]:
    if one.switch is None:
        yield Sentence(DROPS, Verdict.UNKNOWN, "Whether frames were dropped: nobody counted.")
        return
    count = one.switch.dropped_frames
    verdict = Verdict.FULL if count else Verdict.FREE
    many = human_count(count) if count else "no"
    yield Sentence(DROPS, verdict, f"{_at(one)} the switch dropped {many} frames.")


def _reasons(one: ConnectionTrial) -> Iterator[Sentence]:
    """Yield what else it counted: a table or a queue that was full, connections not made."""
    reasons = {} if one.switch is None else {**one.switch.drops, **one.switch.reasons}
    told = ", ".join(f"{human_count(count)} {name}" for name, count in reasons.items() if count)
    if told:
        yield Sentence(REASONS, Verdict.UNKNOWN, f"{_at(one)} the switch counted {told}.")
