"""Amounts of memory, and how fast they are read or written, exact and with their units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from vsperf.quantities.quantity import (
    NUMBER,
    ONLY_ZERO,
    Quantity,
    UnitError,
    match,
    number_in,
    scaled,
    whole,
)

STEPS = {
    "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
UNITS = "|".join(sorted(STEPS, key=len, reverse=True))


@dataclass(frozen=True, slots=True, order=True)
class ByteSize(Quantity):
    """An amount of memory, such as 32KiB (32768 bytes) or 4MB (4000000 bytes)."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("32KiB", "4MiB", "64MB")
    TEXT: ClassVar[str] = rf"{NUMBER}\s*(?P<unit>{UNITS})"

    bytes: int

    def __post_init__(self) -> None:
        if self.bytes <= 0:
            raise UnitError("an amount of memory must be above zero")

    @classmethod
    def _parse(cls, value: object) -> Self:
        found = match(cls.TEXT, value, "an amount of memory", cls.EXAMPLES)
        return cls(whole(number_in(found) * STEPS[found["unit"]], "an amount of memory in bytes"))

    def __str__(self) -> str:
        return scaled(self.bytes, STEPS)


@dataclass(frozen=True, slots=True, order=True)
class ByteRate(Quantity):
    """Bytes per second, such as 5000MB/s or 2GiB/s; 0 for none."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ("5000MB/s", "2GiB/s", "0")
    TEXT: ClassVar[str] = rf"0|{ByteSize.TEXT}/s"
    OTHERS: ClassVar[Mapping[str, Any]] = ONLY_ZERO

    per_second: int

    @classmethod
    def _parse(cls, value: object) -> Self:
        found = match(cls.TEXT, value, "a rate", cls.EXAMPLES)
        if found["unit"] is None:
            return cls(0)
        return cls(whole(number_in(found) * STEPS[found["unit"]], "a rate in bytes per second"))

    def __str__(self) -> str:
        return f"{scaled(self.per_second, STEPS)}/s" if self.per_second else "0"
