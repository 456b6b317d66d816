"""The judgement of a trial: which flags its counters earn. The only place where it happens."""

from __future__ import annotations

from fractions import Fraction

from vsperf.record.flags import Flag
from vsperf.record.trial import Direction, Trial, TrialCounts
from vsperf.spec.traffic import TrialPolicy


def judge(counts: TrialCounts, duration_ns: int, policy: TrialPolicy) -> tuple[Flag, ...]:
    """Return everything that is to be said against a trial, gravest matters first."""
    flags: dict[Flag, None] = {}
    if not counts.directions:
        return (Flag.COUNTERS_IMPOSSIBLE,)
    for direction in counts.directions:
        flags |= dict.fromkeys(_of_direction(direction, policy))
    if not counts.settled:
        flags[Flag.COUNTERS_MOVING] = None
    if _stretched(counts, duration_ns, policy):
        flags[Flag.STRETCHED] = None
    lossy = [direction.lost_frames > 0 for direction in counts.directions]
    if any(lossy) and not all(lossy):
        flags[Flag.ONE_SIDED] = None
    return tuple(sorted(flags, key=list(Flag).index))


def _of_direction(direction: Direction, policy: TrialPolicy) -> list[Flag]:
    if _impossible(direction):
        return [Flag.COUNTERS_IMPOSSIBLE]
    flags = []
    if direction.sent_frames == 0:
        flags.append(Flag.NOTHING_SENT)
    elif direction.received_frames == 0:
        flags.append(Flag.NOTHING_RECEIVED)
    if direction.sent_frames > direction.intended_frames:
        flags.append(Flag.OVERSENT)
    if direction.good_frames > direction.sent_frames:
        flags.append(Flag.RX_EXCEEDS_TX)
    tolerated = policy.offered_tolerance.value * direction.intended_frames
    if direction.short_frames > tolerated:
        flags.append(Flag.SHORT_OFFER)
    seen = (
        (direction.duplicate_frames, Flag.DUPLICATES),
        (direction.corrupted_frames, Flag.CORRUPTED),
        (direction.reordered_frames, Flag.REORDERED),
        (direction.foreign_frames, Flag.FOREIGN),
        (direction.unmarked_frames, Flag.UNCHECKED),
    )
    return flags + [flag for frames, flag in seen if frames]


def _impossible(direction: Direction) -> bool:
    """Whether the counters contradict each other, whatever the switch did."""
    counters = (
        direction.intended_frames,
        direction.sent_frames,
        direction.received_frames,
        direction.duplicate_frames or 0,
        direction.corrupted_frames or 0,
        direction.reordered_frames or 0,
        direction.foreign_frames or 0,
    )
    return min(counters) < 0 or direction.good_frames < 0


def _stretched(counts: TrialCounts, duration_ns: int, policy: TrialPolicy) -> bool:
    if counts.sending_ns is None:
        return False
    return Fraction(counts.sending_ns) > duration_ns * (1 + policy.stretch_tolerance.value)


def judge_with_context(trial: Trial, policy: TrialPolicy) -> tuple[Flag, ...]:
    """Return what counters of the switch, the generator and stalls say against a trial.

    Only of a trial whose own counters can be believed.
    """
    flags = []
    unexplained = trial.unexplained_frames
    if unexplained is not None and abs(unexplained) > (
        policy.unexplained_tolerance.value * trial.sent_frames
    ):
        flags.append(Flag.UNEXPLAINED)
    if trial.lost_frames and trial.behind_frames:
        flags.append(Flag.GENERATOR_BEHIND)
    if trial.stall_frames:
        flags.append(Flag.HOST_STALLED)
    return tuple(flags)
