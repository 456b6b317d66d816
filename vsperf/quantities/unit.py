"""What a figure of a result counts, and what people write for it; factors may lie above one."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from vsperf.quantities.quantity import Quantity, UnitError, decimal_text, match, number_in
from vsperf.quantities.units import Count, LinkSpeed, MeasuredCount, MeasuredTime, Rate, Ratio


@dataclass(frozen=True, slots=True, order=True)
class Factor(Quantity):
    """How many times as much as something else, such as 130%, 1.3 or 97%."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("130%", "97%", "1.3")
    TEXT: ClassVar[str] = Ratio.TEXT
    LARGEST: ClassVar[int] = 1000
    OTHERS: ClassVar[Mapping[str, Any]] = {"type": ["number"], "minimum": 0, "maximum": LARGEST}

    value: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.value <= self.LARGEST:
            raise UnitError(f"a factor lies between 0 and {self.LARGEST}, {self} does not")

    @classmethod
    def _parse(cls, value: object) -> Self:
        found = match(cls.TEXT, value, "a factor", cls.EXAMPLES)
        return cls(number_in(found) / (100 if found["percent"] else 1))

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return decimal_text(self.value * 100) + "%"


class Unit(enum.StrEnum):
    """What a figure of a result counts; rates are per direction."""

    FRAMES = "frames"
    FPS = "fps"
    BPS = "bps"
    """Bits of what programs exchange, in a second; no header of a frame is among them."""
    NANOSECONDS = "ns"
    RATIO = "ratio"
    """A share of one, such as a loss ratio."""
    FACTOR = "factor"
    """How many times as much, such as the rate of one switch to that of another."""
    BYTES = "bytes"
    """Of memory."""
    COUNT = "count"
    """Anything else that is counted, such as flows, addresses or rules."""
    PER_SECOND = "per_second"
    """Anything else that is done in a second."""

    @property
    def quantity(self) -> type[Rate | LinkSpeed | MeasuredTime | Ratio | Factor | Count]:
        match self:
            case Unit.FPS:
                return Rate
            case Unit.BPS:
                return LinkSpeed
            case Unit.NANOSECONDS:
                return MeasuredTime
            case Unit.RATIO:
                return Ratio
            case Unit.FACTOR:
                return Factor
            case _:
                return MeasuredCount


RATES = (Unit.FPS, Unit.BPS, Unit.PER_SECOND)
"""Of which more is better."""
