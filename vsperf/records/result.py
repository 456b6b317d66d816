"""What a search found: an interval, what limits it, and how far it can be trusted."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Annotated, Self

from pydantic import Field, model_validator

from vsperf.quantities.human import (
    End,
    above_text,
    human_bps,
    human_bytes,
    human_count,
    human_factor,
    human_fps,
    human_ns,
    human_share,
)
from vsperf.quantities.quantity import UnitError
from vsperf.quantities.unit import Unit
from vsperf.quantities.units import Ratio
from vsperf.records.base import Record
from vsperf.records.flags import Flag, Severity, worst
from vsperf.records.regime import Regime
from vsperf.records.trial import Purpose, Trial

# What keeps a result from being better.


class Limit(enum.StrEnum):
    """What kept the result from being higher."""

    DUT = "dut"
    """The switch: it lost frames that were really sent."""
    VNF = "vnf"
    """The VNFs: the switch had the frames, and they did not take or keep them."""
    GENERATOR = "generator"
    """The generator could not send more; the switch may well do better."""
    SERVER = "server"
    """The programs that answer could not do more; the switch may well do better."""
    LINK = "link"
    """The line rate passed."""
    HOST = "host"
    """The machine itself stalled; the loss says nothing on the switch."""
    UNCOUNTED = "uncounted"
    """Frames went missing, and nobody counted most of them: who lost them cannot be told."""
    SETTING = "setting"
    """The highest load that the user allowed passed."""
    BUDGET = "budget"
    """The time ended before the limit was found."""
    UNKNOWN = "unknown"
    """Trials contradict each other, or do not answer what was asked; see flags and reason."""


# Numbers and curves that a method found, each with what it takes to defend it.
#
# All that is shown, judged and exported of a method beyond the bounds of goals and the outcome of
# loads is one of these two: so a new method needs no code where results are read.

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]{0,31}$")]

NO_ANSWER = "no answer"
"""What stands where there is no number; `none` is how many frames were lost."""


def heading(name: str) -> str:
    """Write the name of a figure or of an axis for people."""
    return name.replace("_", " ")


AFTER_COUNTS = {Unit.COUNT: "", Unit.FRAMES: " frames", Unit.PER_SECOND: "/s"}


def amount(value: float, unit: Unit, end: End | None = None) -> str:
    """Write a number for people; the end of an interval is rounded away from what it bounds."""
    match unit:
        case Unit.FPS | Unit.BPS:
            return human_fps(value, end) if unit is Unit.FPS else human_bps(value, end)
        case Unit.NANOSECONDS:
            return human_ns(value, end)
        case Unit.RATIO | Unit.FACTOR:
            return human_share(value, end) if unit is Unit.RATIO else human_factor(value, end)
        case Unit.BYTES:
            return human_bytes(value, end)
        case Unit.COUNT | Unit.FRAMES | Unit.PER_SECOND:
            return f"{human_count(value, end)}{AFTER_COUNTS[unit]}"


class Spread(Record):
    """How far the repeats lie apart of which a figure is the mean or the median."""

    runs: int
    minimum: float
    maximum: float
    deviation: float | None = None
    """Sample standard deviation; None of a single run."""


class Figure(Record):
    """One number, or the reason why there is none."""

    name: Name
    unit: Unit
    value: float | None
    """None where there is no number to give; the reason says why."""
    lower: float | None = None
    """Highest value that was seen to hold, where an interval was searched."""
    upper: float | None = None
    """Lowest value that was seen not to hold."""
    spread: Spread | None = None
    at: str = ""
    """What it was measured at, such as `bursts at 5.61 Mfps, the cap of the generator`."""
    limit: Limit | None = None
    """What kept it from being better; None where the figure is no limit of anything."""
    reason: str = ""
    """One sentence on why it is what it is."""
    flags: tuple[Flag, ...] = ()

    @property
    def text(self) -> str:
        """The number for people, with what bounds it; one that is not used says that first."""
        upper = None if self.upper is None else amount(self.upper, self.unit, End.UPPER)
        if self.value is None:
            return NO_ANSWER if upper is None else f"< {upper}"
        if worst(self.flags) is Severity.INVALID:
            return f"invalid ({amount(self.value, self.unit)})"
        if self.lower is not None and self.open_ended:
            return f"≥ {amount(self.lower, self.unit, End.LOWER)}"
        if upper is not None and self.open_below:
            return f"≤ {upper}"
        return amount(self.value, self.unit, End.LOWER if self.value == self.lower else None)

    @property
    def open_ended(self) -> bool:
        """Whether it is only known to be as high or higher."""
        return self.lower is not None and self.upper is None

    @property
    def open_below(self) -> bool:
        """Whether it is only known to be as low or lower: no factor is less than nothing."""
        return self.unit is Unit.FACTOR and self.lower == 0 and self.upper is not None

    @property
    def spread_text(self) -> str:
        """How far the repeats lie apart, for people; empty of one that was not repeated."""
        if self.spread is None or self.spread.runs < 2:
            return ""
        if (ends := (self.spread.minimum, self.spread.maximum))[0] == ends[1]:
            return f"the same in {self.spread.runs} runs"
        low, high = (amount(one, self.unit, end) for one, end in zip(ends, End, strict=True))
        deviation = ""
        if self.spread.deviation is not None:
            deviation = f", s = {amount(self.spread.deviation, self.unit)}"
        return f"{low} … {high}{deviation}, {self.spread.runs} runs"

    @model_validator(mode="after")
    def _nothing_without_a_reason(self) -> Self:
        if self.value is None and not self.reason:
            raise ValueError(f"the figure {self.name} has no value and no reason")
        return self


class Axis(Record):
    """One column of a curve."""

    name: Name
    unit: Unit


class Curve(Record):
    """How numbers depend on another one, in the order of that one."""

    name: Name
    x: Axis
    columns: tuple[Axis, ...]
    points: tuple[tuple[float | None, ...], ...]
    """Each the value of x, then one for each column; None where there is none."""
    at: str = ""

    @model_validator(mode="after")
    def _rows_are_whole(self) -> Self:
        if any(len(point) != 1 + len(self.columns) for point in self.points):
            raise ValueError(f"a point of the curve {self.name} has not one value for each column")
        if any(point[0] is None for point in self.points):
            raise ValueError(f"a point of the curve {self.name} has no place")
        return self


ExactRatio = Annotated[str, Field(pattern=r"^-?\d+(/[1-9]\d*)?$", max_length=4000)]
"""An exact ratio, such as 0 or 1/200."""


class PartialResult(Record):
    """The answer to a goal from a part of the time; there may be none."""

    share: ExactRatio
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
    or the budget did not suffice.
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
    clean: ExactRatio | None
    """Of the sending time of its trials, what is clean and counts; None where nobody knows that,
    and all of it does."""


class View(enum.StrEnum):
    """Which part of the time of trials an answer on several deployments is from."""

    ALL = "all time"
    CLEAN = "clean time"
    NEAR = "near"
    FAR = "far"


UNTOLD = (Limit.HOST, Limit.BUDGET, Limit.UNKNOWN)
"""Limits that say nothing of what a deployment alone makes."""


class Draw(Record):
    """The answer to a goal on one deployment."""

    deployment: int = Field(ge=1)
    lower_fps: int | None = None
    upper_fps: int | None = None
    limit: Limit | None = None
    """What kept it from being higher; None where there is no answer."""
    reason: str

    @property
    def told(self) -> bool:
        """Whether its bounds are those of the deployment."""
        return self.lower_fps is not None and self.limit not in (None, *UNTOLD)


class Draws(Record):
    """The answers to a goal on several deployments, each from trials on it alone.

    What one deployment happens to get, such as where its buffers lie in memory, is one draw.
    """

    asked: int = Field(ge=2)
    """Deployments that were wanted, the first one among them."""
    view: View
    made: tuple[Draw, ...]
    """The first deployment's comes first, and is that of its whole search."""

    @property
    def told(self) -> tuple[Draw, ...]:
        """Those that have an answer."""
        return tuple(one for one in self.made if one.told)

    @property
    def lower_fps(self) -> int | None:
        """The lowest load that passed last on any of them; None where fewer than two tell."""
        lowers = [one.lower_fps for one in self.told if one.lower_fps is not None]
        return min(lowers) if len(lowers) > 1 else None

    @property
    def upper_fps(self) -> int | None:
        """The highest load that failed first on any of them; None where one failed nowhere."""
        uppers = [one.upper_fps for one in self.told if one.upper_fps is not None]
        return max(uppers) if len(uppers) == len(self.told) > 1 else None


class GoalResult(Record):
    """The answer to one goal: the interval in which the highest passing load lies."""

    goal: str
    loss_ratio: ExactRatio
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
    draws: Draws | None = None
    """The same on further deployments; None where there was one, so that this is one draw."""

    @property
    def believed_draws(self) -> Draws | None:
        """Those on several deployments, unless the first of them is an answer that is not used."""
        own = self.draws is not None and self.draws.view is View.ALL
        return None if own and worst(self.flags) is Severity.INVALID else self.draws

    @property
    def cut_short(self) -> bool:
        """Whether the time ended before the search for it did; then nobody may know the limit."""
        untold = self.limit is Limit.UNKNOWN and Flag.OUT_OF_BUDGET in self.flags
        return untold or self.limit is Limit.BUDGET

    @property
    def irregular(self) -> str | None:
        """Which bound there is none of, and so no regular result, as RFC 9971 has the word."""
        if self.lower_fps is None:
            return "no lower bound"
        if self.upper_fps is not None:
            return None
        short = self.limit is Limit.GENERATOR
        return "no load failed by the switch" if short else "no upper bound"


class LoadResult(Record):
    """The outcome of a fixed load: no search, so no interval."""

    load_fps: int
    trials: int
    passed: int
    """Trials whose loss stayed within the allowed ratio."""
    worst_loss_ratio: ExactRatio
    """Greatest loss ratio among the trials, as an exact ratio."""
    short_ratio: ExactRatio = "0"
    """Greatest share of the frames that the generator was too slow for; 0 where that is tolerated.
    So much of the loss is not the switch's."""
    throughput_fps: int
    """Least frames per second and direction that came through."""
    limit: Limit
    reason: str
    outages_ns: tuple[int | None, ...] = ()
    """How long frames stayed away after an event, by trial; None if they did not come back."""
    flags: tuple[Flag, ...] = ()

    @property
    def believed(self) -> bool:
        return worst(self.flags) is not Severity.INVALID


class SearchResult(Record):
    """All that a search found."""

    goals: tuple[GoalResult, ...] = ()
    loads: tuple[LoadResult, ...] = ()
    """Of loads that were given, or gone through one by one."""
    figures: tuple[Figure, ...] = ()
    """Whatever else the method answers, the one that matters most first."""
    curves: tuple[Curve, ...] = ()
    round_trips_ns: tuple[int, int] | None = None
    """Shortest and longest round trip of a cache line between the CPUs of generator and switch, of
    trials that are of one regime; None where they are of two, or nobody looked."""
    complete: bool = True
    """False when the budget ended first."""
    spoiled: str = ""
    """Which trial could not be believed in the end, where repeats before it could, or which part
    failed behind rounds that stand; empty when none was like that."""

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
        answers: tuple[GoalResult | LoadResult | Figure, ...]
        answers = (*self.goals, *self.loads, *self.figures)
        return tuple(dict.fromkeys(flag for one in answers for flag in one.flags))

    def doubted(self, flag: Flag, reason: str) -> SearchResult:
        """Return it with the same doubt on each of its answers, and none from parts of the time."""
        doubt: dict[str, object] = {"limit": Limit.UNKNOWN, "reason": reason}
        none = {"lower_fps": None, "upper_fps": None, "limit": None, "reason": reason}

        def flagged(one: GoalResult | LoadResult | Figure) -> dict[str, object]:
            return {**doubt, "flags": (flag, *one.flags)}

        def parts(one: GoalResult) -> dict[str, object]:
            clean = None if one.clean is None else one.clean.model_copy(update=none)
            regimes = tuple(there.model_copy(update=none) for there in one.regimes)
            return {"clean": clean, "regimes": regimes, "draws": None}

        def told(curve: Curve) -> Curve:
            at = "; ".join(filter(None, (curve.at, f"invalid: {flag.value}")))
            return curve.model_copy(update={"at": at})

        goals = (one.model_copy(update=flagged(one) | parts(one)) for one in self.goals)
        return self.model_copy(
            update={
                "goals": tuple(goals),
                "figures": tuple(one.model_copy(update=flagged(one)) for one in self.figures),
                "loads": tuple(one.model_copy(update=flagged(one)) for one in self.loads),
                "curves": tuple(map(told, self.curves)),
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


# Which trials an answer rests on, and which refer to it, such as latency at half of NDR.

COUNTED = (Purpose.SEARCH, Purpose.LATENCY)
"""Trials that say what a load is, whoever asked for them."""


def of_a_load(trial: Trial) -> bool:
    """Whether a trial is one of those that say what its load is, if it is valid.

    Nothing was done meanwhile to switch or VNFs, such as a restart or changes of rules, and the
    load did not change. What such a trial lost says nothing of the load.
    """
    if trial.purpose not in COUNTED or trial.event is not None:
        return False
    beside = trial.purpose is Purpose.SEARCH and trial.reference is not None
    return not beside and not any(way.steps for way in trial.directions)


def answering(trials: Sequence[Trial]) -> Sequence[Trial]:
    """Return the trials that an answer is from, those on further deployments included.

    A case of which a part died is measured once more, and what was made before counts no more. Each
    deployment begins with a look at the path, and further ones have numbers of their own.
    """
    looks = (
        number
        for number, one in enumerate(trials, start=1)
        if one.purpose is Purpose.PATH_CHECK and one.deployment == 1
    )
    return trials[max(looks, default=0) :]


def died_before(trials: Sequence[Trial]) -> int:
    """Return how many of the trials were made on a deployment of which a part died."""
    first = len(trials) - len(answering(trials))
    while first and trials[first - 1].purpose is Purpose.PATH_CHECK:
        first -= 1
    return first


def load_at(bound_fps: int, share: Fraction) -> int:
    """Return the load that is a share of what was found."""
    return max(1, round(bound_fps * share))


def latency_trials(trials: Iterable[Trial], result: SearchResult | None) -> tuple[Trial, ...]:
    """Return the valid latency trials that refer to the answer that there is in the end.

    What a share is of may have moved by what such a trial lost. At a share of the new bound it is
    made once more, unless the time is over; the one before it refers to nothing any more.
    """
    bounds = {} if result is None else {one.goal: one.lower_fps for one in result.goals}
    valid = (one for one in trials if one.purpose is Purpose.LATENCY and one.valid)
    return tuple(one for one in valid if _refers(one, bounds))


def _refers(trial: Trial, bounds: dict[str, int | None]) -> bool:
    """Whether the load of a trial is the share of a goal that it was made for, if it was."""
    share, _, goal = (trial.reference or "").partition(" of ")
    if goal not in bounds:
        return True
    bound = bounds[goal]
    try:
        return bound is not None and load_at(bound, Ratio.parse(share).value) == trial.load_fps
    except UnitError:  # a stranger's record says anything
        return False


# What an answer assumes, since no trial at its bounds can tell.


class Assumption(enum.StrEnum):
    """One thing that is taken for granted."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Assumption:
        member = str.__new__(cls, name)
        member._value_ = name
        member.meaning = meaning
        return member

    STEADY = "steady", "a capacity that is another one at other times is not seen"
    NO_BUFFER = (
        "no-buffer",
        "the generator does not tell when frames arrived: what a buffer takes in a trial passes "
        "for forwarded",
    )
    NO_COPIES = (
        "no-copies",
        "the generator cannot tell copies: one passes for the frame that is missing",
    )
    ONE_DRAW = (
        "one-draw",
        "each answer is of one deployment, which is one draw: by how much the same switch is "
        "another one when it is deployed anew is not seen (search.draws or --repeat)",
    )


def at_bounds(goal: GoalResult, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that an answer rests on."""
    ends = (goal.lower_fps, goal.upper_fps)
    return [one for one in trials if one.valid and one.load_fps in ends and of_a_load(one)]


def assumed(trials: Sequence[Trial], draws: Draws | None = None) -> tuple[Assumption, ...]:
    """Return what is taken for granted by an answer that rests on these trials, and on draws."""
    ways = [way for one in trials for way in one.directions]
    taken = {
        Assumption.STEADY: bool(ways),
        Assumption.NO_BUFFER: any(way.receiving_ns is None for way in ways),
        Assumption.NO_COPIES: any(way.duplicate_frames is None for way in ways),
        Assumption.ONE_DRAW: bool(ways) and (draws is None or draws.lower_fps is None),
    }
    return tuple(one for one, applies in taken.items() if applies)


# What it proves that not one of so many frames was lost.

LEAST_LOSS = 3
"""No loss in n frames leaves a loss ratio below 3/n, at 95 %."""


def unlikely_above(frames: int) -> float | None:
    """Return the loss ratio that no loss in so many frames makes unlikely; None of too few."""
    return LEAST_LOSS / frames if frames > LEAST_LOSS else None


def none_lost(frames: int) -> str:
    """Say of how many frames none was lost, and what that makes unlikely."""
    share = unlikely_above(frames)
    makes = ""
    if share is not None:
        makes = f": a loss ratio above {above_text(share)} is unlikely (3/n, at 95 %)"
    return f"none of {human_count(frames)} frames sent each way was lost{makes}"
