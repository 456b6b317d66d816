"""How many times as much: a quantity that, unlike a share, may lie above one."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from vsperf.quantities.quantity import NUMBER, Quantity, UnitError, decimal_text, match, number_in


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Factor(Quantity):
    """How many times as much as something else, such as 130%, 1.3 or 97%."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("130%", "97%", "1.3")
    LARGEST: ClassVar[int] = 1000

    value: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.value <= self.LARGEST:
            raise UnitError(f"a factor lies between 0 and {self.LARGEST}, {self} does not")

    @classmethod
    def parse(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        found = match(NUMBER + r"\s*(?P<percent>%?)", value, "a factor", cls.EXAMPLES)
        return cls(number_in(found) / (100 if found["percent"] else 1))

    def __float__(self) -> float:
        return float(self.value)

    def __lt__(self, other: Factor) -> bool:
        return self.value < other.value

    def __str__(self) -> str:
        return decimal_text(self.value * 100) + "%"
