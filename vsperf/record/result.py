"""What a search found: an interval, what limits it, and how far it can be trusted."""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import Field

from vsperf.record.base import Record
from vsperf.record.figure import Curve, Figure
from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.record.regime import Regime

Ratio = Annotated[str, Field(pattern=r"^-?\d+(/[1-9]\d*)?$", max_length=4000)]
"""An exact ratio, such as 0 or 1/200."""


class PartialResult(Record):
    """The answer to a goal from a part of the time; there may be none."""

    share: Ratio
    """Of the time of the search."""
    lower_fps: int | None = None
    upper_fps: int | None = None
    limit: Limit | None = None
    """What kept this result from being higher; None where there is none."""
    reason: str
    flags: tuple[Flag, ...] = ()


class CleanResult(PartialResult):
    """The answer to a goal from clean time: no slot counts in which a part was kept from running.

    The share is one of the sending time. There is no answer where less than half of it is clean,
    or the time given did not suffice.
    """


class RegimeResult(PartialResult):
    """The answer to a goal from trials that were made in one regime.

    There is none where the machine was too seldom in it, or moved too often.
    """

    regime: Regime
    least_ns: int
    """Shortest round trip of a cache line in it,"""
    most_ns: int
    """and the longest."""
    clean: Ratio | None
    """Of the sending time of its trials, what is clean and counts; None where nobody knows that,
    and all of it does."""


class GoalResult(Record):
    """The answer to one goal: the interval in which the highest passing load lies."""

    goal: str
    loss_ratio: Ratio
    """Loss that the goal allows, as an exact ratio such as 0 or 1/200."""
    lower_fps: int | None
    """Highest load that passed below the upper bound, per direction; None if none did."""
    upper_fps: int | None
    """Lowest load that failed; None if none did."""
    throughput_fps: int | None
    """Frames that came through at the lower bound, per direction (conditional throughput)."""
    limit: Limit
    reason: str
    """One sentence on why the interval ends where it ends."""
    flags: tuple[Flag, ...] = ()
    clean: CleanResult | None = None
    """The same from clean time alone; None when nobody knows what time is."""
    regimes: tuple[RegimeResult, ...] = ()
    """The same by regime, near before far; empty where there is one, or nobody knows of any."""

    @property
    def irregular(self) -> str | None:
        """Which bound there is none of, and so no regular result, as RFC 9971 has the word."""
        if self.lower_fps is None:
            return "no load passed"
        if self.upper_fps is not None:
            return None
        short = self.limit is Limit.GENERATOR
        return "no load failed by the switch" if short else "no load failed"


class LoadResult(Record):
    """The outcome of a fixed load: no search, so no interval."""

    load_fps: int
    trials: int
    passed: int
    """Trials whose loss stayed within the allowed ratio."""
    worst_loss_ratio: Ratio
    """Greatest loss ratio among the trials, as an exact ratio."""
    short_ratio: Ratio = "0"
    """Greatest share of the frames that the generator was too slow for; 0 where that is tolerated.
    So much of the loss is not the switch's."""
    throughput_fps: int
    """Least frames per second and direction that came through."""
    limit: Limit
    reason: str
    outages_ns: tuple[int | None, ...] = ()
    """How long frames stayed away after an event, by trial; None if they did not come back."""


class SearchResult(Record):
    """All that a search found."""

    goals: tuple[GoalResult, ...] = ()
    loads: tuple[LoadResult, ...] = ()
    """Of loads that were given, or gone through one by one."""
    figures: tuple[Figure, ...] = ()
    """Whatever else the method answers, the one that matters most first."""
    curves: tuple[Curve, ...] = ()
    complete: bool = True
    """False when the budget ended first."""
    spoiled: str = ""
    """Which trial could not be believed in the end, where repeats before it could; empty when none
    was like that."""

    @property
    def whole(self) -> bool:
        """Whether it rests on all the trials that were asked for."""
        return self.complete and not self.spoiled

    @property
    def ended(self) -> str:
        """What ended it before it was whole, for people."""
        return "a trial that stayed invalid came" if self.spoiled else "the time ended"

    @property
    def empty(self) -> bool:
        """Whether nothing was answered."""
        return not (self.goals or self.loads or self.figures or self.curves)

    @property
    def limits(self) -> tuple[Limit, ...]:
        """What kept each answer from being better, the one that matters most first."""
        figures = [figure.limit for figure in self.figures if figure.limit is not None]
        goals, loads = ((one.limit for one in part) for part in (self.goals, self.loads))
        return (*figures, *goals, *loads)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What is to be said of its answers, each flag once."""
        answers: tuple[GoalResult | Figure, ...] = (*self.goals, *self.figures)
        return tuple(dict.fromkeys(flag for one in answers for flag in one.flags))

    def doubted(self, flag: Flag, reason: str) -> SearchResult:
        """Return it with the same doubt on each of its answers."""
        doubt: dict[str, object] = {"limit": Limit.UNKNOWN, "reason": reason}

        def flagged(one: GoalResult | Figure) -> dict[str, object]:
            return {**doubt, "flags": (flag, *one.flags)}

        return self.model_copy(
            update={
                "goals": tuple(one.model_copy(update=flagged(one)) for one in self.goals),
                "figures": tuple(one.model_copy(update=flagged(one)) for one in self.figures),
                "loads": tuple(one.model_copy(update=doubt) for one in self.loads),
            }
        )


class Standard(enum.StrEnum):
    """The standards that a result can be held against."""

    RFC2544 = "RFC 2544"
    RFC2889 = "RFC 2889"
    RFC6201 = "RFC 6201"
    RFC8219 = "RFC 8219"
    RFC9004 = "RFC 9004"
    RFC9971 = "RFC 9971"
    TST009 = "TST 009"


class Level(enum.StrEnum):
    """The three words of RFC 2544 section 5."""

    UNCONDITIONAL = "unconditionally compliant"
    CONDITIONAL = "conditionally compliant"
    NOT = "not compliant"


class Compliance(Record):
    """How a case stands to one standard."""

    standard: Standard
    level: Level
    deviations: tuple[str, ...] = ()
