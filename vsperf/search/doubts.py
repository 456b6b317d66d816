"""What trials say against the answer of a goal: each question is one function, and pure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from vsperf.quantities.units import NANOSECONDS
from vsperf.records.flags import Flag
from vsperf.records.trial import Trial
from vsperf.search.classify import Bounds, Rule, by_load, failed

FEW_FRAMES = 16
"""Loss of up to so many frames may be something that eats single frames."""
SPORADIC = Fraction(1, 100)
"""Overload at an upper bound is somewhere between none and the width of the interval. That it is
within this share of nothing is unlikely, in all trials there."""
LESS = Fraction(1, 1000)
"""From this share on a trial forwarded less than what had passed: more than counting is off by."""
FEW_TRIALS = 2
"""From so many trials of each length on their difference is no accident."""
ALIKE_LOADS = 3
"""On so many loads a loss must be the same to be called constant, the highest being at least"""
ALIKE_SPAN = 2
"""so many times the lowest: loss in proportion to the load would differ."""


def lossy_trials(rule: Rule, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that a goal rejects."""
    return [trial for trial in trials if failed(trial, rule.loss_ratio)]


def as_no_loss(rule: Rule, trials: Sequence[Trial], lower: int) -> bool:
    """Whether a goal allows some loss, and no trial at its bound was long enough to show it."""
    sent = [
        way.intended_frames for one in trials if one.load_fps == lower for way in one.directions
    ]
    return rule.loss_ratio > 0 and max(sent, default=0) * rule.loss_ratio < 1


def constant_loss(trials: Sequence[Trial]) -> bool:
    """Whether the same few frames are missing at low and at high load.

    Overload at the top hides a constant loss, so the loads are read from the lowest upwards as
    long as the loss stays what it is there.
    """
    alike: list[int] = []
    expected: int | None = None
    for load, group in by_load(trials).items():
        counts = {trial.worst_direction.lost_frames for trial in group}
        expected = min(counts) if expected is None else expected
        if counts != {expected}:
            break
        alike.append(load)
    few = expected is not None and 0 < expected <= FEW_FRAMES
    return few and len(alike) >= ALIKE_LOADS and alike[-1] >= ALIKE_SPAN * alike[0]


def disagree(rule: Rule, trials: Sequence[Trial]) -> bool:
    """Whether trials of one load and one duration came to both outcomes."""
    outcomes: dict[tuple[int, int], set[bool]] = {}
    for trial in trials:
        equal = outcomes.setdefault((trial.load_fps, trial.duration_ns), set())
        equal.add(failed(trial, rule.loss_ratio))
    return any(len(seen) > 1 for seen in outcomes.values())


def length_matters(rule: Rule, trials: Sequence[Trial]) -> bool:
    """Whether at a load all short trials passed and all long ones failed, two of each or more."""
    longest_ns = max((trial.duration_ns for trial in trials), default=0)
    for group in by_load(trials).values():
        short = [trial for trial in group if trial.duration_ns < longest_ns]
        full = [trial for trial in group if trial.duration_ns == longest_ns]
        if min(len(short), len(full)) >= FEW_TRIALS and (
            all(failed(trial, rule.loss_ratio) for trial in full)
            and not any(failed(trial, rule.loss_ratio) for trial in short)
        ):
            return True
    return False


def sporadic(rule: Rule, trials: Sequence[Trial], bounds: Bounds) -> bool:
    """Whether every trial at the upper bound lost far less than overload by an interval would."""
    lower, upper = bounds.lower, bounds.upper
    if rule.loss_ratio or lower is None or upper is None:
        return False
    lost = [
        Fraction(trial.worst_direction.lost_frames * NANOSECONDS, trial.duration_ns)
        for trial in lossy_trials(rule, by_load(trials)[upper])
    ]
    return max(lost) < (upper - lower) * SPORADIC


def buffered(rule: Rule, trials: Sequence[Trial], lower: int) -> bool:
    """Whether most of what passed at the lower bound had to wait somewhere."""
    passed = [trial for trial in by_load(trials)[lower] if not failed(trial, rule.loss_ratio)]
    return 2 * sum(Flag.BUFFERED in trial.flags for trial in passed) > len(passed)


def forwards_less(rule: Rule, trials: Sequence[Trial], bounds: Bounds) -> bool:
    """Whether trials at the upper bound would have failed at the lower one, too.

    What the switch forwards under overload is what it can carry at that time. A share of them that
    the goal lets fail says nothing: so many may fail at the lower bound.
    """
    lower, upper = bounds.lower, bounds.upper
    if lower is None or upper is None:
        return False
    there, least = by_load(trials)[upper], lower * (1 - rule.loss_ratio) * (1 - LESS)
    less = [one for one in there if upper * (1 - one.switch_loss_ratio) < least]
    return rule.outweigh(less, there)
