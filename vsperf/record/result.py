"""What a search found: an interval, what limits it, and how far it can be trusted."""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import Field

from vsperf.record.base import Record
from vsperf.record.flags import Flag


class Limit(enum.StrEnum):
    """What kept the result from being higher."""

    DUT = "dut"
    """The switch: it lost frames that were really sent."""
    GUEST = "guest"
    """The virtual machines: the switch had the frames, and they did not take or keep them."""
    GENERATOR = "generator"
    """The generator could not send more; the switch may well do better."""
    LINK = "link"
    """The line rate was reached without loss."""
    HOST = "host"
    """The machine itself stalled; the loss says nothing on the switch."""
    UNCOUNTED = "uncounted"
    """Frames went missing, and nobody counted most of them: who lost them cannot be told."""
    SETTING = "setting"
    """The highest load that the user allowed was reached without loss."""
    BUDGET = "budget"
    """The time ended before the limit was found."""
    UNKNOWN = "unknown"
    """The trials contradict each other; see the flags."""


Ratio = Annotated[str, Field(pattern=r"^-?\d+(/[1-9]\d*)?$", max_length=4000)]
"""An exact ratio, such as 0 or 1/200."""


class CleanResult(Record):
    """The answer to a goal from clean time: no slot counts in which a part was kept from running.

    There is none where less than half of the time is clean, or the time given did not suffice.
    """

    share: Ratio
    """Of the sending time of the search that counts."""
    lower_fps: int | None = None
    upper_fps: int | None = None
    limit: Limit | None = None
    """What kept this result from being higher; None where there is none."""
    reason: str
    flags: tuple[Flag, ...] = ()


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

    @property
    def bracketed(self) -> bool:
        """Whether both bounds were found."""
        return self.lower_fps is not None and self.upper_fps is not None


class LoadResult(Record):
    """The outcome of a fixed load: no search, so no interval."""

    load_fps: int
    trials: int
    passed: int
    """Trials whose loss stayed within the allowed ratio."""
    worst_loss_ratio: Ratio
    """Greatest loss ratio among the trials, as an exact ratio."""
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
    """Only for fixed loads."""
    complete: bool = True
    """False when the budget ended first."""


class Standard(enum.StrEnum):
    """The standards that a result can be held against."""

    RFC2544 = "RFC 2544"
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
