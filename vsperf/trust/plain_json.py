"""JSON of others: only numbers that something can have counted or measured are numbers in it.

A whole number of thousands of digits takes time that is quadratic in them, has no place in most
formats, and cannot be divided; JSON knows none that is infinite or none at all, but Python does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

LEAST, MOST = -(1 << 63), (1 << 64) - 1
"""Whole numbers as counters have them: 64 bits, with a sign or without."""
MOST_COUNTED = 1 << 60
"""The greatest count that is believed of somebody who may lie, such as a guest; nanoseconds are so
many in 36 years. Sums and differences of a few of these are numbers that can be stored, too."""
DIGITS = 20
SHAPES = bytes.maketrans(b"123456789E", b"000000000e")
SUSPECT = (b"0" * 19, b"e000", b"e+000", b"NaN", b"Infinity")
"""Without any of these, digits being 0, no number is wild; to look for them takes microseconds."""


Pairs = list[tuple[str, Any]]


def loads(text: bytes | str, object_of: Callable[[Pairs], Any] = dict) -> Any:
    """Return what a document says; raises `ValueError` if it is none, or holds a wild number.

    Also raises `RecursionError`, as `json.loads` does of one that is too deep.
    """
    return json.loads(text, **_strictly(object_of))


def first(text: str) -> Any:
    """Return what the document says that a text begins with, whatever stands behind it."""
    return json.JSONDecoder(**_strictly(dict)).raw_decode(text)[0]


def _strictly(object_of: Callable[[Pairs], Any]) -> dict[str, Any]:
    return {
        "object_pairs_hook": object_of,
        "parse_int": _whole,
        "parse_float": _finite,
        "parse_constant": _refused,
    }


def refuse_wild_numbers(text: bytes) -> None:
    """Raise `ValueError` if a document holds a wild number; quick where it cannot."""
    shape = text.translate(SHAPES)
    if any(one in shape for one in SUSPECT):
        loads(text)


def count_of(text: str) -> int:
    """Return a count that a program wrote; `ValueError` where it is none that is believed.

    Python itself takes digits of other scripts, and refuses thousands of them as it refuses words.
    """
    plain = text.isascii() and text.isdecimal() and len(text) <= DIGITS
    if not plain or (number := int(text)) > MOST_COUNTED:
        raise ValueError(f"{text[:DIGITS]!r} is no count that is believed")
    return number


def _whole(text: str) -> int:
    if len(text) > DIGITS or not LEAST <= (number := int(text)) <= MOST:
        raise ValueError(f"{text[:DIGITS]}… is more than a counter of 64 bits holds")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:DIGITS]} is no finite number")
    return number


def _refused(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")
