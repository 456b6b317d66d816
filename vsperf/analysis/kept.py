"""How many of the trials at a load kept to what a goal allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from vsperf.quantities.human import human_share, percent
from vsperf.records.result import of_a_load
from vsperf.records.trial import Trial


@dataclass(frozen=True, slots=True)
class Kept:
    """How many of the trials at a load kept to what a goal allows: a search asks for most."""

    within: int
    trials: int
    allowed: Fraction
    worst: Fraction

    @property
    def whole(self) -> bool:
        """Whether all of them did."""
        return self.within == self.trials

    @property
    def share(self) -> str:
        """How many of them did, where not all did; few may be most of the time, by their length."""
        if 2 * self.within > self.trials:
            return f"mostly passed ({self.within} of {self.trials} trials)"
        if 2 * self.within == self.trials:
            return f"half of the trials passed ({self.within} of {self.trials})"
        return f"{self.within} of {self.trials} trials passed"

    @property
    def text(self) -> str:
        """The same in words."""
        what = "none" if self.allowed == 0 else f"no more than {human_share(self.allowed)}"
        if self.whole:
            return f"all {self.trials} lost {what}" if self.trials > 1 else f"the one lost {what}"
        worst = percent(self.worst)
        return f"{self.within} of {self.trials} lost {what}, the worst lost {worst}"


def kept_of(made: Sequence[Trial], allowed: Fraction) -> Kept | None:
    """Return how many of the trials at one load did; None where none is valid."""
    losses = [one.loss_ratio for one in made if one.valid]
    if not losses:
        return None
    within = sum(loss <= allowed for loss in losses)
    return Kept(within, len(losses), allowed, max(losses))


def made_at(fps: int | None, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that say what a load is."""
    return [one for one in trials if one.load_fps == fps and of_a_load(one)]
