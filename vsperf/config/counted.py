"""Counts of things, as settings have them: kept as integers, written as people write counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import AfterValidator

from vsperf.quantities.quantity import published
from vsperf.quantities.units import MeasuredCount


@dataclass(frozen=True, slots=True)
class _Counted:
    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_number, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        text: dict[str, Any] = {
            "type": ["string", "integer"],
            "pattern": published(MeasuredCount.TEXT),
            "examples": [*MeasuredCount.EXAMPLES],
        }
        return {**handler(schema), **text}


def _number(value: object) -> object:
    """Return the number that a text means; its bounds are those of the setting."""
    return MeasuredCount.parse(value).value if isinstance(value, (str, float)) else value


Counted = _Counted()
"""Of an integer: takes 20k and 1M, too, as flows do; what is kept is the number."""


def _power_of_two(size: int) -> int:
    if size & (size - 1):
        raise ValueError(f"{size:,} is no power of two, such as 256, 512 or 1024")
    return size


PowerOfTwo = AfterValidator(_power_of_two)
"""Refuses any other size: a slot is found by masking a count."""
