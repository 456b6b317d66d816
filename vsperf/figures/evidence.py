"""What a drawing rests on, in words: cases, runs, trials and how long they were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vsperf.human import human_ns, human_seconds
from vsperf.record.flags import Flag
from vsperf.record.trial import Trial
from vsperf.store.view import CaseView


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one case adds to a caption."""

    run: str
    trials: int = 0
    measured_ns: int = 0
    """What all trials took together; 0 where single ones were looked at."""
    shortest_ns: int | None = None
    longest_ns: int | None = None
    """Of the trials that were looked at; None where none was."""
    simulated: bool = False
    left_out: str = ""
    """Why the case has no number here; empty if it has."""
    functional: bool = False
    """Whether it only shows that things work, since parts that never sleep shared a CPU."""


def evidence_of(view: CaseView, left_out: str = "") -> Evidence:
    """Return what a case adds to a caption, without a look at its trials."""
    record = view.record
    return Evidence(
        run=view.run,
        trials=record.trials if record is not None else 0,
        measured_ns=record.measured_ns if record is not None else 0,
        simulated=view.simulated,
        left_out=left_out,
        functional=record is not None and Flag.SHARED_CPU in record.flags,
    )


def evidence_of_trials(view: CaseView, trials: Iterable[Trial]) -> Evidence:
    """Return what these trials of a case add to a caption."""
    durations = [one.duration_ns for one in trials]
    return Evidence(
        run=view.run,
        trials=len(durations),
        shortest_ns=min(durations, default=None),
        longest_ns=max(durations, default=None),
        simulated=view.simulated,
    )


def caption(all_evidence: Iterable[Evidence], *more: str) -> str:
    """Say how many cases, runs and trials there were and how long these took, and what is left out.

    `more` are sentences on what error bars and marks mean.
    """
    every = list(all_evidence)
    shown = [one for one in every if not one.left_out]
    words = [_counted(len(shown), "case"), _counted(len({one.run for one in shown}), "run")]
    trials = sum(one.trials for one in shown)
    if trials:
        words.append(f"{_counted(trials, 'trial')}{_lengths(shown)}")
    sentences = [f"n = {', '.join(words)}."]
    if any(one.simulated for one in shown):
        every_one = all(one.simulated for one in shown)
        which = "these numbers come" if every_one else "what is hatched and called so comes"
        sentences.append(f"SIMULATED: {which} from a model.")
    if functional := sum(one.functional for one in shown):
        sentences.append(f"Functional only, on a shared CPU: {_counted(functional, 'case')}.")
    reasons = [one.left_out for one in every if one.left_out]
    for reason in dict.fromkeys(reasons):
        sentences.append(f"Left out: {_counted(reasons.count(reason), 'case')} ({reason}).")
    return " ".join((*sentences, *(sentence for sentence in more if sentence)))


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _lengths(shown: Sequence[Evidence]) -> str:
    ends = [end for one in shown for end in (one.shortest_ns, one.longest_ns) if end is not None]
    if ends:
        low, high = human_duration(min(ends)), human_duration(max(ends))
        return f" of {low}" if low == high else f" of {low} to {high}"
    measured_ns = sum(one.measured_ns for one in shown)
    return f", {human_seconds(measured_ns / 1e9)} in all" if measured_ns else ""


def human_duration(ns: int) -> str:
    """Write a duration that somebody chose: 1 s, 500 ms, 1.5 s."""
    for factor, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "µs")):
        if ns >= factor:
            return f"{ns / factor:g} {unit}"
    return human_ns(ns)
