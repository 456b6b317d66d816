"""What explanations go by: a case with its trials and series, and the sentences they come to."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from vsperf.record.run import CaseRecord
from vsperf.record.switch import PmdCounters
from vsperf.record.trial import Purpose, Trial
from vsperf.stats.growth import Digest


class Verdict(enum.StrEnum):
    """What a sentence says of its resource."""

    FULL = "full"
    """It kept the result from being higher, or may have."""
    FREE = "free"
    """It did not."""
    UNKNOWN = "cannot be told"


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is known of one resource."""

    resource: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Spread:
    """What trials at one load found of one thing."""

    load_fps: int
    found: tuple[float, ...]
    digits: int = 0
    """Places after the point that are said of it; what differs by less is the same."""

    @property
    def middle(self) -> float | None:
        """What stands for them all; None where there is none."""
        return median(self.found) if self.found else None

    def said(self) -> str:
        """Return it in words, with what single trials say of it."""
        if not self.found:
            return "nothing"
        least, middle, most = (
            f"{one:.{self.digits}f}"
            for one in (min(self.found), median(self.found), max(self.found))
        )
        ends = f"{least} to {most} in {len(self.found)} trials"
        return f"{middle} ({ends if len(self.found) > 1 else 'in a single trial'})"


@dataclass(frozen=True, slots=True)
class Measured:
    """A case with all that is known of it."""

    label: str
    record: CaseRecord
    trials: Sequence[Trial]
    series: Sequence[Digest] = ()
    own: Sequence[tuple[str, Trial]] = ()
    """Trials that heavy collectors had for themselves, by the names of these."""

    @property
    def bound_fps(self) -> int | None:
        """The load that the case came to."""
        result = self.record.result
        goals = [one.lower_fps for one in result.goals] if result is not None else []
        loads = [one.load_fps for one in result.loads if one.passed] if result is not None else []
        return next((fps for fps in goals if fps is not None), max(loads, default=None))

    @property
    def counted(self) -> list[Trial]:
        """Trials that something may be concluded from."""
        return [
            one
            for one in self.trials
            if one.valid and one.purpose is Purpose.SEARCH and one.intended_frames > 0
        ]

    @property
    def at_bound(self) -> list[Trial]:
        """Trials at the load that the case came to."""
        return [one for one in self.counted if one.load_fps == self.bound_fps]

    @property
    def cycles(self) -> Spread:
        """What a frame cost the switch, in each trial at that load in which it counts cycles."""
        return Spread(
            self.bound_fps or 0,
            tuple(
                cycles
                for one in self.at_bound
                if one.switch is not None
                and not one.counts_backwards
                and (cycles := one.switch.cycles_per_frame) is not None
            ),
        )

    @property
    def beyond(self) -> Trial | None:
        """The trial just above it that lost frames: there, something was full."""
        bound = self.bound_fps or 0
        lossy = [one for one in self.counted if one.load_fps > bound and one.lost_frames > 0]
        return min(lossy, key=lambda one: (one.load_fps, one.loss_ratio), default=None)


def busy_shares(trial: Trial) -> list[tuple[PmdCounters, Fraction | None]]:
    """Return each polling thread with the share of the sending time in which it had work; about.

    A thread that counted no cycles has no share, and none has where a counter fell. A mean over all
    would hide the one that is full.
    """
    if trial.switch is None or trial.counts_backwards:
        return []
    return [(pmd, trial.busy_share((pmd,))) for pmd in trial.switch.pmds]
