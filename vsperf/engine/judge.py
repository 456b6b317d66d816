"""The judgement of a trial: which flags its counters earn. The only place where it happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from vsperf.config.traffic import LATE_NS, TrialPolicy
from vsperf.quantities.units import NANOSECONDS
from vsperf.records.clean import CleanTrial, in_clean_time
from vsperf.records.flags import Flag
from vsperf.records.trial import Direction, RateStep, Trial, TrialCounts

MOST_PAUSES = Fraction(1, 10)
"""Share of the time of sending in which a generator may have stood still."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a generator was asked for; what it says it was asked for is held against it."""

    load_fps: int
    """Per direction."""
    duration_ns: int
    directions: int
    even: bool = True
    """Whether frames are equally far apart; by the times of a file their number is the file's."""
    steps: tuple[RateStep, ...] = ()
    """Where the load changes on the way."""
    shares: tuple[Fraction, ...] = ()
    """What each direction is offered of the load; all of it unless told."""

    @property
    def frames(self) -> tuple[int, ...]:
        steps = self.steps or (RateStep(self.load_fps, self.duration_ns),)
        shares = self.shares or (Fraction(1),) * self.directions
        return tuple(sum(step.shared(share).frames for step in steps) for share in shares)

    @property
    def fastest_fps(self) -> int:
        return max((step.load_fps for step in self.steps), default=self.load_fps)


def judge(counts: TrialCounts, asked: Asked, policy: TrialPolicy) -> tuple[Flag, ...]:
    """Return everything that is to be said against a trial, gravest matters first."""
    flags: dict[Flag, None] = {}
    if not counts.directions:
        return (Flag.COUNTERS_IMPOSSIBLE,)
    intended = tuple(direction.intended_frames for direction in counts.directions)
    if len(intended) != asked.directions or (asked.even and intended != asked.frames):
        flags[Flag.WRONG_LOAD] = None
    for direction in counts.directions:
        flags |= dict.fromkeys(_of_direction(direction, policy))
    if not counts.settled:
        flags[Flag.COUNTERS_MOVING] = None
    flags |= dict.fromkeys(_of_time(counts, asked, policy))
    if _buffered(counts):
        flags[Flag.BUFFERED] = None
    lossy = [direction.lost_frames > 0 for direction in counts.directions]
    if any(lossy) and not all(lossy):
        flags[Flag.ONE_SIDED] = None
    return in_order(flags)


def in_order(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """Return what is said against a trial, gravest matters first."""
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


def _of_time(counts: TrialCounts, asked: Asked, policy: TrialPolicy) -> list[Flag]:
    """Hold the time of sending, first frame to last, against the load that the trial stands for.

    What was sent in less time than it is due in was sent at a higher load, however many frames
    stayed unsent.
    """
    if counts.paced_ns is None:
        return [Flag.UNTIMED]
    allowed_ns = policy.allowed_late_ns(asked.duration_ns)
    sent = max(min(way.sent_frames, way.intended_frames) for way in counts.directions)
    flags = []
    if asked.even and counts.paced_ns + allowed_ns < (sent - 1) * NANOSECONDS // asked.fastest_fps:
        flags.append(Flag.RUSHED)
    if counts.paced_ns > asked.duration_ns + allowed_ns:
        flags.append(Flag.STRETCHED)
    if counts.pauses > MOST_PAUSES:
        flags.append(Flag.GENERATOR_PAUSED)
    return flags


def _buffered(counts: TrialCounts) -> bool:
    """Whether frames went on coming for longer than their way takes: they had been waiting."""
    times = [way.receiving_ns for way in counts.directions if way.receiving_ns is not None]
    if not times or counts.sending_ns is None:
        return False
    return max(times) - counts.sending_ns > LATE_NS


def judge_with_context(trial: Trial, policy: TrialPolicy) -> tuple[Flag, ...]:
    """Return what counters of switch and generator, threads and stalls say against a trial.

    Only of a trial whose own counters can be believed.
    """
    flags = []
    if trial.counts_backwards:
        flags.append(Flag.COUNTERS_RESET)
    unexplained = trial.unexplained_frames
    if unexplained is not None and abs(unexplained) > (
        policy.unexplained_tolerance.value * trial.sent_frames
    ):
        flags.append(Flag.UNEXPLAINED)
    if trial.lost_frames and trial.behind_frames:
        flags.append(Flag.GENERATOR_BEHIND)
    if trial.lost_frames and _lost_in_stalls(trial):
        flags.append(Flag.HOST_STALLED)
    if trial.held_up:
        flags.append(Flag.KEPT_FROM_RUNNING)
    return tuple(flags)


def _lost_in_stalls(trial: Trial) -> bool:
    """Whether nothing is missing in what clean time there is, and there is enough of it."""
    left = in_clean_time(trial)
    return isinstance(left, CleanTrial) and left.enough and not left.lost_frames
