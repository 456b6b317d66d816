"""Which trial of a case a report tells of: its sentence, its drawing and its account have one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.human import human_fps
from vsperf.record.result import GoalResult, SearchResult
from vsperf.record.trial import Purpose, Trial


@dataclass(frozen=True, slots=True)
class Telling:
    """The trial that says most of a case."""

    trial: Trial
    why: str
    """Why this one and no other."""

    @property
    def name(self) -> str:
        """The trial and why it is told of, for a heading."""
        return f"trial #{self.trial.index}, {self.why}"


def telling(result: SearchResult, trials: Sequence[Trial]) -> Telling | None:
    """Choose the trial that ended the search; else one with loss; else the one at most load."""
    usable = [one for one in trials if one.valid and one.intended_frames > 0]
    made = [one for one in usable if one.purpose is Purpose.SEARCH]
    for goal in result.goals[:1]:
        if (ending := ending_of(goal, made)) is not None:
            return Telling(ending, f"at {human_fps(ending.load_fps)}, where {goal.goal} ends")
    lossy = [one for one in made if one.lost_frames > 0]
    if lossy:
        least = min(lossy, key=lambda one: one.load_fps)
        return Telling(least, f"at {human_fps(least.load_fps)}, the lowest load that lost frames")
    if made or usable:
        most = max(made or usable, key=lambda one: one.load_fps)
        why = f"at {human_fps(most.load_fps)}, the highest load; no frame was lost"
        return Telling(most, why)
    return None


def ending_of(goal: GoalResult, trials: Sequence[Trial]) -> Trial | None:
    """Return the mildest trial that failed at the upper bound: the reason of a goal names it."""
    allowed = Fraction(goal.loss_ratio)
    failed = [
        one
        for one in trials
        if one.valid and one.purpose is Purpose.SEARCH and one.load_fps == goal.upper_fps
        if one.switch_loss_ratio > allowed
    ]
    return min(failed, key=lambda one: one.switch_loss_ratio, default=None)
