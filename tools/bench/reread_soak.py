"""What a soak comes to by its seconds and its one trial: losses, when they were, and what drifts.

It shares no code with the method: each number is made here once more.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reread_trials import SECOND, Measured, Own, kept_ns, missing_of, refers, share_lost, worst_of

from vsperf.records.trial import Purpose, Second, Trial

PARTS = 12
HELD_UP_NS = 1_000_000


def _hours(case: Measured) -> Trial | None:
    """Return the trial of a soak, be it to be believed or not; None if it was not made."""
    made = [one for one in case.given if one.purpose is Purpose.LATENCY and refers(one)]
    return made[-1] if made else None


def soak_figures(case: Measured) -> Mapping[str, Own]:
    """What was lost of what was sent, in how many stretches of seconds, and what drifts."""
    trial, rows = _hours(case), _rows(case)
    if trial is None or not trial.directions:
        return {"lost": Own(None)} | ({"loss_events": Own(len(_stretches(rows)))} if trial else {})
    told = {
        "lost": Own(worst_of(trial)),
        "loss_ratio": Own(float(share_lost(trial))),
        "loss_events": Own(len(_stretches(rows))),
    }
    parts = _parts(trial.duration_ns, rows)
    for name, column in (("latency_drift", 2), ("cycles_drift", 4)):
        ends = [part[column] for part in (parts[0], parts[-1])] if len(parts) > 1 else [None]
        known = [one for one in ends if one is not None]
        if len(known) == len(ends):
            told[name] = Own(known[-1] - known[0])
    return told


@dataclass(frozen=True, slots=True)
class Row:
    """A second, and what is missing since then for good."""

    begin_ns: int
    end_ns: int
    lost: int
    second: Second


def _rows(case: Measured) -> list[Row]:
    """Return the seconds: what is missing later is what counts, as what came late was not lost.

    At the end that is what is missing when all is counted.
    """
    seconds, trial = _since_the_last_begin(case), _hours(case)
    if not seconds:
        return []
    load = trial.load_fps if trial is not None else 0
    lost = [sum(way.lost_frames or 0 for way in one.sample.directions) for one in seconds]
    held_up = load * HELD_UP_NS // SECOND
    refused = [
        sum(max(0, (way.refused_frames or 0) - held_up) for way in one.sample.directions)
        for one in seconds
    ]
    if trial is not None and trial.directions:
        missing = sum(missing_of(way) for way in trial.directions)
        refused.append(min(refused[-1], max(0, missing - lost[-1])))
    steps = [_for_good(one, len(seconds)) for one in (lost, refused)]
    ends = [one.sample.elapsed_ns for one in seconds]
    return [
        Row(begin, end, sum(news), second)
        for begin, end, second, *news in zip([0, *ends], ends, seconds, *steps)  # noqa: B905
    ]


def _since_the_last_begin(case: Measured) -> list[Second]:
    """Return the seconds of the trial that was made last: each trial counts them from 0."""
    found: list[Second] = []
    for one in case.seconds:
        if found and one.sample.elapsed_ns <= found[-1].sample.elapsed_ns:
            found.clear()
        found.append(one)
    return found


def _for_good(counts: Sequence[int], number: int) -> list[int]:
    """Return by second what is missing more from then on, and in no later one less."""
    least = list(itertools.accumulate(reversed(counts), min))[::-1]
    return [now - before for before, now in itertools.pairwise([0, *least])][:number]


def _stretches(rows: Sequence[Row]) -> list[list[Row]]:
    groups = itertools.groupby(rows, key=lambda one: one.lost > 0)
    return [list(group) for lossy, group in groups if lossy]


def soak_curves(case: Measured) -> Mapping[str, list[tuple[float | None, ...]]]:
    """Return what was lost in which stretches of seconds, and what each part of the time was."""
    trial, rows = _hours(case), _rows(case)
    if trial is None:
        return {}
    most = int(case.search["events"])
    stretches = sorted(_stretches(rows), key=lambda one: -sum(row.lost for row in one))[:most]
    losses = [
        (
            one[0].begin_ns,
            one[-1].end_ns - one[0].begin_ns,
            sum(row.lost for row in one),
            sum(map(_kept_ns, one)),
        )
        for one in sorted(stretches, key=lambda one: one[0].begin_ns)
    ]
    return {"over_time": list(_parts(trial.duration_ns, rows)), "losses": list(losses)}


def _kept_ns(row: Row) -> int:
    return sum(map(kept_ns, row.second.threads))


def _parts(
    duration_ns: int, rows: Sequence[Row]
) -> list[tuple[int, int, float | None, float | None, float | None, int]]:
    """Return by twelfths of the time what was lost, latency, cycles for a frame, and time kept."""
    ends = [duration_ns * number // PARTS for number in range(1, PARTS + 1)]
    found = []
    for number, end in enumerate(ends):
        begin = ends[number - 1] if number else -1
        last = number == PARTS - 1
        inside = [row for row in rows if begin < row.end_ns and (last or row.end_ns <= end)]
        if not inside:
            continue
        told = [
            [way.latency for way in row.second.sample.directions if way.latency is not None]
            for row in inside
        ]
        halves = [max(one.p50_ns for one in ways) for ways in told if ways]
        tails = [max(one.p99_ns for one in ways) for ways in told if ways]
        pmds = [
            (pmd.frames, pmd.busy_cycles, pmd.idle_cycles)
            for row in inside
            if row.second.switch
            for pmd in row.second.switch.pmds
            if pmd.busy_cycles is not None and pmd.idle_cycles is not None
        ]
        frames, busy = sum(one[0] for one in pmds), sum(one[1] for one in pmds)
        counts = any(one[1] + one[2] for one in pmds)
        found.append(
            (
                end,
                sum(row.lost for row in inside),
                statistics.mean(halves) if halves else None,
                statistics.mean(tails) if tails else None,
                busy / frames if frames and counts else None,
                sum(map(_kept_ns, inside)),
            )
        )
    return found
