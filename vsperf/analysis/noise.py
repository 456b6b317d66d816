"""What ran beside a case, and what it reached in its trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vsperf.quantities.human import End, human_span, outward, rounded_share
from vsperf.records.exchange import Exchange
from vsperf.records.flags import Flag
from vsperf.records.run import CaseRecord
from vsperf.records.switch import NoiseActivity
from vsperf.records.trial import Trial

MOST_CPUS = 4096
"""Below this a rate is a share of CPUs, above it one of bytes."""


@dataclass(frozen=True, slots=True)
class Reached:
    """One instance of a load over all trials of a case, in words; empty where nobody knows."""

    instance: str
    settled: str
    """What it did before the first trial."""
    rates: str
    """Least and most that it moved in a trial."""
    shares: str
    """Least and most part of a trial in which it had a CPU."""
    trials: int
    """In which it was heard of."""


def reached(record: CaseRecord | None, trials: Iterable[Trial | Exchange]) -> tuple[Reached, ...]:
    """Return what each instance did; nothing where nothing ran beside the case."""
    around = record.conditions if record is not None else None
    settled = around.noise.get("settled") if around is not None else None
    rates = settled if isinstance(settled, dict) else {}
    found: dict[str, list[NoiseActivity]] = {}
    for trial in trials:
        for one in trial.noise:
            found.setdefault(one.instance, []).append(one)
    return tuple(_reached(name, rates, members) for name, members in found.items())


def silent_trials(trials: Iterable[Trial | Exchange]) -> tuple[int, ...]:
    """Return the trials in which noise died or did less than it should have."""
    lost = {Flag.NOISE_ERROR, Flag.NOISE_SLACKENED}
    return tuple(trial.index for trial in trials if lost & set(trial.flags))


def noise_lines(record: CaseRecord | None, trials: Iterable[Trial | Exchange]) -> Iterator[str]:
    """Yield a line for each instance of a load: its rate when it settled, and in the trials."""
    for one in reached(record, trials):
        parts = (
            one.settled and f"settled at {one.settled}",
            one.rates and f"{one.rates} in trials",
            one.shares and f"a CPU for {one.shares} of the time",
        )
        said = ", ".join(part for part in parts if part)
        yield f"{one.instance}: {said or 'nothing is known of what it did'}"
    if lost := silent_trials(trials):
        which = ", ".join(f"#{index}" for index in lost)
        yield f"noise died or slackened in {which}: nothing is concluded from these trials"


def _reached(name: str, rates: dict[str, object], members: Sequence[NoiseActivity]) -> Reached:
    moved = [rate for one in members if (rate := one.bytes_per_second) is not None]
    shares = [share for one in members if (share := one.cpu_share) is not None]
    before = rates.get(name)
    return Reached(
        instance=name,
        settled=_amount(float(before)) if isinstance(before, int | float) else "",
        rates=human_span(moved, _amount) if moved else "",
        shares=human_span(shares, lambda share, end: rounded_share(share, 0, end))
        if shares
        else "",
        trials=sum(one.elapsed_ns is not None for one in members),
    )


def _amount(rate: float, end: End | None = None) -> str:
    """Write a rate; shares of a CPU are never above the number of CPUs that there are."""
    if rate < MOST_CPUS:
        return f"{rounded_share(rate, 0, end)} of a CPU"
    return f"{round(outward(rate / 1e6, 0, end) if end else rate / 1e6):,} MB/s"
