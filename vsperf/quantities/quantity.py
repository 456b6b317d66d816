"""What all quantities have in common: reading numbers with units, and writing them back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from typing import Any, ClassVar, Self

NUMBER = r"(?P<number>[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
ONLY_ZERO: Mapping[str, Any] = {"type": ["integer"], "minimum": 0, "maximum": 0}
"""The one number that needs no unit, in the words of JSON Schema."""
DECIMAL = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


class UnitError(ValueError):
    """A text that is no such quantity; the message says what would be one."""


class Quantity:
    """What the quantities share: pydantic reads them from text or number, and writes text."""

    EXAMPLES: ClassVar[tuple[str, ...]] = ()
    TEXT: ClassVar[str] = ""
    """How it is written as a text: a pattern of all of it, which says nothing of bounds."""
    OTHERS: ClassVar[Mapping[str, Any]] = {}
    """What it takes that is no text, such as numbers, in the words of JSON Schema; if empty,
    nothing."""

    @classmethod
    def parse(cls, value: object) -> Self:
        """Return the quantity that `value` (text, number or already a quantity) means."""
        return value if isinstance(value, cls) else cls._parse(value)

    @classmethod
    def _parse(cls, value: object) -> Self:
        """Return what anything else than such a quantity means; raise `UnitError` for nothing."""
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Validate by `parse`, serialise by `str`."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls.parse,
            serialization=core_schema.to_string_ser_schema(),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        """Describe the quantity to whoever asks for the JSON Schema of a model."""
        return cls.json_schema()

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of what `parse` takes, bounds of texts aside."""
        described: dict[str, Any] = {
            "type": "string",
            "pattern": published(cls.TEXT),
            "description": (cls.__doc__ or "").strip().splitlines()[0],
            "examples": [*cls.EXAMPLES],
        }
        if cls.OTHERS:
            described |= {**cls.OTHERS, "type": ["string", *cls.OTHERS["type"]]}
        return described


def published(pattern: str) -> str:
    """Return the pattern of a whole text for JSON Schema, which knows no `(?P<name>…)`."""
    unnamed = re.sub(r"\(\?P<\w+>", "(?:", pattern)
    return rf"^\s*(?:{unnamed})\s*$"


def match(pattern: str, value: object, what: str, examples: Iterable[str]) -> re.Match[str]:
    """Return the match of a whole text, or say what would have been `what`."""
    wanted = f"{what} is written like {', '.join(examples)}"
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise UnitError(f"{shown(value)} is not {what}; {wanted}")
    text = str(value).strip()
    found = re.fullmatch(pattern, text) if len(text) <= 64 else None
    if found is None:
        several = [one.strip() for one in text[:64].split(",")]
        if len(several) > 1 and all(re.fullmatch(pattern, one) for one in several):
            wanted = f"where there may be several, they are written [{', '.join(several)}]"
        raise UnitError(f"{shown(value)} is not {what}; {wanted}")
    return found


def shown(value: object) -> str:
    """Quote a rejected value, shortened: it may be megabytes of junk."""
    if value is None:
        return "an empty value"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def number_in(found: re.Match[str]) -> Fraction:
    """Return the number that `NUMBER` matched, exactly."""
    try:
        decimal = Decimal(found["number"].replace("_", ""))
    except InvalidOperation as error:  # pragma: no cover - the pattern admits only decimals
        raise UnitError(f"{found['number']!r} is not a number") from error
    if abs(decimal.adjusted()) > 30:
        raise UnitError(f"{found['number']} is far outside any real quantity")
    return Fraction(decimal)


def whole(value: Fraction, what: str) -> int:
    """Return `value` as an integer; refuse a fraction of a thing."""
    if value.denominator != 1:
        raise UnitError(f"{what} must be a whole number, {float(value):g} is not")
    return value.numerator


def scaled(value: int, steps: dict[str, int]) -> str:
    """Write `value` with the largest suffix that keeps it exact."""
    for suffix, factor in sorted(steps.items(), key=lambda item: -item[1]):
        if value and value % factor == 0:
            return f"{value // factor}{suffix}"
    return str(value)


def decimal_text(value: Fraction) -> str:
    """Write a fraction as a decimal: exact where it has one, to 12 digits where it has none."""
    denominator = value.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        return f"{float(value):.12g}"
    with localcontext(prec=100):  # the default of 28 digits would round
        text = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
