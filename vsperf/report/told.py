"""What a damaged record, or one of another version, says as far as it can be made out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from vsperf.errors import VsperfError

T = TypeVar("T")
DAMAGED = (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError, VsperfError)
"""What reading a specification of another version, or a damaged one, may come to."""


def told(question: Callable[[], T], otherwise: T) -> T:
    """Return what a record says, or `otherwise` where it cannot be made out."""
    try:
        return question()
    except DAMAGED:
        return otherwise
