"""Trials without the time in which a part of the testbed was kept from running.

A search sees trials as they are. On a machine that others use too, some of them fail since a part
of the testbed stood still. So each goal is answered once more, from what is left of all trials
without that time, until it fills what the goal asks for on both sides of a narrow interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from vsperf.errors import InvalidTrialError
from vsperf.quantities.human import human_ns, percent
from vsperf.records.clean import LEAST, CleanTrial, clean_share, in_clean_time, kept_silent
from vsperf.records.result import CleanResult
from vsperf.records.trial import Trial
from vsperf.search.base import BudgetExhausted
from vsperf.search.settle import Judged, Seen, Settling
from vsperf.search.verdict import Question, answer

PARTIAL = {"lower_fps", "upper_fps", "limit", "reason", "flags"}
"""What an answer from a part of the time has in common with one from all of it."""
TIME_OVER = "the time ended before clean time sufficed"


@dataclass
class Cleaned(Seen):
    """What is left of the trials of a probe; of some nobody knows it."""

    silent: bool = False
    """Whether silent slots are left out, as all trials together have it."""

    def look(self) -> None:
        """Clean the trials that are new, or all of them, if they say otherwise of silence now."""
        if self.looked_at == len(self.probe.trials):
            return
        if (silent := kept_silent(self.probe.trials)) is not self.silent:
            self.silent, self.looked_at = silent, 0
            self.views += 1
            for group in self.by_load.values():
                group.clear()
        super().look()

    def of(self, trial: Trial) -> Trial | None:
        left = in_clean_time(trial, self.silent)
        return left if isinstance(left, CleanTrial) else None

    @property
    def share(self) -> Fraction:
        """Of their time that is clean."""
        return clean_share(self.trials) or Fraction(0)

    @property
    def known(self) -> bool:
        """Whether anybody knows what time is clean."""
        self.look()
        return clean_share(self.trials) is not None

    def hopeless(self) -> str | None:
        """Say so if less is clean than what stands for something."""
        self.look()
        if self.share >= LEAST:
            return None
        widest_ns = max(one.slots.width_ns for one in self.trials if one.slots is not None)
        share = percent(self.share)
        return f"only {share} of the time was clean, by slots of {human_ns(widest_ns)}"


def settled(judged: Judged, hopeless: Callable[[], str | None], settling: Settling) -> str | None:
    """Return None once a question is answered in clean time, too, or why it is not."""
    try:
        return settling.settle(judged, hopeless)
    except BudgetExhausted:
        return TIME_OVER
    except InvalidTrialError as error:
        return not_to_be_had(str(error))


def not_to_be_had(error: str) -> str:
    """Say that a trial stayed invalid without which there is no answer."""
    return f"a trial that it needs is not to be had: {error}"


def clean_answer(question: Question, cleaned: Cleaned, why_not: str | None) -> CleanResult:
    """Return the answer from clean time, or that there is none, and why."""
    if why_not is not None:
        return CleanResult(share=str(cleaned.share), reason=why_not)
    found = answer(question, cleaned.trials)
    return CleanResult(share=str(cleaned.share), **found.model_dump(include=PARTIAL))
