"""What is measured again until it can be believed, be it frames, exchanges or connections.

Retry policy: what has an invalid flag is repeated at once, up to `trial.retries` times. Every
attempt is recorded and counts against the budget. If the last one is invalid too, the case ends; a
search never sees an invalid trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from vsperf.errors import InvalidTrialError
from vsperf.records.flags import Flag, Severity
from vsperf.search.base import Budget


class Attempt(Protocol):
    """One attempt, judged."""

    @property
    def index(self) -> int:
        """Its number among all that the case made."""

    @property
    def valid(self) -> bool:
        """Whether it can be believed."""


Made = TypeVar("Made", bound=Attempt)


def until_valid(
    attempt: Callable[[int | None], Made], retries: int, budget: Budget, cost_ns: int
) -> Made:
    """Return the first valid attempt, or the last; each is told the number of the one it repeats.

    Whoever asks pays for the first one.
    """
    made = attempt(None)
    for _ in range(retries):
        if made.valid:
            break
        budget.require(cost_ns)
        made = attempt(made.index)
    return made


def stayed_invalid(
    named: str, flags: Iterable[Flag], retries: int, why: str = ""
) -> InvalidTrialError:
    """Return the error for an attempt that nobody may build on, and what was seen, if more."""
    flag = next(flag for flag in flags if flag.severity is Severity.INVALID)
    return InvalidTrialError(
        f"{named} stayed invalid after {retries} "
        f"{'repeat' if retries == 1 else 'repeats'}: {flag.value}",
        why=why or flag.meaning,
        fix=f"`vsperf explain {flag.value}` says more; the run's record holds every attempt",
    )
