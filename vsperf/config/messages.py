"""What a refused value is told: the validator's findings in the words of the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsperf.config.suggest import described, did_you_mean, listed, quoted

# Patterns of names → how such a name is written.
_PATTERNS = {
    r"^[A-Za-z][A-Za-z0-9_-]{0,63}$": "a letter, then letters, digits, `_` or `-`, 64 in all",
    r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$": "letters, digits, `_`, `-` or `.`, 64 in all",
    r"^[a-z][a-z0-9_]{0,31}$": "a small letter, then small letters, digits or `_`, 32 in all",
}
_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list, written [a, b]",
    "list_type": "a list, written [a, b]",
    "frozen_set_type": "a list, written [a, b]",
    "dict_type": "a mapping, written {key: value}",
    "model_type": "a mapping, written {key: value}",
    "model_attributes_type": "a mapping, written {key: value}",
    "none_required": "left out",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
    "multiple_of": ("multiple_of", "a multiple of"),
}
_LENGTHS = {
    "too_short": ("min_length", "at least"),
    "too_long": ("max_length", "at most"),
    "string_too_short": ("min_length", "at least"),
    "string_too_long": ("max_length", "at most"),
}


def refusal(  # noqa: PLR0911 - one return per family of findings
    kind: str, context: Mapping[str, Any], value: Any, raw: str
) -> tuple[str, str | None]:
    """Return what is wrong with a value, and how to fix it.

    `kind`, `context` and `raw` are the validator's error type, its parameters and its message.
    """
    if kind in ("value_error", "assertion_error"):
        what, _, fix = str(context.get("error", raw)).partition("; ")
        return what, fix or None
    if kind in _TYPES:
        return f"{_must(_TYPES[kind])}, not {described(value)}", _type_fix(kind, value)
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{quoted(value)} is refused: {_must(f'{words} {context[key]}')}", None
    if kind in _LENGTHS:
        key, words = _LENGTHS[kind]
        number = context[key]
        return f"must hold {words} {number} {'item' if number == 1 else 'items'}", None
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern"))
        rule = _PATTERNS.get(pattern, f"text that matches {pattern}")
        return f"{quoted(value)} is not a valid name", f"a name is {rule}"
    if kind in ("literal_error", "enum"):
        choices = [choice.strip("'") for choice in _choices(str(context.get("expected", "")))]
        fix = f"one of: {listed(choices)}" if len(choices) > 1 else f"write {choices[0]}"
        what = f"{quoted(value)} is not a choice here"
        return what, did_you_mean(str(value), choices, fix) if isinstance(value, str) else fix
    return f"{quoted(value)} is not accepted", raw.replace("Input should", "it should")


def _must(rule: str) -> str:
    return f"must be {rule}"


def _choices(expected: str) -> list[str]:
    return [part for piece in expected.split(" or ") for part in piece.split(", ")] or [""]


def _type_fix(kind: str, value: Any) -> str | None:
    words = {"yes": "true", "on": "true", "no": "false", "off": "false"}
    if kind == "bool_type" and isinstance(value, str):
        text = value.lower()
        word = text if text in ("true", "false") else words.get(text)
        return f"write `{word}`" if word else None
    if kind == "string_type" and isinstance(value, (bool, int, float)):
        return f'put it in quotes: "{quoted(value)}"'
    if kind.startswith("int") and isinstance(value, str) and value.strip().isdecimal():
        number = int(value) if len(value) <= 20 else 0
        return f"write `{number}` without quotes or leading zeros"
    if kind in ("tuple_type", "list_type") and isinstance(value, (str, int, float)):
        return f"write `[{value}]`" if len(str(value)) <= 40 else None
    return None
