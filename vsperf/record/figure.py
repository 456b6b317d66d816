"""Numbers and curves that a method found, each with what it takes to defend it.

All that is shown, judged and exported of a method beyond the bounds of goals and the outcome of
loads is one of these two: so a new method needs no code where results are read.
"""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from vsperf.human import human_count, human_fps, human_ns, human_share
from vsperf.record.base import Record
from vsperf.record.flags import Flag
from vsperf.record.limit import Limit
from vsperf.unit import Unit

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]{0,31}$")]

NO_ANSWER = "no answer"
"""What stands where there is no number; `none` is how many frames were lost."""


def heading(name: str) -> str:
    """Write the name of a figure or of an axis for people."""
    return name.replace("_", " ")


def amount(value: float, unit: Unit) -> str:
    """Write a number for people."""
    match unit:
        case Unit.FPS:
            return human_fps(value)
        case Unit.NANOSECONDS:
            return human_ns(value)
        case Unit.RATIO | Unit.FACTOR:
            return human_share(value)
        case Unit.FRAMES:
            return f"{human_count(value)} frames"
        case Unit.PER_SECOND:
            return f"{human_count(value)}/s"
        case Unit.COUNT:
            return human_count(value)


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
        """The number for people, with what bounds it."""
        if self.value is None:
            return NO_ANSWER if self.upper is None else f"< {amount(self.upper, self.unit)}"
        if self.lower is not None and self.open_ended:
            return f"≥ {amount(self.lower, self.unit)}"
        return amount(self.value, self.unit)

    @property
    def open_ended(self) -> bool:
        """Whether it is only known to be as high or higher."""
        return self.lower is not None and self.upper is None

    @property
    def spread_text(self) -> str:
        """How far the repeats lie apart, for people; empty of one that was not repeated."""
        if self.spread is None or self.spread.runs < 2:
            return ""
        ends = (self.spread.minimum, self.spread.maximum)
        if self.spread.minimum == self.spread.maximum:
            return f"the same in {self.spread.runs} runs"
        low, high = (amount(end, self.unit) for end in ends)
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
